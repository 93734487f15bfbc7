#include "placement/room.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/free_places.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace twb {
namespace {

constexpr double kColumn = card::maxWidth + 40; ///< a card and the gap beside it
constexpr double kLeast = 8;                    ///< the distance to the left and upper border of a lane
constexpr double kSame = 1;                     ///< cards at this distance are in one column
constexpr std::size_t kMostRooms = 24; ///< beyond this distance, cards are placed where there is room

class Room {
public:
    Room(DeltaBuilder& builder, const std::vector<NodeId>& added)
        : m_builder(builder), m_added(added), m_isAdded(added.begin(), added.end()) {}

    void run() {
        for (const NodeId id : m_added) m_wanted[id] = columnFor(id);
        for (const auto& [id, right] : m_shifts) {
            Node node = *graph().find(id);
            node.position.x += right;
            m_builder.change(node);
        }
        for (const Step& step : m_steps) shiftOthers(step);
        place();
    }

private:
    /// A column that was inserted: everything not to its left was shifted.
    struct Step {
        double from = 0;
        double by = 0;
    };

    const Graph& graph() const { return m_builder.graph(); }
    double xOf(NodeId id) const {
        if (const auto own = m_wanted.find(id); own != m_wanted.end()) return own->second;
        const auto shift = m_shifts.find(id);
        return graph().find(id)->position.x + (shift == m_shifts.end() ? 0 : shift->second);
    }
    /// A parameter that was folded into its consumer and has a card now, because a To reads it.
    bool isBare(NodeId id) const {
        const Node& node = *graph().find(id);
        return node.folded && !foldedInto(graph(), node);
    }
    /// The leftmost consumer to the right of a column, or the leftmost of all if there is none.
    NodeId firstReader(NodeId id, double column) const {
        NodeId first = NodeId::none;
        const auto rank = [&](NodeId reader) {
            const double x = xOf(reader);
            return std::pair(x < column - kColumn / 2, x);
        };
        for (const Edge& edge : graph().outgoing(id))
            if (first == NodeId::none || rank(edge.to.node) < rank(first)) first = edge.to.node;
        return first;
    }

    double columnFor(NodeId id) {
        const auto from = graph().sourceOf({id, 0});
        const double source = from && !isBare(from->node) ? xOf(from->node) : -kColumn;
        const NodeId reader = firstReader(id, source);
        if (reader == NodeId::none) return source + kColumn;
        const double latest = xOf(reader) - kColumn;
        const double missing = source + kColumn - latest;
        const bool isBackward = xOf(reader) < source - kColumn / 2;
        if (missing <= 0 || isBackward || !from || isBare(from->node) || m_steps.size() >= kMostRooms)
            return std::max(kLeast, latest);
        makeColumn(source, reader, missing);
        return source + kColumn;
    }

    void makeColumn(double source, NodeId reader, double by) {
        const bool isBehind = xOf(reader) > source + kSame;
        const double from = isBehind ? xOf(reader) - kSame : source + kSame;
        std::unordered_set<NodeId> together; // cards in the source's column that must nevertheless move
        if (!isBehind) {
            const double column = xOf(reader) - kSame;
            std::vector<NodeId> open{reader};
            while (!open.empty()) {
                const NodeId at = open.back();
                open.pop_back();
                if (xOf(at) < column || !together.insert(at).second) continue;
                for (const Edge& edge : graph().outgoing(at)) open.push_back(edge.to.node);
            }
        }
        for (const Node& node : graph().nodes())
            if (!m_isAdded.contains(node.id) && (xOf(node.id) >= from || together.contains(node.id)))
                m_shifts[node.id] += by;
        for (auto& [id, x] : m_wanted)
            if (x >= from) x += by;
        m_steps.push_back({from, by});
    }

    /// Notes, and the dots of wires.
    void shiftOthers(const Step& step) {
        const Table<Note> notes = graph().notes();
        for (Note note : notes) {
            if (note.position.x < step.from) continue;
            note.position.x += step.by;
            m_builder.change(note);
        }
        const Table<Route> routes = graph().routes();
        for (const Route& route : routes) {
            std::vector<Dot> dots = route.dots;
            for (Dot& dot : dots)
                if (dot.position.x >= step.from) dot.position.x += step.by;
            m_builder.setDots(route.id, std::move(dots));
        }
    }

    /// The height from the lane's top at which a card's wire to a consumer is straight.
    double levelWith(const Node& node, NodeId readerId) const {
        const Node& reader = *graph().find(readerId);
        const auto from = graph().sourceOf({node.id, 0});
        const Node* source = from ? graph().find(from->node) : nullptr;
        const double anchor = cardSizeOf(graph(), node).anchor;
        if (reader.lane != node.lane)
            return source && source->lane == node.lane
                       ? source->position.y + cardSizeOf(graph(), *source).anchor - anchor
                       : kLeast;
        double above = 0;
        double count = 0;
        bool isPast = false;
        for (const auto& input : graph().inputs(readerId)) {
            if (input && foldedInto(graph(), *graph().find(input->node))) continue;
            isPast = isPast || (input && input->node == node.id);
            above += isPast ? 0 : 1;
            ++count;
        }
        return reader.position.y + cardSizeOf(graph(), reader).anchor +
               card::portSpacing * (above - (count - 1) / 2) - anchor;
    }

    void place() {
        FreePlaces free(graph());
        const auto settle = [&](Node node, Position wanted) {
            const CardSize size = cardSizeOf(graph(), node);
            free.remove(node.lane, node.position, size);
            node.position =
                free.below(node.lane, {std::max(kLeast, wanted.x), std::max(kLeast, wanted.y)}, size);
            free.put(node.lane, node.position, size);
            m_builder.change(node);
            return node.position;
        };
        for (const NodeId id : m_added) {
            const Node& node = *graph().find(id);
            free.remove(node.lane, node.position, cardSizeOf(graph(), node));
        }
        for (const NodeId id : m_added) {
            const Node& node = *graph().find(id);
            const double x = m_wanted.at(id);
            const NodeId reader = firstReader(id, x);
            const double y = reader == NodeId::none ? node.position.y : levelWith(node, reader);
            const Position at = settle(node, {x, y});
            const auto from = graph().sourceOf({id, 0});
            if (!from || !isBare(from->node)) continue;
            Node bare = *graph().find(from->node);
            bare.folded = false;
            settle(bare, {at.x - kColumn, bare.lane == node.lane ? at.y : kLeast});
        }
    }

    DeltaBuilder& m_builder;
    const std::vector<NodeId>& m_added;
    const std::unordered_set<NodeId> m_isAdded;
    std::unordered_map<NodeId, double> m_wanted; ///< columns of the added nodes
    std::map<NodeId, double> m_shifts;           ///< of the others
    std::vector<Step> m_steps;
};

} // namespace

void makeRoom(DeltaBuilder& builder, const std::vector<NodeId>& added) { Room(builder, added).run(); }

} // namespace twb
