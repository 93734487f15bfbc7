#include "ops/recurrent_activation.h"

#include "ops/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace twb {

RecurrentActivation::RecurrentActivation(const std::string& name) {
    struct Entry {
        std::string_view name;
        Kind kind;
        bool takesAlpha, takesBeta;
        double alpha, beta;
    };
    static constexpr std::array<Entry, 11> all{{
        {"Relu", Kind::relu, false, false, 0, 0},
        {"Tanh", Kind::tanh, false, false, 0, 0},
        {"Sigmoid", Kind::sigmoid, false, false, 0, 0},
        {"Affine", Kind::affine, true, true, 1, 0},
        {"LeakyRelu", Kind::leakyRelu, true, false, 0.01, 0},
        {"ThresholdedRelu", Kind::thresholdedRelu, true, false, 1, 0},
        {"ScaledTanh", Kind::scaledTanh, true, true, 1, 1},
        {"HardSigmoid", Kind::hardSigmoid, true, true, 0.2, 0.5},
        {"Elu", Kind::elu, true, false, 1, 0},
        {"Softsign", Kind::softsign, false, false, 0, 0},
        {"Softplus", Kind::softplus, false, false, 0, 0},
    }};
    const auto* const at = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
        return std::equal(entry.name.begin(), entry.name.end(), name.begin(), name.end(), [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        });
    });
    if (at == all.end())
        throw InferError(
            "attribute", -1,
            fmt::format("attribute \"activations\" has the unknown activation \"{}\"; choose among Relu, "
                        "Tanh, Sigmoid, Affine, "
                        "LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus",
                        name));
    m_kind = at->kind;
    m_takesAlpha = at->takesAlpha;
    m_takesBeta = at->takesBeta;
    m_alpha = at->alpha;
    m_beta = at->beta;
}

std::vector<RecurrentActivation> recurrentActivations(const std::vector<std::string>& names,
                                                      const std::vector<double>& alphas,
                                                      const std::vector<double>& betas) {
    std::vector<RecurrentActivation> out;
    std::size_t alpha = 0;
    std::size_t beta = 0;
    for (const std::string& name : names) {
        RecurrentActivation one(name);
        if (one.m_takesAlpha && alpha < alphas.size()) one.m_alpha = alphas[alpha++];
        if (one.m_takesBeta && beta < betas.size()) one.m_beta = betas[beta++];
        out.push_back(one);
    }
    return out;
}

} // namespace twb
