#include "widgets/panels/curve_choice.h"

#include <algorithm>

namespace twb {
namespace {

constexpr double kStay = 1.1; ///< factor by which another curve must be more expensive to replace one

bool touches(const LedgerModel::Row& row, const Selection& selection) {
    return std::any_of(row.served.begin(), row.served.end(), [&](const Edge& edge) {
        return selection.edge == edge || selection.nodes.contains(edge.from.node) ||
               selection.nodes.contains(edge.to.node);
    });
}

} // namespace

void CurveChoice::showMost(std::size_t count) {
    m_rule = Rule::most;
    m_most = std::min(count, kMostCurves);
}

void CurveChoice::showSelected() { m_rule = Rule::selected; }

void CurveChoice::toggle(const std::vector<LedgerModel::Row>& rows, std::size_t row) {
    if (m_rule != Rule::picked) {
        m_picked.clear();
        for (std::size_t i = 0; i < rows.size() && i < m_shown.size(); ++i)
            if (m_shown[i]) m_picked.insert(rows[i].edge);
        m_rule = Rule::picked;
    }
    if (m_picked.erase(rows[row].edge) == 0) m_picked.insert(rows[row].edge);
}

std::vector<bool> CurveChoice::mostOf(const std::vector<LedgerModel::Row>& rows, std::size_t count) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (!rows[i].figures.setup) order.push_back(i);
    const auto cost = [&](std::size_t i) {
        const TransferFigures& figures = rows[i].figures;
        const double ns = figures.count > 0 ? figures.totalNs : figures.predictedNs;
        return m_shown.size() == rows.size() && m_shown[i] ? ns * kStay : ns;
    };
    const auto end = order.begin() + std::ptrdiff_t(std::min(count, order.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
        return cost(a) != cost(b) ? cost(a) > cost(b) : a < b;
    });
    std::vector<bool> out(rows.size());
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i) out[order[i]] = true;
    return out;
}

const std::vector<bool>& CurveChoice::shown(const std::vector<LedgerModel::Row>& rows,
                                            const Selection& selection) {
    std::vector<bool> out(rows.size());
    std::size_t count = 0;
    if (m_rule != Rule::most)
        for (std::size_t i = 0; i < rows.size() && count < kMostCurves; ++i) {
            out[i] = !rows[i].figures.setup &&
                     (m_rule == Rule::picked ? m_picked.contains(rows[i].edge) : touches(rows[i], selection));
            if (out[i]) ++count;
        }
    // Without a selection, the most expensive transfers are shown instead of an empty plot.
    const bool fallsBack = m_rule == Rule::selected && count == 0;
    m_shown = m_rule == Rule::most || fallsBack ? mostOf(rows, m_most) : std::move(out);
    for (std::size_t i = 0; i < rows.size() && m_rule == Rule::most && selection.edge; ++i)
        if (!rows[i].figures.setup && touches(rows[i], {{}, {}, selection.edge})) m_shown[i] = true;
    return m_shown;
}

} // namespace twb
