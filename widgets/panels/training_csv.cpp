#include "widgets/panels/training_csv.h"

#include "profile/csv.h"

namespace twb {
namespace {

/// Empty if there is none.
std::string csvFigure(const std::optional<double>& value) {
    return value ? QByteArray::number(*value, 'g', 17).toStdString() : std::string();
}

} // namespace

QByteArray csvOf(const std::vector<EpochRecord>& epochs) {
    std::string out =
        csvLine({"epoch", "parameter", "gradient_norm", "weight_norm", "update_norm", "update_ratio"});
    for (const EpochRecord& epoch : epochs)
        for (const ParameterFigures& figures : epoch.figures)
            out += csvLine({std::to_string(epoch.epoch), figures.name, csvFigure(figures.gradientNorm),
                            csvFigure(figures.weightNorm), csvFigure(figures.updateNorm),
                            csvFigure(figures.updateRatio())});
    return QByteArray::fromStdString(out);
}

QByteArray csvOf(const ConfusionMatrix& matrix) {
    std::string out = csvLine({"label", "prediction", "rows"});
    for (std::int64_t label = 0; label < matrix.classes; ++label)
        for (std::int64_t prediction = 0; prediction < matrix.classes; ++prediction)
            out += csvLine({std::to_string(label), std::to_string(prediction),
                            std::to_string(matrix.at(label, prediction))});
    return QByteArray::fromStdString(out);
}

} // namespace twb
