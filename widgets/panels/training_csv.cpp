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

} // namespace

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
