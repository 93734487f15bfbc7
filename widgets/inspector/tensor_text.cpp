#include "widgets/inspector/tensor_text.h"

#include "core/whole_number.h"
#include "profile/report.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace twb {
namespace {

/// For translators.
struct TensorWords {
    Q_DECLARE_TR_FUNCTIONS(TensorWords)
};

/// NumPy has neither bf16 nor narrow dtypes; their values are written in wider ones.
QString numpyName(DType dtype) {
    if (dtype == DType::bf16 || isNarrowFloat(dtype)) return QStringLiteral("float32");
    if (isNarrow(dtype))
        return dtype == DType::i4 || dtype == DType::i2 ? QStringLiteral("int8") : QStringLiteral("uint8");
    return dtype == DType::boolean ? QStringLiteral("bool_") : toQt(torchName(dtype));
}

QString elementText(const Tensor& tensor, std::int64_t i) {
    if (holdsIntegers(tensor.dtype())) return toQt(wholeNumberAt(tensor, i).toString());
    const double value = tensor.at(i);
    if (tensor.dtype() == DType::boolean)
        return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
    if (std::isnan(value)) return QStringLiteral("np.nan");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("np.inf") : QStringLiteral("-np.inf");
    const int digits = tensor.dtype() == DType::f64 ? std::numeric_limits<double>::max_digits10
                                                    : std::numeric_limits<float>::max_digits10;
    const QString text = QString::number(value, 'g', digits);
    return text.contains(QLatin1Char('.')) || text.contains(QLatin1Char('e')) ? text
                                                                              : text + QStringLiteral(".0");
}

/// The elements starting at `first` of all axes from `axis` on; `first` is advanced past them.
QString nested(const Tensor& tensor, int axis, std::int64_t& first) {
    if (axis == tensor.shape().rank()) return elementText(tensor, first++);
    QStringList parts;
    for (std::int64_t i = 0; i < tensor.shape()[axis]; ++i) parts << nested(tensor, axis + 1, first);
    const QString between = axis + 1 == tensor.shape().rank()
                                ? QStringLiteral(", ")
                                : QStringLiteral(",\n") + QString(10 + axis, QLatin1Char(' '));
    return QLatin1Char('[') + parts.join(between) + QLatin1Char(']');
}

} // namespace

QString indexText(const Shape& shape, std::int64_t flat) {
    QStringList places;
    for (int axis = shape.rank(); axis-- > 0;) {
        const std::int64_t size = std::max<std::int64_t>(1, shape[axis]);
        places.prepend(QString::number(flat % size));
        flat /= size;
    }
    return QLatin1Char('[') + places.join(QStringLiteral(", ")) + QLatin1Char(']');
}

QString valueText(const Tensor& tensor, std::int64_t flat) {
    if (holdsIntegers(tensor.dtype())) return toQt(wholeNumberAt(tensor, flat).toString());
    const double value = tensor.at(flat);
    if (tensor.dtype() == DType::boolean)
        return value != 0 ? TensorWords::tr("true") : TensorWords::tr("false");
    return compact(value);
}

QString valueText(const ProbeValue& probe) {
    return probe.digits.empty() ? compact(probe.value) : toQt(probe.digits);
}

std::optional<QString> numpyText(const Tensor& tensor) {
    if (tensor.elementCount() > kMostNumpyElements) return std::nullopt;
    std::int64_t first = 0;
    QString values = nested(tensor, 0, first);
    // With an empty axis, brackets do not show the shape.
    if (tensor.elementCount() == 0)
        return QStringLiteral("np.empty(%1, dtype=np.%2)")
            .arg(toQt(tensor.shape().toTorchString()), numpyName(tensor.dtype()));
    return QStringLiteral("np.array(%1, dtype=np.%2)").arg(values, numpyName(tensor.dtype()));
}

} // namespace twb
