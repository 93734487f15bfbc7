#pragma once

#include "core/error.h"
#include "placement/analysis.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace twb::pytorch {

/// The interface through which an op's entry writes its node as a PyTorch expression.
class Call {
public:
    /// `nameOf` gives the Python name of each tensor that the expression reads; `helpers` collects the
    /// functions of python_helpers.h that it calls.
    Call(const Graph& graph, const Analysis& analysis, const NodeFacts& facts,
         std::function<std::string(PortRef)> nameOf, std::set<std::string>& helpers);

    const Op& op() const noexcept { return *m_facts.op; }
    int inputCount() const noexcept { return static_cast<int>(m_facts.inputs.size()); }
    bool has(int port) const noexcept;
    /// The name of the tensor at an input; "None" if it is not connected.
    std::string in(int port) const;
    /// in() of all inputs from `first` on, separated by commas.
    std::string inputs(int first = 0) const;
    /// The type of a connected input.
    const TensorType& type(int port) const;
    DType dtype(int port = 0) const { return type(port).dtype; }
    int rank(int port = 0) const { return type(port).shape.rank(); }
    const TensorType& out(int port = 0) const;
    bool isRead(int port) const noexcept; ///< whether the output has a consumer

    const Attributes& attributes() const noexcept { return m_facts.attributes; }
    bool hasAttribute(std::string_view name) const noexcept { return m_facts.attributes.has(name); }
    bool flag(std::string_view name) const { return m_facts.attributes.flag(name); }
    std::int64_t integer(std::string_view name) const { return m_facts.attributes.integer(name); }
    double number(std::string_view name) const { return m_facts.attributes.number(name); }
    const std::string& text(std::string_view name) const { return m_facts.attributes.text(name); }
    /// An axis attribute of a tensor with `rank` axes, negative from the end.
    int axis(std::string_view name, int rank) const;

    /// A host value that is known at export: a connected constant, or the attribute with the port's name.
    std::optional<std::vector<std::int64_t>> integers(int port) const;
    std::optional<std::vector<double>> numbers(int port) const;
    /// The same as Python: "[2, 3]", or an expression that computes it; "None" if there is neither.
    std::string list(int port) const;
    /// The same for one number: "3", "k.item()", "None".
    std::string scalar(int port) const;

    /// For an op with several outputs of which only output 0 is read: `expression` is output 0.
    std::string alone(std::string expression) const;
    bool isAlone() const noexcept { return m_alone; }

    /// Returns the name of a helper function and adds the function to the module.
    std::string helper(std::string_view name) const;
    /// `device("cuda:0")`: the node's device.
    std::string device() const;
    /// ", device=device("cuda:0")" for functions that would create a tensor on the cpu; "" for the cpu.
    std::string deviceArgument() const;

    /// `{0}` is replaced by input 0, `{axis}` by the attribute of that name.
    std::string filled(std::string_view pattern) const;

    /// Throws Error(badGraph) with a sentence that names the node, the op and the reason.
    [[noreturn]] void refuse(std::string_view reason) const;

private:
    const Tensor* known(int port) const;

    const Graph& m_graph;
    const Analysis& m_analysis;
    const NodeFacts& m_facts;
    std::function<std::string(PortRef)> m_nameOf;
    std::set<std::string>& m_helpers;
    mutable bool m_alone = false;
};

/// Python: 1.5, -1, float("inf"), True, "same", [1, 2].
std::string literal(double value);
std::string literal(const std::vector<std::int64_t>& values);
std::string literal(const std::vector<double>& values);
std::string literal(std::string_view text);
std::string literal(const AttributeValue& value);
/// "torch.float32".
std::string torchDType(DType dtype);
/// Whether PyTorch 1.13 supports the dtype.
bool isInTorch(DType dtype) noexcept;
/// "(2, 3)", "(4,)", "()".
std::string tupleOf(const std::vector<std::int64_t>& values);

/// Writes a node as a Python expression; for several outputs, the expression is a tuple.
using Writer = std::function<std::string(const Call&)>;
using Writers = std::unordered_map<std::string_view, Writer>;

/// The writer of each op: its Op::torch, or a function of a family below. Other ops cannot be exported.
const Writers& writers();

// The ops whose expression depends on more than names and attributes.
void addPointwise(Writers& table);
void addArrays(Writers& table);
void addIndexing(Writers& table);
void addLayers(Writers& table);
void addSequences(Writers& table);

} // namespace twb::pytorch
