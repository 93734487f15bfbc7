#pragma once

#include "widgets/panels/custom_plot.h"
#include "widgets/panels/ledger_model.h"

#include <QPainterPath>

#include <deque>
#include <vector>

namespace twb {

/// The shape that marks a curve beside its colour, about the origin.
const QPainterPath& seriesMark(std::size_t index);

/// The live plot: what each transfer took, over the iterations of a run. Points are appended and trimmed; the
/// curves are made anew only when a run starts or the unit changes.
class TransferPlot : public QCustomPlot {
    Q_OBJECT

public:
    enum class Unit { milliseconds, rate, share };

    explicit TransferPlot(QWidget* parent = nullptr);

    /// A new run: one curve a row that belongs to the iteration. `total` 0: not known how many iterations.
    void begin(const std::vector<LedgerModel::Row>& rows, std::int64_t total, std::uint32_t cell);
    void clearCurves();
    void append(const std::vector<TransferSample>& samples);
    void setUnit(Unit unit);
    /// The curve that stands out; -1 for none.
    void setHighlighted(int row);
    /// Draws what is new, once.
    void refresh();

Q_SIGNALS:
    void curveClicked(int row);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Curve {
        LedgerModel::Row row;
        QCPGraph* line = nullptr;
        QCPGraph* marks = nullptr;     ///< a few along it, none where another curve has one
        QCPGraph* predicted = nullptr; ///< dashed; null where there are too many curves to tell apart
        std::deque<TransferSample> samples;
    };
    void style();
    void stylePens();
    double valueOf(const Curve& curve, const TransferSample& sample) const;
    void refill(Curve& curve);
    void placeMarks();
    void fitAxes();

    std::vector<Curve> m_curves; ///< by row of the ledger
    std::vector<int> m_curveOf;  ///< by transfer
    QCPItemText* m_unitLabel;
    Unit m_unit = Unit::milliseconds;
    std::int64_t m_total = 0;
    std::uint32_t m_cell = 1;
    std::uint32_t m_last = 0; ///< latest iteration with a point
    std::size_t m_window = 0; ///< points a curve keeps
    int m_highlighted = -1;
    bool m_following = true; ///< the axes fit the data, until somebody zooms
    bool m_dirty = false;
};

} // namespace twb
