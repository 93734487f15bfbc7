#pragma once

#include "graph/breakpoint.h"

#include <QDialog>

#include <optional>

class QComboBox;
class QDialogButtonBox;
class QLineEdit;

namespace twb {

/// Asks on which condition of its output, or of its inputs, a run stops at a node.
class BreakpointDialog : public QDialog {
    Q_OBJECT

public:
    /// `start` is what it shows first. `hasInputs`: whether there is anything to look at before it.
    BreakpointDialog(const QString& node, const Breakpoint& start, bool hasInputs, QWidget* parent = nullptr);
    Breakpoint breakpoint() const;

private:
    std::optional<double> limit() const;
    void refresh();

    QComboBox* m_place;
    QComboBox* m_statistic;
    QComboBox* m_relation;
    QLineEdit* m_limit;
    QDialogButtonBox* m_buttons;
};

} // namespace twb
