#pragma once

#include "widgets/panels/ledger_model.h"

#include <set>
#include <vector>

namespace twb {

/// The transfers that the plot draws: the most expensive ones, those of the selection, or those that the user
/// picked in the legend.
class CurveChoice {
public:
    static constexpr std::size_t kMostCurves =
        200; ///< more cannot be distinguished, nor drawn within a frame

    enum class Rule { most, selected, picked };
    Rule rule() const noexcept { return m_rule; }
    std::size_t most() const noexcept { return m_most; }

    /// The `count` most expensive transfers so far, and that of a selected edge.
    void showMost(std::size_t count);
    /// The transfers of the selection; without a selection, like showMost().
    void showSelected();
    /// Shows or hides a row's curve; the others stay.
    void toggle(const std::vector<LedgerModel::Row>& rows, std::size_t row);

    /// By row. With similar costs, the previous choice is kept.
    const std::vector<bool>& shown(const std::vector<LedgerModel::Row>& rows, const Selection& selection);

private:
    std::vector<bool> mostOf(const std::vector<LedgerModel::Row>& rows, std::size_t count) const;

    Rule m_rule = Rule::most;
    std::size_t m_most = 10;
    std::set<Edge> m_picked;
    std::vector<bool> m_shown;
};

} // namespace twb
