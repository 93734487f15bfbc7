#include "ops/resize_plan.h"

#include "ops/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw InferError("attribute", -1, sentence); }

std::int64_t checkedSize(double size) {
    if (!(size >= 0) || size > 0x1p53)
        throw InferError(
            "too-large", -1,
            fmt::format("the result would have {} elements along an axis, which is too many", size));
    return static_cast<std::int64_t>(size);
}

/// How positions in the result map to the input.
class Coordinates {
public:
    Coordinates(const std::string& mode, const AxisPlan& plan) : m_mode(mode), m_plan(plan) {}

    double at(std::int64_t place) const {
        const auto x = static_cast<double>(place);
        const auto in = static_cast<double>(m_plan.in);
        const double scale = m_plan.scale;
        // The exact product, which may be fractional, as in ONNX's reference.
        const double out = scale * in;
        if (m_mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
        if (m_mode == "asymmetric") {
            // The quotient of the sizes is rounded, but this is exact where an element is hit.
            const auto places = static_cast<double>(m_plan.out);
            return scale == places / in ? x * in / places : x / scale;
        }
        if (m_mode == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
        if (m_mode == "tf_crop_and_resize") {
            const double length = m_plan.roiEnd - m_plan.roiBegin;
            const auto places = static_cast<double>(m_plan.out);
            return m_plan.roiBegin * (in - 1) +
                   (m_plan.out <= 1 ? length * (in - 1) / 2 : x * length * (in - 1) / (places - 1));
        }
        if (m_mode == "pytorch_half_pixel" && out == 1) return -0.5;
        double shift = 0;
        if (m_mode == "half_pixel_symmetric") shift = in / 2 * (1 - static_cast<double>(m_plan.out) / out);
        return shift + (x + 0.5) / scale - 0.5;
    }

    /// Whether a position is outside the cropped region.
    bool isOutside(double x) const {
        return m_mode == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(m_plan.in - 1));
    }

private:
    const std::string& m_mode;
    const AxisPlan& m_plan;
};

double cubicShare(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

std::int64_t nearestOf(double x, const std::string& mode) {
    double place = 0;
    if (mode == "floor")
        place = std::floor(x);
    else if (mode == "ceil")
        place = std::ceil(x);
    else if (mode == "round_prefer_ceil")
        place = std::floor(x + 0.5);
    else
        place = std::ceil(x - 0.5);
    return static_cast<std::int64_t>(std::clamp(place, -0x1p53, 0x1p53));
}

} // namespace

std::vector<std::int64_t> resizedAxes(const Attributes& attributes, int rank) {
    std::vector<std::int64_t> axes;
    if (attributes.has("axes")) {
        for (std::int64_t axis : attributes.integers("axes")) {
            const auto at = normalizeAxis(axis, rank);
            if (!at)
                refuse(fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                                   -rank, rank - 1, axis));
            if (std::find(axes.begin(), axes.end(), *at) != axes.end())
                refuse(fmt::format("dim {} appears multiple times in the list of dims", *at));
            axes.push_back(*at);
        }
    }
    if (axes.empty())
        for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

std::vector<AxisPlan> plansOf(const Attributes& attributes, const Shape& in, const ResizeRequest& request) {
    const bool crops = attributes.text("coordinate_transformation_mode") == "tf_crop_and_resize";
    const std::size_t count = request.axes.size();
    const auto requireCount = [&](const char* what, std::size_t got, std::size_t wanted) {
        if (got != wanted)
            throw InferError(
                "shape-mismatch", -1,
                fmt::format("{} must have {} entries for {} axes, but has {}", what, wanted, count, got));
    };
    if (crops) {
        if (!request.roi) refuse("tf_crop_and_resize needs roi, the region to resize");
        requireCount("roi", request.roi->size(), 2 * count);
    }
    if (request.scales && request.sizes) refuse("Resize takes scales or sizes, not both");
    if (!request.scales && !request.sizes)
        refuse("Resize needs scales or sizes: connect one, or set the attribute");
    std::vector<AxisPlan> plans(count);
    for (std::size_t i = 0; i < count; ++i) {
        AxisPlan& plan = plans[i];
        plan.axis = static_cast<int>(request.axes[i]);
        plan.in = in[plan.axis];
        if (crops) {
            plan.roiBegin = (*request.roi)[i];
            plan.roiEnd = (*request.roi)[count + i];
        }
    }
    if (request.scales) {
        requireCount("scales", request.scales->size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            AxisPlan& plan = plans[i];
            plan.scale = (*request.scales)[i];
            if (!(plan.scale > 0) || !std::isfinite(plan.scale))
                throw InferError("shape-mismatch", -1,
                                 fmt::format("scales must be above 0, but one is {}", plan.scale));
            plan.out = checkedSize(
                std::floor(static_cast<double>(plan.in) * (plan.roiEnd - plan.roiBegin) * plan.scale));
        }
        return plans;
    }
    requireCount("sizes", request.sizes->size(), count);
    const std::string& policy = attributes.text("keep_aspect_ratio_policy");
    std::optional<double> common;
    for (std::size_t i = 0; i < count; ++i) {
        AxisPlan& plan = plans[i];
        plan.out = (*request.sizes)[i];
        if (plan.out < 0)
            throw InferError("shape-mismatch", -1,
                             fmt::format("sizes must not be negative, but one is {}", plan.out));
        if (plan.in == 0 && plan.out > 0)
            throw InferError(
                "shape-mismatch", 0,
                fmt::format("Input and output sizes should be greater than 0, but axis {} has none",
                            plan.axis));
        plan.scale = plan.in == 0 ? 1 : static_cast<double>(plan.out) / static_cast<double>(plan.in);
        if (!common)
            common = plan.scale;
        else
            common = policy == "not_larger" ? std::min(*common, plan.scale) : std::max(*common, plan.scale);
    }
    if (policy == "stretch") return plans;
    for (AxisPlan& plan : plans) {
        plan.scale = *common;
        plan.out = checkedSize(std::floor(*common * static_cast<double>(plan.in) + 0.5));
    }
    return plans;
}

std::vector<AxisPlan> usefulPlans(const Attributes& attributes, const Shape& in,
                                  const ResizeRequest& request) {
    std::vector<AxisPlan> plans = plansOf(attributes, in, request);
    // An unchanged axis needs no pass.
    const std::string& mode = attributes.text("coordinate_transformation_mode");
    const bool shifts = mode == "tf_crop_and_resize" || mode == "tf_half_pixel_for_nn";
    std::erase_if(plans,
                  [&](const AxisPlan& plan) { return !shifts && plan.in == plan.out && plan.scale == 1; });
    // Shrinking axes come first, which leaves less work for the others.
    std::stable_sort(plans.begin(), plans.end(), [](const AxisPlan& a, const AxisPlan& b) {
        return static_cast<double>(a.out) * static_cast<double>(b.in) <
               static_cast<double>(b.out) * static_cast<double>(a.in);
    });
    return plans;
}

Shares sharesOf(const Attributes& attributes, const AxisPlan& plan) {
    const std::string& mode = attributes.text("mode");
    const std::string& transformation = attributes.text("coordinate_transformation_mode");
    const std::string& rounding = attributes.text("nearest_mode");
    const Coordinates coordinates(transformation, plan);
    const double a = attributes.number("cubic_coeff_a");
    // With antialias, the number of taps grows with the shrink factor.
    const bool smooths = attributes.flag("antialias") && plan.scale < 1;
    const double stretch = smooths ? plan.scale : 1;
    const double radius = (mode == "cubic" ? 2 : 1) / stretch;
    const bool excludes = attributes.flag("exclude_outside") && mode != "nearest";
    Shares shares;
    for (std::int64_t place = 0; place < plan.out; ++place) {
        shares.begins.push_back(shares.taps.size());
        const double x = coordinates.at(place);
        shares.outside.push_back(coordinates.isOutside(x));
        if (shares.outside.back()) continue;
        const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, plan.in - 1); };
        if (mode == "nearest") {
            shares.taps.push_back({clamped(nearestOf(x, rounding)), 1});
            continue;
        }
        const double bounded = std::clamp(x, -radius - 1, static_cast<double>(plan.in) + radius + 1);
        double sum = 0;
        const auto first = static_cast<std::int64_t>(std::ceil(bounded - radius));
        const auto last = static_cast<std::int64_t>(std::floor(bounded + radius));
        for (std::int64_t i = first; i <= last; ++i) {
            if (excludes && (i < 0 || i >= plan.in)) continue;
            const double distance = (static_cast<double>(i) - bounded) * stretch;
            const double share =
                mode == "cubic" ? cubicShare(distance, a) : std::max(0.0, 1 - std::abs(distance));
            if (share == 0) continue;
            sum += share;
            // Beyond the ends, the first or the last element is repeated.
            const std::int64_t from = clamped(i);
            if (shares.taps.size() > shares.begins.back() && shares.taps.back().from == from)
                shares.taps.back().share += share;
            else
                shares.taps.push_back({from, share});
        }
        if (smooths || excludes)
            for (std::size_t t = shares.begins.back(); t < shares.taps.size(); ++t)
                shares.taps[t].share /= sum;
    }
    shares.begins.push_back(shares.taps.size());
    return shares;
}

} // namespace twb
