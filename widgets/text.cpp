#include "widgets/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <cmath>
#include <limits>

namespace twb {
namespace {

/// For translators.
struct UnitWords {
    Q_DECLARE_TR_FUNCTIONS(Units)
};

} // namespace

QString localized(QString figure) {
    const QLocale locale;
    const QString point = locale.decimalPoint();
    const QString group = locale.groupSeparator();
    if (point == QLatin1String(".") && group == QLatin1String(",")) return figure;
    const auto isDigit = [&](qsizetype at) {
        return at >= 0 && at < figure.size() && figure[at] >= QLatin1Char('0') &&
               figure[at] <= QLatin1Char('9');
    };
    QString out;
    out.reserve(figure.size() + 2);
    for (qsizetype i = 0; i < figure.size(); ++i) {
        const bool isInside = isDigit(i - 1) && isDigit(i + 1);
        if (isInside && figure[i] == QLatin1Char('.'))
            out += point;
        else if (isInside && figure[i] == QLatin1Char(',') && isDigit(i + 2) && isDigit(i + 3))
            out += group;
        else
            out += figure[i];
    }
    return out;
}

QString grouped(std::int64_t number) {
    return localized(QLocale(QLocale::English).toString(qlonglong(number)));
}

QString duration(double ns) {
    const double seconds = ns / 1e9;
    if (seconds < 1) {
        const double ms = ns / 1e6;
        const int decimals = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
        return UnitWords::tr("%1 ms").arg(fixed(ms, decimals));
    }
    if (seconds < 60) return UnitWords::tr("%1 s").arg(fixed(seconds, seconds < 10 ? 1 : 0));
    return UnitWords::tr("%1 min %2 s").arg(int(seconds) / 60).arg(int(seconds) % 60);
}

QString compact(double value, int digits) {
    if (std::isnan(value)) return QStringLiteral("NaN");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
    return localized(QString::number(value, 'g', digits));
}

QString fixed(double value, int decimals) { return localized(QString::number(value, 'f', decimals)); }

QString percentage(double percent, int decimals) {
    return UnitWords::tr("%1 %").arg(fixed(percent, decimals));
}

std::optional<double> typedNumber(const QString& text) {
    const QString trimmed = text.trimmed();
    if (trimmed.compare(QLatin1String("nan"), Qt::CaseInsensitive) == 0)
        return std::numeric_limits<double>::quiet_NaN();
    const bool isSigned = trimmed.startsWith(QLatin1Char('-')) || trimmed.startsWith(QLatin1Char('+'));
    if (trimmed.mid(isSigned ? 1 : 0).compare(QLatin1String("inf"), Qt::CaseInsensitive) == 0) {
        const double infinity = std::numeric_limits<double>::infinity();
        return trimmed.startsWith(QLatin1Char('-')) ? -infinity : infinity;
    }
    bool ok = false;
    double value = trimmed.toDouble(&ok); // a point is decimal in every locale
    if (ok) return value;
    QLocale locale;
    locale.setNumberOptions(QLocale::RejectGroupSeparator);
    value = locale.toDouble(trimmed, &ok);
    return ok ? std::optional(value) : std::nullopt;
}

} // namespace twb
