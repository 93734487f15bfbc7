#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace twb {

/// Discrete Fourier transforms of one length, in double: X[k] = Σ x[n] · e ^ (∓2πi nk / N), with + and
/// divided by N for the inverse. Powers of two by Cooley and Tukey's method (1965), other lengths as a
/// convolution of such a length (Bluestein 1970), so that every length takes O(N log N).
class FourierPlan {
public:
    FourierPlan(std::int64_t length, bool inverse);

    std::int64_t length() const noexcept { return m_length; }
    /// Operations of one transform.
    std::int64_t work() const noexcept;
    /// In place on length() values. `scratch` is any vector that this thread has for itself.
    void run(std::complex<double>* data, std::vector<std::complex<double>>& scratch) const;

private:
    using Values = std::vector<std::complex<double>>;

    /// m_size values; with conjugate roots the inverse but for its factor.
    void powerOfTwo(std::complex<double>* data, bool conjugated) const;

    std::int64_t m_length;
    std::int64_t m_size; ///< the power of two that is worked with
    bool m_inverse;
    Values m_roots;  ///< e ^ (−2πi k / m_size), the first half
    Values m_chirp;  ///< e ^ (−πi n² / N)
    Values m_filter; ///< the transform of the conjugate chirp
};

} // namespace twb
