#include "widgets/canvas/scene_rows.h"

#include "graph/folding.h"
#include "widgets/canvas/caption.h"

#include <QFontMetricsF>

#include <algorithm>
#include <bit>
#include <utility>

namespace twb {
namespace {

constexpr double kBetweenRows = 3;

} // namespace

double rowsHeight(int rows) noexcept { return rows ? rows * card::rowHeight + card::rowsBottom : 0.0; }

QRectF rowRect(const NodeShape& shape, int row) noexcept {
    const double top = shape.rect.bottom() - rowsHeight(std::popcount(shape.folded)) + row * card::rowHeight;
    return {shape.rect.left() + kRowInset, top, shape.rect.width() - 2 * kRowInset,
            card::rowHeight - kBetweenRows};
}

QRectF bodyOf(const NodeShape& shape) noexcept {
    return shape.rect.adjusted(0, 0, 0, -rowsHeight(std::popcount(shape.folded)));
}

bool isFolded(const NodeShape& shape, int input) noexcept {
    return input < kMostFoldedPorts && (shape.folded >> static_cast<unsigned>(input) & 1U);
}

bool Scene::isMismatch(const NodeShape& row) const noexcept {
    if (row.card == kNoSlot) return false;
    // The n-th set bit belongs to the n-th row.
    std::uint64_t ports = m_nodes[row.card].folded;
    for (int i = 0; i < row.row; ++i) ports &= ports - 1;
    const auto at = m_wireInto.find({m_nodes[row.card].id, std::countr_zero(ports)});
    return ports && at != m_wireInto.end() && m_wires[at->second].mismatch;
}

/// The nodes that are drawn as rows, and their cards. Changed cards are measured again.
void Scene::readFolds(const Graph& graph, std::span<const NodeId> around) {
    std::vector<std::uint32_t> cards; ///< cards whose rows may change
    for (const NodeId id : around) {
        const auto known = m_slotOf.find(id);
        const Node* node = graph.find(id);
        if (known == m_slotOf.end() || !node) continue;
        const auto into = foldedInto(graph, *node);
        const auto reader = into ? m_slotOf.find(into->node) : m_slotOf.end();
        const std::uint32_t card = reader == m_slotOf.end() ? kNoSlot : reader->second;
        std::uint32_t& own = m_nodes[known->second].card;
        cards.push_back(known->second);
        for (const std::uint32_t at : {own, card})
            if (at != kNoSlot) cards.push_back(at);
        if (std::exchange(own, card) != card) measure(known->second);
    }
    std::sort(cards.begin(), cards.end());
    cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
    for (const std::uint32_t card : cards) {
        const NodeId reader = m_nodes[card].id;
        std::uint64_t folded = 0;
        std::vector<std::uint32_t> rows;
        const std::size_t ports = std::min<std::size_t>(graph.inputs(reader).size(), kMostFoldedPorts);
        for (std::size_t port = 0; port < ports; ++port) {
            const auto& from = graph.inputs(reader)[port];
            const auto at = from ? m_slotOf.find(from->node) : m_slotOf.end();
            if (at == m_slotOf.end() || m_nodes[at->second].card != card) continue;
            folded |= std::uint64_t{1} << port;
            m_nodes[at->second].row = static_cast<std::int32_t>(rows.size());
            rows.push_back(at->second);
        }
        if (std::exchange(m_nodes[card].folded, folded) != folded) measure(card);
        if (rows.empty())
            m_rowsOf.erase(card);
        else
            m_rowsOf[card] = std::move(rows);
    }
}

/// On its card, or with it on the strip of a collapsed lane; hidden if it is part of a module's card.
void Scene::placeRows(std::uint32_t slot) {
    const auto rows = m_rowsOf.find(slot);
    if (rows == m_rowsOf.end()) return;
    const bool isShown = m_nodes[slot].placed && m_nodes[slot].kind == NodeShape::Kind::card;
    for (const std::uint32_t row : rows->second) {
        NodeShape& shape = m_nodes[row];
        if (!isRow(row)) continue;
        lift(row);
        QRectF rect;
        if (shape.kind == NodeShape::Kind::hidden) rect = m_nodes[slot].rect;
        if (shape.kind == NodeShape::Kind::row && isShown) rect = rowRect(m_nodes[slot], shape.row);
        if (rect.size() != shape.rect.size()) m_cards.erase(row); // the room for its text changed
        shape.rect = rect;
        if (isShown || shape.kind == NodeShape::Kind::hidden) put(row);
    }
}

void Scene::prepareRow(const SceneSource& source, const Node& node, const NodeShape& shape,
                       NodeCard& card) const {
    RowWords words = rowWords(source.graph, source.analysis, node.id);
    const bool isElsewhere = shape.device != m_nodes[shape.card].device;
    const double room = shape.rect.width() - 3 * kRowPadding;
    // The device is more important than the type.
    if (isElsewhere) words.value = QString::fromStdString(shape.device.toString());
    const QFontMetricsF figures(font(TextRole::smallFigure));
    const double value = std::min(figures.horizontalAdvance(words.value), room * 0.75);
    const QString text = elided(words.value, TextRole::smallFigure, value + 0.5);
    card.deviceWidth = isElsewhere ? value : 0;
    card.chipWidth = isElsewhere ? 0 : value;
    setText(isElsewhere ? card.deviceWord : card.chip, text, TextRole::smallFigure);
    setText(card.title, elided(words.name, TextRole::small, room - value), TextRole::small);
}

} // namespace twb
