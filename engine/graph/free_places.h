#pragma once

#include "graph/card_size.h"
#include "graph/graph.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace twb {

/// Where cards stand on their lanes, kept up to date by hand, so that an edit of many cards looks at each of
/// them once. Folded nodes have no card.
class FreePlaces {
public:
    explicit FreePlaces(const Graph& graph);

    void put(LaneId lane, Position at, CardSize size);
    void remove(LaneId lane, Position at, CardSize size);
    /// The nearest place at or below `wanted` where a card covers no other.
    Position below(LaneId lane, Position wanted, CardSize size);

private:
    struct Card {
        Position at;
        double height = 0;
        bool operator==(const Card& other) const { return at == other.at && height == other.height; }
    };
    using Cell = std::tuple<LaneId, std::int64_t, std::int64_t>;
    struct CellHash {
        std::size_t operator()(const Cell& cell) const noexcept;
    };
    template <class Visit> void eachCell(LaneId lane, Position at, double height, const Visit& visit) const;

    std::unordered_map<Cell, std::vector<Card>, CellHash> m_cells;
    /// By lane and wanted place: where the search for it ended. What stands above that is still taken, or was
    /// left by a card since, which costs no more than a gap.
    std::map<std::tuple<LaneId, double, double>, double> m_ends;
};

} // namespace twb
