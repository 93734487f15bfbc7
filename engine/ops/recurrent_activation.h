#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// An activation of RNN, GRU or LSTM by its ONNX name, with its parameters.
class RecurrentActivation {
public:
    enum class Kind : std::uint8_t {
        relu,
        tanh,
        sigmoid,
        affine,
        leakyRelu,
        thresholdedRelu,
        scaledTanh,
        hardSigmoid,
        elu,
        softsign,
        softplus
    };
    /// Throws InferError for a name that ONNX does not define. Names are case-insensitive.
    explicit RecurrentActivation(const std::string& name);
    /// An identity until it is set.
    RecurrentActivation() = default;
    Kind kind() const noexcept { return m_kind; }
    double alpha() const noexcept { return m_alpha; }
    double beta() const noexcept { return m_beta; }

    TWB_HOST_DEVICE double operator()(double x) const noexcept {
        switch (m_kind) {
        case Kind::relu:
            return x > 0 || x != x ? x : 0;
        case Kind::tanh:
            return std::tanh(x);
        case Kind::sigmoid:
            return 1 / (1 + std::exp(-x));
        case Kind::affine:
            return m_alpha * x + m_beta;
        case Kind::leakyRelu:
            return x >= 0 ? x : m_alpha * x;
        case Kind::thresholdedRelu:
            return x > m_alpha || x != x ? x : 0;
        case Kind::scaledTanh:
            return m_alpha * std::tanh(m_beta * x);
        case Kind::hardSigmoid: {
            const double line = m_alpha * x + m_beta;
            return line < 0 ? 0 : 1 < line ? 1 : line;
        }
        case Kind::elu:
            return x >= 0 ? x : m_alpha * std::expm1(x);
        case Kind::softsign:
            return x / (1 + std::fabs(x));
        case Kind::softplus:
            return x > 30 ? x : std::log1p(std::exp(x));
        }
        return x;
    }

    /// The derivative at x, where the result is y.
    TWB_HOST_DEVICE double slope(double x, double y) const noexcept {
        switch (m_kind) {
        case Kind::relu:
            return x > 0 ? 1 : 0;
        case Kind::tanh:
            return 1 - y * y;
        case Kind::sigmoid:
            return y * (1 - y);
        case Kind::affine:
            return m_alpha;
        case Kind::leakyRelu:
            return x >= 0 ? 1 : m_alpha;
        case Kind::thresholdedRelu:
            return x > m_alpha ? 1 : 0;
        case Kind::scaledTanh: {
            const double t = std::tanh(m_beta * x);
            return m_alpha * m_beta * (1 - t * t);
        }
        case Kind::hardSigmoid: {
            const double line = m_alpha * x + m_beta;
            return 0 < line && line < 1 ? m_alpha : 0;
        }
        case Kind::elu:
            return x >= 0 ? 1 : m_alpha * std::exp(x);
        case Kind::softsign:
            return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
        case Kind::softplus:
            return 1 / (1 + std::exp(-x));
        }
        return 1;
    }

private:
    friend std::vector<RecurrentActivation> recurrentActivations(const std::vector<std::string>&,
                                                                 const std::vector<double>&,
                                                                 const std::vector<double>&);
    Kind m_kind = Kind::tanh;
    bool m_takesAlpha = false, m_takesBeta = false;
    double m_alpha = 0, m_beta = 0;
};

/// One activation per name. `alphas` and `betas` are assigned in order to the activations that have them;
/// missing values get ONNX's defaults.
std::vector<RecurrentActivation> recurrentActivations(const std::vector<std::string>& names,
                                                      const std::vector<double>& alphas,
                                                      const std::vector<double>& betas);

} // namespace twb
