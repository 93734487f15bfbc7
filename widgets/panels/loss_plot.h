#pragma once

#include "widgets/panels/custom_plot.h"
#include "widgets/panels/export_plot.h"
#include "widgets/training_run.h"

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

/// The mean of the values around `values[at]`: of `radius` values on each side and itself. Near both ends,
/// the window shrinks equally on both sides, so that the means have no lag and the first and the last value
/// stay unchanged. A value that is not finite stays unchanged and is left out of the means of other values.
double smoothedAt(std::span<const double> values, std::size_t at, std::size_t radius);

/// Plots the loss of each step of a training run, the validation loss after each epoch and, as thin lines,
/// the losses of earlier runs. The wheel zooms, a drag scrolls, a double click shows all steps again.
class LossPlot : public QCustomPlot {
public:
    LossPlot();

    /// Adds the new points of the current run, and shows the earlier runs i with shown[i]. Losses are not
    /// thinned out.
    void update(const TrainingRun& training, const std::vector<bool>& shown);
    void restart();
    void setLogarithmic(bool isLogarithmic);
    /// Draws the moving averages of smoothedAt() over the losses, which become fainter; 0: the losses alone.
    /// The next update() computes the averages.
    void setSmoothing(std::size_t radius);
    void style();

    /// The colour of the curve of earlier run `earlier`, or of the current run if it is nullopt.
    static QColor colorOf(std::optional<std::size_t> earlier);
    /// The curves that are drawn, for an export.
    std::vector<LegendEntry> legendEntries(const TrainingRun& training) const;

private:
    struct Curves {
        QCPGraph* loss = nullptr;
        QCPGraph* smoothed = nullptr;
        QCPGraph* validation = nullptr;
    };

    Curves addCurves();
    void show(const Curves& curves, bool isShown, bool hasValidation);
    void smooth(const Curves& curves, const std::vector<double>& losses) const;
    void setPens(const Curves& curves, const QColor& color, double width) const;
    void fit();

    Curves m_current;
    std::vector<Curves> m_earlier;
    std::size_t m_points = 0; ///< of the current run
    std::size_t m_radius = 0; ///< of the averages, in steps
    bool m_isFollowing = true;
};

} // namespace twb
