#include "ops/sampled.h"

#include <cstddef>
#include <numeric>

namespace twb {
namespace {

/// Each tap's weight as a polynomial of the fraction f of the coordinate: [power][tap].
std::vector<std::vector<double>> weightsOf(GridMode mode) {
    if (mode == GridMode::nearest) return {{1}};
    if (mode == GridMode::linear) return {{1, 0}, {-1, 1}};
    constexpr double a = -0.75;
    return {{0, 1, 0, 0}, {a, 0, -a, 0}, {-2 * a, -(a + 3), 2 * a + 3, a}, {a, a + 2, -(a + 2), -a}};
}

GraphTensor isWithin(GraphTensor at, std::int64_t size) {
    return apply("And", {at > -0.5, at < static_cast<double>(size) - 0.5});
}

} // namespace

GraphTensor reflected(GraphTensor coordinate, std::int64_t size, bool corners) {
    const double low = corners ? 0 : -0.5;
    const double range = static_cast<double>(size) - (corners ? 1 : 0);
    if (range <= 0) return zerosLike(coordinate);
    const GraphTensor from = coordinate - low;
    const GraphTensor turn = from - 2 * range * floor(from / (2 * range));
    return range + low - apply("Abs", {turn - range});
}

AxisTaps tapsAt(GraphTensor coordinate, std::int64_t size, GridMode mode, GridPadding padding, bool corners) {
    GradientContext& context = coordinate.context();
    const DType dtype = coordinate.type().dtype;
    const std::vector<std::vector<double>> weights = weightsOf(mode);
    Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(coordinate.shape().rank()) + 1, 1));
    line[0] = static_cast<std::int64_t>(weights[0].size());
    const GraphTensor whole = mode == GridMode::nearest ? coordinate : floor(coordinate);
    const GraphTensor fraction = coordinate - whole;
    GraphTensor weight = constant(context, dtype, line, weights.back());
    for (std::size_t power = weights.size() - 1; power-- > 0;)
        weight = weight * fraction + constant(context, dtype, line, weights[power]);
    std::vector<double> offsets(weights[0].size());
    std::iota(offsets.begin(), offsets.end(), mode == GridMode::cubic ? -1.0 : 0.0);
    GraphTensor at = whole + constant(context, dtype, line, offsets);
    if (padding == GridPadding::zeros) {
        const GraphTensor isInside = isWithin(at, size);
        weight = where(isInside, weight);
        at = where(isInside, at);
    } else {
        if (padding == GridPadding::reflection) at = reflected(at, size, corners);
        at = within(at, 0, static_cast<double>(size - 1));
    }
    return {cast(at, DType::i64), weight};
}

GraphTensor weightedTaps(GraphTensor x, const std::vector<AxisTaps>& axes, GraphTensor images) {
    GradientContext& context = x.context();
    const Shape& shape = x.shape();
    const int places = axes[0].at.shape().rank() - 1;
    std::int64_t plane = 1;
    GraphTensor index;
    GraphTensor weight;
    for (std::size_t a = axes.size(); a-- > 0;) {
        const auto lifted = [&](GraphTensor taps) { // taps along each axis, then images and places
            std::vector<std::int64_t> dims(axes.size(), 1);
            dims[a] = taps.shape()[0];
            dims.insert(dims.end(), taps.shape().begin() + 1, taps.shape().end());
            return reshape(taps, Shape(dims));
        };
        GraphTensor along = lifted(axes[a].at);
        if (plane != 1)
            along = apply("Mul", {along, constant(context, DType::i64, {}, {static_cast<double>(plane)})});
        const GraphTensor factor = lifted(axes[a].weight);
        index = index ? index + along : along;
        weight = weight ? weight * factor : factor;
        plane *= shape[static_cast<int>(a) + 2];
    }
    Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(places), 1));
    line[0] = images ? images.shape()[0] : shape[0];
    if (!images) images = progression(context, DType::i64, shape[0]);
    index = index +
            reshape(apply("Mul", {images, constant(context, DType::i64, {}, {static_cast<double>(plane)})}),
                    line);
    const GraphTensor rows =
        reshape(transpose(reshape(x, {shape[0], shape[1], plane}), {0, 2, 1}), {shape[0] * plane, shape[1]});
    const GraphTensor taken = gather(rows, index, 0);
    std::vector<std::int64_t> dims = weight.shape().dims();
    dims.push_back(1);
    return taken * reshape(cast(weight, x.type().dtype), Shape(dims));
}

} // namespace twb
