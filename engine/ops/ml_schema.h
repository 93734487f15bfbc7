#pragma once

#include "ops/schema.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// What the ops of the domain ai.onnx.ml share: models that are no networks, as ONNX's converters write them.
// Source: https://onnx.ai/onnx/operators/, ai.onnx.ml. Those of its ops that need tensors of texts are left
// out, and so are the attributes that hold texts for data.

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
/// What nearly all of them take; results are f32 as a rule.
inline constexpr DTypeSet kMlTypes{DType::f32, DType::f64, DType::i32, DType::i64};

Op makeMlOp(std::string name, int version, std::string doc, std::string formula, DTypeSet types,
            DTypeSet results);

/// A list that may be absent: then it is empty.
std::vector<double> numbersOrNone(const Attributes& attributes, std::string_view name);
std::vector<std::int64_t> integersOrNone(const Attributes& attributes, std::string_view name);

/// Fails unless input 0 is [C], or [N, C].
void needRows(const InferContext& ctx);
/// N and C of such an input; [C] is one row.
std::int64_t rowsOf(const Shape& shape);
std::int64_t columnsOf(const Shape& shape);

/// Fails unless a list of `length` entries is empty, of one entry, or has one for each element along the last
/// axis of input 0.
void needPerFeature(const InferContext& ctx, std::string_view name, std::size_t length);

/// Fails unless exactly one of two lists is given; true: the first one is.
bool needOneOf(const InferContext& ctx, std::string_view first, std::string_view second);

} // namespace twb
