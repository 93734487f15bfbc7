#include "graph/module_tree.h"
#include "graph/module_versions.h"
#include "graph/node_pairs.h"
#include "ops/op_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace twb {
namespace {

template <class Nodes> Position cornerOf(const Nodes& nodes) {
    constexpr double kFar = std::numeric_limits<double>::max();
    Position corner{kFar, kFar};
    for (const Node& node : nodes)
        if (!node.folded) // a folded node has no card
            corner = {std::min(corner.x, node.position.x), std::min(corner.y, node.position.y)};
    return corner.x == kFar ? Position() : corner;
}

/// The value that the node uses, as text; empty without one.
std::string shown(const Node& node, const AttributeSpec& spec) {
    const AttributeValue* value = node.attributes.find(spec.name);
    if (!value && spec.defaultValue) value = &*spec.defaultValue;
    return value ? toString(*value) : std::string();
}

/// The update of one module.
class Update {
public:
    Update(DeltaBuilder& builder, FrameId module, const ModuleOp& op, std::vector<std::string>& remarks)
        : m_builder(builder), m_before(builder.graph()), m_module(module), m_op(op), m_fragment(op.fragment),
          m_remarks(remarks) {
        for (const NodeId id : ModuleTree(m_before).allNodesIn(module)) m_old.push_back(*m_before.find(id));
        m_partners = pairNodes(m_fragment.nodes, m_old);
        for (std::size_t i = 0; i < m_partners.size(); ++i)
            if (m_partners[i]) m_newOf[m_old[*m_partners[i]].id] = i;
    }

    bool isEmpty() const { return m_old.empty(); }
    void run() {
        keepLooks();
        keepValues();
        tellOfNodes();
        replaceNodes();
        keepReferences();
        connectInputs();
        connectOutputs();
    }

private:
    std::string title() const { return m_before.find(m_module)->title; }
    void remark(const std::string& sentence) {
        m_remarks.push_back(fmt::format("module \"{}\": {}", title(), sentence));
    }
    std::string version() const { return fmt::format("{} version {}", m_op.name, m_op.version); }
    bool isOld(NodeId id) const { return std::ranges::binary_search(m_old, id, {}, &Node::id); }
    std::size_t indexOf(NodeId node) const {
        return static_cast<std::size_t>(std::ranges::find(m_fragment.nodes, node, &Node::id) -
                                        m_fragment.nodes.begin());
    }
    /// A port of the fragment, in the graph.
    PortRef here(PortRef port) const { return {m_added[indexOf(port.node)], port.port}; }

    void keepLooks() {
        for (std::size_t i = 0; i < m_partners.size(); ++i) {
            if (!m_partners[i]) continue;
            const Node& old = m_old[*m_partners[i]];
            Node& node = m_fragment.nodes[i];
            node.name = old.name;
            node.folded = old.folded;
            node.pinned = old.pinned;
            node.disabled = old.disabled;
            node.breakpoints = old.breakpoints;
            node.source = old.source;
        }
    }

    /// The values of the op's attributes, and the files, are the user's; all others belong to the op.
    void keepValues() {
        std::set<std::pair<NodeId, std::string>> kept;
        for (const ModuleOp::Attribute& attribute : m_op.attributes) {
            std::set<std::string> values; // of the nodes that have a partner
            for (const ModuleOp::Setting& setting : attribute.sets) {
                const std::size_t i = indexOf(setting.node);
                if (!m_partners[i]) continue;
                if (const auto* value = m_old[*m_partners[i]].attributes.find(setting.attribute)) {
                    kept.emplace(setting.node, setting.attribute);
                    values.insert(toString(*value));
                    m_fragment.nodes[i].attributes.set(setting.attribute, *value);
                }
            }
            const auto spec = specOf(m_op, attribute);
            const std::string usual = spec && spec->defaultValue ? toString(*spec->defaultValue) : "";
            if (values.size() != 1 || values.contains(usual)) continue;
            setAll(attribute);
            remark(fmt::format("{} stays {}; the default of {} is {}", attribute.name, *values.begin(),
                               version(), usual.empty() ? "none" : usual));
        }
        for (std::size_t i = 0; i < m_partners.size(); ++i) {
            const Op* op = findOp(m_fragment.nodes[i].op);
            if (!m_partners[i] || !op) continue;
            const Node& old = m_old[*m_partners[i]];
            Node& node = m_fragment.nodes[i];
            for (const AttributeSpec& spec : op->attributes) {
                if (spec.name == "seed" || kept.contains({node.id, spec.name})) continue;
                const AttributeValue* value = old.attributes.find(spec.name);
                if (spec.type == AttributeType::file && value)
                    node.attributes.set(spec.name, *value);
                else if (const std::string was = shown(old, spec), is = shown(node, spec); was != is)
                    remark(fmt::format("{} of \"{}\" is {} now; it was {}", spec.name, old.name,
                                       is.empty() ? "not set" : is, was.empty() ? "not set" : was));
            }
        }
    }

