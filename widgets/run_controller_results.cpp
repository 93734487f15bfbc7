#include "core/error.h"
#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <algorithm>
#include <map>
#include <utility>

// The results of a run: its tensors, the Probes' values, and its report.

namespace twb {
namespace {

/// The longest iteration that is run again after the user has stopped the run.
constexpr double kPatienceNs = 50e6;
} // namespace

/// A measured run shares memory, so most tensors are gone at its end. The last iteration runs again, not
/// counted in the figures, to compute them again, unless the user asked to stop and would have to wait.
bool RunController::startAgain() {
    if (!m_againPlan || m_measured->status == RunStatus::failed) return false;
    if (m_measured->iterations == 0) return false;
    const double iterationNs = double(m_measured->wallNs) / double(m_measured->iterations);
    if (m_measured->status == RunStatus::cancelled && iterationNs > kPatienceNs) return false;
    m_executor.wait();
    m_batch = std::make_unique<RunBatch>();
    RunOptions options;
    options.cache = true;
    options.allowTf32 = m_ranWithTf32;
    const std::map<PortRef, Tensor> state = std::exchange(m_measured->lastState, {});
    // Without the state before it, the last iteration cannot be repeated. The first one can.
    const bool isKnown =
        m_updated.empty() || (m_measured->status == RunStatus::finished && state.size() == m_updated.size());
    m_againFirst = isKnown ? m_measured->iterations - 1 : 0;
    options.firstIteration = m_againFirst;
    try {
        for (const auto& [output, tensor] : state) {
            if (!isKnown) break;
            const Device device = m_againPlan->values[m_againPlan->valueOf(output)].device;
            options.state[output] = device.isCpu() ? tensor : toDevice(tensor, device, m_againPlan->devices);
        }
        m_executor.start(m_againPlan, options, *m_batch);
    } catch (const std::exception& error) {
        log(Severity::warning,
            tr("After run %1, the tensors that the run did not keep could not be computed: %2")
                .arg(m_number)
                .arg(toQt(error.what())));
        return false;
    }
    m_isAgain = true;
    return true;
}

/// Tensors kept by the run take precedence; the additional iteration only adds others.
void RunController::takeTensors(const RunResult& result, bool again) {
    std::vector<KeptTensor> all = std::move(m_tensors);
    for (const auto& [output, tensor] : result.tensors) all.push_back({output, tensor, again});
    std::stable_sort(all.begin(), all.end(),
                     [](const KeptTensor& a, const KeptTensor& b) { return a.output < b.output; });
    all.erase(std::unique(all.begin(), all.end(),
                          [](const KeptTensor& a, const KeptTensor& b) { return a.output == b.output; }),
              all.end());
    m_tensors = std::move(all);
}

/// The sinks of the snapshot with the outputs that they read, without tensors of several elements.
std::vector<std::pair<const Node*, PortRef>> RunController::probedOutputs() const {
    std::vector<std::pair<const Node*, PortRef>> out;
    for (const Node& node : m_snapshot.nodes()) {
        const Op* op = findOp(node.op);
        if (!op || op->role != OpRole::sink) continue;
        const std::optional<PortRef> source = m_snapshot.sourceOf({node.id, 0});
        if (!source) continue;
        const std::optional<TensorType>& type = m_document.analysis().typeOf(*source);
        if (!type || !type->isKnown() || type->shape.elementCount() == 1) out.emplace_back(&node, *source);
    }
    return out;
}

/// The scalars at sinks, for the log and for the Probes' cards.
void RunController::readProbes(const std::function<std::optional<Tensor>(PortRef)>& valueOf) {
    m_probes.clear();
    for (auto& [id, run] : m_state.nodes) run.value.clear();
    for (const auto& [node, source] : probedOutputs()) {
        const std::optional<Tensor> value = valueOf(source);
        if (!value || value->elementCount() != 1) continue;
        m_probes.push_back(probe(labelOf(m_snapshot, node->id), *value));
        m_state.nodes[node->id].value = valueText(m_probes.back());
    }
}

RunReport RunController::report() const {
    RunReport out;
    if (!m_figures || !m_result) return out;
    out.file = (m_document.path().isEmpty() ? m_document.title() : m_document.path()).toStdString();
    out.date = m_date;
    out.host = m_state.host.toStdString();
    out.policy = m_snapshot.info().policy.toString();
    out.allowTf32 = m_ranWithTf32;
    out.plan = m_figures->sharedPlan();
    out.ledger = &m_figures->ledger();
    out.steps = &m_figures->steps();
    out.timeline = &m_figures->timeline();
    out.graph = &m_snapshot;
    out.result = *m_result;
    out.diagnostics = m_diagnostics;
    out.inputs = m_inputs;
    if (!m_state.host.isEmpty()) out.probes = m_probes;
    for (const Node& node : m_snapshot.nodes()) {
        const auto source = node.op == "Probe" ? m_snapshot.sourceOf({node.id, 0}) : std::nullopt;
        const std::optional<Tensor> seen = source ? tensor(*source) : std::nullopt;
        if (seen) out.probes.push_back(probe(labelOf(m_snapshot, node.id), *seen));
    }
    return out;
}

std::optional<Tensor> RunController::tensor(PortRef output) const {
    if ((!m_result && !m_stop) || !m_figures) return std::nullopt;
    if (m_lastCopy && m_lastCopy->first == output) return m_lastCopy->second;
    if (m_stop) return tensorAtStop(output);
    const auto kept = std::find_if(m_tensors.begin(), m_tensors.end(),
                                   [&](const KeptTensor& t) { return t.output == output; });
    if (kept == m_tensors.end() || std::uint64_t(kept->tensor.byteCount()) > kKeptBytes) return std::nullopt;
    try {
        m_lastCopy = {output, toHost(kept->tensor, m_figures->plan().devices)};
    } catch (const Error&) {
        return std::nullopt; // the device was lost
    }
    return m_lastCopy->second;
}

std::optional<std::int64_t> RunController::iterationComputedAgain(PortRef output) const noexcept {
    const bool isAgain = std::any_of(m_tensors.begin(), m_tensors.end(),
                                     [&](const KeptTensor& t) { return t.output == output && t.again; });
    return isAgain ? std::optional(m_againFirst + 1) : std::nullopt;
}

} // namespace twb
