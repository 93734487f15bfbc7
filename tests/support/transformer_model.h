#pragma once

#include <cstdint>
#include <onnx/onnx_pb.h>
#include <string>
#include <utility>
#include <vector>

namespace twb::test {

/// Blocks as in an exported transformer: products with weights, and Reshape, Slice, Expand, Unsqueeze and
/// ReduceSum whose shapes and axes are initializers, some of them shared, or are computed from the shape of a
/// tensor. One initializer is read by the host and by an op.
class TransformerModel {
public:
    explicit TransformerModel(int blocks) {
        m_model.set_ir_version(8);
        m_model.add_opset_import()->set_version(17);
        m_graph.set_name("transformer");
        value(*m_graph.add_input(), "x", {2, 4, 8});
        integers("zero", {}, {0});
        integers("axis0", {1}, {0});
        integers("axis1", {1}, {1});
        integers("ends", {1}, {4});
        integers("rest", {1}, {-1});
        integers("width", {1}, {8});
        integers("flat", {2}, {8, 8});
        integers("full", {3}, {2, 4, 8});
        integers("factors", {3}, {2, 4, 8});
        std::string at = "x";
        for (int i = 0; i < blocks; ++i) at = block(at, "/" + std::to_string(i));
        node("Reshape", "/out/Reshape", {at, "full"}, "y");
        value(*m_graph.add_output(), "y", {2, 4, 8});
        // The host reads it as a shape, an op as numbers.
        node("Expand", "/factors/Expand", {"zero", "factors"}, "expanded");
        node("Add", "/factors/Add", {"factors", "factors"}, "sum");
        for (const auto& [name, shape] :
             {std::pair<const char*, std::vector<std::int64_t>>{"expanded", {2, 4, 8}}, {"sum", {3}}}) {
            auto& info = *m_graph.add_output();
            value(info, name, shape);
            info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
        }
    }
    std::string bytes() const { return m_model.SerializeAsString(); }

private:
    void value(onnx::ValueInfoProto& info, const char* name, const std::vector<std::int64_t>& shape) {
        info.set_name(name);
        auto& type = *info.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnx::TensorProto::FLOAT);
        for (const std::int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
    }
    void integers(const std::string& name, const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& values) {
        auto& tensor = *m_graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(onnx::TensorProto::INT64);
        for (const std::int64_t size : shape) tensor.add_dims(size);
        for (const std::int64_t each : values) tensor.add_int64_data(each);
    }
    std::string weight(const std::string& name, std::int64_t rows, std::int64_t columns) {
        auto& tensor = *m_graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(onnx::TensorProto::FLOAT);
        tensor.add_dims(rows);
        tensor.add_dims(columns);
        for (std::int64_t i = 0; i < rows * columns; ++i) tensor.add_float_data(0.125F);
        return name;
    }
    std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                     std::string output = {}) {
        if (output.empty()) output = name + "_out";
        auto& node = *m_graph.add_node();
        node.set_op_type(op);
        node.set_name(name);
        for (const std::string& input : inputs) node.add_input(input);
        node.add_output(output);
        return output;
    }
    std::string block(const std::string& x, const std::string& n) {
        const std::string q = node("MatMul", n + "/q/MatMul", {x, weight(n + ".wq", 8, 8)});
        const std::string flat = node("Reshape", n + "/Reshape", {q, "flat"});
        const std::string shape = node("Shape", n + "/Shape", {q});
        const std::string batch = node("Gather", n + "/Gather", {shape, "zero"});
        const std::string column = node("Unsqueeze", n + "/Unsqueeze", {batch, "axis0"});
        const std::string sizes = node("Concat", n + "/Concat", {column, "rest", "width"});
        auto& axis = *m_graph.mutable_node(m_graph.node_size() - 1)->add_attribute();
        axis.set_name("axis");
        axis.set_type(onnx::AttributeProto::INT);
        axis.set_i(0);
        const std::string back = node("Reshape", n + "/Reshape_1", {flat, sizes});
        const std::string part = node("Slice", n + "/Slice", {back, "axis0", "ends", "axis1"});
        const std::string sum = node("ReduceSum", n + "/ReduceSum", {part, "axis1"});
        const std::string wide = node("Expand", n + "/Expand", {sum, "full"});
        const std::string product = node("MatMul", n + "/o/MatMul", {wide, weight(n + ".wo", 8, 8)});
        return node("Add", n + "/Add", {product, x});
    }

    onnx::ModelProto m_model;
    onnx::GraphProto& m_graph = *m_model.mutable_graph();
};

} // namespace twb::test
