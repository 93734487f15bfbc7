#pragma once

#include "core/attributes.h"
#include "core/shape.h"
#include "ops/philox.h"

namespace twb {

/// The distribution of the elements of a Parameter.
struct ParameterStart {
    enum class Kind { constant, normal, uniform };
    Kind kind = Kind::constant;
    double mean = 0;
    double spread = 0; ///< standard deviation of normal, half the width of uniform

    template <class T> TWB_HOST_DEVICE T element(PhiloxWords words) const {
        switch (kind) {
        case Kind::constant:
            return static_cast<T>(mean);
        case Kind::normal:
            return static_cast<T>(mean + spread * standardNormal(words));
        case Kind::uniform:
            return static_cast<T>(mean + (2 * static_cast<double>(uniform01<T>(words)) - 1) * spread);
        }
        return T{};
    }
};

/// From the complete attributes of a Parameter; xavier and kaiming as in torch.nn.init.
ParameterStart parameterStart(const Attributes& attributes, const Shape& shape);

} // namespace twb
