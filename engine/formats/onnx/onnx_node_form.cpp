#include "formats/onnx/onnx_node_form.h"

#include "formats/onnx/onnx_schemas.h"
#include "formats/onnx/onnx_tensor.h"
#include "ops/cast.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

namespace twb::onnx_export {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;
using Input = NodeForm::Input;

bool says(const Attributes& attributes, std::string_view name, std::initializer_list<const char*> values) {
    if (!attributes.has(name)) return false;
    return std::any_of(values.begin(), values.end(),
                       [&](const char* value) { return attributes.text(name) == value; });
}

/// The first version with the meaning of this use, for changes that the schemas do not show: they list
/// neither the values of string attributes nor changes of meaning.
int meantSince(const NodeUse& use) {
    const std::string& op = use.facts.op->name;
    const Attributes& attributes = use.facts.attributes;
    if (op == "Mod" && isFloating(*use.inputs[0]) && !attributes.flag("fmod")) return 28;
    if (op == "GridSample" || op == "DFT") return 20;
    if (op == "Pad" && says(attributes, "mode", {"wrap"})) return 19;
    if (op == "Resize" && says(attributes, "coordinate_transformation_mode", {"half_pixel_symmetric"}))
        return 19;
    if (op.starts_with("Scatter") && says(attributes, "reduction", {"min", "max"})) return 18;
    // Parts of unequal size: earlier versions require the sizes.
    if (op == "Split" && !attributes.has("split") && (use.inputs.size() < 2 || !use.inputs[1])) return 18;
    return 1;
}

std::int64_t integerOf(const AttributeSpec& spec, const Attributes& values) {
    if (spec.type == AttributeType::flag) return values.flag(spec.name) ? 1 : 0;
    if (spec.type == AttributeType::dtype) return onnxTypeOf(*parseDType(values.text(spec.name)));
    return values.integer(spec.name);
}

/// A list of a TreeEnsemble: numbers of its input's dtype, integers as bytes.
onnx::TensorProto listOf(const NodeUse& use, const AttributeSpec& spec) {
    const Attributes& values = use.facts.attributes;
    const bool isNumbers = spec.type == AttributeType::numbers;
    std::vector<double> list;
    if (isNumbers)
        list = values.numbers(spec.name);
    else
        for (const std::int64_t value : values.integers(spec.name))
            list.push_back(static_cast<double>(value));
    const Tensor wide = Tensor::of<double>(Shape{std::ssize(list)}, std::span<const double>(list));
    Tensor out = Tensor::onHost({isNumbers ? *use.inputs[0] : DType::u8, wide.shape()});
    convertElements(wide.view(), out.view());
    return protoFromTensor(out.view(), spec.name);
}

/// An op's attribute with its ONNX type.
AttributeProto protoOf(const NodeUse& use, const AttributeSpec& spec, AttributeProto::AttributeType type) {
    const Attributes& values = use.facts.attributes;
    AttributeProto proto;
    proto.set_name(spec.name);
    proto.set_type(type);
    switch (type) {
    case AttributeProto::INT:
        proto.set_i(integerOf(spec, values));
        break;
    case AttributeProto::FLOAT:
        proto.set_f(static_cast<float>(values.number(spec.name)));
        break;
    case AttributeProto::STRING:
        proto.set_s(values.text(spec.name));
        break;
    case AttributeProto::INTS:
        for (const std::int64_t value : values.integers(spec.name)) proto.add_ints(value);
        break;
    case AttributeProto::FLOATS:
        for (const double value : values.numbers(spec.name)) proto.add_floats(static_cast<float>(value));
        break;
    case AttributeProto::STRINGS:
        for (const std::string& text : std::get<std::vector<std::string>>(*values.find(spec.name)))
            proto.add_strings(text);
        break;
    default: {
        if (spec.type == AttributeType::numbers || spec.type == AttributeType::integers) {
            *proto.mutable_t() = listOf(use, spec);
            break;
        }
        // ConstantOfShape's value, which the kernel applies to any shape
        const Tensor one = Tensor::onHost({use.facts.outputs[0]->dtype, Shape{1}});
        const std::array<TensorView, 1> outputs{one.view()};
        use.facts.op->kernel({{}, outputs, values, nullptr});
        *proto.mutable_t() = protoFromTensor(one.view(), spec.name);
    }
    }
    return proto;
}

bool sameValue(const AttributeProto& a, const AttributeProto& b) {
    return a.type() == b.type() && a.i() == b.i() && a.f() == b.f() && a.s() == b.s() &&
           std::equal(a.ints().begin(), a.ints().end(), b.ints().begin(), b.ints().end()) &&
           std::equal(a.floats().begin(), a.floats().end(), b.floats().begin(), b.floats().end());
}

/// Attributes that no version of ONNX has, since they count ports or duplicate an input.
bool isOwn(const Op& op, const AttributeSpec& spec) {
    const OpSchema* newest = onnxSchemas().GetSchema(op.name, latestOnnxVersion(op.domain), op.domain);
    const auto isIt = [&](const auto& port) { return port.GetName() == spec.name; };
    return newest && !newest->attributes().contains(spec.name) &&
           std::none_of(newest->inputs().begin(), newest->inputs().end(), isIt) &&
           std::none_of(op.inputs.begin(), op.inputs.end(),
                        [&](const PortSpec& port) { return port.name == spec.name; });
}

template <class Ports> const OpSchema::FormalParameter* parameterAt(const Ports& ports, std::size_t index) {
    if (index < ports.size()) return &ports[index];
    const bool variadic = !ports.empty() && ports.back().GetOption() == OpSchema::Variadic;
    return variadic ? &ports.back() : nullptr;
}

/// Writes one node by one schema.
class Form {
public:
    Form(const NodeUse& use, const OpSchema& schema) : m_use(use), m_op(*use.facts.op), m_schema(schema) {}

