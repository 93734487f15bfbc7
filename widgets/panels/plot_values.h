#pragma once

#include "profile/trace_memory.h"
#include "widgets/panels/timeline_model.h"
#include "widgets/training_run.h"

#include <QStringList>
#include <QVariant>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// The values that a plot draws, as a table. It stays valid when the plot changes.
struct PlotValues {
    struct Column {
        std::string key; ///< in CSV, the same in every language: "start_ms"
        QString heading; ///< "start, ms"
    };
    QString title; ///< "Timeline"
    std::vector<Column> columns;
    int rows = 0;
    /// A double, a qlonglong, a bool, a text, or an invalid QVariant where the plot has no value.
    std::function<QVariant(int row, int column)> at;
};

/// With a header; numbers with 17 digits and a point. `rows`: those to write; empty: all.
std::string toCsv(const PlotValues& values, const std::vector<int>& rows = {});

/// A line per step, by start: its stream, iteration, times, and whether it is on the critical path.
PlotValues timelineValues(std::shared_ptr<const TimelineModel> model);
/// A line per change of a device's memory: the bytes of each band of a stack. The keys and headings of
/// `bands` have no unit yet. `bandOf`: by producing step.
PlotValues memoryValues(const MemoryCourse& course, const std::vector<PlotValues::Column>& bands,
                        const std::function<std::size_t(std::uint32_t step)>& bandOf);
/// A line per step of the training runs, with the figures of the epochs that they end.
PlotValues trainingValues(const std::vector<const TrainingCourse*>& runs);

} // namespace twb
