#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace twb {

/// Discrete Fourier transforms of one length, in double: X[k] = Σ x[n] · e ^ (∓2πi nk / N), with + and
/// division by N for the inverse. Powers of two use the method of Cooley and Tukey (1965); other lengths are
/// a convolution computed with a power of two (Bluestein 1970). Every length takes O(N log N).
class FourierPlan {
public:
    FourierPlan(std::int64_t length, bool inverse);

    std::int64_t length() const noexcept { return m_length; }
    /// The number of operations of one transform.
    std::int64_t work() const noexcept;
    /// Transforms length() values in place. `scratch` is any vector that no other thread uses.
    void run(std::complex<double>* data, std::vector<std::complex<double>>& scratch) const;

private:
    using Values = std::vector<std::complex<double>>;

    /// Transforms m_size values; with conjugate roots it is the inverse without its factor.
    void powerOfTwo(std::complex<double>* data, bool conjugated) const;

    std::int64_t m_length;
    std::int64_t m_size; ///< the power of two used internally
    bool m_inverse;
    Values m_roots;  ///< e ^ (−2πi k / m_size), the first half
    Values m_chirp;  ///< e ^ (−πi n² / N)
    Values m_filter; ///< the transform of the conjugate chirp
};

} // namespace twb
