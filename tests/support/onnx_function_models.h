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

/// Two(x) = Leaky(Leaky(x)), Leaky(x; alpha = 0.25) = LeakyRelu(x), applied to the sum of the small model.
inline onnx::ModelProto modelWithFunctions() {
    onnx::ModelProto model = smallModel();
    auto& import = *model.add_opset_import();
    import.set_domain("ours");
    import.set_version(1);
    onnx::FunctionProto& leaky = *model.add_functions();
    leaky.set_domain("ours");
    leaky.set_name("Leaky");
    leaky.add_input("x");
    leaky.add_output("y");
    leaky.add_attribute("alpha");
    leaky.add_opset_import()->set_version(17);
    auto& relu = *leaky.add_node() = node("", "LeakyRelu", "relu", {"x"}, {"y"});
    auto& alpha = *relu.add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(onnx::AttributeProto::FLOAT);
    alpha.set_ref_attr_name("alpha");
    onnx::AttributeProto usual;
    usual.set_name("alpha");
    usual.set_type(onnx::AttributeProto::FLOAT);
    usual.set_f(0.25F);
    setDefault(leaky, usual);
    onnx::FunctionProto& two = *model.add_functions();
    two.set_domain("ours");
    two.set_name("Two");
    two.add_input("x");
    two.add_output("y");
    two.add_opset_import()->set_version(17);
    *two.add_node() = node("ours", "Leaky", "first", {"x"}, {"between"});
    auto& second = *two.add_node() = node("ours", "Leaky", "second", {"between"}, {"y"});
    auto& given = *second.add_attribute();
    given.set_name("alpha");
    given.set_type(onnx::AttributeProto::FLOAT);
    given.set_f(0.5F);
    onnx::GraphProto& graph = *model.mutable_graph();
    *graph.mutable_node(1) = node("ours", "Two", "block", {"sum"}, {"middle"});
    *graph.add_node() = node("ours", "Two", "block2", {"middle"}, {"y"});
    return model;
}

/// Adds Swish(x; beta = 1) = x · Sigmoid(beta · x) to the model, with a version of its domain "ours".
inline void addSwish(onnx::ModelProto& model, std::int64_t version) {
    for (auto& import : *model.mutable_opset_import())
        if (import.domain() == "ours") import.set_version(version);
    onnx::FunctionProto& swish = *model.add_functions();
    swish.set_domain("ours");
    swish.set_name("Swish");
    swish.set_doc_string("x · sigmoid(beta · x)\nThe second line is not shown.");
    swish.add_input("x");
    swish.add_output("y");
    swish.add_opset_import()->set_version(17);
    auto& beta = *swish.add_node() = node("", "Constant", "beta", {}, {"beta"});
    auto& value = *beta.add_attribute();
    value.set_name("value_float");
    value.set_type(onnx::AttributeProto::FLOAT);
    value.set_ref_attr_name("beta");
    *swish.add_node() = node("", "Mul", "scale", {"x", "beta"}, {"scaled"});
    *swish.add_node() = node("", "Sigmoid", "sigmoid", {"scaled"}, {"gate"});
    *swish.add_node() = node("", "Mul", "product", {"x", "gate"}, {"y"});
    onnx::AttributeProto usual;
    usual.set_name("beta");
    usual.set_type(onnx::AttributeProto::FLOAT);
    usual.set_f(1.0F);
    setDefault(swish, usual);
}

} // namespace twb::test
