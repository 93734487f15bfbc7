#pragma once

#include "backends/cpu/vector_math.h"
#include "ops/activation_functions.h"
#include "ops/element_functions.h"
#include "ops/math_functions.h"

#include <concepts>

namespace twb::element {

// The vectorised forms of element functions for f32 on the host. A function without one is computed element
// by element. Sinh, Cosh, Asinh and Acosh have none, because those of SLEEF overflow too early.

inline VectorMap vectorForm(const Exp&) { return {VectorFunction::exp}; }
inline VectorMap vectorForm(const Log&) { return {VectorFunction::log}; }
inline VectorMap vectorForm(const Sqrt&) { return {VectorFunction::sqrt}; }
inline VectorMap vectorForm(const Sin&) { return {VectorFunction::sin}; }
inline VectorMap vectorForm(const Cos&) { return {VectorFunction::cos}; }
inline VectorMap vectorForm(const Tan&) { return {VectorFunction::tan}; }
inline VectorMap vectorForm(const Asin&) { return {VectorFunction::asin}; }
inline VectorMap vectorForm(const Acos&) { return {VectorFunction::acos}; }
inline VectorMap vectorForm(const Atan&) { return {VectorFunction::atan}; }
inline VectorMap vectorForm(const Tanh&) { return {VectorFunction::tanh}; }
inline VectorMap vectorForm(const Atanh&) { return {VectorFunction::atanh}; }
inline VectorMap vectorForm(const Erf&) { return {VectorFunction::erf}; }
inline VectorMap vectorForm(const Floor&) { return {VectorFunction::floor}; }
inline VectorMap vectorForm(const Ceil&) { return {VectorFunction::ceil}; }
inline VectorMap vectorForm(const Round&) { return {VectorFunction::round}; }
inline VectorMap vectorForm(const Sigmoid&) { return {VectorFunction::sigmoid}; }
inline VectorMap vectorForm(const HardSigmoid& f) {
    return {VectorFunction::hardSigmoid, static_cast<float>(f.alpha), static_cast<float>(f.beta)};
}
inline VectorMap vectorForm(const HardSwish&) { return {VectorFunction::hardSwish}; }
inline VectorMap vectorForm(const GeluErf&) { return {VectorFunction::gelu}; }
inline VectorMap vectorForm(const GeluTanh&) { return {VectorFunction::geluTanh}; }
inline VectorMap vectorForm(const Softplus&) { return {VectorFunction::softplus}; }
inline VectorMap vectorForm(const Mish&) { return {VectorFunction::mish}; }
inline VectorMap vectorForm(const Swish& f) { return {VectorFunction::swish, static_cast<float>(f.alpha)}; }
inline VectorMap vectorForm(const Elu& f) { return {VectorFunction::elu, static_cast<float>(f.alpha)}; }
inline VectorMap vectorForm(const Celu& f) { return {VectorFunction::celu, static_cast<float>(f.alpha)}; }
inline VectorMap vectorForm(const Selu& f) {
    return {VectorFunction::selu, static_cast<float>(f.alpha), static_cast<float>(f.gamma)};
}

template <class F>
concept Vectorised = requires(const F& f) {
    { vectorForm(f) } -> std::same_as<VectorMap>;
};

} // namespace twb::element
