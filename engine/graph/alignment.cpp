#include "graph/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace twb {
namespace {

struct Card {
    Node node;
    double width;
    double height;
};
using Group = std::vector<Card>;

std::vector<Group> together(const Graph& graph, const std::vector<AlignedCard>& cards) {
    std::vector<Group> out(1);
    for (const AlignedCard& card : cards)
        if (const Node* node = graph.find(card.node)) out.front().push_back({*node, card.width, card.height});
    return out;
}

std::vector<Group> laneByLane(const Graph& graph, const std::vector<AlignedCard>& cards) {
    std::map<LaneId, Group> lanes;
    for (const AlignedCard& card : cards)
        if (const Node* node = graph.find(card.node))
            lanes[node->lane].push_back({*node, card.width, card.height});
    std::vector<Group> out;
    for (auto& [lane, group] : lanes) out.push_back(std::move(group));
    return out;
}

Delta deltaOf(const Graph& graph, const std::vector<Group>& groups, std::string title) {
    Delta delta;
    for (const Group& group : groups)
        for (const Card& card : group) {
            const Node& before = *graph.find(card.node.id);
            if (before.position != card.node.position) delta.nodes.push_back({before, card.node});
        }
    if (!delta.nodes.empty()) delta.title = std::move(title);
    return delta;
}

/// Sets the `anchor` of all cards to one value: the least, the greatest or the mean.
template <class Anchor> void bringTo(Group& group, double Position::*axis, Anchor anchor, Alignment how) {
    if (group.empty()) return;
    double least = anchor(group.front());
    double greatest = least;
    double sum = 0;
    for (const Card& card : group) {
        least = std::min(least, anchor(card));
        greatest = std::max(greatest, anchor(card));
        sum += anchor(card);
    }
    const bool isMean = how == Alignment::centre || how == Alignment::middle;
    const double goal = isMean ? sum / double(group.size()) : how == Alignment::right ? greatest : least;
    for (Card& card : group) card.node.position.*axis += goal - anchor(card);
}

void spread(Group& group, double Position::*axis, double Card::*size) {
    if (group.size() < 3) return;
    const auto begin = [&](const Card& card) { return card.node.position.*axis; };
    std::stable_sort(group.begin(), group.end(),
                     [&](const Card& a, const Card& b) { return begin(a) < begin(b); });
    double inner = 0;
    for (std::size_t i = 1; i + 1 < group.size(); ++i) inner += group[i].*size;
    const double first = begin(group.front()) + group.front().*size;
    const double gap = (begin(group.back()) - first - inner) / double(group.size() - 1);
    double at = first + gap;
    for (std::size_t i = 1; i + 1 < group.size(); ++i) {
        group[i].node.position.*axis = at;
        at += group[i].*size + gap;
    }
}

} // namespace

Delta align(const Graph& graph, const std::vector<AlignedCard>& cards, Alignment how) {
    const bool isHorizontal = how == Alignment::top || how == Alignment::middle;
    std::vector<Group> groups = isHorizontal ? laneByLane(graph, cards) : together(graph, cards);
    const double share = how == Alignment::right                                ? 1
                         : how == Alignment::centre || how == Alignment::middle ? 0.5
                                                                                : 0;
    for (Group& group : groups) {
        if (isHorizontal)
            bringTo(
                group, &Position::y,
                [&](const Card& card) { return card.node.position.y + share * card.height; }, how);
        else
            bringTo(
                group, &Position::x,
                [&](const Card& card) { return card.node.position.x + share * card.width; }, how);
    }
    return deltaOf(graph, groups, fmt::format("Align {} nodes", cards.size()));
}

Delta distribute(const Graph& graph, const std::vector<AlignedCard>& cards, Direction direction) {
    const bool isVertical = direction == Direction::vertical;
    std::vector<Group> groups = isVertical ? laneByLane(graph, cards) : together(graph, cards);
    for (Group& group : groups)
        isVertical ? spread(group, &Position::y, &Card::height) : spread(group, &Position::x, &Card::width);
    return deltaOf(graph, groups, fmt::format("Distribute {} nodes", cards.size()));
}

} // namespace twb
