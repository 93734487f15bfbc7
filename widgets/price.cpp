#include "widgets/price.h"

#include "core/format.h"
#include "widgets/text.h"

#include <QCoreApplication>

namespace twb {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Price", text); }

const QString kDot = QStringLiteral(" · ");

} // namespace

QString priceFigures(double bytes, double ns) { return toQt(formatBytes(bytes)) + kDot + toQt(formatMs(ns)); }

QString priceKind(bool predicted, bool modelled) {
    if (predicted && modelled) return tr("predicted") + kDot + tr("modelled");
    if (predicted) return tr("predicted");
    return modelled ? tr("modelled") : QString();
}

QString priceText(const Price& price) {
    if (!price.isKnown) return {};
    if (price.bytes == 0) return tr("no transfer in the iteration");
    const QString kind = price.modelled ? tr("modelled") : tr("predicted");
    return priceFigures(double(price.bytes), price.ns) + kDot + kind;
}

QString fixText(const Fix& fix) {
    QString title = toQt(fix.title);
    if (!title.isEmpty()) title[0] = title[0].toUpper();
    return title.replace(QLatin1String("->"), QStringLiteral("→"));
}

QString withSign(double change, const QString& magnitude) {
    return (change > 0   ? QStringLiteral("+")
            : change < 0 ? QStringLiteral("−")
                         : QStringLiteral("±")) +
           magnitude;
}

} // namespace twb
