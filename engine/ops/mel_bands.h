#pragma once

#include "ops/element_functions.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace twb {

/// The host inputs of MelWeightMatrix, which are also attributes.
inline constexpr std::array kMelNumbers{"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                        "upper_edge_hertz"};

/// Triangular filters with corners evenly spaced in mel, 2595 · log₁₀(1 + f / 700), as in ONNX's
/// MelWeightMatrix-17. The host and the GPU share this code.
class MelBands {
public:
    /// `numbers` is in the order of kMelNumbers.
    MelBands(const std::array<double, 5>& numbers, std::int64_t bins)
        : m_length(numbers[1]), m_rate(numbers[2]), m_low(mel(numbers[3])),
          m_step((mel(numbers[4]) - m_low) / static_cast<double>(bins + 2)) {}

    /// The corners of one band's triangle, in rows of the spectrum.
    struct Corners {
        std::int64_t lower, center, upper;
        TWB_HOST_DEVICE double weightOf(std::int64_t row) const {
            if (row >= center && row < upper)
                return static_cast<double>(upper - row) / static_cast<double>(upper - center);
            if (row < lower || row > center) return 0;
            return lower == center ? 1
                                   : static_cast<double>(row - lower) / static_cast<double>(center - lower);
        }
    };
    TWB_HOST_DEVICE Corners cornersOf(std::int64_t bin) const {
        return {corner(bin), corner(bin + 1), corner(bin + 2)};
    }

private:
    static double mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
    TWB_HOST_DEVICE std::int64_t corner(std::int64_t i) const {
        const double hertz = 700 * (std::pow(10.0, (m_low + static_cast<double>(i) * m_step) / 2595) - 1);
        return element::cast<std::int64_t>(std::floor((m_length + 1) * hertz / m_rate));
    }

    double m_length, m_rate, m_low, m_step;
};

} // namespace twb
