#pragma once

#include "core/error.h"
#include "core/shape.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <vector>

namespace twb::test {

// A simple iteration over a tensor's indices, for oracles.

using Place = std::vector<std::int64_t>;

/// The row-major index of a position.
inline std::int64_t indexOf(const Shape& shape, const Place& place) {
    std::int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
        at = at * shape[axis] + place[static_cast<std::size_t>(axis)];
    return at;
}

inline Place placeOf(const Shape& shape, std::int64_t index) {
    Place place(static_cast<std::size_t>(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        place[static_cast<std::size_t>(axis)] = index % shape[axis];
        index /= shape[axis];
    }
    return place;
}

/// value(position) for each position of `shape`, row-major.
inline std::vector<double> eachPlace(const Shape& shape, const std::function<double(Place)>& value) {
    std::vector<double> out(static_cast<std::size_t>(shape.elementCount()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(placeOf(shape, static_cast<std::int64_t>(i)));
    return out;
}

/// Row-major `values` after f was applied to each line along `axis` (negative from the end). A scalar is a
/// line of one element.
inline std::vector<double> eachLine(const Shape& shape, std::int64_t axis, std::vector<double> values,
                                    const std::function<void(std::vector<double>&)>& f) {
    const int rank = shape.rank();
    const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
    std::int64_t inner = 1;
    for (int i = at + 1; i < rank; ++i) inner *= shape[i];
    std::vector<double> line(rank == 0 ? 1 : static_cast<std::size_t>(shape[at]));
    const auto length = static_cast<std::int64_t>(line.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
        if (i / inner % length != 0) continue;
        const auto element = [&](std::size_t k) -> double& {
            return values[static_cast<std::size_t>(i + static_cast<std::int64_t>(k) * inner)];
        };
        for (std::size_t k = 0; k < line.size(); ++k) line[k] = element(k);
        f(line);
        for (std::size_t k = 0; k < line.size(); ++k) element(k) = line[k];
    }
    return values;
}

/// The sentence of the Error that `f` throws; empty if it throws none.
inline QString runError(const std::function<void()>& f) {
    try {
        f();
    } catch (const Error& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

} // namespace twb::test
