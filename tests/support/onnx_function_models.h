#pragma once

#include "support/onnx_models.h"

#include <google/protobuf/unknown_field_set.h>
#include <string>
#include <vector>

namespace twb::test {

inline onnx::NodeProto node(const std::string& domain, const std::string& op, const std::string& name,
                            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    onnx::NodeProto out;
    out.set_domain(domain);
    out.set_op_type(op);
    out.set_name(name);
    for (const std::string& input : inputs) out.add_input(input);
    for (const std::string& output : outputs) out.add_output(output);
    return out;
}

/// FunctionProto.attribute_proto, which the installed ONNX library does not know yet.
inline void setDefault(onnx::FunctionProto& function, const onnx::AttributeProto& attribute) {
    *onnx::FunctionProto::GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(11) =
        attribute.SerializeAsString();
}

/// Adds an empty function y = NAME(x) of the domain "ours".
inline onnx::FunctionProto& addFunction(onnx::ModelProto& model, const std::string& name) {
    onnx::FunctionProto& out = *model.add_functions();
    out.set_domain("ours");
    out.set_name(name);
    out.add_input("x");
    out.add_output("y");
    out.add_opset_import()->set_version(17);
    return out;
}

inline onnx::AttributeProto floatAttribute(const std::string& name, float value) {
    onnx::AttributeProto out;
    out.set_name(name);
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(value);
    return out;
}

/// Gives an attribute of a function's node the value of an attribute of the function.
inline void setReference(onnx::NodeProto& node, const std::string& attribute, const std::string& of) {
    onnx::AttributeProto& out = *node.add_attribute();
    out.set_name(attribute);
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_ref_attr_name(of);
}

/// Two(x) = Leaky(Leaky(x)), Leaky(x; alpha = 0.25) = LeakyRelu(x), applied to the sum of the small model.
inline onnx::ModelProto modelWithFunctions() {
    onnx::ModelProto model = smallModel();
    auto& import = *model.add_opset_import();
    import.set_domain("ours");
    import.set_version(1);
    onnx::FunctionProto& leaky = addFunction(model, "Leaky");
    leaky.add_attribute("alpha");
    setReference(*leaky.add_node() = node("", "LeakyRelu", "relu", {"x"}, {"y"}), "alpha", "alpha");
    setDefault(leaky, floatAttribute("alpha", 0.25F));
    onnx::FunctionProto& two = addFunction(model, "Two");
    *two.add_node() = node("ours", "Leaky", "first", {"x"}, {"between"});
    auto& second = *two.add_node() = node("ours", "Leaky", "second", {"between"}, {"y"});
    *second.add_attribute() = floatAttribute("alpha", 0.5F);
    onnx::GraphProto& graph = *model.mutable_graph();
    *graph.mutable_node(1) = node("ours", "Two", "block", {"sum"}, {"middle"});
    *graph.add_node() = node("ours", "Two", "block2", {"middle"}, {"y"});
    return model;
}

/// Adds Swish(x; beta = 1) = x · Sigmoid(beta · x) to the model, with a version of its domain "ours".
inline void addSwish(onnx::ModelProto& model, std::int64_t version) {
    for (auto& import : *model.mutable_opset_import())
        if (import.domain() == "ours") import.set_version(version);
    onnx::FunctionProto& swish = addFunction(model, "Swish");
    swish.set_doc_string("x · sigmoid(beta · x)\nThe second line is not shown.");
    setReference(*swish.add_node() = node("", "Constant", "beta", {}, {"beta"}), "value_float", "beta");
    *swish.add_node() = node("", "Mul", "scale", {"x", "beta"}, {"scaled"});
    *swish.add_node() = node("", "Sigmoid", "sigmoid", {"scaled"}, {"gate"});
    *swish.add_node() = node("", "Mul", "product", {"x", "gate"}, {"y"});
    setDefault(swish, floatAttribute("beta", 1.0F));
}

} // namespace twb::test
