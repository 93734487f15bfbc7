#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <map>
#include <string>
#include <vector>

namespace twb {

/// What must hold of bodies: who may read what is made in them, that their states belong to an owner which
/// has them, and that a body gives back for each carried value what it takes. Writes its diagnostics, of the
/// code "body", into `analysis`, whose nodes up to and including `facts` are filled in, bodies before their
/// owners.
class BodyRule {
public:
    BodyRule(const Graph& graph, const Bodies& bodies, Analysis& analysis);

    /// False when something is wrong with how the node stands in a body or owns them. Gives an owner's
    /// outputs the sizes that hold however often its bodies run.
    bool check(NodeFacts& facts, const Node& node);

private:
    bool checkReads(const NodeFacts& facts, const Node& node);
    bool checkState(const Node& node);
    bool checkOwner(NodeFacts& facts, const Node& node);
    bool checkCarried(NodeFacts& facts, const Node& node, const Body& body);
    Diagnostic& add(NodeId node, int port, std::string message);

    const Graph& m_graph;
    const Bodies& m_bodies;
    Analysis& m_out;
    std::map<FrameId, std::vector<NodeId>> m_carried; ///< by body
};

} // namespace twb
