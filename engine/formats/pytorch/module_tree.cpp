#include "formats/pytorch/module_tree.h"

#include <algorithm>

namespace twb::pytorch {

namespace {

bool isSource(const LiveNode& node) { return node.facts->op->role == OpRole::source; }
bool isSink(const LiveNode& node) { return node.facts->op->role == OpRole::sink; }

} // namespace

ModuleTree::ModuleTree(const Graph& graph, const Bodies& bodies, const std::vector<LiveNode>& live)
    : m_graph(graph), m_bodies(bodies), m_live(live) {
    for (std::size_t i = 0; i < live.size(); ++i) m_place[live[i].facts->id] = i;
    do {
        makeScopes();
    } while (!order());
    findSources();
    findValues();
}

/// The node itself, or the outermost If, Loop or Scan that contains it.
NodeId ModuleTree::itemOf(NodeId node) const {
    for (const Body* body = m_bodies.around(node); body; body = m_bodies.around(*body)) node = body->owner;
    return node;
}

std::size_t ModuleTree::homeOf(NodeId node) const {
    const Node& item = *m_graph.find(itemOf(node));
    const LiveNode& live = m_live[m_place.at(node)];
    if (isSink(live)) return 0;
    for (FrameId frame = item.frame; frame != FrameId::none; frame = m_graph.find(frame)->parent)
        if (const auto scope = m_scopeOf.find(frame); scope != m_scopeOf.end()) return scope->second;
    return 0;
}

std::size_t ModuleTree::depth(std::size_t scope) const {
    std::size_t count = 0;
    for (; scope != 0; scope = m_scopes[scope].parent) ++count;
    return count;
}

std::size_t ModuleTree::common(std::size_t a, std::size_t b) const {
    while (depth(a) > depth(b)) a = m_scopes[a].parent;
    while (depth(b) > depth(a)) b = m_scopes[b].parent;
    while (a != b) {
        a = m_scopes[a].parent;
        b = m_scopes[b].parent;
    }
    return a;
}

/// One scope per frame that contains compute nodes, outermost first.
void ModuleTree::makeScopes() {
    m_scopes.assign(1, {});
    m_scopeOf.clear();
    for (const LiveNode& live : m_live) {
        if (isSource(live) || isSink(live)) continue;
        std::vector<FrameId> chain;
        for (FrameId frame = m_graph.find(itemOf(live.facts->id))->frame; frame != FrameId::none;
             frame = m_graph.find(frame)->parent)
            if (!m_dissolved.contains(frame)) chain.push_back(frame);
        std::size_t parent = 0;
        for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
            const auto [known, isNew] = m_scopeOf.try_emplace(*frame, m_scopes.size());
            if (isNew) {
                m_scopes.push_back({});
                m_scopes.back().frame = *frame;
                m_scopes.back().parent = parent;
            }
            parent = known->second;
        }
    }
}

/// Sorts the items of each scope by dependency. If frames depend on each other, dissolves them and returns
/// false.
bool ModuleTree::order() {
    // An item of a scope as (is a scope, index): a scope, or a node of m_live.
    using Item = std::pair<bool, std::size_t>;
    const auto itemIn = [&](std::size_t scope, std::size_t home, NodeId node) -> Item {
        if (home == scope) return {false, m_place.at(itemOf(node))};
        while (m_scopes[home].parent != scope) home = m_scopes[home].parent;
        return {true, home};
    };
    std::vector<std::map<Item, std::set<Item>>> before(m_scopes.size());
    std::vector<std::map<Item, std::size_t>> first(m_scopes.size());
    for (std::size_t place = 0; place < m_live.size(); ++place) {
        const LiveNode& live = m_live[place];
        if (isSource(live)) continue;
        const NodeId id = live.facts->id;
        const std::size_t home = homeOf(id);
        for (std::size_t scope = home;; scope = m_scopes[scope].parent) {
            const Item item = itemIn(scope, home, id);
            before[scope][item];
            first[scope].try_emplace(item, place);
            if (scope == 0) break;
        }
        for (const PortRef read : live.reads) {
            const LiveNode& maker = m_live[m_place.at(read.node)];
            if (isSource(maker)) continue;
            const std::size_t from = homeOf(read.node);
            const std::size_t scope = common(home, from);
            const Item item = itemIn(scope, home, id);
            const Item earlier = itemIn(scope, from, read.node);
            if (item != earlier) before[scope][item].insert(earlier);
        }
    }
    bool fine = true;
    for (std::size_t scope = 0; scope < m_scopes.size(); ++scope) {
        std::map<Item, std::vector<Item>> after;
        std::map<Item, std::size_t> waits;
        std::set<std::pair<std::size_t, Item>> ready;
        for (const auto& [item, earlier] : before[scope]) {
            waits[item] = earlier.size();
            if (earlier.empty()) ready.emplace(first[scope].at(item), item);
            for (const Item& one : earlier) after[one].push_back(item);
        }
        while (!ready.empty()) {
            const Item item = ready.begin()->second;
            ready.erase(ready.begin());
            waits.erase(item);
            m_scopes[scope].items.push_back(item.first ? Scope::Item{nullptr, item.second}
                                                       : Scope::Item{&m_live[item.second], 0});
            for (const Item& next : after[item])
                if (--waits.at(next) == 0) ready.emplace(first[scope].at(next), next);
        }
        for (const auto& [item, count] : waits) {
            if (item.first) m_dissolved.insert(m_scopes[item.second].frame);
            fine = false;
        }
    }
    return fine;
}

/// A source belongs to the innermost scope that contains all its consumers. An Input belongs to the root,
/// since it is an argument.
void ModuleTree::findSources() {
    for (const LiveNode& live : m_live)
        for (const PortRef read : live.reads) {
            if (!isSource(m_live[m_place.at(read.node)])) continue;
            const bool isInput = m_live[m_place.at(read.node)].facts->op->name == "Input";
            const std::size_t reader = isInput ? 0 : homeOf(live.facts->id);
            const auto [known, isNew] = m_sourceHome.try_emplace(read, reader);
            if (!isNew) known->second = common(known->second, reader);
        }
    for (const LiveNode& live : m_live)
        if (const auto home = m_sourceHome.find({live.facts->id, 0}); home != m_sourceHome.end())
            m_scopes[home->second].sources.push_back(home->first);
}

void ModuleTree::findValues() {
    const auto add = [](std::vector<PortRef>& to, PortRef value) {
        if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
    };
    for (const LiveNode& live : m_live) {
        const std::size_t home = homeOf(live.facts->id);
        for (const PortRef read : live.reads) {
            const auto source = m_sourceHome.find(read);
            const std::size_t from = source != m_sourceHome.end() ? source->second : homeOf(read.node);
            const std::size_t meet = common(home, from);
            for (std::size_t scope = home; scope != meet; scope = m_scopes[scope].parent)
                add(m_scopes[scope].arguments, read);
            for (std::size_t scope = from; scope != meet; scope = m_scopes[scope].parent)
                add(m_scopes[scope].results, read);
        }
    }
}

} // namespace twb::pytorch
