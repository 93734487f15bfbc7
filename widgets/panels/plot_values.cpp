#include "widgets/panels/plot_values.h"

#include "profile/csv.h"
#include "profile/report.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QMetaType>

#include <algorithm>
#include <map>
#include <numeric>

namespace twb {
namespace {

/// For translators.
struct PlotWords {
    Q_DECLARE_TR_FUNCTIONS(PlotValues)
};

std::string csvCell(const QVariant& value) {
    if (value.typeId() == QMetaType::Double)
        return QByteArray::number(value.toDouble(), 'g', 17).toStdString();
    return value.toString().toStdString(); // an integer has no separators
}

QVariant numberOr(const std::optional<double>& value) { return value ? QVariant(*value) : QVariant(); }

} // namespace

std::string toCsv(const PlotValues& values, const std::vector<int>& rows) {
    std::vector<std::string> cells;
    for (const PlotValues::Column& column : values.columns) cells.push_back(column.key);
    std::string out = csvLine(cells);
    const auto add = [&](int row) {
        for (int column = 0; column < int(values.columns.size()); ++column)
            cells[std::size_t(column)] = csvCell(values.at(row, column));
        out += csvLine(cells);
    };
    for (const int row : rows) add(row);
    for (int row = 0; rows.empty() && row < values.rows; ++row) add(row);
    return out;
}

PlotValues timelineValues(std::shared_ptr<const TimelineModel> model) {
    PlotValues out;
    out.title = PlotWords::tr("Timeline");
    out.columns = {{"stream", PlotWords::tr("stream")},
                   {"step", PlotWords::tr("step")},
                   {"iteration", PlotWords::tr("iteration")},
                   {"start_ms", PlotWords::tr("start, ms")},
                   {"duration_ms", PlotWords::tr("duration, ms")},
                   {"queue_ms", PlotWords::tr("in the queue, ms")},
                   {"bytes", PlotWords::tr("bytes")},
                   {"critical", PlotWords::tr("critical path")},
                   {"modelled", PlotWords::tr("modelled")}};
    out.rows = int(model->records().size());
    std::vector<std::uint32_t> order(std::size_t(out.rows));
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t record) { return model->startOf(record); });
    out.at = [model = std::move(model), order = std::move(order)](int row, int column) -> QVariant {
        const std::uint32_t index = order[std::size_t(row)];
        const StepRecord& record = model->records()[index];
        const Step& step = model->stepOf(index);
        switch (column) {
        case 0:
            return toQt(model->plan().streams[step.stream].label);
        case 1:
            return toQt(step.label);
        case 2:
            return step.setup ? QVariant() : QVariant(qlonglong(record.iteration));
        case 3:
            return model->startOf(index) / 1e6;
        case 4:
            return (model->endOf(index) - model->startOf(index)) / 1e6;
        case 5:
            return record.waitNs ? QVariant(double(*record.waitNs) / 1e6) : QVariant();
        case 6:
            return record.bytes > 0 ? QVariant(qlonglong(record.bytes)) : QVariant();
        case 7:
            return model->isCritical(index);
        default:
            return isModelled(model->plan(), step);
        }
    };
    return out;
}

PlotValues memoryValues(const MemoryCourse& course, const std::vector<PlotValues::Column>& bands,
                        const std::function<std::size_t(std::uint32_t step)>& bandOf) {
    // At each time, the bands that change, and by how many bytes.
    std::map<std::int64_t, std::vector<std::pair<std::size_t, std::int64_t>>> changes;
    changes[course.startNs];
    for (const LiveTensor& tensor : course.tensors) {
        const auto bytes = std::int64_t(tensor.bytes);
        const std::size_t band = bandOf(tensor.producer);
        changes[std::max(tensor.startNs, course.startNs)].emplace_back(band, bytes);
        if (tensor.endNs < course.endNs) changes[tensor.endNs].emplace_back(band, -bytes);
    }
    struct Line {
        double ms = 0;
        std::vector<std::int64_t> bytes; ///< by band
        std::int64_t sum = 0;
    };
    const auto lines = std::make_shared<std::vector<Line>>();
    Line now{0, std::vector<std::int64_t>(bands.size()), 0};
    for (const auto& [ns, all] : changes) {
        now.ms = double(ns - course.startNs) / 1e6;
        for (const auto& [band, bytes] : all) {
            now.bytes[band] += bytes;
            now.sum += bytes;
        }
        lines->push_back(now);
    }
    PlotValues out;
    out.title = PlotWords::tr("Memory of %1").arg(toQt(course.device.toString()));
    out.columns = {{"time_ms", PlotWords::tr("time, ms")}, {"bytes", PlotWords::tr("all, bytes")}};
    for (const PlotValues::Column& band : bands)
        out.columns.push_back({band.key + "_bytes", PlotWords::tr("%1, bytes").arg(band.heading)});
    out.rows = int(lines->size());
    out.at = [lines](int row, int column) -> QVariant {
        const Line& line = (*lines)[std::size_t(row)];
        if (column == 0) return line.ms;
        return qlonglong(column == 1 ? line.sum : line.bytes[std::size_t(column - 2)]);
    };
    return out;
}

PlotValues trainingValues(const std::vector<const TrainingCourse*>& runs) {
    struct Line {
        int run = 0;
        qlonglong step = 0;
        double loss = 0;
        std::optional<EpochRecord> epoch;
    };
    const auto lines = std::make_shared<std::vector<Line>>();
    for (const TrainingCourse* run : runs) {
        std::size_t next = 0;
        const std::vector<EpochRecord>& epochs = run->record.epochs;
        for (std::size_t i = 0; i < run->losses.size(); ++i) {
            Line line{run->number, qlonglong(i + 1), run->losses[i], std::nullopt};
            if (next < epochs.size() && epochs[next].steps == line.step) line.epoch = epochs[next++];
            lines->push_back(std::move(line));
        }
    }
    PlotValues out;
    out.title = PlotWords::tr("Training");
    out.columns = {{"run", PlotWords::tr("run")},
                   {"step", PlotWords::tr("step")},
                   {"loss", PlotWords::tr("loss")},
                   {"epoch", PlotWords::tr("epoch")},
                   {"validation_loss", PlotWords::tr("validation loss")},
                   {"accuracy", PlotWords::tr("accuracy")},
                   {"lr", PlotWords::tr("learning rate")}};
    out.rows = int(lines->size());
    out.at = [lines](int row, int column) -> QVariant {
        const Line& line = (*lines)[std::size_t(row)];
        if (column == 0) return qlonglong(line.run);
        if (column == 1) return line.step;
        if (column == 2) return line.loss;
        if (!line.epoch) return {};
        if (column == 3) return qlonglong(line.epoch->epoch);
        return numberOr(column == 4   ? line.epoch->validationLoss
                        : column == 5 ? line.epoch->accuracy
                                      : line.epoch->rate);
    };
    return out;
}

} // namespace twb
