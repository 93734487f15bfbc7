#pragma once

#include "graph/breakpoint.h"

#include <QDialog>

#include <optional>

class QComboBox;
class QDialogButtonBox;
class QLineEdit;

namespace twb {

/// Asks on which condition of its output a run stops at a node.
class BreakpointDialog : public QDialog {
    Q_OBJECT

public:
    /// `start` is what it shows first.
    BreakpointDialog(const QString& node, const Breakpoint& start, QWidget* parent = nullptr);
    Breakpoint breakpoint() const;

private:
    std::optional<double> limit() const;
    void refresh();

    QComboBox* m_statistic;
    QComboBox* m_relation;
    QLineEdit* m_limit;
    QDialogButtonBox* m_buttons;
};

} // namespace twb
