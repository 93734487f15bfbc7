#pragma once

#include "runtime/executor.h"
#include "support/graphs.h"

#include <QtGlobal>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace twb::test {

using Ints = std::vector<std::int64_t>;

inline std::shared_ptr<const Plan> planOf(const Graph& graph, const DeviceMap& map,
                                          const CompileOptions& options = {},
                                          const std::shared_ptr<const TensorFiles>& files = nullptr) {
    return compile(graph, analyze(graph, map, options.policy, files.get()), map, files, options);
}

/// Records all notifications of a run.
class Recorder final : public RunObserver {
public:
    void started(std::uint64_t run, const Plan&, std::int64_t) override { starts.push_back(run); }
    void steps(std::uint64_t, std::span<const StepRecord> batch) override {
        records.insert(records.end(), batch.begin(), batch.end());
    }
    void progress(std::uint64_t, std::int64_t now, std::int64_t) override { done = now; }
    void looked(std::uint64_t, std::vector<std::pair<PortRef, Tensor>> values) override {
        looks.push_back(std::move(values));
    }
    void finished(RunResult r) noexcept override { result = std::move(r); }

    std::vector<std::uint64_t> starts;
    std::vector<StepRecord> records;
    std::vector<std::vector<std::pair<PortRef, Tensor>>> looks;
    std::atomic<std::int64_t> done{0};
    RunResult result;
};

inline const Step& stepNamed(const Plan& plan, std::string_view label) {
    for (const Step& step : plan.steps)
        if (step.label == label) return step;
    qFatal("no step %s", std::string(label).c_str());
}

/// The values of a result; empty if the run does not have it.
inline std::vector<float> floats(const RunResult& result, NodeId node, const DeviceMap& map) {
    const Tensor* tensor = result.tensor({node, 0});
    if (!tensor) return {};
    const Tensor host = toHost(*tensor, map);
    const auto values = host.values<float>();
    return {values.begin(), values.end()};
}

} // namespace twb::test
