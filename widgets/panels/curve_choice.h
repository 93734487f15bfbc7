#pragma once

#include "widgets/panels/ledger_model.h"

#include <set>
#include <vector>

namespace twb {

/// Which transfers the plot draws: those that cost most, those of what is selected on the canvas, or those
/// that somebody picked in the legend.
class CurveChoice {
public:
    static constexpr std::size_t kMostCurves = 200; ///< more cannot be told apart, nor drawn in a frame

    enum class Rule { most, selected, picked };
    Rule rule() const noexcept { return m_rule; }
    std::size_t most() const noexcept { return m_most; }

    /// The `count` that have cost most time so far, and that of a selected edge.
    void showMost(std::size_t count);
    /// Those that touch the selection; without one, as showMost().
    void showSelected();
    /// Shows a row's curve, or hides it; all others stay as they are.
    void toggle(const std::vector<LedgerModel::Row>& rows, std::size_t row);

    /// By row. Where costs are close, what was shown the last time stays.
    const std::vector<bool>& shown(const std::vector<LedgerModel::Row>& rows, const Selection& selection);

private:
    std::vector<bool> mostOf(const std::vector<LedgerModel::Row>& rows, std::size_t count) const;

    Rule m_rule = Rule::most;
    std::size_t m_most = 10;
    std::set<Edge> m_picked;
    std::vector<bool> m_shown;
};

} // namespace twb
