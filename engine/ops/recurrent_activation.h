#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// An activation of RNN, GRU or LSTM by its ONNX name, with the numbers it takes.
class RecurrentActivation {
public:
    /// Throws InferError for a name that ONNX does not have. Names are compared without case.
    explicit RecurrentActivation(const std::string& name);

    double operator()(double x) const noexcept;

private:
    friend std::vector<RecurrentActivation> recurrentActivations(const std::vector<std::string>&,
                                                                 const std::vector<double>&,
                                                                 const std::vector<double>&);
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
    Kind m_kind;
    bool m_takesAlpha, m_takesBeta;
    double m_alpha, m_beta;
};

/// One for each name. `alphas` and `betas` are handed out in order to those that take one; what is left out
/// has ONNX's default.
std::vector<RecurrentActivation> recurrentActivations(const std::vector<std::string>& names,
                                                      const std::vector<double>& alphas,
                                                      const std::vector<double>& betas);

} // namespace twb
