#include "widgets/price.h"

#include "core/format.h"
#include "widgets/text.h"

#include <QCoreApplication>

namespace twb {
namespace {

/// For translators.
struct PriceWords {
    Q_DECLARE_TR_FUNCTIONS(Price)
};

const QString kDot = QStringLiteral(" · ");

} // namespace

QString priceFigures(double bytes, double ns) {
    return localized(formatBytes(bytes)) + kDot + localized(formatMs(ns));
}

QString priceKind(bool predicted, bool modelled) {
    if (predicted && modelled) return PriceWords::tr("predicted") + kDot + PriceWords::tr("modelled");
    if (predicted) return PriceWords::tr("predicted");
    return modelled ? PriceWords::tr("modelled") : QString();
}

QString measuredText(const QString& host) {
    return host.isEmpty() ? PriceWords::tr("measured") : PriceWords::tr("measured on %1").arg(host);
}

QString priceText(const Price& price) {
    if (!price.isKnown) return {};
    if (price.bytes == 0) return PriceWords::tr("no transfer in the iteration");
    const QString kind = price.modelled ? PriceWords::tr("modelled") : PriceWords::tr("predicted");
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
