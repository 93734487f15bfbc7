#pragma once

#include "graph/breakpoint.h"

#include <QDialog>

#include <optional>

class QComboBox;
class QDialogButtonBox;
class QLineEdit;

namespace twb {

/// Asks for a condition on the outputs or inputs of a node at which a run stops.
class BreakpointDialog : public QDialog {
    Q_OBJECT

public:
    /// `start` is the initial condition. `hasInputs`: whether the node has inputs to check.
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
