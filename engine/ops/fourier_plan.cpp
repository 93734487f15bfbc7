#include "ops/fourier_plan.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace twb {
namespace {

/// Complex product without the NaN handling of std::complex.
std::complex<double> times(std::complex<double> a, std::complex<double> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::complex<double> rootOfUnity(double turns) {
    const double angle = -2 * std::numbers::pi * turns;
    return {std::cos(angle), std::sin(angle)};
}

std::int64_t ceilPower(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

} // namespace

FourierPlan::FourierPlan(std::int64_t length, bool inverse)
    : m_length(length),
      m_size(std::has_single_bit(static_cast<std::uint64_t>(length)) ? length : ceilPower(2 * length - 1)),
      m_inverse(inverse) {
    m_roots.resize(static_cast<std::size_t>(m_size / 2));
    for (std::size_t k = 0; k < m_roots.size(); ++k)
        m_roots[k] = rootOfUnity(static_cast<double>(k) / static_cast<double>(m_size));
    if (m_size == m_length) return;
    m_chirp.resize(static_cast<std::size_t>(length));
    m_filter.assign(static_cast<std::size_t>(m_size), {});
    // n² mod 2N, which keeps the angle small and therefore precise.
    std::int64_t square = 0;
    for (std::int64_t n = 0; n < length; ++n) {
        m_chirp[static_cast<std::size_t>(n)] =
            rootOfUnity(static_cast<double>(square) / static_cast<double>(2 * length));
        square = (square + 2 * n + 1) % (2 * length);
    }
    for (std::int64_t n = 0; n < length; ++n) {
        const auto value = std::conj(m_chirp[static_cast<std::size_t>(n)]);
        m_filter[static_cast<std::size_t>(n)] = value;
        if (n > 0) m_filter[static_cast<std::size_t>(m_size - n)] = value;
    }
    powerOfTwo(m_filter.data(), false);
}

std::int64_t FourierPlan::work() const noexcept {
    const auto steps = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(m_size)));
    return (m_size == m_length ? 1 : 2) * 5 * m_size * steps;
}

void FourierPlan::powerOfTwo(std::complex<double>* data, bool conjugated) const {
    for (std::int64_t i = 1, j = 0; i < m_size; ++i) {
        std::int64_t bit = m_size >> 1;
        for (; (j & bit) != 0; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(data[i], data[j]);
    }
    for (std::int64_t half = 1; half < m_size; half *= 2) {
        const std::int64_t step = m_size / (2 * half);
        for (std::int64_t block = 0; block < m_size; block += 2 * half)
            for (std::int64_t k = 0; k < half; ++k) {
                auto root = m_roots[static_cast<std::size_t>(k * step)];
                if (conjugated) root = std::conj(root);
                const auto odd = times(root, data[block + half + k]);
                const auto even = data[block + k];
                data[block + k] = even + odd;
                data[block + half + k] = even - odd;
            }
    }
}

void FourierPlan::run(std::complex<double>* data, std::vector<std::complex<double>>& scratch) const {
    // The inverse is the conjugate of the transform of the conjugate.
    if (m_inverse)
        for (std::int64_t n = 0; n < m_length; ++n) data[n] = std::conj(data[n]);
    if (m_size == m_length) {
        powerOfTwo(data, false);
    } else {
        scratch.assign(static_cast<std::size_t>(m_size), {});
        for (std::size_t n = 0; n < m_chirp.size(); ++n) scratch[n] = times(data[n], m_chirp[n]);
        powerOfTwo(scratch.data(), false);
        for (std::size_t k = 0; k < scratch.size(); ++k) scratch[k] = times(scratch[k], m_filter[k]);
        powerOfTwo(scratch.data(), true);
        const double scale = 1 / static_cast<double>(m_size);
        for (std::size_t n = 0; n < m_chirp.size(); ++n) data[n] = times(scratch[n], m_chirp[n]) * scale;
    }
    if (!m_inverse) return;
    const double scale = 1 / static_cast<double>(m_length);
    for (std::int64_t n = 0; n < m_length; ++n) data[n] = std::conj(data[n]) * scale;
}

} // namespace twb
