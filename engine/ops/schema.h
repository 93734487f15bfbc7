#pragma once

#include "backends/cpu/strided.h"
#include "ops/op.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// Building blocks of op entries: sets of dtypes, ports, attributes, and checks that infer functions share.

inline constexpr DTypeSet kFloats{DType::f32, DType::f64, DType::f16, DType::bf16};
inline constexpr DTypeSet kSignedIntegers{DType::i8, DType::i16, DType::i32, DType::i64};
inline constexpr DTypeSet kUnsignedIntegers{DType::u8, DType::u16, DType::u32, DType::u64};
inline constexpr DTypeSet kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr DTypeSet kSigned = kFloats | kSignedIntegers;
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
/// The dtypes of ONNX's matrix products: no integers narrower than 32 bits.
inline constexpr DTypeSet kMatrixTypes = kFloats | DTypeSet{DType::i32, DType::i64, DType::u32, DType::u64};
inline constexpr DTypeSet kIndices{DType::i32, DType::i64};
inline constexpr DTypeSet kBool{DType::boolean};
/// All that ops calculate with.
inline constexpr DTypeSet kAll = kNumbers | kBool;
inline constexpr DTypeSet kNarrowFloats{DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2,
                                        DType::f8e5m2fnuz, DType::f8e8m0,     DType::f4e2m1};
inline constexpr DTypeSet kNarrowIntegers{DType::i4, DType::u4, DType::i2, DType::u2};
/// All that a tensor may have: for ops that only store, copy or convert their elements.
inline constexpr DTypeSet kStored = kAll | kNarrowFloats | kNarrowIntegers;

/// The dtypes of a set, as listed in messages and choices.
std::vector<std::string> namesOf(DTypeSet types);

Op makeOp(std::string name, std::string category, int opset, std::string doc, std::string formula = {});
/// An op that computes each element of Y from the element of X at the same index. The types are equal, and Y
/// may reuse X's memory.
Op makeUnary(std::string name, std::string category, int opset, std::string doc, std::string formula,
             DTypeSet types, double flopsPerElement, HostKernel kernel);

PortSpec port(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
PortSpec optionalPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
PortSpec variadicPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable = {});
/// An i64 list that the host reads, from the input or the attribute of the same name.
PortSpec hostPort(std::string name);

AttributeSpec flagAttribute(std::string name, bool value, std::string doc);
AttributeSpec integerAttribute(std::string name, std::int64_t value, std::string doc);
AttributeSpec numberAttribute(std::string name, double value, std::string doc);
AttributeSpec choiceAttribute(std::string name, std::string value, std::vector<std::string> choices,
                              std::string doc);
/// Without a default if `value` is empty.
AttributeSpec dtypeAttribute(std::string name, std::string value, DTypeSet types, std::string doc);
AttributeSpec shapeAttribute(std::string name, std::optional<std::vector<std::int64_t>> value,
                             std::int64_t minimum, std::string doc);
AttributeSpec integersAttribute(std::string name, std::string doc);
/// Without a default.
AttributeSpec numbersAttribute(std::string name, std::string doc);
AttributeSpec textsAttribute(std::string name, std::string doc);
AttributeSpec fileAttribute(std::string name, std::string doc);

/// The dtype in an attribute of completeAttributes.
DType dtypeOf(const Attributes& attributes, std::string_view name);

/// The shape to which two inputs broadcast. Fails in the words of PyTorch's infer_size.
Shape broadcastInputs(const InferContext& ctx, int a, int b);
Shape broadcastOrFail(const InferContext& ctx, int port, const Shape& a, const Shape& b);

/// An axis in [0, rank). A scalar counts as one axis, as in PyTorch. `port` -1: the axis came from an
/// attribute.
int axisOrFail(const InferContext& ctx, std::int64_t axis, int rank, int port);

/// The length of a connected host value. Fails if it is not a list or its length is unknown.
int hostLength(const InferContext& ctx, int port);

/// The bytes of all inputs and outputs, and `flopsPerElement` per element of the first output. In doubles, so
/// that sizes cannot overflow.
Cost streamingCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   double flopsPerElement);
double countOf(const Shape& shape);

} // namespace twb
