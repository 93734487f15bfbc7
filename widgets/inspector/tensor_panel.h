#pragma once

#include "core/tensor.h"
#include "core/tensor_statistics.h"
#include "widgets/latest_task.h"

#include <QWidget>

#include <functional>
#include <memory>
#include <optional>

class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace twb {

class FactRows;
class HeatMap;
struct TensorComparison;
class HistogramView;
class LineView;
class TensorImage;
class TensorTableModel;

/// The view of a tensor: table, heat map, image, line, histogram, the difference from a reference, and
/// statistics.
class TensorPanel : public QWidget {
    Q_OBJECT

public:
    /// `checkTarget` throws Error if a tensor must not be saved to a path.
    TensorPanel(const QString& title, std::function<void(const QString& path)> checkTarget,
                QWidget* parent = nullptr);
    ~TensorPanel() override;
    /// Shows the output of `name`. Without a tensor, shows `reason`.
    void setTensor(const std::optional<Tensor>& tensor, const QString& reason, const QString& name);
    /// Whether more space would show more of the tensor.
    bool hasPicture() const;

private:
    QWidget* makeHead(const QString& title);
    QWidget* makeTable();
    void fillMenu();
    void showView();
    void showNothing(const QString& reason);
    void countSlices();
    void readStatistics();
    void showStatistics(const TensorStatistics& statistics);
    void sayStatistics();
    void compareWithKept();
    void showComparison();
    void refuse(const QString& reason);
    void copyAsNumPy();
    void saveAsNpy();
    void keep();

    TensorTableModel* m_model;
    TensorTableModel* m_differenceModel;
    QComboBox* m_views;
    QPushButton* m_menu;
    QSpinBox* m_slice;
    QLabel* m_sliceLabel;
    QSpinBox* m_page;
    QLabel* m_pageLabel;
    QLabel* m_reason;
    QLabel* m_scalar;
    QStackedWidget* m_stack;
    QWidget* m_head;
    HeatMap* m_heatMap;
    HeatMap* m_difference;
    TensorImage* m_image;
    LineView* m_line;
    HistogramView* m_histogram;
    FactRows* m_facts;
    Tensor m_tensor;
    std::optional<TensorStatistics> m_statistics; ///< of the tensor, when they are available
    QString m_name;
    std::function<void(const QString& path)> m_checkTarget;
    Tensor m_kept; ///< the reference
    QString m_keptName;
    std::shared_ptr<const TensorComparison> m_comparison; ///< with the reference, when it is available
    LatestTask m_reader;                                  ///< computes the statistics of a large tensor
    LatestTask m_comparer;
};

} // namespace twb
