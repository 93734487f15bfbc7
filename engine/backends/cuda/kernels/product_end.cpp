#include "backends/cuda/kernels/product_end.h"

namespace twb::cuda {

Activation activationOf(std::string_view op, const Attributes& attributes) {
    if (op == "Relu") return Activation::relu;
    if (op == "Gelu" && attributes.text("approximate") == "tanh") return Activation::geluTanh;
    return Activation::none;
}

bool isProductEnd(std::string_view op, const Attributes& attributes, DType dtype) {
    if (dtype != DType::f32 && !isHalfWidth(dtype)) return false;
    return op == "Add" || activationOf(op, attributes) != Activation::none;
}

} // namespace twb::cuda
