#include "widgets/canvas/canvas_tooltip.h"

#include "graph/source_line.h"
#include "placement/journey.h"
#include "profile/profiles.h"
#include "profile/report.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"
#include "widgets/engine_words.h"
#include "widgets/price.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QStringList>
#include <QTextDocument>

#include <algorithm>

namespace twb {
namespace {

/// For translators.
struct TooltipWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

QString typeText(const std::optional<TensorType>& type) {
    return type ? escaped(type->toString()) : TooltipWords::tr("type unknown");
}

QString diagnosticText(const Diagnostic& diagnostic) {
    QString word = severityWord(diagnostic.severity);
    word[0] = word[0].toUpper();
    return QStringLiteral("<p style='margin:4px 0 0 0'><span style='color:%1'>%2:</span> %3</p>")
        .arg(Theme::current().severity(diagnostic.severity).name(), word, escaped(diagnostic.message));
}

/// `host`: as in RunState.
QString priceText(const EdgeRun& run, const QString& host) {
    QString text = priceFigures(run.bytes, run.ns);
    if (run.gbPerSecond > 0) text += QStringLiteral(" · ") + localized(formatRate(run.gbPerSecond));
    QString kind = priceKind(run.predicted, run.modelled);
    if (run.modelledNs > 0)
        kind = TooltipWords::tr("measured, %1").arg(besideRemark(run.modelledNs));
    else if (kind.isEmpty() && !host.isEmpty())
        kind = measuredText(host);
    return kind.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, kind);
}

/// One line per device on which the wire's tensor exists: its origin there and its last consumer.
QString journeyText(const Graph& graph, const Analysis& analysis, PortRef output) {
    const auto nameOf = [&](NodeId id) {
        const Node* node = graph.find(id);
        return node ? escaped(node->name) : QString();
    };
    const std::vector<Residence> journey = journeyOf(graph, analysis, output);
    if (journey.size() < 2) return {};
    QString text;
    for (std::size_t i = 0; i < journey.size(); ++i) {
        const Residence& place = journey[i];
        const QString maker = nameOf(place.tensor.node);
        const QString device = escaped(place.device.toString());
        const QString came = i == 0             ? TooltipWords::tr("created on %1 by %2").arg(device, maker)
                             : place.isImplicit ? TooltipWords::tr("copied to %1 by the policy").arg(device)
                                                : TooltipWords::tr("copied to %1 by %2").arg(device, maker);
        const QString gone = place.dies() == NodeId::none
                                 ? TooltipWords::tr("no consumer")
                                 : TooltipWords::tr("last read by %1").arg(nameOf(place.dies()));
        text += QStringLiteral("<br>%1 %2, %3")
                    .arg(i == 0 ? QStringLiteral("●") : QStringLiteral("→"), came, gone);
    }
    return QStringLiteral("<p style='margin:4px 0 0 0'>%1</p>").arg(text.mid(4));
}

} // namespace

QString laneTooltip(Device device, const DeviceMap& devices) {
    const Backend* backend = devices.find(device);
    if (!backend) return {};
    QStringList lines;
    if (const std::string remark = devices.remark(device); !remark.empty()) lines << escaped(remark);
    lines << (backend->info().simulated ? TooltipWords::tr("Modelled times: %1.")
                                        : TooltipWords::tr("Predictions: %1."))
                 .arg(escaped(sourceText(backend->profile())));
    return lines.join(QStringLiteral("<br>"));
}

