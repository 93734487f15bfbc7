#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <filesystem>
#include <onnx/onnx_pb.h>
#include <optional>
#include <string>

namespace twb {

/// The dtype of an ONNX element type (TensorProto.DataType); nothing for unsupported types: strings, complex
/// numbers and 6-bit floats.
std::optional<DType> dtypeOfOnnx(std::int32_t elementType) noexcept;
std::int32_t onnxTypeOf(DType dtype) noexcept;
/// The name in ONNX's documentation: "string", "float8e4m3fn".
std::string onnxTypeName(std::int32_t elementType);

/// The tensor of a TensorProto, on the host. External data must be in `folder`. Throws Error(badFile) with
/// `what` ("initializer \"w\"") if the element type is unsupported, if the sizes overflow or do not match the
/// data, or if the external file is missing, too short or outside the folder.
Tensor tensorFromProto(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                       const std::string& what);
/// With raw data. `tensor` is dense and on the host.
onnx::TensorProto protoFromTensor(const TensorView& tensor, const std::string& name);

} // namespace twb
