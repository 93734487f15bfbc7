#pragma once

#include "widgets/panels/custom_plot.h"
#include "widgets/panels/export_plot.h"
#include "widgets/training_run.h"

#include <vector>

namespace twb {

/// The loss of each step of a training, and the validation loss at the end of each epoch; thin, the same of
/// earlier runs. The wheel zooms, a drag scrolls, a double click shows all steps again.
class LossPlot : public QCustomPlot {
public:
    LossPlot();

    /// New data of the current run and, by `shown`, the earlier ones. Every point is added once, and none is
    /// left out.
    void update(const TrainingRun& training, const std::vector<bool>& shown);
    void restart();
    void setLogarithmic(bool isLogarithmic);
    void style();

    /// Of the current run for nothing, else of an earlier one.
    static QColor colorOf(std::optional<std::size_t> earlier);
    /// The curves that are drawn, for an export.
    std::vector<LegendEntry> legendEntries(const TrainingRun& training) const;

private:
    struct Curves {
        QCPGraph* loss = nullptr;
        QCPGraph* validation = nullptr;
    };

    Curves addCurves();
    void show(const Curves& curves, bool isShown, bool hasValidation);
    void fit();

    Curves m_current;
    std::vector<Curves> m_earlier;
    std::size_t m_points = 0; ///< of the current run
    bool m_isFollowing = true;
};

} // namespace twb
