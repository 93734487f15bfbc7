#include "formats/onnx/onnx_flex_attention.h"

#include "formats/onnx/onnx_nodes.h"

#include <cmath>
#include <initializer_list>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Names = std::initializer_list<std::string>;

AttributeProto& addAttribute(NodeProto& node, const char* name, AttributeProto::AttributeType type) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}

/// Builds the function that replaces the node.
class Builder {
public:
    Builder(const NodeProto& node, std::string domain) : m_node(node), m_domain(std::move(domain)) {}

    FunctionProto take(const std::string& name, const std::vector<FunctionProto>& modifiers,
                       std::optional<std::int32_t> elementType) {
        m_out.set_domain(m_domain);
        m_out.set_name(name);
        for (const char* input : {"Q", "K", "V"}) m_out.add_input(input);
        m_out.add_output("Y");
        const std::string batch = size("batch", "Q", 0);
        const std::string heads = size("heads", "Q", 1);
        const std::string keyHeads = size("key_heads", "K", 1);
        const std::string length = size("length", "Q", 2);
        const std::string keys = size("keys", "K", 2);
        const std::string queryWidth = size("width", "Q", 3);
        // All query heads that share a key head are neighbours.
        const std::string group = add("Div", "group", {heads, keyHeads});
        // Both factors of a score get the root of the scale, so that a product of f16 does not overflow.
        const std::string root = add("CastLike", "root", {rootOfScale(queryWidth), "Q"});
        const std::string q = reshaped("queries", add("Mul", "scaled_Q", {"Q", root}),
                                       {batch, keyHeads, group, length, queryWidth});
        const std::string k =
            add("Transpose", "turned_K", {unsqueezed("keys_of_group", add("Mul", "scaled_K", {"K", root}))});
        addInts("perm", {0, 1, 2, 4, 3});
        std::string at = reshaped("scores", add("MatMul", "products", {q, k}), {batch, heads, length, keys});
        if (const auto precision = precisionOf(elementType)) {
            at = add("Cast", "precise_scores", {at});
            addAttribute(last(), "to", AttributeProto::INT).set_i(*precision);
        }
        at = modified(at, "score_mod", modifiers);
        at = add("Softmax", "shares", {at});
        addAttribute(last(), "axis", AttributeProto::INT).set_i(-1);
        at = modified(at, "prob_mod", modifiers);
        const std::string values = unsqueezed("values_of_group", add("CastLike", "precise_V", {"V", at}));
        const std::string shares = reshaped("grouped_shares", at, {batch, keyHeads, group, length, keys});
        const std::string y = reshaped("precise_Y", add("MatMul", "grouped_Y", {shares, values}),
                                       {batch, heads, length, size("value_width", "V", 3)});
        add("CastLike", "Y", {y, "Q"});
        return std::move(m_out);
    }

private:
    NodeProto& last() { return *m_out.mutable_node(m_out.node_size() - 1); }

