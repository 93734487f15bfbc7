#pragma once

#include "profile/transfer_series.h"
#include "widgets/panels/custom_plot.h"
#include "widgets/panels/figure_ticker.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/plot_readout.h"
#include "widgets/panels/plot_values.h"

#include <memory>
#include <optional>
#include <vector>

namespace twb {

/// The live plot of transfers over the iterations of a run. The wheel zooms, a drag scrolls, a double click
/// (or Home) follows the run again; the arrow keys, + and − do the same. A readout shows the point nearest to
/// the pointer.
class TransferPlot : public QCustomPlot {
    Q_OBJECT

public:
    enum class Unit {
        milliseconds, ///< of the slowest copy of a point
        rate,         ///< of that copy, 10^9 bytes per second
        throughput,   ///< bytes over the time of whole iterations
        share,        ///< share of the copies in the iterations' time, %
        total         ///< ms of all copies so far
    };

    explicit TransferPlot(QWidget* parent = nullptr);

    /// A new run. `total`: iterations; 0 if unknown. `host`: the other machine of the run.
    void begin(std::shared_ptr<const TransferSeries> series, std::int64_t total, const QString& host = {});
    void clear();
    /// The current figures of the rows, and the rows with a curve.
    void setRows(const std::vector<LedgerModel::Row>& rows, const std::vector<bool>& shown);
    /// The highlighted curve, with a band from the rolling median to the rolling p95; -1 for none.
    void setHighlighted(int row);

    void setUnit(Unit unit);
    Unit unit() const noexcept { return m_unit; }
    void setLogarithmic(bool on);
    /// A paused plot does not change; no data of the run is lost.
    void setPaused(bool on);
    bool isPaused() const noexcept { return m_paused; }
    /// Whether the axes fit the data: the user has not zoomed or scrolled since.
    bool isFollowing() const noexcept { return m_following; }
    void follow();
    /// Draws new data, once.
    void refresh();

    /// The label of the y axis: "ms, modelled".
    QString unitText() const;
    struct LegendEntry {
        QString name;
        std::size_t row = 0;
        bool modelled = true;
    };
    std::vector<LegendEntry> legendEntries() const;
    /// "modelled", "measured" or "measured on HOST".
    QString timesOf(const LegendEntry& entry) const;
    bool showsPrediction() const;
    /// A line per point, a column per curve.
    PlotValues values() const;
    /// The text for the point nearest to the pointer; empty if there is none.
    QString readout() const { return m_readout->text(); }
    /// A point of a row's curve, in pixels of the widget; nothing if the plot does not show it.
    std::optional<QPointF> pixelOf(int row, std::uint32_t iteration) const;

Q_SIGNALS:
    void curveClicked(int row);
    void followingChanged(bool following);

protected:
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Curve {
        LedgerModel::Row row;          ///< includes figures; those of hidden curves are out of date
        QCPGraph* line = nullptr;      ///< null: not shown
        QCPGraph* marks = nullptr;     ///< a few per curve; none where another curve has a mark
        QCPGraph* predicted = nullptr; ///< dashed
    };

    // transfer_plot_style.cpp
    void style();
    void stylePens();

    void stopFollowing();
    std::vector<double> valuesOf(std::size_t row) const;
    void fill(std::size_t row);
    void fillPrediction(std::size_t row);
    void fillBand();
    void placeMarks();
    void fitToView();
    void fitAxes();
    struct Near {
        std::size_t row = 0;
        std::uint32_t iteration = 0;
        QPointF pixel;
    };
    std::optional<Near> nearest(QPointF at) const;
    void updateReadout(QPointF at);
    std::size_t points() const;
    int standingOut() const;
    void setTicker();
    void changeView();

    std::shared_ptr<const TransferSeries> m_series;
    std::vector<Curve> m_curves;  ///< by row
    std::size_t m_shown = 0;      ///< the visible curves
    QCPGraph* m_bandLow;          ///< the rolling median of the highlighted curve
    QCPGraph* m_bandHigh;         ///< its rolling p95
    std::size_t m_bandPoints = 0; ///< window of the rolling band; 0: no band
    QCPItemText* m_unitLabel;
    QSharedPointer<FigureTicker<QCPAxisTicker>> m_linear;
    QSharedPointer<FigureTicker<DecadeTicker>> m_logarithmic;
    std::unique_ptr<PlotReadout> m_readout;
    Unit m_unit = Unit::milliseconds;
    std::int64_t m_total = 0;
    QString m_host;
    std::int64_t m_frozen = 0; ///< while paused: the first iteration that is not shown
    QPointF m_pressedAt;
    int m_highlighted = -1;
    bool m_following = true;
    bool m_paused = false;
    bool m_dirty = false;
};

} // namespace twb
