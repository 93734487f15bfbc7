#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"
#include "ops/grid_axis.h"
#include "ops/regions.h"

#include <array>
#include <bit>

namespace twb::cuda {
namespace {

// Ops that interpolate images: regions of interest and sampling grids.

RegionSizes sizesOf(const TensorView& x, const TensorView& out) {
    return {x.shape[1], x.shape[2], x.shape[3], out.shape[2], out.shape[3]};
}

/// Checks `count` coordinates starting at `first`; reports those that would overflow.
template <class T>
TWB_HOST_DEVICE bool areCoordinates(const T* regions, std::int64_t first, int count, Fault* fault) {
    for (std::int64_t i = first; i < first + count; ++i)
        if (const auto x = widened(regions[i]); !isRegionCoordinate(x)) {
            raise(fault, Fault::badCoordinate, std::bit_cast<std::int64_t>(static_cast<double>(x)), 0, i);
            return false;
        }
    return true;
}

TWB_HOST_DEVICE inline bool isImage(std::int64_t image, std::int64_t batch, Fault* fault) {
    if (image >= 0 && image < batch) return true;
    raise(fault, Fault::noSuchImage, image, 0, batch);
    return false;
}

template <class T> struct AlignRegions {
    RegionAlign<T, Wide<T>> region;
    T* out;
    std::int64_t ofRegion, batch;
    Fault* fault;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t r = i / ofRegion;
        if (areCoordinates(region.regions, r * 4, 4, fault) && isImage(region.images[r], batch, fault))
            out[i] = stored<T>(region(i));
    }
};

void roiAlignKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView rois(call.queue, call.inputs[1]);
    const DenseView images(call.queue, call.inputs[2]);
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const RegionAlign<T, Wide<T>> region{sizesOf(x.view(), out),
                                             x.as<T>(),
                                             rois.as<T>(),
                                             images.as<std::int64_t>(),
                                             call.attributes.number("spatial_scale"),
                                             call.attributes.integer("sampling_ratio"),
                                             call.attributes.text("coordinate_transformation_mode") ==
                                                 "half_pixel",
                                             call.attributes.text("mode") == "max"};
        forEach(call.queue, out.elementCount(),
                AlignRegions<T>{region, out.as<T>(), out.elementCount() / out.shape[0], x.shape()[0],
                                call.queue.fault()});
    });
}

template <class T> struct PoolRegions {
    RegionMax<T, Wide<T>> region;
    T* out;
    std::int64_t ofRegion, batch;
    Fault* fault;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t first = i / ofRegion * 5;
        if (areCoordinates(region.regions, first, 5, fault) &&
            isImage(static_cast<std::int64_t>(widened(region.regions[first])), batch, fault))
            out[i] = stored<T>(region(i));
    }
};

void maxRoiPoolKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView rois(call.queue, call.inputs[1]);
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                PoolRegions<T>{{sizesOf(x.view(), out), x.as<T>(), rois.as<T>(),
                                call.attributes.number("spatial_scale")},
                               out.as<T>(),
                               out.elementCount() / out.shape[0],
                               x.shape()[0],
                               call.queue.fault()});
    });
}

// GridSample

constexpr int kMaxGridAxes = 8;

template <class T> struct SampleGrid {
    const T* x;
    const double* grid;
    T* out;
    int axes;
    std::array<GridAxis, kMaxGridAxes> axis;
    std::array<std::int64_t, kMaxGridAxes> steps;
    std::int64_t channels, places, plane;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t from = i / places; // the plane of one image and channel
        const std::int64_t row = from / channels * places + i % places;
        GridTaps taps[kMaxGridAxes];
        int tap[kMaxGridAxes] = {};
        TWB_ROLLED
        for (int a = 0; a < axes; ++a)
            // The first number of a grid point is the coordinate along the last axis.
            taps[a] = axis[a].tapsOf(grid[row * axes + axes - 1 - a]);
        double sum = 0;
        for (int a = 0; a >= 0;) {
            std::int64_t at = 0;
            double share = 1;
            bool isInside = true;
            TWB_ROLLED
            for (a = 0; a < axes; ++a) {
                isInside = isInside && taps[a].at[tap[a]] >= 0;
                at += taps[a].at[tap[a]] * steps[a];
                share *= taps[a].share[tap[a]];
            }
            if (isInside && share != 0) sum += share * static_cast<double>(widened(x[from * plane + at]));
            for (--a; a >= 0 && ++tap[a] == taps[a].count; --a) tap[a] = 0;
        }
        out[i] = stored<T>(element::cast<Wide<T>>(sum));
    }
};

void gridSampleKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseView x(call.queue, call.inputs[0]);
    const ConvertedView grid(call.queue, DType::f64, call.inputs[1]);
    const GridMode mode = gridModeOf(call.attributes.text("mode"));
    const GridPadding padding = gridPaddingOf(call.attributes.text("padding_mode"));
    const bool corners = call.attributes.flag("align_corners");
    withStoredNumber(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        SampleGrid<T> sample{x.as<T>(), grid.as<double>(), out.as<T>(), x.shape().rank() - 2, {}, {}, 0, 0,
                             1};
        for (int a = sample.axes - 1; a >= 0; --a) {
            sample.axis[static_cast<std::size_t>(a)] = GridAxis(x.shape()[a + 2], mode, padding, corners);
            sample.steps[static_cast<std::size_t>(a)] = sample.plane;
            sample.plane *= x.shape()[a + 2];
        }
        sample.channels = x.shape()[1];
        sample.places = out.elementCount() / (x.shape()[0] * sample.channels);
        forEach(call.queue, out.elementCount(), sample);
    });
}

// AffineGrid

template <class T> struct MakeGrid {
    const double* theta;
    T* out;
    int axes;
    std::array<std::int64_t, 3> sizes;
    std::int64_t places;
    bool corners;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / axes;
        const double* const matrix = theta + (row / places * axes + i % axes) * (axes + 1);
        double sum = 0;
        std::int64_t rest = row % places;
        // The coordinate along the last axis comes first.
        TWB_ROLLED
        for (int a = axes - 1; a >= 0; --a) {
            sum += matrix[axes - 1 - a] * gridCoordinate(rest % sizes[a], sizes[a], corners);
            rest /= sizes[a];
        }
        sum += matrix[axes];
        out[i] = stored<T>(static_cast<Wide<T>>(sum));
    }
};

void affineGridKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const ConvertedView theta(call.queue, DType::f64, call.inputs[0]);
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        MakeGrid<T> make{theta.as<double>(),
                         out.as<T>(),
                         out.shape.rank() - 2,
                         {},
                         1,
                         call.attributes.flag("align_corners")};
        for (int a = 0; a < make.axes; ++a) {
            make.sizes[static_cast<std::size_t>(a)] = out.shape[a + 1];
            make.places *= out.shape[a + 1];
        }
        forEach(call.queue, out.elementCount(), make);
    });
}

} // namespace

void addSamplingKernels(KernelMap& table) {
    add(table, "RoiAlign", roiAlignKernel);
    add(table, "MaxRoiPool", maxRoiPoolKernel);
    add(table, "GridSample", gridSampleKernel);
    add(table, "AffineGrid", affineGridKernel);
}

} // namespace twb::cuda
