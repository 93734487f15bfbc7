#pragma once

#include <onnx/onnx_pb.h>

namespace twb::test {

/// y = Relu(x + w), x f32 2×"n", w an initializer.
inline onnx::ModelProto smallModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("small");
    const auto value = [](onnx::ValueInfoProto& info, const char* name) {
        info.set_name(name);
        auto& type = *info.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnx::TensorProto::FLOAT);
        type.mutable_shape()->add_dim()->set_dim_value(2);
        type.mutable_shape()->add_dim()->set_dim_param("n");
    };
    value(*graph.add_input(), "x");
    value(*graph.add_output(), "y");
    auto& weight = *graph.add_initializer();
    weight.set_name("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(1);
    weight.add_float_data(-0.5F);
    auto& add = *graph.add_node();
    add.set_op_type("Add");
    add.set_name("layer1/add");
    add.add_input("x");
    add.add_input("w");
    add.add_output("sum");
    auto& relu = *graph.add_node();
    relu.set_op_type("Relu");
    relu.add_input("sum");
    relu.add_output("y");
    return model;
}

} // namespace twb::test
