#pragma once

#include "graph/delta.h"
#include "ops/op.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// The name and the version of a module op. The frame of a module that was made from it names it in
/// Frame::body.
struct ModuleRef {
    std::string name;
    std::int64_t version = 1;
    bool operator==(const ModuleRef&) const = default;
};
std::string toString(const ModuleRef& ref); ///< "Swish@2"
/// Nothing for a body of an op, and for a module that was not made from a module op.
std::optional<ModuleRef> madeFrom(const Frame& frame);
/// Whether any module of the graph was made from an op.
bool hasModuleOps(const Graph& graph);

/// An op that is written as a module of other ops. Adding it to a graph adds these nodes, so it runs
/// wherever they run, and a graph that contains it needs nothing else.
struct ModuleOp {
    struct Port {
        std::string name;
        PortRef at; ///< of a node of the fragment
    };
    /// An attribute of one of the nodes.
    struct Setting {
        NodeId node = NodeId::none;
        std::string attribute;
        bool operator==(const Setting&) const = default;
    };
    /// A value that all these attributes have. Its default is the value in the fragment.
    struct Attribute {
        std::string name;
        std::string doc;
        std::vector<Setting> sets; ///< at least one
    };

    std::string name;
    std::int64_t version = 1;
    std::string doc; ///< one line
    std::vector<Port> inputs;
    std::vector<Port> outputs;
    std::vector<Attribute> attributes;
    /// All nodes are in one outermost frame, which names this op. A node without a lane goes to the lane on
    /// which the op is put.
    Fragment fragment;
    std::filesystem::path file; ///< empty if it has none

    ModuleRef ref() const { return {name, version}; }
};

/// Puts all nodes of the fragment in one outermost frame that names the op, unless they are in one.
void frameFragment(ModuleOp& op);
/// Takes the nodes on the device with the most nodes from their lanes, so that they go to the lane on which
/// the op is put. Nodes on other devices go to lanes of these devices. The op can no longer be written.
void freeHomeLane(ModuleOp& op);
/// Inputs and outputs by the fragment's edges: each required input without a source, and each output without
/// a consumer, of nodes outside of bodies. With the names that the nodes' ops give them.
void portsFromEdges(ModuleOp& op);

/// The attribute as its editors and its help need it: as in the op of the first node that it sets, with the
/// module's name, text and default. Nothing if that op has no such attribute.
std::optional<AttributeSpec> specOf(const ModuleOp& op, const ModuleOp::Attribute& attribute);
/// The op whose attribute that is; null if the op is unknown.
const Op* opOf(const ModuleOp& op, const ModuleOp::Setting& setting) noexcept;

/// Whether an input or output of the op is there.
bool hasPort(const std::vector<ModuleOp::Port>& ports, PortRef at);
/// The nodes of a module in the order of the fragment. Empty if it was made from another op or version, or if
/// nodes were added or removed since.
std::vector<NodeId> nodesMadeFrom(const Graph& graph, FrameId module, const ModuleOp& op);
/// Sets an attribute of a module that was made from the op; without a value, to its default. Empty if
/// nodesMadeFrom() is, or if nothing changes. Without a title.
Delta setModuleAttribute(const Graph& graph, FrameId module, const ModuleOp& op,
                         const ModuleOp::Attribute& attribute, const std::optional<AttributeValue>& value);

} // namespace twb
