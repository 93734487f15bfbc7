#include "formats/onnx/onnx_upgrade.h"

#include "formats/onnx/onnx_nodes.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

void erase(NodeProto& node, std::string_view name) {
    for (int i = node.attribute_size() - 1; i >= 0; --i)
        if (node.attribute(i).name() == name) node.mutable_attribute()->DeleteSubrange(i, 1);
}

void setInt(NodeProto& node, const std::string& name, std::int64_t value) {
    erase(node, name);
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
}

void setText(NodeProto& node, const std::string& name, const std::string& value) {
    erase(node, name);
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(value);
}

class Upgrade {
public:
    Upgrade(onnx::GraphProto& graph, std::int64_t opset) : m_graph(graph), m_opset(opset) {
        const auto remember = [&](const onnx::ValueInfoProto& value) {
            const auto& tensor = value.type().tensor_type();
            if (!value.type().has_tensor_type()) return;
            m_elementTypes[value.name()] = tensor.elem_type();
            if (tensor.has_shape()) m_ranks[value.name()] = tensor.shape().dim_size();
        };
        for (const auto& value : graph.input()) remember(value);
        for (const auto& value : graph.output()) remember(value);
        for (const auto& value : graph.value_info()) remember(value);
        for (const auto& tensor : graph.initializer()) {
            m_elementTypes[tensor.name()] = tensor.data_type();
            m_ranks[tensor.name()] = tensor.dims_size();
        }
    }