    NodeForm take() {
        inputs();
        outputs();
        attributes();
        return std::move(m_form);
    }

private:
    void misfit(std::string clause) {
        if (m_form.misfit.empty()) m_form.misfit = std::move(clause);
    }
    bool isGiven(const AttributeSpec& spec) const {
        return m_use.node.attributes.has(spec.name) || spec.required;
    }

    void check(const OpSchema::FormalParameter& parameter, DType dtype) {
        if (!allowsType(m_schema, parameter, dtype))
            return misfit(fmt::format("its {} cannot be {} in ONNX; cast to another dtype around the node",
                                      parameter.GetName(), name(dtype)));
        if (!parameter.GetIsHomogeneous()) return;
        const auto [bound, isNew] = m_types.emplace(parameter.GetTypeStr(), dtype);
        if (!isNew && bound->second != dtype)
            misfit(fmt::format("its {} must have the dtype {} in ONNX, but has {}; cast it",
                               parameter.GetName(), name(bound->second), name(dtype)));
    }

    void inputs() {
        if (m_op.name == "LinearClassifier" && !m_use.facts.attributes.has("classlabels_ints"))
            misfit("ONNX takes the number of its scores from its class labels; set the attribute "
                   "classlabels_ints");
        if (m_op.name == "MeanVarianceNormalization" && m_use.inputs[0] != DType::f32)
            misfit("ONNX defines it for f32 only; cast its input to f32 and its output back");
        const std::size_t ports = std::max(m_op.inputs.size(), m_use.inputs.size());
        for (std::size_t port = 0; port < ports; ++port) {
            const PortSpec& spec = m_op.inputAt(static_cast<int>(port));
            const OpSchema::FormalParameter* parameter = parameterAt(m_schema.inputs(), port);
            const AttributeSpec* attribute = m_op.attribute(spec.name);
            const bool required = parameter && parameter->GetOption() == OpSchema::Single;
            Input input = Input::absent;
            if (port < m_use.inputs.size() && m_use.inputs[port])
                input = Input::connected;
            else if (spec.hostValue && parameter && attribute && m_use.facts.attributes.has(spec.name) &&
                     (required || !spec.optional || isGiven(*attribute)))
                input = Input::fromAttribute;
            m_form.inputs.push_back(input);
            if (input == Input::connected && !parameter)
                misfit(fmt::format("it has no input {} in this version of ONNX", spec.name));
            else if (input == Input::connected)
                check(*parameter, *m_use.inputs[port]);
            else if (input == Input::absent && required)
                misfit(fmt::format("its input {} must be connected in ONNX", spec.name));
        }
        while (!m_form.inputs.empty() && m_form.inputs.back() == Input::absent) m_form.inputs.pop_back();
    }

