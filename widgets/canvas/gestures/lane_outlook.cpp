#include "widgets/canvas/gestures/lane_outlook.h"

#include "widgets/price.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <set>

namespace twb {
namespace {

/// Context for translations.
struct LaneOutlookWords {
    Q_DECLARE_TR_FUNCTIONS(LaneOutlook)
};

constexpr std::size_t kMostNames = 3;

/// The transfers of one iteration: a tensor is copied to a device once, for all its consumers.
struct Transfers {
    int count = 0;
    Price price;
    bool operator==(const Transfers& other) const {
        return count == other.count && price.bytes == other.price.bytes && price.ns == other.price.ns;
    }
};

Transfers transfersOf(const Graph& graph, const Analysis& analysis, const DeviceMap& devices) {
    Transfers sum;
    std::set<std::pair<PortRef, Device>> counted;
    for (const NodeFacts& reader : analysis.nodes) {
        const auto& inputs = graph.inputs(reader.id);
        for (const auto& from : inputs) {
            const NodeFacts* source = from ? analysis.find(from->node) : nullptr;
            if (!source || source->device == reader.device || !counted.insert({*from, reader.device}).second)
                continue;
            ++sum.count;
            const auto& type = analysis.typeOf(*from);
            if (!type || !type->isKnown()) continue;
            const Price price = priceOfTransfer(*type, source->device, reader.device, false, devices);
            sum.price.bytes += price.bytes;
            sum.price.ns += price.ns;
            sum.price.modelled = price.modelled;
        }
    }
    return sum;
}

QString textOf(const Transfers& transfers) {
    if (transfers.count == 0) return LaneOutlookWords::tr("no transfer");
    const QString figures = priceFigures(double(transfers.price.bytes), transfers.price.ns);
    return transfers.count == 1 ? LaneOutlookWords::tr("1 transfer, %1").arg(figures)
                                : LaneOutlookWords::tr("%1 transfers, %2").arg(transfers.count).arg(figures);
}

std::set<NodeId> brokenIn(const Analysis& analysis) {
    std::set<NodeId> out;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error) out.insert(d.node);
    return out;
}

/// "breaks 2: fc1, relu".
QString mismatchText(const Graph& graph, const std::set<NodeId>& before, const std::set<NodeId>& after) {
    const bool isWorse = after.size() > before.size();
    QStringList names;
    std::size_t count = 0;
    for (const NodeId id : isWorse ? after : before) {
        if ((isWorse ? before : after).contains(id)) continue;
        const Node* node = graph.find(id);
        if (++count <= kMostNames && node) names << toQt(node->name);
    }
    if (count == 0) return {};
    if (count > kMostNames) names << QStringLiteral("…");
    const QString list = names.join(QStringLiteral(", "));
    if (count == 1)
        return (isWorse ? LaneOutlookWords::tr("breaks %1") : LaneOutlookWords::tr("fixes %1")).arg(list);
    return (isWorse ? LaneOutlookWords::tr("breaks %1: %2") : LaneOutlookWords::tr("fixes %1: %2"))
        .arg(count)
        .arg(list);
}

} // namespace

QString laneOutlook(const Document& document, const Delta& delta) {
    const Graph& graph = document.graph();
    const DeviceMap& devices = document.devices();
    Graph after = graph;
    after.apply(delta);
    Analysis analysis = document.analysis();
    reanalyze(analysis, after, delta, devices, document.files().get());
    QStringList lines;
    if (const QString text = mismatchText(graph, brokenIn(document.analysis()), brokenIn(analysis));
        !text.isEmpty())
        lines << text;
    const Transfers was = transfersOf(graph, document.analysis(), devices);
    const Transfers is = transfersOf(after, analysis, devices);
    if (!(was == is)) {
        QString line = QStringLiteral("%1 → %2").arg(textOf(was), textOf(is));
        if ((was.count > 0 && was.price.modelled) || (is.count > 0 && is.price.modelled))
            line += QStringLiteral(" · ") + LaneOutlookWords::tr("modelled");
        lines << line;
    }
    return lines.join(QLatin1Char('\n'));
}

} // namespace twb
