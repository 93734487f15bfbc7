#include "widgets/canvas/scene_rows.h"

#include "graph/folding.h"
#include "widgets/canvas/caption.h"

#include <QFontMetricsF>

#include <algorithm>
#include <bit>

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
    // The n-th bit that is set belongs to the n-th row.
    std::uint64_t ports = m_nodes[row.card].folded;
    for (int i = 0; i < row.row; ++i) ports &= ports - 1;
    const auto at = m_wireInto.find({m_nodes[row.card].id, std::countr_zero(ports)});
    return ports && at != m_wireInto.end() && m_wires[at->second].mismatch;
}

/// Which node is drawn as a row of which card. What changed by it is measured anew.
void Scene::readFolds(const Graph& graph) {
    const auto& nodes = graph.nodes();
    const bool any = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.folded; });
    if (!any && m_rowsOf.empty()) return;
    m_rowsOf.clear();
    std::unordered_map<std::uint32_t, std::uint64_t> ports;
    for (const Node& node : nodes) {
        const auto known = m_slotOf.find(node.id);
        if (known == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[known->second];
        const auto into = foldedInto(graph, node);
        const auto reader = into ? m_slotOf.find(into->node) : m_slotOf.end();
        const std::uint32_t card = reader == m_slotOf.end() ? kNoSlot : reader->second;
        if (shape.card != card) shape.signature = 0;
        shape.card = card;
        if (card == kNoSlot) continue;
        ports[card] |= std::uint64_t{1} << static_cast<unsigned>(into->port);
    }
    for (const Node& node : nodes) {
        const auto known = m_slotOf.find(node.id);
        if (known == m_slotOf.end()) continue;
        NodeShape& shape = m_nodes[known->second];
        const auto rows = ports.find(known->second);
        const std::uint64_t folded = rows == ports.end() ? 0 : rows->second;
        if (shape.folded != folded) shape.signature = 0;
        shape.folded = folded;
        int number = 0;
        for (std::uint64_t rest = folded; rest; rest &= rest - 1) {
            const auto source = graph.sourceOf({node.id, std::countr_zero(rest)});
            const std::uint32_t row = m_slotOf.at(source->node);
            m_nodes[row].row = number++;
            m_rowsOf[known->second].push_back(row);
        }
    }
}

void Scene::placeRows(std::uint32_t slot) {
    const auto rows = m_rowsOf.find(slot);
    if (rows == m_rowsOf.end() || !m_nodes[slot].placed) return;
    for (const std::uint32_t row : rows->second) {
        NodeShape& shape = m_nodes[row];
        if (shape.placed) m_nodeGrid.remove(row, shape.rect);
        const QRectF rect = rowRect(m_nodes[slot], shape.row);
        if (rect.size() != shape.rect.size()) m_cards.erase(row); // its words have another room
        shape.rect = rect;
        m_nodeGrid.insert(row, shape.rect);
        shape.placed = true;
    }
}

void Scene::prepareRow(const SceneSource& source, const Node& node, const NodeShape& shape,
                       NodeCard& card) const {
    RowWords words = rowWords(source.graph, source.analysis, node.id);
    const bool isElsewhere = shape.device != m_nodes[shape.card].device;
    const double room = shape.rect.width() - 3 * kRowPadding;
    // Where it is matters more than what it is.
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
