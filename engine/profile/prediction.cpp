#include "profile/prediction.h"

#include "backends/world.h"
#include "profile/profiles.h"
#include "training/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace twb {
namespace {

/// predict() simulates kIterations + 2 · inFlight iterations, so that the pipeline is full. The last inFlight
/// of them give the time of one iteration.
constexpr int kIterations = 4;

/// Whether the sizes or the number of runs are known only at run time.
bool isOpen(const Step& step) { return step.dynamic || step.control != kNone; }

/// The time of spans during which some other one is active; the others may overlap each other.
double overlapOf(const std::vector<Prediction::Span>& spans, std::vector<Prediction::Span> others) {
    std::ranges::sort(others, {}, &Prediction::Span::start);
    double out = 0;
    for (const Prediction::Span& span : spans) {
        double reached = span.start;
        for (const Prediction::Span& other : others) {
            const double start = std::max(other.start, reached);
            const double end = std::min(other.end, span.end);
            if (end <= start) continue;
            out += end - start;
            reached = end;
        }
    }
    return out;
}

} // namespace

std::string sourcesOf(const DeviceMap& devices) {
    std::vector<std::string> names;
    for (const Device device : devices.devices()) {
        const DeviceProfile& profile = devices.at(device).profile();
        std::string name = fmt::format("{} ({})", profile.name, sourceText(profile));
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return fmt::format("from the figures of {}", fmt::join(names, ", "));
}

bool Prediction::fits() const noexcept {
    return std::all_of(devices.begin(), devices.end(), [](const DeviceUse& use) { return use.fits(); });
}

Prediction predict(const Plan& plan, std::int64_t ofRun) {
    Prediction out;
    out.spans.resize(plan.steps.size());
    std::vector<double> setupFree(plan.streams.size(), 0);
    std::vector<double> end(plan.steps.size(), 0); // by step: the end of its latest run
    for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        out.isComplete = out.isComplete && !isOpen(step);
        if (!step.setup) continue;
        double start = setupFree[step.stream];
        for (const std::uint32_t w : step.waits) start = std::max(start, end[w]);
        end[s] = setupFree[step.stream] = start + step.predictedNs;
        out.setupNs = std::max(out.setupNs, end[s]);
    }
    std::fill(end.begin(), end.end(), 0);

    std::vector<double> free(plan.streams.size(), 0);
    std::vector<std::uint32_t> lastOn(plan.streams.size(), kNone);
    std::vector<std::vector<double>> before(plan.inFlight, end); // by lap: ends of the latest iteration
    double done = 0;
    const auto inFlight = static_cast<std::size_t>(plan.inFlight);
    const int iterations = kIterations + 2 * static_cast<int>(plan.inFlight);
    std::vector<Prediction::Span> calls; // over all ranks, of an iteration whose neighbours are complete
    std::vector<Prediction::Span> compute;
    std::vector<double> ends; // by iteration
    for (int iteration = 0; iteration < iterations; ++iteration) {
        const auto lap = plan.lapOf(iteration);
        const std::vector<double>& last = before[plan.lapOf(iteration + plan.inFlight - 1)];
        // No more iterations than that are submitted at a time.
        const double submitted = ends.size() < inFlight ? 0 : ends[ends.size() - inFlight];
        for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
            const Step& step = plan.steps[s];
            if (step.setup || step.last)
                continue; // steps of the last iteration only are not part of every iteration
            double start = std::max(free[step.stream], submitted);
            std::uint32_t after = lastOn[step.stream];
            for (const std::uint32_t w : step.waits)
                if (!plan.steps[w].setup && end[w] > start) {
                    start = end[w];
                    after = w;
                }
            for (const std::uint32_t w : step.carriedWaits) start = std::max(start, last[w]);
            for (const std::uint32_t w : step.lapWaits) start = std::max(start, before[lap][w]);
            end[s] = free[step.stream] = start + step.predictedNs;
            lastOn[step.stream] = s;
            done = std::max(done, end[s]);
            if (plan.isCollective(step) && iteration == iterations - 2) {
                calls.push_back({start, end[s]});
                out.communicationNs += step.predictedNs;
            }
            if (step.transfer == kNone) compute.push_back({start, end[s]});
            if (iteration == 0) out.spans[s] = {start, end[s], after};
        }
        before[lap] = end;
        ends.push_back(done);
        if (iteration == 0) out.latencyNs = done;
    }
    out.iterationNs = (done - ends[ends.size() - 1 - inFlight]) / static_cast<double>(inFlight);
    out.hiddenNs = overlapOf(calls, std::move(compute));

    std::uint32_t at = kNone;
    for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
        if (out.spans[s].end > 0 && (at == kNone || out.spans[s].end > out.spans[at].end)) at = s;
    for (; at != kNone; at = out.spans[at].start > 0 ? out.spans[at].after : kNone) {
        out.criticalPath.push_back(at);
        const Step& step = plan.steps[at];
        if (step.transfer != kNone) {
            out.critical.transfer += step.predictedNs;
            continue;
        }
        const double launch = std::min(
            step.predictedNs, plan.devices.at(plan.streams[step.stream].device).profile().launchUs * 1e3);
        out.critical.overhead += launch;
        out.critical.compute += step.predictedNs - launch;
    }
    std::reverse(out.criticalPath.begin(), out.criticalPath.end());

    std::map<Device, double> busy;
    for (const Step& step : plan.steps) {
        if (step.setup || step.last) continue;
        busy[plan.streams[step.stream].device] += step.predictedNs;
        if (step.transfer != kNone)
            out.transferBytes += static_cast<double>(plan.transfers[step.transfer].bytes);
    }
    for (const Device device : plan.devices.devices()) {
        const DeviceInfo& info = plan.devices.at(device).info();
        out.devices.push_back(
            {device, info.name, plan.bytesOn(device, ofRun), info.memoryBytes, busy[device]});
    }
    out.sources = sourcesOf(plan.devices);
    return out;
}

std::shared_ptr<const Plan> planFor(Graph graph, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files, std::optional<Policy> policy) {
    averageOverRanks(graph, devices, files.get());
    const Policy rule = policy.value_or(graph.info().policy);
    const Analysis analysis = analyze(graph, devices, rule, files.get());
    return compile(graph, analysis, devices, std::move(files), {.policy = rule});
}

Prediction predict(const Graph& graph, const DeviceMap& devices, std::shared_ptr<const TensorFiles> files,
                   std::optional<Policy> policy) {
    return predict(*planFor(graph, devices, std::move(files), policy), graph.info().iterations);
}

Prediction predictOnRanks(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
                          int ranks, const LinkProfile& link) {
    if (ranks > 1) devices.setWorld(makeSimulatedWorld(ranks, link));
    return predict(graph, devices, std::move(files));
}

} // namespace twb
