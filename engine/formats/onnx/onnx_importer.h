#pragma once

#include "core/error.h"
#include "formats/onnx/onnx_model.h"
#include "formats/onnx/onnx_nodes.h"
#include "graph/delta.h"
#include "ops/op.h"

#include <fmt/format.h>

#include <onnx/onnx_pb.h>
#include <set>
#include <unordered_map>

namespace twb::onnx_import {

namespace fs = std::filesystem;
using onnx::AttributeProto;
using onnx::NodeProto;

[[noreturn]] inline void refuse(const std::string& place, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", place, problem));
}

/// A node as named in messages.
inline std::string labelOf(const NodeProto& node) {
    if (!node.name().empty()) return fmt::format("node \"{}\" ({})", node.name(), node.op_type());
    return fmt::format("the {} that makes \"{}\"", node.op_type(),
                       node.output_size() > 0 ? node.output(0) : std::string());
}

inline bool isControl(const NodeProto& node) {
    return isDefaultDomain(node.domain()) &&
           (node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan");
}

/// Converts one model to a graph.
class Import {
public:
    Import(const fs::path& path, const ImportOptions& options) : m_path(path), m_options(options) {}

    ImportedModel run(std::string_view bytes);

private:
    void checkVersions(const onnx::ModelProto& model);
    void addContents(const onnx::GraphProto& graph);
    void addControl(const NodeProto& node, NodeId id);
    std::vector<PortRef> addBody(const NodeProto& node, NodeId owner, const char* name);
    void addStates(const NodeProto& node, const onnx::GraphProto& body);
    void addInitializer(const onnx::TensorProto& proto);
    void addInput(const onnx::ValueInfoProto& value);
    void addNode(const NodeProto& node);
    void connect(const NodeProto& node, NodeId id);
    PortRef sourceOf(const NodeProto& node, int port) const;
    PortRef outside(const NodeProto& node, int port);
    std::int64_t scannedBy(const NodeProto& node) const;
    Node& nodeOf(NodeId id);
    void addOutput(const onnx::ValueInfoProto& value);
    void layOut();
    void nameCalls();

    Node& newNode(const std::string& op, const std::string& name);
    std::string uniqueName(const std::string& wanted, const std::string& op);
    NodeId addTensor(const std::string& name, const Tensor& tensor);
    void define(const std::string& name, PortRef output, const std::string& by);
    const PortRef* find(const std::string& name) const;
    void setAttribute(Node& node, const Op* op, const AttributeProto& attribute, const std::string& where);
    std::string at(const std::string& what) const { return fmt::format("{}: {}", m_path.string(), what); }

    const fs::path& m_path;
    const ImportOptions& m_options;
    ImportedModel m_out;
    Delta m_delta;
    LaneId m_lane = LaneId::none;
    /// Names, and the frame of new nodes: the model's, or the current body's.
    struct Scope {
        FrameId frame = FrameId::none;
        std::unordered_map<std::string, PortRef> values{};
    };
    std::vector<Scope> m_scopes{Scope{}};
    std::vector<NodeId> m_parameters;
    std::set<std::string> m_outputNames; ///< used by the Probes
    std::set<std::string> m_taken;
    std::map<std::string, std::int64_t> m_opsets; ///< by domain
    std::map<std::string, std::string> m_calls;   ///< by the prefix of its nodes' names: the function
};

} // namespace twb::onnx_import
