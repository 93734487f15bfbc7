#include "ops/gradient.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

namespace twb {
namespace {

using Ints = std::vector<std::int64_t>;

GraphTensor number(GraphTensor like, double value) {
    return full(like.context(), {like.type().dtype, Shape()}, value);
}

} // namespace

const TensorType& GraphTensor::type() const { return m_context->typeOf(*this); }

GraphTensor apply(std::string_view op, std::initializer_list<GraphTensor> inputs,
                  const Attributes& attributes) {
    return inputs.begin()->context().add(op, {inputs.begin(), inputs.size()}, attributes);
}

GraphTensor outputOf(GraphTensor first, int port) {
    return {first.context(), first.id() + static_cast<std::uint32_t>(port)};
}

GraphTensor full(GradientContext& context, const TensorType& type, double value) {
    return context.add(
        "Full", {},
        {{"shape", type.shape.dims()}, {"value", value}, {"dtype", std::string(name(type.dtype))}});
}

GraphTensor zerosLike(GraphTensor tensor) { return full(tensor.context(), tensor.type(), 0); }

GraphTensor operator+(GraphTensor a, GraphTensor b) { return apply("Add", {a, b}); }
GraphTensor operator-(GraphTensor a, GraphTensor b) { return apply("Sub", {a, b}); }
GraphTensor operator*(GraphTensor a, GraphTensor b) { return apply("Mul", {a, b}); }
GraphTensor operator/(GraphTensor a, GraphTensor b) { return apply("Div", {a, b}); }
GraphTensor operator-(GraphTensor a) { return apply("Neg", {a}); }
GraphTensor operator+(GraphTensor a, double b) { return a + number(a, b); }
GraphTensor operator+(double a, GraphTensor b) { return number(b, a) + b; }
GraphTensor operator-(GraphTensor a, double b) { return a - number(a, b); }
GraphTensor operator-(double a, GraphTensor b) { return number(b, a) - b; }
GraphTensor operator*(GraphTensor a, double b) { return b == 1 ? a : a * number(a, b); }
GraphTensor operator*(double a, GraphTensor b) { return a == 1 ? b : number(b, a) * b; }
GraphTensor operator/(GraphTensor a, double b) { return a / number(a, b); }
GraphTensor operator/(double a, GraphTensor b) { return number(b, a) / b; }
GraphTensor operator>(GraphTensor a, double b) { return apply("Greater", {a, number(a, b)}); }
GraphTensor operator<(GraphTensor a, double b) { return apply("Less", {a, number(a, b)}); }
GraphTensor isEqual(GraphTensor a, GraphTensor b) { return apply("Equal", {a, b}); }
GraphTensor isEqual(GraphTensor a, double b) { return isEqual(a, number(a, b)); }

GraphTensor where(GraphTensor condition, GraphTensor value) {
    return where(condition, value, number(value, 0));
}
GraphTensor where(GraphTensor condition, double other, GraphTensor value) {
    return where(condition, number(value, other), value);
}
GraphTensor where(GraphTensor condition, GraphTensor value, GraphTensor other) {
    return apply("Where", {condition, value, other});
}

GraphTensor cast(GraphTensor tensor, DType dtype) {
    if (tensor.type().dtype == dtype) return tensor;
    return apply("Cast", {tensor}, {{"to", std::string(name(dtype))}});
}

GraphTensor reshape(GraphTensor tensor, const Shape& shape) {
    if (tensor.shape() == shape) return tensor;
    // A size of 0 is meant as 0, not as a copy of the input's.
    return apply("Reshape", {tensor}, {{"shape", shape.dims()}, {"allowzero", true}});
}

GraphTensor expand(GraphTensor tensor, const Shape& shape) {
    if (tensor.shape() == shape) return tensor;
    return apply("Expand", {tensor}, {{"shape", shape.dims()}});
}

GraphTensor swapLast(GraphTensor tensor) {
    Ints permutation(static_cast<std::size_t>(tensor.shape().rank()));
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation.end()[-1], permutation.end()[-2]);
    return transpose(tensor, permutation);
}

GraphTensor transpose(GraphTensor tensor, const Ints& permutation) {
    return apply("Transpose", {tensor}, {{"perm", permutation}});
}

GraphTensor sumOver(GraphTensor tensor, const Ints& axes) {
    if (axes.empty()) return tensor;
    return apply("ReduceSum", {tensor}, {{"axes", axes}, {"keepdims", true}});
}

GraphTensor sumTo(GraphTensor tensor, const Shape& shape) {
    const Shape& from = tensor.shape();
    const int added = from.rank() - shape.rank();
    Ints axes;
    for (int axis = 0; axis < from.rank(); ++axis)
        if (axis < added || (shape[axis - added] == 1 && from[axis] != 1)) axes.push_back(axis);
    if (added > 0 && std::ssize(axes) == added) // without a Reshape after it
        return apply("ReduceSum", {tensor}, {{"axes", axes}, {"keepdims", false}});
    return reshape(sumOver(tensor, axes), shape);
}

GraphTensor meanOver(GraphTensor tensor, const Ints& axes) {
    return apply("ReduceMean", {tensor},
                 {{"axes", axes}, {"keepdims", true}, {"noop_with_empty_axes", true}});
}

Standardized::Standardized(GraphTensor x, Ints axes, double epsilon) : m_axes(std::move(axes)) {
    const GraphTensor centred = x - meanOver(x, m_axes);
    m_inverse = 1 / apply("Sqrt", {meanOver(centred * centred, m_axes) + epsilon});
    m_result = centred * m_inverse;
}

GraphTensor Standardized::back(GraphTensor gradient) const {
    return m_inverse *
           (gradient - meanOver(gradient, m_axes) - m_result * meanOver(gradient * m_result, m_axes));
}

GraphTensor slice(GraphTensor tensor, std::int64_t axis, std::int64_t start, std::int64_t end) {
    return apply("Slice", {tensor}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}});
}

void passNoGradient(GradientContext& /*g*/) {}

void reshapeBack(GradientContext& g) { g.give(0, reshape(g.gradient(), g.input().shape())); }

} // namespace twb