QString tooltipFor(const Hit& hit, const Document& document, const Scene& scene, const RunState* run) {
    const Graph& graph = document.graph();
    const Analysis& analysis = document.analysis();
    QString text;
    if (hit.kind == Hit::Kind::wire || hit.kind == Hit::Kind::dot) {
        const Node* from = graph.find(hit.wire.from.node);
        const Node* to = graph.find(hit.wire.to.node);
        if (!from || !to) return {};
        text = QStringLiteral("<b>%1 → %2</b><br>%3")
                   .arg(escaped(from->name), escaped(to->name), typeText(analysis.typeOf(hit.wire.from)));
        if (run)
            if (const auto known = run->edges.find(hit.wire); known != run->edges.end())
                text += QStringLiteral("<br>") + priceText(known->second, run->host);
        if (hit.kind == Hit::Kind::dot)
            return text + QStringLiteral("<br>") +
                   TooltipWords::tr("Drag this dot to reroute the wire. Press Del to remove it.");
        text += journeyText(graph, analysis, hit.wire.from);
        for (const Diagnostic& d : analysis.diagnostics) {
            if (d.edge == hit.wire) text += diagnosticText(d);
        }
        return text;
    }
    if (hit.kind == Hit::Kind::stub) {
        const StubShape& stub = scene.stubs()[hit.stub];
        QStringList names;
        for (const NodeId id : stub.nodes) names << escaped(graph.find(id)->name);
        constexpr qsizetype kMost = 8;
        if (names.size() > kMost) names = names.mid(0, kMost) << QStringLiteral("…");
        const QString device = escaped(stub.device.toString());
        const bool isOnLane = stub.kind == StubShape::Kind::onLane;
        const QString where =
            !isOnLane ? TooltipWords::tr("outside this module, on %1").arg(device)
            : stub.wires == 1
                ? TooltipWords::tr("1 wire ends here, on the collapsed lane %1").arg(device)
                : TooltipWords::tr("%1 wires end here, on the collapsed lane %2").arg(stub.wires).arg(device);
        return QStringLiteral("<b>%1</b><br>%2<br>%3")
            .arg(names.join(QStringLiteral(", ")), where,
                 isOnLane ? TooltipWords::tr("Double-click to open the lane.")
                          : TooltipWords::tr("Double-click to go there."));
    }
    if (hit.kind == Hit::Kind::note) {
        for (const NoteShape& note : scene.notes())
            if (note.id == hit.note)
                return QStringLiteral("<p>%1</p>")
                    .arg(note.text->toPlainText().toHtmlEscaped().replace(QLatin1Char('\n'),
                                                                          QLatin1String("<br>")));
        return {};
    }
    if (hit.node == NodeId::none) return {};
    const Node* node = graph.find(hit.node);
    const NodeShape* shape = scene.nodes().find(hit.node);
    if (!node || !shape) return {};
    const NodeFacts* facts = analysis.find(hit.node);
    const Op* op = facts ? facts->op : nullptr;
    const auto index = static_cast<std::size_t>(hit.port.port);
    if (hit.kind == Hit::Kind::input) {
        text = TooltipWords::tr("<b>%1</b> of %2")
                   .arg(op && !op->inputs.empty() ? escaped(op->inputAt(hit.port.port).name)
                                                  : TooltipWords::tr("input %1").arg(index),
                        escaped(node->name));
        const auto from = graph.sourceOf(hit.port);
        const bool isOptional = op && !op->inputs.empty() && op->inputAt(hit.port.port).optional;
        text += QStringLiteral("<br>") + (from         ? typeText(analysis.typeOf(*from))
                                          : isOptional ? TooltipWords::tr("optional, not connected")
                                                       : TooltipWords::tr("not connected"));
        return text;
    }
    if (hit.kind == Hit::Kind::output) {
        const bool isNamed = op && index < op->outputs.size();
        return TooltipWords::tr("<b>%1</b> of %2")
                   .arg(isNamed ? escaped(op->outputs[index].name) : TooltipWords::tr("output %1").arg(index),
                        escaped(node->name)) +
               QStringLiteral("<br>") + typeText(analysis.typeOf(hit.port));
    }
    if (const ModuleShape* module = scene.modules().of(*shape); module && hit.kind == Hit::Kind::node) {
        const ModuleWords words = moduleWords(*module, graph, analysis);
        text = QStringLiteral("<b>%1</b> · %2").arg(words.title.toHtmlEscaped(), words.caption);
        if (!words.size.isEmpty()) text += QStringLiteral("<br>") + words.size;
        text += QStringLiteral("<br>") + TooltipWords::tr("Double-click to open the module.");
        if (const NodeCard* card = scene.texts().find(shape->module); card && card->moduleRun.ns > 0)
            text += QStringLiteral("<br>") +
                    TooltipWords::tr("%1, total of its nodes").arg(localized(formatMs(card->moduleRun.ns)));
        for (const Diagnostic& d : analysis.diagnostics)
            if (std::binary_search(module->nodes.begin(), module->nodes.end(), d.node))
                text += diagnosticText(d);
        return text;
    }
    text = TooltipWords::tr("<b>%1</b> · %2 on %3")
               .arg(escaped(node->name), escaped(node->op), escaped(shape->device.toString()));
    if (op && !op->doc.empty()) text += QStringLiteral("<br>") + escaped(op->doc);
    if (facts && !facts->outputs.empty()) text += QStringLiteral("<br>") + typeText(facts->outputs.front());
    if (node->source)
        text += QStringLiteral("<br>") + TooltipWords::tr("from %1").arg(escaped(toString(*node->source)));
    if (run) {
        const auto known = run->nodes.find(hit.node);
        if (known != run->nodes.end() && known->second.ns > 0)
            text +=
                QStringLiteral("<br>") + localized(formatMs(known->second.ns)) +
                QStringLiteral(" (%1)").arg(known->second.modelled ? priceKind(false, true)
                                                                   : measuredText(run->host)) +
                (known->second.modelledNs > 0 ? QStringLiteral(", ") + besideRemark(known->second.modelledNs)
                                              : QString()) +
                (known->second.once ? TooltipWords::tr(", once before the iterations") : QString());
        if (known != run->nodes.end() && !known->second.error.isEmpty())
            text += QStringLiteral("<br>") + known->second.error.toHtmlEscaped();
    }
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.node == hit.node) text += diagnosticText(d);
    }
    return text;
}

} // namespace twb
