#include "widgets/panels/training_csv.h"

namespace twb {
namespace {

QByteArray number(double value) { return QByteArray::number(value, 'g', 17); }
QByteArray number(const std::optional<double>& value) { return value ? number(*value) : QByteArray(); }
QByteArray number(std::int64_t value) { return QByteArray::number(qlonglong(value)); }

/// Text in quotes if it would be read as several fields.
QByteArray field(const std::string& text) {
    QByteArray out = QByteArray::fromStdString(text);
    if (out.contains(',') || out.contains('"') || out.contains('\n'))
        out = '"' + out.replace('"', "\"\"") + '"';
    return out;
}

QByteArray stepsOf(const TrainingCourse& run) {
    QByteArray out;
    const std::vector<EpochRecord>& epochs = run.record.epochs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < run.losses.size(); ++i) {
        out += number(std::int64_t{run.number}) + ',' + number(std::int64_t(i + 1)) + ',' +
               number(run.losses[i]);
        if (next < epochs.size() && epochs[next].steps == std::int64_t(i + 1)) {
            const EpochRecord& epoch = epochs[next++];
            out += ',' + number(epoch.epoch);
            for (const std::optional<double>& value : {epoch.validationLoss, epoch.accuracy, epoch.rate})
                out += ',' + number(value);
        } else {
            out += ",,,,";
        }
        out += '\n';
    }
    return out;
}

} // namespace

QByteArray csvOf(const TrainingRun& training) {
    QByteArray out = "run,step,loss,epoch,validation_loss,accuracy,lr\n";
    for (const TrainingCourse& run : training.earlier()) out += stepsOf(run);
    return out + stepsOf(training.course());
}

QByteArray csvOf(const std::vector<EpochRecord>& epochs) {
    QByteArray out = "epoch,parameter,gradient_norm,weight_norm,update_norm,update_ratio\n";
    for (const EpochRecord& epoch : epochs)
        for (const ParameterFigures& figures : epoch.figures)
            out += number(epoch.epoch) + ',' + field(figures.name) + ',' + number(figures.gradientNorm) +
                   ',' + number(figures.weightNorm) + ',' + number(figures.updateNorm) + ',' +
                   number(figures.updateRatio()) + '\n';
    return out;
}

QByteArray csvOf(const ConfusionMatrix& matrix) {
    QByteArray out = "label,prediction,rows\n";
    for (std::int64_t label = 0; label < matrix.classes; ++label)
        for (std::int64_t prediction = 0; prediction < matrix.classes; ++prediction)
            out +=
                number(label) + ',' + number(prediction) + ',' + number(matrix.at(label, prediction)) + '\n';
    return out;
}

} // namespace twb
