#include "graph/node_pairs.h"

#include <algorithm>
#include <map>

namespace twb {

std::vector<std::optional<std::size_t>> pairByName(std::span<const Node> nodes,
                                                   std::span<const Node> others) {
    std::vector<std::optional<std::size_t>> out(nodes.size());
    std::vector<bool> isTaken(others.size());
    const auto pairAll = [&](auto&& areSame) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            for (std::size_t k = 0; !out[i] && k < others.size(); ++k)
                if (!isTaken[k] && nodes[i].op == others[k].op && areSame(nodes[i], others[k])) {
                    out[i] = k;
                    isTaken[k] = true;
                }
    };
    pairAll([](const Node& a, const Node& b) { return a.name == b.name; });
    pairAll([](const Node& a, const Node& b) { return stemOf(a.name) == stemOf(b.name); });
    std::map<std::string, std::pair<int, int>> left; // by op: nodes without a partner, here and there
    for (std::size_t i = 0; i < nodes.size(); ++i) left[nodes[i].op].first += !out[i];
    for (std::size_t k = 0; k < others.size(); ++k) left[others[k].op].second += !isTaken[k];
    pairAll([&](const Node& a, const Node&) { return left[a.op] == std::pair(1, 1); });
    return out;
}

std::vector<std::optional<std::size_t>> pairNodes(std::span<const Node> nodes, std::span<const Node> others) {
    if (!std::ranges::equal(nodes, others, {}, &Node::op, &Node::op)) return pairByName(nodes, others);
    // Nodes of one op may have changed places.
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) places.emplace(stemOf(nodes[i].name), i);
    for (std::size_t i = 0; i < others.size(); ++i) {
        const auto place = places.find(std::string(stemOf(others[i].name)));
        if (place != places.end() && stemOf(nodes[i].name) != place->first) return pairByName(nodes, others);
    }
    std::vector<std::optional<std::size_t>> out;
    for (std::size_t i = 0; i < nodes.size(); ++i) out.emplace_back(i);
    return out;
}

} // namespace twb
