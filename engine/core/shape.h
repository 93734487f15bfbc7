#pragma once

#include "core/dtype.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// A dimension whose size is known only when the graph runs.
inline constexpr std::int64_t kUnknownDim = -1;

/// Sizes, outermost first. Rank 0 is a scalar with one element; a dimension of 0 is a tensor with none.
class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<std::int64_t> dims) : m_dims(dims) {}
    explicit Shape(std::vector<std::int64_t> dims) : m_dims(std::move(dims)) {}

    int rank() const noexcept { return static_cast<int>(m_dims.size()); }
    std::int64_t operator[](int axis) const { return m_dims[static_cast<std::size_t>(axis)]; }
    std::int64_t& operator[](int axis) { return m_dims[static_cast<std::size_t>(axis)]; }
    const std::vector<std::int64_t>& dims() const noexcept { return m_dims; }
    auto begin() const noexcept { return m_dims.begin(); }
    auto end() const noexcept { return m_dims.end(); }

    /// True when no dimension is kUnknownDim.
    bool isKnown() const noexcept;
    /// Product of the dimensions. Throws Error(invalidArgument) when it does not fit in 63 bits or a
    /// dimension is negative: a size that overflows is an error, never a wrap.
    std::int64_t elementCount() const;
    /// elementCount() times the size of dtype, with the same errors.
    std::int64_t byteCount(DType dtype) const;
    /// "360×64", "scalar" for rank 0; unknown dimensions print as "?".
    std::string toString() const;
    /// "[360, 64]", as PyTorch prints a size.
    std::string toTorchString() const;

    bool operator==(const Shape&) const = default;

private:
    std::vector<std::int64_t> m_dims;
};

/// Distance, in elements, between neighbours along each axis. 0 repeats (broadcast).
using Strides = std::vector<std::int64_t>;

/// Row-major strides of a dense tensor.
Strides denseStrides(const Shape& shape);
/// Strides of a dense tensor whose channels, axis 1, lie innermost: batch, spatial axes, channels. Needs two
/// axes.
Strides channelsLastStrides(const Shape& shape);

/// The shape that a and b broadcast to by NumPy's rule (ONNX "multidirectional broadcasting"), or
/// nothing when an axis differs and neither side is 1. An unknown dimension meets 1 or itself as unknown.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// Axis in [0, rank) from one in [-rank, rank); nothing when out of range.
std::optional<int> normalizeAxis(std::int64_t axis, int rank) noexcept;

/// What is known of a tensor before it exists.
struct TensorType {
    DType dtype = DType::f32;
    Shape shape;

    bool isKnown() const noexcept { return shape.isKnown(); }
    std::int64_t byteCount() const { return shape.byteCount(dtype); }
    /// "f32 360×64"
    std::string toString() const;
    bool operator==(const TensorType&) const = default;
};

} // namespace twb
