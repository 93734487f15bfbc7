#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <filesystem>
#include <onnx/onnx_pb.h>
#include <optional>
#include <string>

namespace twb {

/// The dtype of an ONNX element type (TensorProto.DataType); nothing for strings, complex numbers and the
/// 8-bit floats, which tensors here do not hold.
std::optional<DType> dtypeOfOnnx(std::int32_t elementType) noexcept;
std::int32_t onnxTypeOf(DType dtype) noexcept;
/// As the documents spell it: "string", "float8e4m3fn".
std::string onnxTypeName(std::int32_t elementType);

/// The tensor that a TensorProto holds, on the host. External data is looked for in `folder` and nowhere
/// else. Throws Error(badFile) with `what` ("initializer \"w\"") when the element type is none of ours, the
/// sizes overflow or do not agree with the data, or the external file is missing, too short or outside of the
/// folder.
Tensor tensorFromProto(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                       const std::string& what);
/// With raw data. `tensor` is dense and on the host.
onnx::TensorProto protoFromTensor(const TensorView& tensor, const std::string& name);

} // namespace twb