    /// A new node that the attribute sets, too, gets the value of the others.
    void setAll(const ModuleOp::Attribute& attribute) {
        std::optional<AttributeValue> value;
        for (const ModuleOp::Setting& setting : attribute.sets)
            if (const std::size_t i = indexOf(setting.node); m_partners[i])
                if (const auto* found = m_fragment.nodes[i].attributes.find(setting.attribute))
                    value = *found;
        for (const ModuleOp::Setting& setting : attribute.sets)
            if (value) m_fragment.nodes[indexOf(setting.node)].attributes.set(setting.attribute, *value);
    }

    void tellOfNodes() {
        std::vector<std::string> gone;
        for (const Node& old : m_old)
            if (!m_newOf.contains(old.id)) gone.push_back(fmt::format("\"{}\" ({})", old.name, old.op));
        if (!gone.empty())
            remark(fmt::format("{} {} not in {}", fmt::join(gone, ", "), gone.size() == 1 ? "is" : "are",
                               version()));
    }

    /// The lane of most of its nodes.
    LaneId homeLane() const {
        std::map<LaneId, std::size_t> counts;
        for (const Node& old : m_old) ++counts[old.lane];
        return std::ranges::max_element(counts, {}, &std::pair<const LaneId, std::size_t>::second)->first;
    }

    void replaceNodes() {
        const LaneId home = homeLane();
        for (const Node& old : m_old) m_builder.removeNode(old.id);
        const auto levels = ModuleTree(m_builder.graph()).levelsIn(m_module);
        for (auto level = levels.rbegin(); level != levels.rend(); ++level)
            for (const FrameId inner : *level) m_builder.removeFrame(inner);
        const Position from = cornerOf(m_fragment.nodes);
        const Position to = cornerOf(m_old);
        paste(m_builder, m_fragment, {to.x - from.x, to.y - from.y}, home, &m_added);
        FrameId outermost = m_builder.graph().find(m_added.front())->frame;
        while (m_builder.graph().find(outermost)->parent != FrameId::none)
            outermost = m_builder.graph().find(outermost)->parent;
        for (std::size_t i = 0; i < m_added.size(); ++i) {
            Node node = *m_builder.graph().find(m_added[i]);
            if (node.frame == outermost) node.frame = m_module;
            if (m_partners[i]) {
                const Node& old = m_old[*m_partners[i]];
                node.lane = old.lane;
                if (const auto* seed = old.attributes.find("seed")) node.attributes.set("seed", *seed);
            }
            m_builder.change(node);
        }
        const ModuleTree pasted(m_builder.graph());
        for (const FrameId id : pasted.modulesIn(outermost)) {
            Frame frame = *m_builder.graph().find(id);
            frame.parent = m_module;
            m_builder.change(frame);
        }
        m_builder.removeFrame(outermost);
        Frame module = *m_before.find(m_module);
        module.body = toString(m_op.ref());
        m_builder.change(module);
    }

    /// Gradient nodes name the node whose gradient they compute.
    void keepReferences() {
        const auto now = [&](NodeId id) {
            const auto at = m_newOf.find(id);
            return at == m_newOf.end() ? id : m_added[at->second];
        };
        const Graph graph = m_builder.graph();
        for (const Node& node : graph.nodes())
            if (Node changed = node; changed.forward = now(node.forward), changed != node)
                m_builder.change(changed);
        for (const Frame& frame : graph.frames())
            if (Frame changed = frame; changed.loss = now(frame.loss), changed != frame)
                m_builder.change(changed);
    }

