#pragma once

#include "graph/graph.h"
#include "ops/op.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

/// What an If, Loop or Scan runs: the nodes of a frame that it owns, those of modules inside included.
struct Body {
    FrameId frame = FrameId::none;
    NodeId owner = NodeId::none;
    int index = 0; ///< in Op::bodies of its owner
};

/// The bodies of one state of a graph. A body's nodes may read what is made in it and in what lies around it;
/// only its owner reads out of it. Empty, and free to ask, for a graph without frames that are owned.
class Bodies {
public:
    explicit Bodies(const Graph& graph);

    bool empty() const noexcept { return m_bodies.empty(); }
    const std::vector<Body>& all() const noexcept { return m_bodies; }
    /// The innermost body that a node stands in; null outside of all.
    const Body* around(NodeId node) const noexcept;
    /// The body around another one's owner.
    const Body* around(const Body& body) const noexcept { return around(body.owner); }
    /// Whether what is made in `inner` (null: outside of all bodies) sees what is made in `outer`.
    bool sees(const Body* inner, const Body* outer) const noexcept;
    /// The body of an owner by its index in Op::bodies; null when it has none.
    const Body* of(NodeId owner, int index) const noexcept;
    /// Of an owner with `connected` inputs: the index of the body whose result input `port` takes, -1 for an
    /// input of the owner's own.
    static int bodyOfInput(const Op& owner, int port, int connected) noexcept;
    /// The first input that takes a result.
    static int firstResult(const Op& owner) noexcept { return static_cast<int>(owner.inputs.size()) - 1; }

private:
    const Graph& m_graph;
    std::vector<Body> m_bodies;
    std::unordered_map<FrameId, std::size_t> m_byFrame; ///< also of frames inside
};

} // namespace twb
