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
    if (isFloating(tensor.dtype())) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(tensor.at(i));
        setValue(node, std::move(values), tensor.shape());
    } else {
        setValue(node, tensor.toIntegers(), tensor.shape());
    }
    node.attributes.set("dtype", std::string(twb::name(tensor.dtype())));
    if (tensor.shape().rank() != 1) node.attributes.set("shape", tensor.shape().dims());
}

} // namespace twb
