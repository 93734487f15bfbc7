#pragma once

#include "graph/card_size.h"
#include "graph/graph.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace twb {

/// The positions of cards on their lanes, updated explicitly, so that an edit of many cards visits each of
/// them once. Folded nodes have no card.
class FreePlaces {
public:
    explicit FreePlaces(const Graph& graph);

    void put(LaneId lane, Position at, CardSize size);
    void remove(LaneId lane, Position at, CardSize size);
    /// The nearest position at or below `wanted` where a card covers no other.
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
    /// By lane and wanted position: the end of the last search. Positions above it are occupied, or were left
    /// by a card since, which only costs a gap.
    std::map<std::tuple<LaneId, double, double>, double> m_ends;
};

} // namespace twb