    std::optional<PortRef> feederOf(PortRef input) const { // inside the new version
        for (const Edge& edge : m_fragment.edges)
            if (edge.to == input) return edge.from;
        return std::nullopt;
    }

    /// The inputs of the new version on which this input of one of its nodes depends, itself if it is free.
    std::set<PortRef> freeInputs(PortRef input) const {
        std::set<PortRef> out;
        std::set<PortRef> seen{input};
        std::vector<PortRef> waiting{input};
        while (!waiting.empty()) {
            const PortRef at = waiting.back();
            waiting.pop_back();
            const auto feeder = feederOf(at);
            if (!feeder) {
                if (at == input || hasPort(m_op.inputs, at)) out.insert(at);
                continue;
            }
            for (const Edge& edge : m_fragment.edges)
                if (edge.to.node == feeder->node && seen.insert(edge.to).second) waiting.push_back(edge.to);
            for (const ModuleOp::Port& port : m_op.inputs)
                if (port.at.node == feeder->node && seen.insert(port.at).second) waiting.push_back(port.at);
        }
        return out;
    }

    /// The outputs of the new version that depend on this output of one of its nodes, itself if it is one.
    std::set<PortRef> openOutputs(PortRef output) const {
        if (hasPort(m_op.outputs, output)) return {output};
        std::set<PortRef> out;
        std::set<NodeId> seen;
        std::vector<PortRef> waiting{output};
        while (!waiting.empty()) {
            const PortRef at = waiting.back();
            waiting.pop_back();
            for (const Edge& edge : m_fragment.edges) {
                if (edge.from != at || !seen.insert(edge.to.node).second) continue;
                for (const ModuleOp::Port& port : m_op.outputs)
                    if (port.at.node == edge.to.node) out.insert(port.at);
                for (const Edge& next : m_fragment.edges)
                    if (next.from.node == edge.to.node) waiting.push_back(next.from);
            }
        }
        return out;
    }

    static std::optional<PortRef> byName(const std::vector<ModuleOp::Port>& ports, const std::string& name) {
        const auto at = std::ranges::find(ports, stemOf(name), &ModuleOp::Port::name);
        return at == ports.end() ? std::nullopt : std::optional(at->at);
    }

    /// The input of the new version for a wire into an old node.
    std::optional<PortRef> inputFor(PortRef old) const {
        std::set<PortRef> found;
        if (const auto at = m_newOf.find(old.node); at != m_newOf.end())
            found = freeInputs({m_fragment.nodes[at->second].id, old.port});
        else if (m_before.find(old.node)->op == "Identity") // it only passes the tensor on
            for (const Edge& edge : m_before.outgoing(old.node))
                if (const auto next = m_newOf.find(edge.to.node); next != m_newOf.end())
                    found.merge(freeInputs({m_fragment.nodes[next->second].id, edge.to.port}));
        if (found.size() == 1) return *found.begin();
        return byName(m_op.inputs, m_before.find(old.node)->name);
    }

    void connectInputs() {
        std::vector<Edge> homeless;
        std::map<PortRef, PortRef> sources; // by input of the new version
        const auto connect = [&](const Edge& old, PortRef input) {
            const auto [at, isFree] = sources.try_emplace(input, old.from);
            if (!isFree) return at->second == old.from;
            m_builder.connect({old.from, here(input)});
            m_builder.setDots(here(input), m_before.dots(old.to));
            return true;
        };
        for (const Node& old : m_old) {
            const auto& inputs = m_before.inputs(old.id);
            for (std::size_t port = 0; port < inputs.size(); ++port) {
                if (!inputs[port] || isOld(inputs[port]->node)) continue;
                const Edge edge{*inputs[port], {old.id, static_cast<std::int32_t>(port)}};
                const auto input = inputFor(edge.to);
                if (!input || !connect(edge, *input)) homeless.push_back(edge);
            }
        }
        // A wire and an input that are the only ones left belong together.
        std::vector<PortRef> open;
        for (const ModuleOp::Port& port : m_op.inputs)
            if (!sources.contains(port.at)) open.push_back(port.at);
        std::set<PortRef> from;
        for (const Edge& edge : homeless) from.insert(edge.from);
        for (const Edge& edge : homeless)
            if (open.size() != 1 || from.size() != 1 || !connect(edge, open.front())) tellOfWire(edge);
    }

