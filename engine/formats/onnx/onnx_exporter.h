#pragma once

#include "core/error.h"
#include "formats/onnx/onnx_node_form.h"
#include "graph/bodies.h"
#include "placement/analysis.h"

#include <fmt/format.h>

#include <map>
#include <onnx/onnx_pb.h>
#include <set>
#include <string>
#include <vector>

namespace twb::onnx_export {

/// The oldest opset that is written.
constexpr int kOpset = 17;

/// Converts one graph to a model.
class Export {
public:
    Export(const Graph& graph, const TensorFiles* files)
        : m_graph(graphToExport(graph, files)), m_files(files), m_bodies(m_graph),
          m_analysis(analyze(m_graph, devicesOf(m_graph), Policy::implicit, files)) {}

    std::string run();

private:
    /// Devices do not matter here; the map only allows shapes and dtypes to be checked.
    static DeviceMap devicesOf(const Graph& graph);
    static Graph graphToExport(const Graph& graph, const TensorFiles* files);
    void add(const NodeFacts& facts, const Node& node);
    void addSource(const NodeFacts& facts, const Node& node);
    void addOutput(const NodeFacts& facts, const Node& node);
    void addOp(const NodeFacts& facts, const Node& node);
    void addControl(const NodeFacts& facts, const Node& node);
    void addBody(const NodeFacts& facts, const Node& node, int index, onnx::NodeProto& proto);
    std::vector<const NodeFacts*> contentsOf(const Body* body) const;
    std::string addScalar(const std::string& name, DType dtype, std::int64_t value);
    std::string addIdentity(const std::string& from, const std::string& wanted);
    NodeUse useOf(const NodeFacts& facts) const;
    void chooseVersions();
    std::string hostInput(const NodeFacts& facts, const PortSpec& port, const std::string& base);
    std::string unique(const std::string& wanted);
    std::string initializer(const std::string& name, const TensorView& tensor);
    static void describe(const TensorType& type, onnx::ValueInfoProto& value, const std::string& name);
    [[noreturn]] void refuse(const Node& node, const std::string& problem) const {
        throw Error(ErrorCode::badGraph,
                    fmt::format("{} \"{}\" cannot be exported to ONNX: {}", node.op, node.name, problem));
    }

    const Graph m_graph;
    const TensorFiles* m_files;
    const Bodies m_bodies;
    const Analysis m_analysis;
    onnx::ModelProto m_model;
    onnx::GraphProto* m_out = nullptr; ///< the model's graph, or that of the current body
    std::map<PortRef, std::string> m_names;
    std::set<std::string> m_taken;
    std::map<std::string, int> m_versions; ///< by domain
};

} // namespace twb::onnx_export
