#include "widgets/inspector/selection_facts.h"

#include "profile/report.h"
#include "widgets/engine_words.h"
#include "widgets/inspector/inspector.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/price.h"
#include "widgets/text.h"

// The texts are of the inspector's context for translators.

namespace twb {
namespace {

QString shapeText(const Shape& shape) {
    if (shape.rank() == 0) return QObject::tr("scalar");
    QStringList sizes;
    for (const std::int64_t size : shape)
        sizes << (size == kUnknownDim ? QStringLiteral("?") : grouped(size));
    return sizes.join(QStringLiteral(" × "));
}

} // namespace

SelectionFacts::SelectionFacts(const Document& document, const RunController& runs,
                               const TrainingRun* trained)
    : m_document(document), m_runs(runs), m_trained(trained) {}

std::vector<FactRows::Row> SelectionFacts::ofNode(const Node& node) const {
    std::vector<FactRows::Row> rows;
    const NodeFacts* facts = m_document.analysis().find(node.id);
    const QString unknown = Inspector::tr("unknown");
    for (std::size_t port = 0; facts && port < facts->outputs.size(); ++port) {
        const std::optional<TensorType>& type = facts->outputs[port];
        rows.push_back({Inspector::tr("shape"), type ? shapeText(type->shape) : unknown});
        rows.push_back({Inspector::tr("dtype"), type ? toQt(torchName(type->dtype)) : unknown});
        rows.push_back(
            {Inspector::tr("bytes"), type && type->isKnown() ? grouped(type->byteCount()) : unknown});
    }
    if (facts) rows.push_back({Inspector::tr("device"), toQt(facts->device.toString())});
    if (node.source) rows.push_back({Inspector::tr("source"), toQt(toShortString(*node.source))});
    const auto run = m_runs.state().nodes.find(node.id);
    const std::optional<PortRef> source = m_document.graph().sourceOf({node.id, 0});
    const bool isProbe = node.op == "Probe" && source;
    // A Probe that was added after the run shows the tensor, too.
    const std::optional<Tensor> seen = isProbe ? m_runs.tensor(*source) : std::nullopt;
    const bool isTrained = m_trained && m_trained->value(node.id);
    if (node.disabled)
        rows.push_back({Inspector::tr("state"), Inspector::tr("disabled")});
    else if (isTrained)
        rows.push_back({Inspector::tr("values"),
                        m_trained->place().steps == 1
                            ? Inspector::tr("trained, 1 step")
                            : Inspector::tr("trained, %1 steps").arg(grouped(m_trained->place().steps))});
    else if (seen)
        rows.push_back({Inspector::tr("value"), seen->elementCount() == 1 ? valueText(probe(node.name, *seen))
                                                                          : Inspector::tr("shown below")});
    else if (run == m_runs.state().nodes.end() ||
             (run->second.state == StepState::pending && run->second.ns <= 0))
        rows.push_back({Inspector::tr("state"), Inspector::tr("not run yet")});
    else if (run->second.state != StepState::done && run->second.state != StepState::running &&
             run->second.state != StepState::pending)
        rows.push_back({Inspector::tr("state"), stateWord(run->second.state)});
    else if (m_runs.isStopped() && run->second.ns <= 0)
        rows.push_back({Inspector::tr("state"),
                        Inspector::tr("computed in this iteration")}); // its times are not known yet
    else if (const Node* last = m_document.graph().find(run->second.timedAt); last && last->id != node.id)
        rows.push_back({Inspector::tr("time"), Inspector::tr("in one step with %1").arg(toQt(last->name))});
    else
        rows.push_back({Inspector::tr("time"),
                        (run->second.modelled ? Inspector::tr("modelled %1") : QStringLiteral("%1"))
                                .arg(localized(formatMs(run->second.ns))) +
                            (run->second.once ? Inspector::tr(", once") : QString()) +
                            (run->second.fused > 0 ? Inspector::tr(", step of %1 ops").arg(run->second.fused)
                                                   : QString())});
    if (run != m_runs.state().nodes.end() && run->second.modelledNs > 0)
        rows.push_back({Inspector::tr("modelled"), localized(formatMs(run->second.modelledNs))});
    const auto addRecomputed = [&](const QString& name, PortRef output) {
        if (const std::optional<std::int64_t> iteration = m_runs.iterationComputedAgain(output))
            rows.push_back({name, Inspector::tr("iteration %1, computed again").arg(grouped(*iteration))});
    };
    if (!isTrained) addRecomputed(Inspector::tr("value shown"), {node.id, 0});
    const std::optional<PortRef> gradient = gradientOf(m_document.graph(), node.id);
    if (gradient && !m_trained) addRecomputed(Inspector::tr("gradient shown"), *gradient);
    const QString buffer = bufferText(node.id);
    if (!buffer.isEmpty()) rows.push_back({Inspector::tr("buffer"), buffer});
    return rows;
}

std::vector<FactRows::Row> SelectionFacts::ofEdge(const Edge& edge) const {
    const auto found = m_runs.state().edges.find(edge);
    const std::optional<TensorType>& type = m_document.analysis().typeOf(edge.from);
    std::vector<FactRows::Row> rows{
        {Inspector::tr("tensor"), type ? toQt(type->toString()) : Inspector::tr("unknown")}};
    if (found == m_runs.state().edges.end())
        rows.push_back({Inspector::tr("transfer"), Inspector::tr("none: both ends are on one device")});
    else {
        const EdgeRun& run = found->second;
        const QString known = priceKind(run.predicted, run.modelled);
        const QString kind = known.isEmpty() ? m_runs.measuredText() : known;
        rows.push_back({Inspector::tr("bytes"), grouped(qint64(run.bytes))});
        rows.push_back({Inspector::tr("time, %1").arg(kind), localized(formatMs(run.ns))});
        if (run.modelledNs > 0)
            rows.push_back({Inspector::tr("time, modelled"), localized(formatMs(run.modelledNs))});
        rows.push_back({Inspector::tr("rate, %1").arg(kind), localized(formatRate(run.gbPerSecond))});
    }
    return rows;
}

std::vector<FactRows::Row> SelectionFacts::ofGraph() const {
    const Graph& graph = m_document.graph();
    std::vector<FactRows::Row> rows{{Inspector::tr("nodes"), grouped(qint64(graph.nodes().size()))},
                                    {Inspector::tr("edges"), grouped(qint64(graph.edgeCount()))},
                                    {Inspector::tr("policy"), toQt(graph.info().policy.toString())}};
    for (const Device device : m_document.devices().devices())
        if (const Backend* backend = m_document.devices().find(device))
            rows.push_back({toQt(device.toString()), toQt(backend->info().name)});
    for (const ProbeValue& probe : m_runs.probes()) rows.push_back({toQt(probe.name), valueText(probe)});
    return rows;
}

/// The planner's use of memory for a node's output.
QString SelectionFacts::bufferText(NodeId id) const {
    const Plan* plan = m_runs.leanPlan();
    if (!plan) return {};
    const std::uint32_t value = plan->valueOf({id, 0});
    if (value == kNone || plan->values[value].slot == kNone) return {};
    for (const Step& step : plan->steps) {
        if (step.inPlaceOf == kNone) continue;
        if (step.node == id)
            return Inspector::tr("buffer of %1 (in place)").arg(toQt(plan->values[step.inPlaceOf].label));
        if (step.inPlaceOf == value) return Inspector::tr("reused by %1 (in place)").arg(toQt(step.label));
    }
    for (std::uint32_t other = 0; other < plan->values.size(); ++other)
        if (other != value && plan->values[other].slot == plan->values[value].slot &&
            plan->values[other].source != plan->values[value].source)
            return Inspector::tr("shared with %1").arg(toQt(plan->values[other].label));
    return Inspector::tr("own buffer");
}

} // namespace twb
