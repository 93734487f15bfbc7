#include "widgets/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <cmath>

namespace twb {

QString grouped(std::int64_t number) { return QLocale(QLocale::English).toString(qlonglong(number)); }

QString duration(double ns) {
    const double seconds = ns / 1e9;
    if (seconds < 1) {
        const double ms = ns / 1e6;
        const int decimals = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
        return QCoreApplication::translate("text", "%1 ms").arg(QString::number(ms, 'f', decimals));
    }
    if (seconds < 60)
        return QCoreApplication::translate("text", "%1 s")
            .arg(QString::number(seconds, 'f', seconds < 10 ? 1 : 0));
    return QCoreApplication::translate("text", "%1 min %2 s").arg(int(seconds) / 60).arg(int(seconds) % 60);
}

QString compact(double value) {
    if (std::isnan(value)) return QStringLiteral("NaN");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
    return QString::number(value, 'g', 6);
}

} // namespace twb
