#pragma once

#include "core/tensor.h"

#include <QWidget>

#include <optional>

class QLabel;
class QSpinBox;
class QStackedWidget;
class QButtonGroup;

namespace twb {

class FactRows;
class HeatMap;
class HistogramView;
class TensorTableModel;

/// A tensor looked at: table, heat map, histogram, and its statistics.
class TensorPanel : public QWidget {
    Q_OBJECT

public:
    explicit TensorPanel(QWidget* parent = nullptr);
    /// Nothing to show: `reason` says why.
    void setTensor(const std::optional<Tensor>& tensor, const QString& reason);

private:
    QWidget* makeTabs();
    QWidget* makeTable();
    void showTab(int index);

    TensorTableModel* m_model;
    QButtonGroup* m_tabs;
    QSpinBox* m_slice;
    QLabel* m_sliceLabel;
    QLabel* m_reason;
    QLabel* m_scalar;
    QStackedWidget* m_stack;
    QWidget* m_tabRow;
    HeatMap* m_heatMap;
    HistogramView* m_histogram;
    FactRows* m_facts;
    const void* m_shown =
        nullptr; ///< its memory, which the model keeps from being reused: the same again costs nothing
};

} // namespace twb
