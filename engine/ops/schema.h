#pragma once

#include "backends/cpu/strided.h"
#include "ops/op.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// The words in which a family file writes down an op: sets of dtypes, ports, attributes, and the checks that
// many infer functions share.

inline constexpr DTypeSet kFloats{DType::f32, DType::f64, DType::f16, DType::bf16};
inline constexpr DTypeSet kSignedIntegers{DType::i8, DType::i16, DType::i32, DType::i64};
inline constexpr DTypeSet kUnsignedIntegers{DType::u8, DType::u16, DType::u32, DType::u64};
inline constexpr DTypeSet kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr DTypeSet kSigned = kFloats | kSignedIntegers;
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
/// What ONNX's matrix products take: no integers narrower than 32 bits.
inline constexpr DTypeSet kMatrixTypes = kFloats | DTypeSet{DType::i32, DType::i64, DType::u32, DType::u64};
inline constexpr DTypeSet kIndices{DType::i32, DType::i64};
inline constexpr DTypeSet kBool{DType::boolean};
inline constexpr DTypeSet kAll = kNumbers | kBool;

/// The dtypes of a set, as messages and choices list them.
std::vector<std::string> namesOf(DTypeSet types);

Op makeOp(std::string name, std::string category, int opset, std::string doc, std::string formula = {});
/// An op that makes each element of Y from the one of X at its place: same type, and in the same memory where
/// nobody else reads X.
Op makeUnary(std::string name, std::string category, int opset, std::string doc, std::string formula,
             DTypeSet types, double flopsPerElement, HostKernel kernel);

PortSpec port(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
PortSpec optionalPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
PortSpec variadicPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
/// An i64 list that the host reads; the attribute of the same name stands in for it.
PortSpec hostPort(std::string name);

AttributeSpec flagAttribute(std::string name, bool value, std::string doc);
AttributeSpec integerAttribute(std::string name, std::int64_t value, std::string doc);
AttributeSpec numberAttribute(std::string name, double value, std::string doc);
AttributeSpec choiceAttribute(std::string name, std::string value, std::vector<std::string> choices,
                              std::string doc);
/// Without a default when `value` is empty.
AttributeSpec dtypeAttribute(std::string name, std::string value, DTypeSet types, std::string doc);
AttributeSpec shapeAttribute(std::string name, std::optional<std::vector<std::int64_t>> value,
                             std::int64_t minimum, std::string doc);
AttributeSpec integersAttribute(std::string name, std::string doc);
/// Without a default.
AttributeSpec numbersAttribute(std::string name, std::string doc);
AttributeSpec textsAttribute(std::string name, std::string doc);
AttributeSpec fileAttribute(std::string name, std::string doc);

/// The dtype that an attribute of completeAttributes names.
DType dtypeOf(const Attributes& attributes, std::string_view name);

/// The shape that two inputs broadcast to. Fails in the words of PyTorch's infer_size.
Shape broadcastInputs(const InferContext& ctx, int a, int b);
Shape broadcastOrFail(const InferContext& ctx, int port, const Shape& a, const Shape& b);

/// Axis in [0, rank); a scalar counts as having one axis, as in PyTorch. `port` -1: it came from an
/// attribute.
int axisOrFail(const InferContext& ctx, std::int64_t axis, int rank, int port);

/// Length of a connected host value; fails when it is no list or its length is not known.
int hostLength(const InferContext& ctx, int port);

/// Bytes of all inputs and outputs and `flopsPerElement` for each element of the first output. In doubles, so
/// that no size overflows.
Cost streamingCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   double flopsPerElement);
double countOf(const Shape& shape);

} // namespace twb
