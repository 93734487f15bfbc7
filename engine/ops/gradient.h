#pragma once

#include "core/attributes.h"
#include "core/tensor.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace twb {

class GradientContext;

/// A tensor of the graph to which a gradient adds ops. Each operator and function below adds ops. A number
/// becomes a 0-dimensional tensor of the other operand's dtype; a factor of 1 adds no op.
class GraphTensor {
public:
    GraphTensor() = default;
    GraphTensor(GradientContext& context, std::uint32_t id) : m_context(&context), m_id(id) {}
    /// False: there is no such tensor.
    explicit operator bool() const noexcept { return m_context != nullptr; }
    GradientContext& context() const noexcept { return *m_context; }
    std::uint32_t id() const noexcept { return m_id; } ///< for its context
    const TensorType& type() const;
    const Shape& shape() const { return type().shape; }

private:
    GradientContext* m_context = nullptr;
    std::uint32_t m_id = 0;
};

/// A node of the forward graph as the `gradient` of its op sees it. That function adds the ops that compute
/// the vector-Jacobian product: from the gradients of the outputs those of the inputs. All sizes are known.
class GradientContext {
public:
    virtual ~GradientContext() = default;

    virtual const Attributes& attributes() const = 0; ///< with all defaults
    virtual int inputCount() const = 0;
    virtual GraphTensor input(int port = 0) = 0; ///< none if unconnected
    virtual GraphTensor output(int port = 0) = 0;
    virtual int outputCount() const = 0;
    /// The gradient of the loss with respect to an output. None if the loss does not depend on it.
    virtual GraphTensor gradient(int port = 0) = 0;
    /// Whether a gradient of this input is needed.
    virtual bool isWanted(int port) const = 0;
    /// Adds a summand of the gradient with respect to an input, of the input's dtype. It is summed over the
    /// axes along which the op has broadcast the input, and copied to the input's device. Ignored if no
    /// gradient of the input is needed.
    virtual void give(int port, GraphTensor gradient) = 0;
    /// The host value of an input, or the attribute of the same name; nothing if neither is there. Throws if
    /// it is known only at run time.
    virtual std::optional<std::vector<std::int64_t>> integers(int port) const = 0;
    virtual std::optional<std::vector<double>> numbers(int port) const = 0;
    std::optional<double> number(int port) const {
        const std::optional<std::vector<double>> all = numbers(port);
        return all && !all->empty() ? std::optional(all->front()) : std::nullopt;
    }

    /// Adds a node on the forward node's lane, and returns its first output. See outputOf() for the others.
    virtual GraphTensor add(std::string_view op, std::span<const GraphTensor> inputs,
                            const Attributes& attributes) = 0;
    virtual const TensorType& typeOf(GraphTensor tensor) const = 0;
    /// Ends the whole with a sentence about this node: "fc1: …".
    [[noreturn]] virtual void refuse(std::string_view why) const = 0;
};

/// Adds an op; its first output.
GraphTensor apply(std::string_view op, std::initializer_list<GraphTensor> inputs,
                  const Attributes& attributes = {});
/// Another output of the node whose first output is given.
GraphTensor outputOf(GraphTensor first, int port);
/// A tensor that is filled with one number.
GraphTensor full(GradientContext& context, const TensorType& type, double value);
GraphTensor zerosLike(GraphTensor tensor);

GraphTensor operator+(GraphTensor a, GraphTensor b);
GraphTensor operator-(GraphTensor a, GraphTensor b);
GraphTensor operator*(GraphTensor a, GraphTensor b);
GraphTensor operator/(GraphTensor a, GraphTensor b);
GraphTensor operator-(GraphTensor a);
GraphTensor operator+(GraphTensor a, double b);
GraphTensor operator+(double a, GraphTensor b);
GraphTensor operator-(GraphTensor a, double b);
GraphTensor operator-(double a, GraphTensor b);
GraphTensor operator*(GraphTensor a, double b);
GraphTensor operator*(double a, GraphTensor b);
GraphTensor operator/(GraphTensor a, double b);
GraphTensor operator/(double a, GraphTensor b);
/// Comparisons give booleans.
GraphTensor operator>(GraphTensor a, double b);
GraphTensor operator<(GraphTensor a, double b);
GraphTensor isEqual(GraphTensor a, GraphTensor b);
GraphTensor isEqual(GraphTensor a, double b);

/// `value` where the condition is true, else 0. Unlike a product with a mask, this hides infinities and NaN.
GraphTensor where(GraphTensor condition, GraphTensor value);
/// `other` where the condition is true, else `value`.
GraphTensor where(GraphTensor condition, double other, GraphTensor value);
GraphTensor where(GraphTensor condition, GraphTensor value, GraphTensor other);

GraphTensor cast(GraphTensor tensor, DType dtype);
/// No op if the tensor has the shape.
GraphTensor reshape(GraphTensor tensor, const Shape& shape);
GraphTensor expand(GraphTensor tensor, const Shape& shape);
/// Swaps the last two axes.
GraphTensor swapLast(GraphTensor tensor);
GraphTensor transpose(GraphTensor tensor, const std::vector<std::int64_t>& permutation);
/// Sums over axes, which keep the size 1. No op for no axes.
GraphTensor sumOver(GraphTensor tensor, const std::vector<std::int64_t>& axes);
/// Sums a broadcast tensor over the axes along which `shape` was repeated; the result has that shape.
GraphTensor sumTo(GraphTensor tensor, const Shape& shape);
GraphTensor meanOver(GraphTensor tensor, const std::vector<std::int64_t>& axes);
/// The elements [start, end) along an axis.
GraphTensor slice(GraphTensor tensor, std::int64_t axis, std::int64_t start, std::int64_t end);

/// A tensor with mean 0 and variance 1 over axes: (x − mean) / √(variance + epsilon).
class Standardized {
public:
    Standardized(GraphTensor x, std::vector<std::int64_t> axes, double epsilon);
    GraphTensor result() const noexcept { return m_result; }
    /// The gradient with respect to x, from the gradient with respect to the result.
    GraphTensor back(GraphTensor gradient) const;

private:
    std::vector<std::int64_t> m_axes;
    GraphTensor m_inverse; ///< of the standard deviation
    GraphTensor m_result;
};

/// The gradient of an op whose result is constant but for jumps: its derivative is 0.
void passNoGradient(GradientContext& g);
/// The gradient of an op that gives the same elements in another shape.
void reshapeBack(GradientContext& g);

} // namespace twb
