#include "training/sample_runs.h"

#include "core/error.h"
#include "runtime/executor.h"

#include <algorithm>

namespace twb {
namespace {

RunResult execute(const std::shared_ptr<const Plan>& plan, const RunOptions& options) {
    RunResult result = runToEnd(plan, options);
    if (!result.errors.empty()) throw Error(result.errors.front().code, result.errors.front().message);
    if (result.status != RunStatus::finished) throw Error(ErrorCode::cancelled, "the run was cancelled");
    return result;
}

} // namespace

SampleRuns::SampleRuns(const Graph& graph, const RunSetup& setup, const std::set<PortRef>& keep)
    : m_keep(keep) {
    const Analysis analysis = analyze(graph, setup.devices, setup.policy, setup.files.get());
    CompileOptions options;
    options.policy = setup.policy;
    options.fuseOnCpu = true;
    options.keep = keep;
    for (const NodeFacts& facts : analysis.nodes)
        if (facts.op && facts.op->role == OpRole::source && facts.op->name != "Batches")
            m_sources.insert({facts.id, 0});
    options.keep.insert(m_sources.begin(), m_sources.end());
    m_plan = compile(graph, analysis, setup.devices, setup.files, options);
    std::erase_if(m_sources, [&](PortRef source) {
        const std::uint32_t v = m_plan->valueOf(source);
        return v == kNone || !m_plan->isConstant(v);
    });
}

std::map<PortRef, Tensor> SampleRuns::stateOf(const Sample& sample) const {
    std::map<PortRef, Tensor> out = m_resident;
    for (const auto& [source, tensor] : sample)
        if (const std::uint32_t v = m_plan->valueOf(source); v != kNone) // otherwise nothing reads it
            out[source] = toDevice(tensor, m_plan->values[v].device, m_plan->devices);
    return out;
}

std::map<PortRef, Tensor> SampleRuns::run(const Sample& sample) {
    RunOptions options;
    options.state = stateOf(sample);
    const RunResult result = execute(m_plan, options);
    for (const PortRef source : m_sources)
        if (const Tensor* made = sample.contains(source) ? nullptr : result.tensor(source))
            m_resident[source] = *made;
    std::map<PortRef, Tensor> out;
    for (const PortRef output : m_keep)
        if (const Tensor* tensor = result.tensor(output)) out[output] = toHost(*tensor, m_plan->devices);
    return out;
}

double SampleRuns::iterationNs(const Sample& sample, double atLeastNs) {
    RunOptions options;
    options.state = stateOf(sample);
    const auto run = [&](std::int64_t iterations) {
        options.iterations = iterations;
        return execute(m_plan, options);
    };
    const auto time = [&](const RunResult& result) {
        return static_cast<double>(isModelled() ? result.clockNs : result.wallNs);
    };
    const RunResult first = run(1); // packs the weights, as the first iteration of each run does
    const RunResult second = run(2);
    const double wall = std::max(static_cast<double>(second.wallNs - first.wallNs), 1e4);
    // Modelled times vary little.
    const auto count =
        static_cast<std::int64_t>(std::clamp(atLeastNs / wall, 3.0, isModelled() ? 10.0 : 2000.0));
    return std::max(time(run(count + 1)) - time(first), 0.0) / static_cast<double>(count);
}

} // namespace twb
