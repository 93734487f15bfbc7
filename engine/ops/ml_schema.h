#pragma once

#include "ops/schema.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// Shared parts of the ops of the domain ai.onnx.ml: classical models, as written by ONNX's converters.
// Source: https://onnx.ai/onnx/operators/, ai.onnx.ml. Ops that need string tensors are not supported, nor
// are attributes that hold data as strings.

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
/// The dtypes that nearly all of them accept. Results are usually f32.
inline constexpr DTypeSet kMlTypes{DType::f32, DType::f64, DType::i32, DType::i64};

Op makeMlOp(std::string name, int version, std::string doc, std::string formula, DTypeSet types,
            DTypeSet results);

/// An optional list, empty if absent.
std::vector<double> numbersOrNone(const Attributes& attributes, std::string_view name);
std::vector<std::int64_t> integersOrNone(const Attributes& attributes, std::string_view name);

/// Fails unless input 0 is [C], or [N, C].
void needRows(const InferContext& ctx);
/// N and C of such an input; [C] is a single row.
std::int64_t rowsOf(const Shape& shape);
std::int64_t columnsOf(const Shape& shape);

/// Fails unless a list of `length` entries is empty, has one entry, or has one entry per element along the
/// last axis of input 0.
void needPerFeature(const InferContext& ctx, std::string_view name, std::size_t length);

/// Fails unless exactly one of two lists is given. True if it is the first one.
bool needOneOf(const InferContext& ctx, std::string_view first, std::string_view second);

} // namespace twb
