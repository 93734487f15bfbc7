#pragma once

#include "graph/graph.h"
#include "ops/op.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

/// A body of an If, Loop or Scan: the nodes of a frame that the op owns, and of the modules inside that
/// frame.
struct Body {
    FrameId frame = FrameId::none;
    NodeId owner = NodeId::none;
    int index = 0; ///< index in Op::bodies of its owner
};

/// The bodies of one state of a graph. The nodes of a body may read tensors from the body and from the bodies
/// around it. Only the owner reads the results of its body. For a graph without owned frames the object is
/// empty, and all calls are cheap.
class Bodies {
public:
    explicit Bodies(const Graph& graph);

    bool empty() const noexcept { return m_bodies.empty(); }
    const std::vector<Body>& all() const noexcept { return m_bodies; }
    /// The innermost body that contains a node; null outside all bodies.
    const Body* around(NodeId node) const noexcept;
    /// The body that contains the body's owner; null outside all bodies.
    const Body* around(const Body& body) const noexcept { return around(body.owner); }
    /// Whether nodes in `inner` (null: outside all bodies) may read tensors from `outer`.
    bool sees(const Body* inner, const Body* outer) const noexcept;
    /// The body of an owner by its index in Op::bodies; null if there is none.
    const Body* of(NodeId owner, int index) const noexcept;
    /// For an owner with `connected` inputs: the index of the body whose result feeds input `port`, or -1 for
    /// an input of the owner itself.
    static int bodyOfInput(const Op& owner, int port, int connected) noexcept;
    /// The first input port that takes a result of a body.
    static int firstResult(const Op& owner) noexcept { return static_cast<int>(owner.inputs.size()) - 1; }

private:
    const Graph& m_graph;
    std::vector<Body> m_bodies;
    std::unordered_map<FrameId, std::size_t> m_byFrame; ///< includes the frames inside a body
};

} // namespace twb
