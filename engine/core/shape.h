#pragma once

#include "core/dtype.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A dimension whose size is known only at run time.
inline constexpr std::int64_t kUnknownDim = -1;

/// Sizes, outermost first. Rank 0 is a scalar with one element; a tensor with a dimension of 0 has no
/// elements.
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

    /// Whether no dimension is kUnknownDim.
    bool isKnown() const noexcept;
    /// The product of the dimensions. Throws Error(invalidArgument) if it exceeds 63 bits or a dimension is
    /// negative; it never wraps.
    std::int64_t elementCount() const;
    /// The bytes of a dense tensor, with the same errors: elementCount() times the size of dtype, or for a
    /// packed dtype as many bytes as hold all elements.
    std::int64_t byteCount(DType dtype) const;
    /// "360×64", "scalar" for rank 0; unknown dimensions print as "?".
    std::string toString() const;
    /// "[360, 64]", as PyTorch prints a size.
    std::string toTorchString() const;

    bool operator==(const Shape&) const = default;

private:
    std::vector<std::int64_t> m_dims;
};

/// The distance in elements between neighbours along each axis. 0 repeats an element (broadcast).
using Strides = std::vector<std::int64_t>;

/// Row-major strides of a dense tensor.
Strides denseStrides(const Shape& shape);
/// Strides of a dense tensor with its channels (axis 1) innermost: batch, spatial axes, channels. Needs two
/// axes.
Strides channelsLastStrides(const Shape& shape);

/// The shape to which a and b broadcast by NumPy's rule (ONNX "multidirectional broadcasting"); nothing if an
/// axis differs and neither size is 1. An unknown dimension with 1 or with itself stays unknown.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// Converts an axis in [-rank, rank) to [0, rank); nothing if it is out of range.
std::optional<int> normalizeAxis(std::int64_t axis, int rank) noexcept;

/// The dtype and shape of a tensor.
struct TensorType {
    DType dtype = DType::f32;
    Shape shape;

    bool isKnown() const noexcept { return shape.isKnown(); }
    std::int64_t byteCount() const { return shape.byteCount(dtype); }
    /// "f32 360×64"
    std::string toString() const;
    bool operator==(const TensorType&) const = default;
};

/// The type of "f32[2,3]"; "i64[]" is a scalar. Nothing if the text is not a type with known sizes.
std::optional<TensorType> parseTensorType(std::string_view text);

} // namespace twb
