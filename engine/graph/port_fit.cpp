#include "graph/port_fit.h"

#include "graph/composites.h"
#include "ops/op_table.h"

#include <algorithm>

namespace twb {
namespace {

bool meet(DTypeSet a, DTypeSet b) noexcept {
    return std::any_of(kAllDTypes.begin(), kAllDTypes.end(),
                       [&](DType dtype) { return a.contains(dtype) && b.contains(dtype); });
}

template <class IsFree> std::optional<std::int32_t> inputOf(const Op& op, DTypeSet offered, IsFree isFree) {
    std::optional<std::int32_t> spare;
    for (std::int32_t port = 0; port < std::int32_t(op.inputs.size()); ++port) {
        const PortSpec& spec = op.inputs[std::size_t(port)];
        if (!isFree(port) || !meet(spec.types, offered)) continue;
        if (!spec.optional) return port;
        if (!spare) spare = port;
    }
    return spare;
}

/// The nodes of a body have their inputs and outputs in the body.
bool isInBody(const Fragment& fragment, const Node& node) {
    return std::any_of(fragment.frames.begin(), fragment.frames.end(), [&](const Frame& frame) {
        return frame.id == node.frame && frame.owner != NodeId::none;
    });
}

std::optional<std::int32_t> outputOf(const Op& op, DTypeSet wanted) {
    for (std::int32_t port = 0; port < std::int32_t(op.outputs.size()); ++port)
        if (meet(op.outputs[std::size_t(port)].types, wanted)) return port;
    return std::nullopt;
}

} // namespace

DTypeSet allTypes() noexcept {
    DTypeSet all;
    for (const DType dtype : kAllDTypes) all = all | DTypeSet(dtype);
    return all;
}

DTypeSet acceptedTypes(const Op* op, int input) noexcept {
    if (!op) return allTypes();
    if (input < 0 || (!op->isVariadic() && input >= int(op->inputs.size()))) return {};
    return op->inputAt(input).types;
}

std::optional<EntryPort> inputFor(std::string_view entry, DTypeSet offered) noexcept {
    if (const Op* op = findOp(entry)) {
        if (const auto port = inputOf(*op, offered, [](std::int32_t) { return true; }))
            return EntryPort{0, *port};
        return std::nullopt;
    }
    const Composite* composite = findComposite(entry);
    return composite ? inputFor(composite->fragment, offered) : std::nullopt;
}

std::optional<EntryPort> inputFor(const Fragment& fragment, DTypeSet offered) noexcept {
    for (std::size_t i = 0; i < fragment.nodes.size(); ++i) {
        const Op* op = findOp(fragment.nodes[i].op);
        if (!op || isInBody(fragment, fragment.nodes[i])) continue;
        const auto isFree = [&](std::int32_t port) {
            const PortRef here{fragment.nodes[i].id, port};
            return std::none_of(fragment.edges.begin(), fragment.edges.end(),
                                [&](const Edge& edge) { return edge.to == here; });
        };
        // The ports that a composite leaves open on purpose are required. Its optional ports do not count.
        const auto port = inputOf(*op, offered, isFree);
        if (port && !op->inputs[std::size_t(*port)].optional) return EntryPort{i, *port};
    }
    return std::nullopt;
}

std::optional<std::int32_t> freeInputFor(const Graph& graph, const Node& node, DTypeSet offered) noexcept {
    const Op* op = findOp(node.op);
    if (!op) return std::nullopt;
    return inputOf(*op, offered, [&](std::int32_t port) { return !graph.sourceOf({node.id, port}); });
}

std::optional<EntryPort> outputFor(std::string_view entry, DTypeSet wanted) noexcept {
    if (const Op* op = findOp(entry)) {
        if (const auto port = outputOf(*op, wanted)) return EntryPort{0, *port};
        return std::nullopt;
    }
    const Composite* composite = findComposite(entry);
    return composite ? outputFor(composite->fragment, wanted) : std::nullopt;
}

std::optional<EntryPort> outputFor(const Fragment& fragment, DTypeSet wanted) noexcept {
    for (std::size_t i = fragment.nodes.size(); i-- > 0;) {
        const Op* op = findOp(fragment.nodes[i].op);
        const bool isUsed = std::any_of(fragment.edges.begin(), fragment.edges.end(), [&](const Edge& edge) {
            return edge.from.node == fragment.nodes[i].id;
        });
        if (!op || isUsed || isInBody(fragment, fragment.nodes[i])) continue;
        if (const auto port = outputOf(*op, wanted)) return EntryPort{i, *port};
    }
    return std::nullopt;
}

} // namespace twb
