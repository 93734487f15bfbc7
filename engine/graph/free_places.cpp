#include "graph/free_places.h"

#include "graph/folding.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

// Names rarely need the widest card; cards at this distance do not touch.
constexpr double kWidth = 184;
constexpr double kGap = 12;
constexpr double kStep = 24;
constexpr double kCellWidth = 256;
constexpr double kCellHeight = 128;

} // namespace

std::size_t FreePlaces::CellHash::operator()(const Cell& cell) const noexcept {
    const auto& [lane, x, y] = cell;
    return std::hash<std::uint64_t>()(value(lane) * 0x9e3779b97f4a7c15 +
                                      static_cast<std::uint64_t>(x) * 0x85ebca6b +
                                      static_cast<std::uint64_t>(y));
}

template <class Visit>
void FreePlaces::eachCell(LaneId lane, Position at, double height, const Visit& visit) const {
    const auto cell = [](double where, double size) {
        return static_cast<std::int64_t>(std::floor(std::clamp(where / size, -1e15, 1e15)));
    };
    for (std::int64_t x = cell(at.x, kCellWidth); x <= cell(at.x + kWidth, kCellWidth); ++x)
        for (std::int64_t y = cell(at.y, kCellHeight); y <= cell(at.y + height, kCellHeight); ++y)
            visit(Cell{lane, x, y});
}

FreePlaces::FreePlaces(const Graph& graph) {
    for (const Node& node : graph.nodes())
        if (!foldedInto(graph, node)) put(node.lane, node.position, cardSizeOf(graph, node));
}

void FreePlaces::put(LaneId lane, Position at, CardSize size) {
    eachCell(lane, at, size.height, [&](const Cell& cell) { m_cells[cell].push_back({at, size.height}); });
}

void FreePlaces::remove(LaneId lane, Position at, CardSize size) {
    eachCell(lane, at, size.height, [&](const Cell& cell) {
        std::vector<Card>& cards = m_cells[cell];
        const auto card = std::find(cards.begin(), cards.end(), Card{at, size.height});
        if (card == cards.end()) return;
        *card = cards.back();
        cards.pop_back();
    });
}

Position FreePlaces::below(LaneId lane, Position wanted, CardSize size) {
    double& end = m_ends.try_emplace({lane, wanted.x, wanted.y}, wanted.y).first->second;
    wanted.y = end;
    for (bool moved = true; moved;) {
        moved = false;
        eachCell(lane, wanted, size.height + kGap, [&](const Cell& cell) {
            const auto cards = m_cells.find(cell);
            if (moved || cards == m_cells.end()) return;
            for (const Card& card : cards->second) {
                const bool apart = std::abs(card.at.x - wanted.x) >= kWidth ||
                                   wanted.y >= card.at.y + card.height + kGap ||
                                   card.at.y >= wanted.y + size.height + kGap;
                if (apart) continue;
                const double past = card.at.y + card.height + kGap - wanted.y;
                wanted.y += kStep * std::max(1.0, std::ceil(past / kStep));
                moved = true;
                return;
            }
        });
    }
    end = wanted.y;
    return wanted;
}

} // namespace twb