    void connectOutputs() {
        std::map<PortRef, std::vector<Edge>> wires; // by old output
        for (const Node& old : m_old)
            for (const Edge& edge : m_before.outgoing(old.id))
                if (!isOld(edge.to.node)) wires[edge.from].push_back(edge);
        std::set<PortRef> taken;
        std::vector<PortRef> homeless;
        const auto connect = [&](PortRef old, PortRef output) {
            taken.insert(output);
            for (const Edge& edge : wires[old]) {
                m_builder.connect({here(output), edge.to});
                m_builder.setDots(edge.to, m_before.dots(edge.to));
            }
        };
        for (const auto& [old, edges] : wires) {
            const auto at = m_newOf.find(old.node);
            std::set<PortRef> found;
            // A tensor that the old version read as well was no result, but stays one of its node.
            const bool isInner =
                std::ranges::any_of(m_before.outgoing(old.node), [&, old = old](const Edge& edge) {
                    return edge.from == old && isOld(edge.to.node);
                });
            if (at != m_newOf.end()) {
                const PortRef same{m_fragment.nodes[at->second].id, old.port};
                found = isInner ? std::set{same} : openOutputs(same);
            }
            if (found.empty())
                if (const auto named = byName(m_op.outputs, m_before.find(old.node)->name)) found = {*named};
            if (found.size() == 1)
                connect(old, *found.begin());
            else
                homeless.push_back(old);
        }
        std::vector<PortRef> open;
        for (const ModuleOp::Port& port : m_op.outputs)
            if (!taken.contains(port.at)) open.push_back(port.at);
        if (homeless.size() == 1 && open.size() == 1) return connect(homeless.front(), open.front());
        for (const PortRef old : homeless)
            for (const Edge& edge : wires[old]) tellOfWire(edge);
    }

    void tellOfWire(const Edge& edge) {
        remark(fmt::format("the wire from \"{}\" to \"{}\" has no place in {}",
                           m_before.find(edge.from.node)->name, m_before.find(edge.to.node)->name,
                           version()));
    }

    DeltaBuilder& m_builder;
    const Graph m_before;
    FrameId m_module;
    const ModuleOp& m_op;
    Fragment m_fragment; ///< with what the old nodes give to it
    std::vector<std::string>& m_remarks;
    std::vector<Node> m_old;                            ///< by id
    std::vector<std::optional<std::size_t>> m_partners; ///< of each new node: index of the old one
    std::map<NodeId, std::size_t> m_newOf;              ///< by old node: index of the new one
    std::vector<NodeId> m_added;                        ///< in the order of the fragment
};

} // namespace

ModuleUpdate updateModules(const Graph& graph, std::span<const FrameId> modules,
                           std::span<const ModuleOp> ops) {
    ModuleUpdate out;
    DeltaBuilder builder(graph, {});
    // Outer modules first: their update replaces the modules inside.
    std::vector<std::pair<std::size_t, FrameId>> byDepth;
    for (const FrameId id : modules) {
        std::size_t depth = 0;
        for (const Frame* at = graph.find(id); at && depth <= graph.frames().size(); ++depth)
            at = graph.find(at->parent);
        byDepth.emplace_back(depth, id);
    }
    std::ranges::sort(byDepth);
    for (const auto& [depth, id] : byDepth) {
        const Frame* frame = builder.graph().find(id); // null if an outer module was updated
        const auto ref = frame ? madeFrom(*frame) : std::nullopt;
        const auto op = ref ? std::ranges::find(ops, ref->name, &ModuleOp::name) : ops.end();
        if (op == ops.end() || op->version <= ref->version || op->fragment.nodes.empty()) continue;
        Update update(builder, id, *op, out.remarks);
        if (update.isEmpty()) continue;
        update.run();
        ++out.modules;
    }
    out.delta = builder.take();
    return out;
}

} // namespace twb
