#pragma once

#include "core/tensor.h"
#include "ops/kernel_inputs.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace twb {

// The boxes of NonMaxSuppression. The host and the GPU share this code.

struct Box {
    float x1, y1, x2, y2;
    TWB_HOST_DEVICE float area() const { return (x2 - x1) * (y2 - y1); }
    /// Whether the intersection exceeds `threshold` of the union. Boxes without an area overlap nothing.
    TWB_HOST_DEVICE bool overlaps(const Box& other, float threshold) const {
        const float width = (x2 < other.x2 ? x2 : other.x2) - (x1 < other.x1 ? other.x1 : x1);
        const float height = (y2 < other.y2 ? y2 : other.y2) - (y1 < other.y1 ? other.y1 : y1);
        if (!(width > 0) || !(height > 0)) return false;
        const float inner = width * height;
        const float whole = area() + other.area() - inner;
        return area() > 0 && other.area() > 0 && whole > 0 && inner / whole > threshold;
    }
};

/// The input boxes: batches × boxes × 4, with any layout.
class BoxView {
public:
    /// `centered`: x and y of the centre, width, height. Otherwise y and x of two opposite corners, in any
    /// order.
    BoxView(const TensorView& boxes, bool centered)
        : m_data(boxes.as<const float>()), m_batch(boxes.strides[0]), m_box(boxes.strides[1]),
          m_step(boxes.strides[2]), m_centered(centered) {}

    TWB_HOST_DEVICE Box at(std::int64_t batch, std::int64_t box) const {
        const float* const from = m_data + batch * m_batch + box * m_box;
        const float v[] = {from[0], from[m_step], from[2 * m_step], from[3 * m_step]};
        if (m_centered) return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
        return {v[3] < v[1] ? v[3] : v[1], v[2] < v[0] ? v[2] : v[0], v[1] < v[3] ? v[3] : v[1],
                v[0] < v[2] ? v[2] : v[0]};
    }

private:
    const float* m_data;
    std::int64_t m_batch, m_box, m_step;
    bool m_centered;
};

/// The values of the host inputs, or of the attributes.
struct BoxLimits {
    std::int64_t most = 0; ///< maximum number of boxes per class
    float overlap = 0;
    float least = 0;
    bool hasLeast = false;

    TWB_HOST_DEVICE bool lets(float score) const { return score == score && (!hasLeast || score > least); }
};

template <class Context> BoxLimits boxLimitsOf(const Context& ctx) {
    BoxLimits limits;
    const double most = hostNumber(ctx, 2, "max_output_boxes_per_class").value_or(0);
    limits.most = most < 0x1p62 ? static_cast<std::int64_t>(std::max(most, 0.0))
                                : std::numeric_limits<std::int64_t>::max();
    limits.overlap = static_cast<float>(hostNumber(ctx, 3, "iou_threshold").value_or(0));
    const auto least = hostNumber(ctx, 4, "score_threshold");
    limits.hasLeast = least.has_value();
    limits.least = static_cast<float>(least.value_or(0));
    return limits;
}

} // namespace twb
