#pragma once

#include "backends/cuda/kernels/row_passes.h"

#include <cstdint>
#include <iterator>

namespace twb::cuda {

/// Count, mean and the sum of squared distances from the mean (`squares`).
struct Moments {
    double count = 0, mean = 0, squares = 0;
    TWB_HOST_DEVICE double variance() const { return squares / count; }
};

/// Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979).
struct MergeMoments {
    using State = Moments;
    TWB_HOST_DEVICE void merge(Moments& state, const Moments& other) const {
        if (other.count == 0) return;
        if (state.count == 0) {
            state = other;
            return;
        }
        const double count = state.count + other.count;
        const double off = other.mean - state.mean;
        // Equal means stay unchanged, including infinities.
        if (other.mean != state.mean)
            state.mean = (state.count * state.mean + other.count * other.mean) / count;
        state.squares += other.squares + off * off * (state.count * other.count / count);
        state.count = count;
    }
};

/// The moments of a team's elements (row_passes.h). Never from sums of squares, since differences of large
/// sums would cancel.
template <class Group, class Elements>
TWB_HOST_DEVICE Moments momentsOf(const Group& team, Elements& elements) {
    Moments m;
    double sum = 0;
    if constexpr (Elements::isHeld) {
        elements.each([&](const auto& part, std::int64_t) {
            for (const auto x : part) sum += static_cast<double>(x);
        });
        m.count = static_cast<double>(elements.count());
        m.mean = team.merged(AddStates{}, sum) / m.count;
        elements.each([&](const auto& part, std::int64_t) {
            for (const auto x : part) {
                const double off = static_cast<double>(x) - m.mean;
                m.squares += off * off;
            }
        });
        m.squares = team.merged(AddStates{}, m.squares);
        return m;
    } else {
        // One pass: each thread subtracts its first element, which is close to the mean.
        std::int64_t count = 0;
        double first = 0;
        elements.each([&](const auto& part, std::int64_t) {
            if (count == 0 && part[0] - part[0] == 0) first = static_cast<double>(part[0]);
            count += std::size(part);
            for (const auto x : part) {
                const double off = static_cast<double>(x) - first;
                sum += off;
                m.squares += off * off;
            }
        });
        if (count > 0) {
            m.count = static_cast<double>(count);
            m.mean = first + sum / m.count;
            m.squares -= sum * sum / m.count;
            if (m.squares < 0) m.squares = 0;
        }
        return team.merged(MergeMoments{}, m);
    }
}

/// The measurement of a Work (row_passes.h).
struct MeasureMoments : MergeMoments {
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE Moments measure(const Group& team, Elements& elements, const Place&) const {
        return momentsOf(team, elements);
    }
};

/// x − mean in two steps, including the part of the mean that W cannot represent; it matters if the elements
/// differ little.
template <class W> struct FromMean {
    W high, low;
    TWB_HOST_DEVICE explicit FromMean(double mean)
        : high(static_cast<W>(mean)), low(static_cast<W>(mean - static_cast<double>(high))) {}
    TWB_HOST_DEVICE W operator()(W x) const { return x - high - low; }
};

} // namespace twb::cuda