    void run() {
        google::protobuf::RepeatedPtrField<NodeProto> nodes;
        nodes.Swap(m_graph.mutable_node());
        for (NodeProto& node : nodes) {
            for (AttributeProto& attribute : *node.mutable_attribute())
                if (attribute.has_g()) upgradeNodes(*attribute.mutable_g(), m_opset);
            if (isDefaultDomain(node.domain())) one(node);
            *m_graph.add_node() = std::move(node);
        }
    }

private:
    void one(NodeProto& node) {
        const std::string op = node.op_type();
        if (m_opset < 7) beforeSeven(node);
        if (op == "Clip" && m_opset < 11) {
            floatInput(node, 1, "min");
            floatInput(node, 2, "max");
        } else if (op == "Pad" && m_opset < 11) {
            while (node.input_size() < 2) node.add_input(""); // pads stays an attribute
            floatInput(node, 2, "value");
        } else if (op == "TopK" && m_opset < 10) {
            if (const AttributeProto* k = attributeOf(node, "k")) input(node, 1, integerTensor({k->i()}));
            erase(node, "k");
        } else if (op == "Dropout" && m_opset < 12) {
            erase(node, "ratio"); // used in training only, which these versions cannot express
        } else if (op == "BatchNormalization" && m_opset < 14) {
            erase(node, "spatial");
            const bool training = node.output_size() > 1 && !node.output(1).empty();
            if (training) setInt(node, "training_mode", 1);
            while (node.output_size() > 3) node.mutable_output()->RemoveLast(); // saved_mean, saved_var
        } else if ((op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") && m_opset < 13) {
            coerced(node);
        } else if (op == "Upsample" || (op == "Resize" && m_opset < 11)) {
            resize(node);
        } else if (op == "Scan" && m_opset < 9) {
            batchedScan(node);
        } else if (op == "Scatter") {
            node.set_op_type("ScatterElements");
        } else if (op == "GridSample" && m_opset < 20) {
            const AttributeProto* mode = attributeOf(node, "mode");
            if (!mode || mode->s() == "bilinear")
                setText(node, "mode", "linear");
            else if (mode->s() == "bicubic")
                setText(node, "mode", "cubic");
        } else if (op == "DFT" && m_opset < 20) {
            if (!attributeOf(node, "axis")) setInt(node, "axis", 1);
        } else if (op == "RoiAlign" && m_opset < 16) {
            if (!attributeOf(node, "coordinate_transformation_mode"))
                setText(node, "coordinate_transformation_mode", "output_half_pixel");
        } else if (op == "GroupNormalization" && m_opset < 21) {
            groupNormalization(node);
        } else if (op == "Split" && !attributeOf(node, "num_outputs")) {
            setInt(node, "num_outputs", node.output_size());
        }
    }

    /// Opset 7 introduced NumPy's broadcasting, and inference mode as the default.
    void beforeSeven(NodeProto& node) {
        erase(node, "consumed_inputs");
        erase(node, "is_test");
        if (node.op_type() == "PRelu" && node.input_size() > 1) {
            // Slopes were one per channel: they get axes for the spatial dimensions.
            const auto x = m_ranks.find(node.input(0));
            std::vector<std::int64_t> axes;
            for (int i = 2; x != m_ranks.end() && i < x->second; ++i) axes.push_back(i - 1);
            if (!axes.empty()) node.set_input(1, add("Unsqueeze", {node.input(1), integerTensor(axes)}, {}));
        }
        const AttributeProto* broadcast = attributeOf(node, "broadcast");
        const AttributeProto* axis = attributeOf(node, "axis");
        if (!broadcast || node.op_type() == "Gemm") return erase(node, "broadcast");
        if (axis && node.input_size() > 1) {
            // B's axes started at `axis`. NumPy matches axes from the end, so B gets trailing axes of size 1.
            const auto a = m_ranks.find(node.input(0));
            const auto b = m_ranks.find(node.input(1));
            if (a != m_ranks.end() && b != m_ranks.end()) {
                const std::int64_t first = axis->i() < 0 ? axis->i() + a->second : axis->i();
                std::vector<std::int64_t> axes;
                for (std::int64_t i = first + b->second; i < a->second; ++i)
                    axes.push_back(b->second + static_cast<std::int64_t>(axes.size()));
                if (!axes.empty())
                    node.set_input(1, add("Unsqueeze", {node.input(1), integerTensor(axes)}, {}));
            }
            erase(node, "axis");
        }
        erase(node, "broadcast");
    }

    std::string fresh() { return fmt::format("{}.{}", m_base, ++m_count); }

    /// Adds a constant to the graph and returns its name.
    std::string constant(onnx::TensorProto tensor) {
        tensor.set_name(fresh());
        *m_graph.add_initializer() = tensor;
        return tensor.name();
    }
    std::string integerTensor(const std::vector<std::int64_t>& values) {
        onnx::TensorProto tensor;
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        for (const std::int64_t v : values) tensor.add_int64_data(v);
        return constant(std::move(tensor));
    }
    std::string floatTensor(const std::vector<float>& values) {
        onnx::TensorProto tensor;
        tensor.set_data_type(onnx::TensorProto::FLOAT);
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        for (const float v : values) tensor.add_float_data(v);
        return constant(std::move(tensor));
    }

    static void input(NodeProto& node, int port, const std::string& name) {
        while (node.input_size() <= port) node.add_input("");
        node.set_input(port, name);
    }

    /// A float attribute becomes a scalar input with the type of the first input.
    void floatInput(NodeProto& node, int port, const char* attribute) {
        const AttributeProto* given = attributeOf(node, attribute);
        if (!given) return;
        onnx::TensorProto tensor;
        const auto type = m_elementTypes.find(node.input(0));
        if (type != m_elementTypes.end() && type->second == onnx::TensorProto::DOUBLE) {
            tensor.set_data_type(onnx::TensorProto::DOUBLE);
            tensor.add_double_data(given->f());
        } else {
            tensor.set_data_type(onnx::TensorProto::FLOAT);
            tensor.add_float_data(given->f());
        }
        const std::string name = constant(std::move(tensor));
        erase(node, attribute);
        const bool plain = type == m_elementTypes.end() || type->second == onnx::TensorProto::FLOAT ||
                           type->second == onnx::TensorProto::DOUBLE;
        if (plain) return input(node, port, name);
        input(node, port, add("CastLike", {name, node.input(0)}, {}));
    }

    /// Before opset 13 these ops worked on a matrix: the axes before `axis` are its rows, the others its
    /// columns.
    void coerced(NodeProto& node) {
        const AttributeProto* given = attributeOf(node, "axis");
        const std::int64_t axis = given ? given->i() : 1;
        setInt(node, "axis", -1);
        auto rank = m_ranks.find(node.input(0));
        if (rank == m_ranks.end()) rank = m_ranks.find(node.output(0));
        if (axis == -1 || (rank != m_ranks.end() && axis == rank->second - 1)) return;
        const std::string data = node.input(0);
        const std::string result = node.output(0);
        node.set_input(0, add("Flatten", {data}, {{"axis", axis}}));
        node.set_output(0, fresh());
        NodeProto& reshape = *m_graph.add_node();
        reshape.set_op_type("Reshape");
        reshape.set_name(fresh());
        reshape.add_input(node.output(0));
        reshape.add_input(add("Shape", {data}, {}));
        reshape.add_output(result);
        // A size of 0 means 0 here: the shape is that of a tensor.
        setInt(reshape, "allowzero", 1);
    }

    /// Resize-10 and Upsample had scales as the second input and sampled by truncation.
    void resize(NodeProto& node) {
        node.set_op_type("Resize");
        std::string scales;
        if (const AttributeProto* given = attributeOf(node, "scales"))
            scales = floatTensor({given->floats().begin(), given->floats().end()});
        else if (node.input_size() > 1)
            scales = node.input(1);
        erase(node, "scales");
        input(node, 1, "");
        input(node, 2, scales);
        setText(node, "coordinate_transformation_mode", "asymmetric");
        setText(node, "nearest_mode", "floor");
        const AttributeProto* mode = attributeOf(node, "mode");
        if (mode && mode->s() == "bilinear") setText(node, "mode", "linear");
    }

    /// Scan-8 ran once per element of a batch, the first axis of all its inputs and outputs: this becomes a
    /// Scan over the batch around a present-day Scan. Sequences of different lengths are refused.
    void batchedScan(NodeProto& node) {
        const AttributeProto* body = attributeOf(node, "body");
        const AttributeProto* scanned = attributeOf(node, "num_scan_inputs");
        if (!body || !scanned || (node.input_size() > 0 && !node.input(0).empty())) {
            node.set_op_type("Scan-8 with sequence_lens");
            return;
        }
        NodeProto inner;
        inner.set_op_type("Scan");
        inner.set_name(fresh());
        *inner.add_attribute() = *body;
        setInt(inner, "num_scan_inputs", scanned->i());
        if (const AttributeProto* directions = attributeOf(node, "directions")) {
            *inner.add_attribute() = *directions;
            inner.mutable_attribute(inner.attribute_size() - 1)->set_name("scan_input_directions");
        }
        AttributeProto around;
        around.set_name("body");
        around.set_type(AttributeProto::GRAPH);
        onnx::GraphProto& batch = *around.mutable_g();
        NodeProto outer;
        outer.set_op_type("Scan");
        outer.set_name(node.name());
        for (int i = 1; i < node.input_size(); ++i) {
            outer.add_input(node.input(i));
            inner.add_input(fresh());
            batch.add_input()->set_name(inner.input(i - 1));
        }
        for (const std::string& name : node.output()) {
            outer.add_output(name);
            inner.add_output(fresh());
            batch.add_output()->set_name(inner.output(inner.output_size() - 1));
        }
        *batch.add_node() = std::move(inner);
        setInt(outer, "num_scan_inputs", outer.input_size());
        *outer.add_attribute() = std::move(around);
        node = std::move(outer);
    }

    /// Before opset 21, scale and bias had one element per group: each is repeated for the group's channels.
    void groupNormalization(NodeProto& node) {
        const AttributeProto* given = attributeOf(node, "num_groups");
        if (!given || node.input_size() < 3) return;
        const std::string channels = add("Shape", {node.input(0)}, {{"start", 1}, {"end", 2}});
        const std::string each = add("Div", {channels, integerTensor({given->i()})}, {});
        for (const int port : {1, 2}) {
            const std::string column = add("Reshape", {node.input(port), integerTensor({given->i(), 1})}, {});
            const std::string target = add("Concat", {integerTensor({given->i()}), each}, {{"axis", 0}});
            const std::string wide = add("Expand", {column, target}, {});
            node.set_input(port, add("Reshape", {wide, integerTensor({-1})}, {}));
        }
    }

    std::string add(const char* op, const std::vector<std::string>& inputs,
                    const std::vector<std::pair<const char*, std::int64_t>>& attributes) {
        NodeProto& node = *m_graph.add_node();
        node.set_op_type(op);
        node.set_name(fresh());
        for (const std::string& name : inputs) node.add_input(name);
        node.add_output(fresh());
        for (const auto& [name, value] : attributes) setInt(node, name, value);
        return node.output(0);
    }

    onnx::GraphProto& m_graph;
    std::int64_t m_opset;
    std::unordered_map<std::string, std::int32_t> m_elementTypes;
    std::unordered_map<std::string, int> m_ranks;
    std::string m_base = "upgrade";
    int m_count = 0;
};

} // namespace

void upgradeNodes(onnx::GraphProto& graph, std::int64_t opset) { Upgrade(graph, opset).run(); }

} // namespace twb
