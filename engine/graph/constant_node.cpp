#include "graph/constant_node.h"

namespace twb {
namespace {

/// Constants with at most this many elements are written into the graph.
constexpr std::int64_t kInlineElements = 64;

template <class T> void setValue(Node& node, std::vector<T> values, const Shape& shape) {
    if (shape.rank() == 0)
        node.attributes.set("value", values[0]);
    else
        node.attributes.set("value", std::move(values));
}

} // namespace

bool fitsConstant(const Tensor& tensor) {
    // An attribute cannot hold the upper half of the range of u64.
    return tensor.elementCount() <= kInlineElements && tensor.dtype() != DType::u64;
}

void makeConstant(Node& node, const Tensor& tensor) {
    node.op = "Constant";
    if (holdsFractions(tensor.dtype())) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(tensor.at(i));
        setValue(node, std::move(values), tensor.shape());
    } else {
        setValue(node, tensor.toIntegers(), tensor.shape());
    }
    node.attributes.set("dtype", std::string(twb::name(tensor.dtype())));
    if (tensor.shape().rank() != 1) node.attributes.set("shape", tensor.shape().dims());
}

std::optional<TensorType> typeOfConstant(const Node& node) {
    const auto* name = node.attributes.find("dtype");
    const auto* text = name ? std::get_if<std::string>(name) : nullptr;
    const std::optional<DType> dtype = text ? parseDType(*text) : std::nullopt;
    if (!dtype) return std::nullopt;
    if (const auto* shape = node.attributes.find("shape")) {
        const auto* dims = std::get_if<std::vector<std::int64_t>>(shape);
        return dims ? std::optional(TensorType{*dtype, Shape(*dims)}) : std::nullopt;
    }
    const auto* value = node.attributes.find("value");
    if (!value) return std::nullopt;
    return std::visit(
        [&](const auto& held) -> std::optional<TensorType> {
            if constexpr (
                requires { held.at(0); } && !requires { held.c_str(); })
                return TensorType{*dtype, Shape{static_cast<std::int64_t>(held.size())}};
            else
                return TensorType{*dtype, Shape{}};
        },
        *value);
}

} // namespace twb
