#include "core/shape.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace twb {

bool Shape::isKnown() const noexcept {
    return std::none_of(m_dims.begin(), m_dims.end(), [](std::int64_t d) { return d == kUnknownDim; });
}

namespace {

/// The product of the sizes, with 1 for a size of 0. Strides are made of it, so it must fit into 63 bits for
/// an empty tensor, too.
std::int64_t extentOf(const Shape& shape) {
    std::int64_t extent = 1;
    for (const std::int64_t size : shape) {
        if (size < 0)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("the shape {} has no element count: a size is negative or not yet known",
                                    shape.toTorchString()));
        if (__builtin_mul_overflow(extent, std::max<std::int64_t>(size, 1), &extent))
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("the shape {} has more elements than 64 bits can count", shape.toTorchString()));
    }
    return extent;
}

bool isEmpty(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

} // namespace

std::int64_t Shape::elementCount() const {
    const std::int64_t extent = extentOf(*this);
    return isEmpty(*this) ? 0 : extent;
}

std::int64_t Shape::byteCount(DType dtype) const {
    std::int64_t bytes = 0;
    if (isPacked(dtype)) {
        const std::int64_t perByte = 8 / bitsOf(dtype);
        const std::int64_t count = elementCount();
        return count / perByte + (count % perByte != 0 ? 1 : 0);
    }
    if (__builtin_mul_overflow(extentOf(*this), static_cast<std::int64_t>(sizeOf(dtype)), &bytes))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("a tensor of shape {} and dtype {} has more bytes than 64 bits can count",
                                toTorchString(), name(dtype)));
    return isEmpty(*this) ? 0 : bytes;
}

namespace {
std::string join(const std::vector<std::int64_t>& dims, std::string_view separator) {
    std::string text;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (i) text += separator;
        text += dims[i] == kUnknownDim ? std::string("?") : std::to_string(dims[i]);
    }
    return text;
}
} // namespace

std::string Shape::toString() const { return m_dims.empty() ? "scalar" : join(m_dims, "×"); }
std::string Shape::toTorchString() const { return "[" + join(m_dims, ", ") + "]"; }

Strides denseStrides(const Shape& shape) {
    Strides strides(static_cast<std::size_t>(shape.rank()));
    std::int64_t step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        strides[static_cast<std::size_t>(axis)] = step;
        step *= std::max<std::int64_t>(shape[axis], 1);
    }
    return strides;
}

Strides channelsLastStrides(const Shape& shape) {
    Strides strides(static_cast<std::size_t>(shape.rank()));
    strides[1] = 1;
    std::int64_t step = std::max<std::int64_t>(shape[1], 1);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        if (axis == 1) continue;
        strides[static_cast<std::size_t>(axis)] = step;
        step *= std::max<std::int64_t>(shape[axis], 1);
    }
    return strides;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank; ++i) {
        const int ai = i - (rank - a.rank());
        const int bi = i - (rank - b.rank());
        const std::int64_t x = ai < 0 ? 1 : a[ai];
        const std::int64_t y = bi < 0 ? 1 : b[bi];
        std::int64_t& out = dims[static_cast<std::size_t>(i)];
        if (x == y || y == 1)
            out = x;
        else if (x == 1)
            out = y;
        else if (x == kUnknownDim)
            out = y;
        else if (y == kUnknownDim)
            out = x;
        else
            return std::nullopt;
    }
    return Shape(std::move(dims));
}

std::optional<int> normalizeAxis(std::int64_t axis, int rank) noexcept {
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::string TensorType::toString() const { return fmt::format("{} {}", name(dtype), shape.toString()); }

std::optional<TensorType> parseTensorType(std::string_view text) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
    const auto dtype = parseDType(text.substr(0, open));
    if (!dtype) return std::nullopt;
    std::vector<std::int64_t> dims;
    const char* at = text.data() + open + 1;
    const char* const end = text.data() + text.size() - 1;
    while (at != end) {
        std::int64_t size = -1;
        const auto [next, error] = std::from_chars(at, end, size);
        if (error != std::errc() || size < 0 || (next != end && (*next != ',' || next + 1 == end)))
            return std::nullopt;
        dims.push_back(size);
        at = next == end ? end : next + 1;
    }
    return TensorType{*dtype, Shape(std::move(dims))};
}

} // namespace twb
