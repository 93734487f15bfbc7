#include "graph/module_levels.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/module_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace twb {
namespace {

/// Of the canvas in a window of 1280 x 800 pixels, in pixels.
constexpr double kViewWidth = 630;
constexpr double kViewHeight = 410;
constexpr double kFullZoom = 0.6;      ///< draws all texts of cards
constexpr double kReadableZoom = 0.45; ///< draws the names of cards

struct Box {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;
    bool touches(const Box& other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
    void take(const Box& other) {
        left = std::min(left, other.left);
        top = std::min(top, other.top);
        right = std::max(right, other.right);
        bottom = std::max(bottom, other.bottom);
    }
};

/// A card: a node, or a collapsed module.
struct Card {
    LaneId lane = LaneId::none;
    Box box;
    std::vector<NodeId> nodes;
};

/// The cards of nodes inside `inside`.
std::vector<Card> cardsOf(const Graph& graph, const std::vector<NodeId>& nodes, FrameId inside) {
    std::vector<Card> cards;
    std::unordered_map<FrameId, std::size_t> known;
    for (const NodeId id : nodes) {
        const Node& node = *graph.find(id);
        if (foldedInto(graph, node)) continue;
        FrameId module = FrameId::none;
        for (const Frame* at = graph.find(node.frame); at && at->id != inside; at = graph.find(at->parent))
            if (at->collapsed) module = at->id;
        std::size_t card = cards.size();
        if (module != FrameId::none) card = known.emplace(module, card).first->second;
        const CardSize size = module == FrameId::none ? cardSizeOf(graph, node) : CardSize{};
        const Box box{node.position.x, node.position.y, node.position.x + size.width,
                      node.position.y + size.height};
        if (card == cards.size()) cards.push_back({node.lane, box, {}});
        // The card of a module is at the top left corner of its nodes on the lane of the first one.
        if (node.lane == cards[card].lane) cards[card].box.take(box);
        cards[card].nodes.push_back(id);
    }
    for (const auto& [module, card] : known) {
        Box& box = cards[card].box;
        const CardSize size = cardSizeOfModule(graph, cards[card].nodes);
        box.right = box.left + size.width;
        box.bottom = box.top + size.height;
    }
    return cards;
}

} // namespace

int moduleLevels(const Graph& graph, FrameId inside) {
    return static_cast<int>(ModuleTree(graph).levelsIn(inside).size());
}

int openLevels(const Graph& graph, FrameId inside) {
    int open = 0;
    for (const std::vector<FrameId>& level : ModuleTree(graph).levelsIn(inside)) {
        if (std::any_of(level.begin(), level.end(), [&](FrameId id) { return graph.find(id)->collapsed; }))
            break;
        ++open;
    }
    return open;
}

Arranged openLevelsTo(const Graph& graph, int levels, FrameId inside,
                      const std::function<bool()>& isCancelled) {
    DeltaBuilder builder(graph, "Open modules");
    int level = 0;
    for (const std::vector<FrameId>& frames : ModuleTree(graph).levelsIn(inside)) {
        for (const FrameId id : frames) {
            Frame frame = *graph.find(id);
            frame.collapsed = level >= levels && frame.owner == NodeId::none;
            if (frame != *graph.find(id)) builder.change(frame);
        }
        ++level;
    }
    Arranged out = arrangeAll(builder.graph(), inside, isCancelled);
    for (const Change<Node>& change : out.delta.nodes) builder.change(*change.after);
    for (const Change<Route>& change : out.delta.routes) builder.setDots(change.before->id, {});
    out.delta = builder.take();
    return out;
}

Delta expandModule(const Graph& graph, FrameId module, FrameId inside) {
    constexpr double kAround = 40; // a frame's border and title, and a gap
    Frame frame = *graph.find(module);
    DeltaBuilder builder(graph, "Expand module " + frame.title);
    const ModuleTree tree(graph);
    std::vector<NodeId> outside = tree.allNodesIn(inside);
    const std::vector<NodeId> content = tree.allNodesIn(module);
    std::erase_if(outside, [&](NodeId id) { return std::binary_search(content.begin(), content.end(), id); });
    const std::vector<Card> before = cardsOf(graph, content, inside);
    frame.collapsed = false;
    builder.change(frame);
    if (before.empty()) return builder.take();

    const Card& card = before.front();
    std::map<LaneId, Box> grown; // the content by lane
    for (const Card& inner : cardsOf(builder.graph(), content, inside))
        grown.emplace(inner.lane, inner.box).first->second.take(inner.box);
    const std::vector<Card> others = cardsOf(graph, outside, inside);
    double right = card.box.right;
    bool isCovering = false;
    for (auto& [lane, box] : grown) {
        box = {box.left, box.top, box.right + kAround, box.bottom + kAround};
        right = std::max(right, box.right);
        isCovering = isCovering ||
                     std::any_of(others.begin(), others.end(), [&box = box, lane = lane](const Card& other) {
                         return other.lane == lane && other.box.touches(box);
                     });
    }
    if (!isCovering) return builder.take();
    for (const Card& other : others) {
        const auto lane = grown.find(other.lane);
        const double edge = other.lane == card.lane ? card.box.bottom : card.box.top;
        const bool isBelow = lane != grown.end() && other.box.top >= edge;
        const bool isRight = !isBelow && other.box.left >= card.box.right;
        if (!isBelow && !isRight) continue;
        for (const NodeId id : other.nodes) {
            Node node = *graph.find(id);
            if (isRight) node.position.x += right - card.box.right;
            if (isBelow) node.position.y += std::max(0.0, lane->second.bottom - edge);
            builder.change(node);
        }
    }
    return builder.take();
}

Delta openLevelsThatFit(const Graph& graph) {
    const int levels = moduleLevels(graph);
    Delta best;
    for (int open = 0; open <= levels; ++open) {
        Arranged arranged = openLevelsTo(graph, open);
        const double zoom = std::min(kViewWidth / arranged.width, kViewHeight / arranged.height);
        if (open > 0 && zoom < (open == levels ? kFullZoom : kReadableZoom)) break;
        best = std::move(arranged.delta);
    }
    return best;
}

} // namespace twb
