#include "graph/module_levels.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/module_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace twb {
namespace {

/// Of the canvas in a window of 1280 x 800 pixels, in pixels.
constexpr double kViewWidth = 630;
constexpr double kViewHeight = 410;
constexpr double kFullZoom = 0.6;       ///< draws all texts of cards
constexpr double kReadableZoom = 0.45;  ///< draws the names of cards
constexpr std::size_t kEnoughCards = 8; ///< their texts say more than the names of deeper modules

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

/// The modules inside `inside` by level, without the bodies of ops, which are never collapsed.
std::vector<std::vector<FrameId>> levelsOf(const Graph& graph, FrameId inside) {
    std::vector<std::vector<FrameId>> levels = ModuleTree(graph).levelsIn(inside);
    for (std::vector<FrameId>& level : levels)
        std::erase_if(level, [&](FrameId id) { return graph.find(id)->owner != NodeId::none; });
    std::erase_if(levels, [](const std::vector<FrameId>& level) { return level.empty(); });
    return levels;
}

} // namespace

int moduleLevels(const Graph& graph, FrameId inside) {
    return static_cast<int>(levelsOf(graph, inside).size());
}

int openLevels(const Graph& graph, FrameId inside) {
    int open = 0;
    for (const std::vector<FrameId>& level : levelsOf(graph, inside)) {
        if (std::any_of(level.begin(), level.end(), [&](FrameId id) { return graph.find(id)->collapsed; }))
            break;
        ++open;
    }
    return open;
}

Arranged openLevelsTo(const Graph& graph, int levels, FrameId inside, const IsCancelled& isCancelled) {
    Delta delta;
    int level = 0;
    for (const std::vector<FrameId>& frames : levelsOf(graph, inside)) {
        for (const FrameId id : frames) {
            const Frame& before = *graph.find(id);
            Frame after = before;
            after.collapsed = level >= levels;
            if (after != before) delta.frames.push_back({before, std::move(after)});
        }
        ++level;
    }
    Graph opened = graph;
    opened.apply(delta);
    Arranged out = arrangeAll(opened, inside, isCancelled);
    out.delta.frames = std::move(delta.frames);
    out.delta.title = "Open modules";
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
    std::unordered_map<NodeId, Position> moves;
    for (const auto& [lane, box] : grown) {
        const bool isOwn = lane == card.lane;
        // On other lanes the module had no card, so whatever reaches below the top of its content moves.
        double edge = isOwn ? card.box.bottom : box.top;
        const auto isBelow = [&, lane = lane, edge](const Card& other) {
            return other.lane == lane && (isOwn ? other.box.top >= edge : other.box.bottom > edge);
        };
        const double from = edge;
        for (const Card& other : others)
            if (!isOwn && isBelow(other)) edge = std::min(edge, other.box.top);
        for (const Card& other : others)
            if (isBelow(other))
                for (const NodeId id : other.nodes)
                    moves[id].y = std::max(0.0, box.bottom - std::min(from, edge));
    }
    for (const Card& other : others)
        if (other.box.left >= card.box.right)
            for (const NodeId id : other.nodes) moves[id].x = right - card.box.right;
    for (const auto& [id, by] : moves) {
        Node node = *graph.find(id);
        node.position = {node.position.x + by.x, node.position.y + by.y};
        builder.change(node);
    }
    // The dots of a wire move with it if both of its ends move equally; otherwise they are removed.
    for (const Route& route : graph.routes()) {
        const auto source = moves.find(graph.sourceOf(route.id)->node);
        const auto consumer = moves.find(route.id.node);
        if (source == moves.end() && consumer == moves.end()) continue;
        std::vector<Dot> dots;
        if (source != moves.end() && consumer != moves.end() && source->second == consumer->second) {
            dots = route.dots;
            for (Dot& dot : dots)
                dot.position = {dot.position.x + source->second.x, dot.position.y + source->second.y};
        }
        builder.setDots(route.id, std::move(dots));
    }
    return builder.take();
}

Delta openLevelsThatFit(const Graph& graph, const IsCancelled& isCancelled) {
    const int levels = moduleLevels(graph);
    const std::vector<NodeId> nodes = ModuleTree(graph).allNodesIn(FrameId::none);
    Delta best;
    bool tellsEnough = false;
    for (int open = 0; open <= levels; ++open) {
        Arranged arranged = openLevelsTo(graph, open, FrameId::none, isCancelled);
        const double zoom = std::min(kViewWidth / arranged.width, kViewHeight / arranged.height);
        const bool hasAllTexts = zoom >= kFullZoom;
        if (open > 0 && !hasAllTexts && (zoom < kReadableZoom || open == levels || tellsEnough)) break;
        best = std::move(arranged.delta);
        Graph opened = graph;
        opened.apply(best);
        tellsEnough = hasAllTexts && cardsOf(opened, nodes, FrameId::none).size() >= kEnoughCards;
    }
    return best;
}

} // namespace twb
