#include "backends/cpu/dense_input.h"
#include "backends/cpu/window.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/grid_axis.h"
#include "ops/sampled.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace twb {
namespace {

constexpr int kMaxSpatial = 8;

void inferGridSample(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const Shape& grid = ctx.input(1)->shape;
    const int spatial = x.shape.rank() - 2;
    if (spatial < 1 || spatial > kMaxSpatial)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("grid_sampler(): expected an input of batch, channels and 1 to {} spatial axes, but "
                        "got input of size {}",
                        kMaxSpatial, x.shape.toTorchString()));
    if (grid.rank() != x.shape.rank())
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("grid_sampler(): expected grid and input to have same number of dimensions, but got "
                        "input with sizes {} and grid with sizes {}",
                        x.shape.toTorchString(), grid.toTorchString()));
    const auto meets = [](std::int64_t a, std::int64_t b) {
        return a == b || a == kUnknownDim || b == kUnknownDim;
    };
    if (!meets(grid[0], x.shape[0]))
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("grid_sampler(): expected grid and input to have same batch size, but got input with "
                        "sizes {} and grid with sizes {}",
                        x.shape.toTorchString(), grid.toTorchString()));
    if (!meets(grid[grid.rank() - 1], spatial))
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("grid_sampler(): expected grid to have size {} in last dimension, but got grid with "
                        "sizes {}",
                        spatial, grid.toTorchString()));
    for (int axis = 2; axis < x.shape.rank(); ++axis)
        if (x.shape[axis] == 0)
            ctx.fail(
                "shape-mismatch", 0,
                fmt::format("grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                            "has sizes {} with dimension {} being empty",
                            x.shape.toTorchString(), axis));
    std::vector<std::int64_t> dims{x.shape[0], x.shape[1]};
    dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
    ctx.output(0, {x.dtype, Shape(std::move(dims))});
}

std::vector<double> doublesOf(const TensorView& given) {
    const DenseInput in(given);
    std::vector<double> values(static_cast<std::size_t>(given.elementCount()));
    withFloat(given.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = in.as<T>()[i];
    });
    return values;
}

template <class T> T stored(double value) {
    if constexpr (std::is_integral_v<T>)
        value = std::clamp(value, static_cast<double>(std::numeric_limits<T>::min()),
                           static_cast<double>(std::numeric_limits<T>::max()));
    return element::cast<T>(value);
}

template <class T> void gridSample(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const DenseInput x(ctx.inputs[0]);
    const std::vector<double> grid = doublesOf(ctx.inputs[1]);
    const GridMode mode = gridModeOf(ctx.attributes.text("mode"));
    const GridPadding padding = gridPaddingOf(ctx.attributes.text("padding_mode"));
    const int spatial = x.shape().rank() - 2;
    std::vector<GridAxis> axes;
    std::vector<std::int64_t> steps;
    std::int64_t plane = 1;
    for (int a = spatial - 1; a >= 0; --a) {
        steps.insert(steps.begin(), plane);
        plane *= x.shape()[a + 2];
        axes.insert(axes.begin(),
                    GridAxis(x.shape()[a + 2], mode, padding, ctx.attributes.flag("align_corners")));
    }
    const std::int64_t channels = x.shape()[1];
    const std::int64_t places = out.elementCount() / (x.shape()[0] * channels);
    const std::int64_t rows = x.shape()[0] * places;
    T* const y = out.as<T>();
    parallelRanges(rows, rows * channels * 16, 1, [&](std::int64_t begin, std::int64_t end) {
        std::array<GridTaps, kMaxSpatial> taps;
        for (std::int64_t row = begin; row < end; ++row) {
            for (int a = 0; a < spatial; ++a)
                // The first number of a grid point is the coordinate along the last axis.
                taps[static_cast<std::size_t>(a)] = axes[static_cast<std::size_t>(a)].tapsOf(
                    grid[static_cast<std::size_t>(row * spatial + spatial - 1 - a)]);
            const std::int64_t image = row / places;
            for (std::int64_t c = 0; c < channels; ++c) {
                const T* const from = x.as<T>() + (image * channels + c) * plane;
                double sum = 0;
                GridPlace tap;
                do {
                    std::int64_t at = 0;
                    double share = 1;
                    bool inside = true;
                    for (int a = 0; a < spatial; ++a) {
                        const GridTaps& along = taps[static_cast<std::size_t>(a)];
                        const std::int64_t t = tap[a];
                        inside = inside && along.at[t] >= 0;
                        at += along.at[t] * steps[static_cast<std::size_t>(a)];
                        share *= along.share[t];
                    }
                    if (inside && share != 0) sum += share * static_cast<double>(from[at]);
                } while (tap.next(spatial, [&](int a) { return taps[static_cast<std::size_t>(a)].count; }));
                y[(image * channels + c) * places + row % places] = stored<T>(sum);
            }
        }
    });
}

void gridSampleKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    withNumber(ctx.outputs[0].dtype, [&](auto zero) { gridSample<decltype(zero)>(ctx); });
}

/// GridSample by simpler ops: elements around the grid's points and their weights.
std::vector<GraphTensor> gridSampleOf(GradientContext& g) {
    const Shape& x = g.input(0).shape();
    const Shape& given = g.input(1).shape();
    const GridMode mode = gridModeOf(g.attributes().text("mode"));
    const GridPadding padding = gridPaddingOf(g.attributes().text("padding_mode"));
    const bool corners = g.attributes().flag("align_corners");
    const std::int64_t spatial = x.rank() - 2;
    const std::int64_t places = given.elementCount() / std::max<std::int64_t>(given[0] * spatial, 1);
    const GraphTensor grid =
        reshape(cast(g.input(1), forPositions(g.input(1).type().dtype)), {given[0], places, spatial});
    std::vector<AxisTaps> axes;
    for (std::int64_t a = 0; a < spatial; ++a) {
        const auto size = static_cast<double>(x[static_cast<int>(a) + 2]);
        // The coordinate along the last axis comes first.
        const GraphTensor from =
            reshape(slice(grid, 2, spatial - 1 - a, spatial - a), {given[0], places}) + 1;
        GraphTensor at = corners ? from * ((size - 1) / 2) : (from * size - 1) / 2;
        // NaN counts as far outside: 0 with padding `zeros`, else the element that the padding gives.
        at = where(apply("IsNaN", {at}), -1e15, within(at, -1e15, 1e15));
        if (mode == GridMode::nearest) at = apply("Round", {at});
        if (mode != GridMode::cubic && padding == GridPadding::reflection)
            at = reflected(at, x[static_cast<int>(a) + 2], corners);
        axes.push_back(tapsAt(at, x[static_cast<int>(a) + 2], mode, padding, corners));
    }
    std::vector<std::int64_t> taps(static_cast<std::size_t>(spatial));
    std::iota(taps.begin(), taps.end(), 0);
    const GraphTensor sums = reshape(sumOver(weightedTaps(g.input(0), axes), taps), {x[0], places, x[1]});
    std::vector<std::int64_t> out{x[0], x[1]};
    out.insert(out.end(), given.begin() + 1, given.end() - 1);
    return {reshape(transpose(sums, {0, 2, 1}), Shape(std::move(out)))};
}

void inferAffineGrid(InferContext& ctx) {
    const TensorType& theta = *ctx.input(0);
    const auto size = ctx.integers(1);
    if (!size && !ctx.input(1))
        ctx.fail("attribute", -1, "AffineGrid needs a size: connect one, or set the attribute \"size\"");
    const int axes = size ? static_cast<int>(size->size()) : hostLength(ctx, 1);
    if (axes != 4 && axes != 5)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                             "respectively. Got a size of {} entries",
                             axes));
    const std::int64_t spatial = axes - 2;
    const Shape wanted{size ? (*size)[0] : kUnknownDim, spatial, spatial + 1};
    bool fits = theta.shape.rank() == 3;
    for (int axis = 0; fits && axis < 3; ++axis)
        fits = theta.shape[axis] == wanted[axis] || theta.shape[axis] == kUnknownDim ||
               wanted[axis] == kUnknownDim;
    if (!fits)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("Expected a batch of {}D affine matrices of shape {}, but got {}", spatial,
                             wanted.toTorchString(), theta.shape.toTorchString()));
    std::vector<std::int64_t> dims{theta.shape[0]};
    for (std::size_t i = 2; i < static_cast<std::size_t>(axes); ++i) {
        dims.push_back(size ? (*size)[i] : kUnknownDim);
        if (size && dims.back() < 1)
            ctx.fail(
                ctx.input(1) ? "shape-mismatch" : "attribute", ctx.input(1) ? 1 : -1,
                fmt::format("Expected non-zero, positive output size. Got {}", Shape(*size).toTorchString()));
    }
    dims.push_back(spatial);
    ctx.output(0, {theta.dtype, Shape(std::move(dims))});
}

void affineGridKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const std::vector<double> theta = doublesOf(ctx.inputs[0]);
    const bool corners = ctx.attributes.flag("align_corners");
    const int spatial = out.shape.rank() - 2;
    std::int64_t places = 1;
    for (int a = 0; a < spatial; ++a) places *= out.shape[a + 1];
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const y = out.as<T>();
        const std::int64_t rows = out.shape[0] * places;
        parallelRanges(rows, rows * 16, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const auto place =
                    GridPlace::of(row % places, spatial, [&](int a) { return out.shape[a + 1]; });
                std::array<double, 4> at{};
                for (int a = 0; a < spatial; ++a) {
                    // The coordinate along the last axis comes first.
                    at[static_cast<std::size_t>(spatial - 1 - a)] =
                        gridCoordinate(place[a], out.shape[a + 1], corners);
                }
                at[static_cast<std::size_t>(spatial)] = 1;
                const double* const matrix = theta.data() + row / places * spatial * (spatial + 1);
                for (int r = 0; r < spatial; ++r) {
                    double sum = 0;
                    for (int k = 0; k <= spatial; ++k)
                        sum += matrix[r * (spatial + 1) + k] * at[static_cast<std::size_t>(k)];
                    y[row * spatial + r] = static_cast<T>(sum);
                }
            }
        });
    });
}

/// The sum of theta's columns, each times the coordinate along its axis.
std::vector<GraphTensor> affineGridOf(GradientContext& g) {
    const Shape out = g.output().shape();
    const int spatial = out.rank() - 2;
    const DType dtype = forPositions(g.input().type().dtype);
    Shape column(std::vector<std::int64_t>(static_cast<std::size_t>(out.rank()), 1));
    column[0] = out[0];
    column[spatial + 1] = spatial;
    GraphTensor sum;
    for (int k = 0; k <= spatial; ++k) {
        GraphTensor part = reshape(slice(cast(g.input(), dtype), 2, k, k + 1), column);
        if (k < spatial) {
            const int axis = spatial - k; // the coordinate along the last axis comes first
            std::vector<double> at;
            for (std::int64_t i = 0; i < out[axis]; ++i)
                at.push_back(gridCoordinate(i, out[axis], g.attributes().flag("align_corners")));
            Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(out.rank()), 1));
            line[axis] = out[axis];
            part = part * constant(g, dtype, line, at);
        }
        sum = sum ? sum + part : part;
    }
    return {cast(sum, g.input().type().dtype)};
}

} // namespace

void addSampling(std::vector<Op>& table) {
    Op sample = makeOp("GridSample", "Image", 22, "Samples the input at the coordinates of a grid");
    sample.inputs = {port("X", "input", kNumbers, "T1"), port("grid", "grid", kFloats, "T2")};
    sample.outputs = {port("Y", "", kNumbers, "T1")};
    sample.attributes = {
        choiceAttribute("mode", "linear", {"linear", "nearest", "cubic"}, "How to interpolate"),
        choiceAttribute("padding_mode", "zeros", {"zeros", "border", "reflection"},
                        "Values outside the input"),
        flagAttribute("align_corners", false,
                      "−1 and 1 are the centres of the first and the last element, not their outer edges")};
    sample.tolerance = {1e-5, 1e-5};
    sample.infer = inferGridSample;
    sample.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes& attributes) {
        const std::string& mode = attributes.text("mode");
        return streamingCost(inputs, outputs, mode == "cubic" ? 48 : mode == "linear" ? 12 : 1);
    };
    sample.kernel = viaFloat<gridSampleKernel>;
    sample.gradient = [](GradientContext& g) { differentiate(g, gridSampleOf); };
    table.push_back(std::move(sample));

    Op affine = makeOp("AffineGrid", "Image", 20, "The grid for GridSample from an affine transform",
                       "grid = theta × (x, y, 1)");
    affine.inputs = {port("theta", "theta", kFloats, "T1"), hostPort("size")};
    affine.outputs = {port("grid", "", kFloats, "T1")};
    affine.attributes = {
        shapeAttribute("size", std::nullopt, 0, "Batch, channels and spatial sizes of the result"),
        flagAttribute("align_corners", false,
                      "−1 and 1 are the centres of the first and the last element, not their outer edges")};
    affine.tolerance = {1e-6, 1e-6};
    affine.infer = inferAffineGrid;
    affine.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes&) { return streamingCost(inputs, outputs, 6); };
    affine.kernel = viaFloat<affineGridKernel>;
    affine.gradient = [](GradientContext& g) { differentiate(g, affineGridOf); };
    table.push_back(std::move(affine));

    describe(table, "GridSample", "X [n, c, h, w] · grid [n, eh, ew, 2] → Y [n, c, eh, ew]",
             {operand({1, 1, 4, 4}), operand({1, 2, 2, 2}, {-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5})})
        .formula = "Y[i, j] = X at grid[i, j], which counts from −1 to 1, interpolated";
    describe(table, "AffineGrid", "theta [n, 2, 3] · size [n, c, h, w] → grid [n, h, w, 2]",
             {operand({1, 2, 3}, {1, 0, 0, 0, 1, 0})}, {{"size", Integers{1, 1, 2, 2}}});
}

} // namespace twb