    /// Adds a node with one output, and returns the name of this.
    std::string add(const std::string& op, const std::string& output, Names inputs,
                    const std::string& domain = {}) {
        NodeProto& node = *m_out.add_node();
        node.set_op_type(op);
        node.set_domain(domain);
        for (const std::string& input : inputs) node.add_input(input);
        node.add_output(output);
        node.set_name(output);
        return output;
    }
    void addInts(const char* name, std::initializer_list<std::int64_t> values) {
        AttributeProto& attribute = addAttribute(last(), name, AttributeProto::INTS);
        for (const std::int64_t value : values) attribute.add_ints(value);
    }
    /// A list of one size of an input.
    std::string size(const std::string& output, const char* of, int axis) {
        add("Shape", output, {of});
        addAttribute(last(), "start", AttributeProto::INT).set_i(axis);
        addAttribute(last(), "end", AttributeProto::INT).set_i(axis + 1);
        return output;
    }
    std::string reshaped(const std::string& output, const std::string& tensor, Names sizes) {
        const std::string shape = add("Concat", "shape_of_" + output, sizes);
        addAttribute(last(), "axis", AttributeProto::INT).set_i(0);
        add("Reshape", output, {tensor, shape});
        addAttribute(last(), "allowzero", AttributeProto::INT).set_i(1); // the sizes are those of tensors
        return output;
    }
    /// With an axis for the query heads of a group.
    std::string unsqueezed(const std::string& output, const std::string& tensor) {
        add("Unsqueeze", output, {tensor});
        addInts("axes", {2});
        return output;
    }
    std::string rootOfScale(const std::string& width) {
        if (const AttributeProto* scale = attributeOf(m_node, "scale")) {
            add("Constant", "root_of_scale", {});
            addAttribute(last(), "value_float", AttributeProto::FLOAT).set_f(std::sqrt(scale->f()));
            return "root_of_scale";
        }
        add("Cast", "real_width", {width});
        addAttribute(last(), "to", AttributeProto::INT).set_i(TensorProto::FLOAT);
        return add("Sqrt", "root_of_scale",
                   {add("Reciprocal", "usual_scale", {add("Sqrt", "root_of_width", {"real_width"})})});
    }
    std::string modified(const std::string& tensor, const std::string& attribute,
                         const std::vector<FunctionProto>& modifiers) {
        for (const FunctionProto& modifier : modifiers)
            if (modifier.name().starts_with(attribute))
                return add(modifier.name(), attribute, {tensor}, m_domain);
        return tensor;
    }
    /// The dtype of scores and shares, if it is known: as the node or the dtype of Q says, else as a modifier
    /// declares its input.
    std::optional<std::int32_t> precisionOf(std::optional<std::int32_t> elementType) const {
        const AttributeProto* given = attributeOf(m_node, "softmax_precision");
        if (given && given->i() != 0) return static_cast<std::int32_t>(given->i());
        if (elementType)
            return *elementType == TensorProto::DOUBLE ? TensorProto::DOUBLE : TensorProto::FLOAT;
        for (const char* name : {"score_mod", "prob_mod"})
            if (const AttributeProto* graph = attributeOf(m_node, name);
                graph && graph->g().input_size() == 1)
                if (const auto& type = graph->g().input(0).type(); type.has_tensor_type())
                    return type.tensor_type().elem_type();
        return std::nullopt;
    }

    const NodeProto& m_node;
    const std::string m_domain;
    FunctionProto m_out;
};

/// A graph with one input and one output as a function. It may read names of outer graphs.
FunctionProto functionOf(const onnx::GraphProto& graph, const std::string& domain, const std::string& name) {
    FunctionProto out;
    out.set_domain(domain);
    out.set_name(name);
    for (const auto& input : graph.input()) out.add_input(input.name());
    for (const auto& output : graph.output()) out.add_output(output.name());
    for (const TensorProto& tensor : graph.initializer()) {
        NodeProto& constant = *out.add_node();
        constant.set_op_type("Constant");
        constant.add_output(tensor.name());
        *addAttribute(constant, "value", AttributeProto::TENSOR).mutable_t() = tensor;
    }
    for (const NodeProto& node : graph.node()) *out.add_node() = node;
    return out;
}

} // namespace

bool isFlexAttention(const NodeProto& node) {
    return node.domain() == "ai.onnx.preview" && node.op_type() == "FlexAttention";
}

std::vector<FunctionProto> flexAttentionFunctions(const NodeProto& node, const std::string& domain,
                                                  const std::string& suffix,
                                                  std::optional<std::int32_t> elementType) {
    std::vector<FunctionProto> modifiers;
    for (const std::string name : {"score_mod", "prob_mod"})
        if (const AttributeProto* graph = attributeOf(node, name); graph && graph->has_g())
            modifiers.push_back(functionOf(graph->g(), domain, name + suffix));
    std::vector<FunctionProto> out{
        Builder(node, domain).take("FlexAttention" + suffix, modifiers, elementType)};
    out.insert(out.end(), modifiers.begin(), modifiers.end());
    return out;
}

} // namespace twb