    void outputs() {
        const auto& types = m_use.facts.outputs;
        for (std::size_t port = 0; port < types.size(); ++port) {
            const OpSchema::FormalParameter* parameter = parameterAt(m_schema.outputs(), port);
            // In training mode BatchNormalization has all its outputs, otherwise only the first.
            const bool isNorm = m_op.name == "BatchNormalization";
            const bool all = isNorm && m_use.facts.attributes.flag("training_mode");
            if (isNorm && !all && port > 0 && m_use.read[port])
                misfit("in ONNX, it has the outputs mean and variance in training_mode only; read its inputs "
                       "mean and variance instead");
            const bool named =
                m_use.read[port] || (parameter && (all || parameter->GetOption() != OpSchema::Optional));
            m_form.outputs.push_back(named);
            if (named && !parameter)
                misfit(fmt::format("it has no output {} in this version of ONNX",
                                   m_op.outputAt(static_cast<int>(port)).name));
            else if (named)
                check(*parameter, types[port]->dtype);
        }
        while (m_form.outputs.size() > 1 && !m_form.outputs.back()) m_form.outputs.pop_back();
    }

    void attributes() {
        for (const AttributeSpec& spec : m_op.attributes) {
            if (!m_use.facts.attributes.has(spec.name) || isCountedBySizes(spec)) continue;
            const auto known = m_schema.attributes().find(spec.name);
            if (known == m_schema.attributes().end()) {
                needNot(spec);
                continue;
            }
            const OpSchema::Attribute& attribute = known->second;
            AttributeProto proto = protoOf(m_use, spec, attribute.type);
            const bool differs =
                attribute.default_value.has_type() && !sameValue(proto, attribute.default_value);
            // An empty list means the same as an absent one, and the checker rejects it.
            if (isEmptyList(*m_use.facts.attributes.find(spec.name))) continue;
            if (attribute.required || isGiven(spec) || differs || attribute.type == AttributeProto::TENSOR)
                m_form.attributes.push_back(std::move(proto));
        }
        // ONNX declares it optional but gives no default.
        if (const AttributeSpec* hidden = m_op.attribute("hidden_size");
            hidden && !m_use.facts.attributes.has("hidden_size")) {
            AttributeProto& size = m_form.attributes.emplace_back();
            size.set_name("hidden_size");
            size.set_type(AttributeProto::INT);
            const Shape& shape = m_use.facts.outputs[0]->shape;
            size.set_i(shape[shape.rank() - 1]);
        }
        for (const auto& [name, attribute] : m_schema.attributes())
            if (attribute.required && !m_use.facts.attributes.has(name))
                misfit(fmt::format("its attribute {} must be set in ONNX", name));
    }

    /// Whether Split's number of parts follows from another input with their sizes.
    bool isCountedBySizes(const AttributeSpec& spec) const {
        return m_op.name == "Split" && spec.name == "num_outputs" && m_form.inputs.size() > 1;
    }

    /// Omits an attribute that this version does not have, if its value is the implied one.
    void needNot(const AttributeSpec& spec) {
        const Attributes& values = m_use.facts.attributes;
        const auto isPort = [&](const PortSpec& port) { return port.name == spec.name; };
        if (std::any_of(m_op.inputs.begin(), m_op.inputs.end(), isPort) || isOwn(m_op, spec)) return;
        if (!spec.defaultValue || *values.find(spec.name) != *spec.defaultValue)
            misfit(fmt::format("it has no attribute {} in this version of ONNX", spec.name));
    }

    const NodeUse& m_use;
    const Op& m_op;
    const OpSchema& m_schema;
    std::map<std::string, DType> m_types; ///< by type variable
    NodeForm m_form;
};

} // namespace

NodeForm formOf(const NodeUse& use, int version) {
    const Op& op = *use.facts.op;
    const OpSchema* schema = onnxSchemas().GetSchema(op.name, version, op.domain);
    if (!schema || version < meantSince(use)) {
        NodeForm none;
        none.misfit = "this version of ONNX does not have the op with these inputs and attributes";
        return none;
    }
    return Form(use, *schema).take();
}

} // namespace twb::onnx_export
