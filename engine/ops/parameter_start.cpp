#include "ops/parameter_start.h"

#include <cmath>
#include <string>

namespace twb {

ParameterStart parameterStart(const Attributes& attributes, const Shape& shape) {
    const std::string& init = attributes.text("init");
    const double value = attributes.number("value");
    if (init == "zeros") return {ParameterStart::Kind::constant, 0, 0};
    if (init == "constant") return {ParameterStart::Kind::constant, value, 0};
    if (init == "normal") return {ParameterStart::Kind::normal, value, attributes.number("scale")};
    if (init == "uniform") return {ParameterStart::Kind::uniform, value, attributes.number("scale")};
    // torch.nn.init: a matrix [out, in], or a filter [out, in, …] of which each element is an input.
    const auto inAxis = static_cast<int>(attributes.integer("in_axis"));
    double field = 1;
    for (int axis = 2; axis < shape.rank(); ++axis) field *= static_cast<double>(shape[axis]);
    const double fanIn = field * static_cast<double>(shape[inAxis]);
    const double fanOut = field * static_cast<double>(shape[1 - inAxis]);
    const bool isKaiming = init == "kaiming_uniform" || init == "kaiming_normal";
    const double gain = attributes.has("gain") ? attributes.number("gain") : isKaiming ? std::sqrt(2.0) : 1;
    const double deviation = gain * std::sqrt(isKaiming ? 1 / fanIn : 2 / (fanIn + fanOut));
    if (init == "kaiming_normal" || init == "xavier_normal")
        return {ParameterStart::Kind::normal, 0, deviation};
    return {ParameterStart::Kind::uniform, 0, std::sqrt(3.0) * deviation};
}

} // namespace twb
