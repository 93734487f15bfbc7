// ns per step of the executor with timing on: a chain and a tree of 10,000 empty steps on one stream. A good
// task library needs 58 ns (chain) and 154 ns (tree) per task on two cores; the budget is 150 ns for both.
#include "backends/device_map.h"
#include "runtime/executor.h"
#include "runtime/memory_plan.h"

#include <benchmark/benchmark.h>

namespace {

using namespace twb;

void nothing(const KernelContext&) {}

/// Steps of one scalar each; step i reads the steps of inputsOf(i).
template <class Inputs> std::shared_ptr<const Plan> emptySteps(std::uint32_t count, Inputs&& inputsOf) {
    static const Op op = [] {
        Op o;
        o.name = "Nothing";
        o.kernel = nothing;
        return o;
    }();
    auto plan = std::make_shared<Plan>();
    plan->streams.push_back({Device::cpu(), QueueKind::compute, "cpu compute"});
    for (std::uint32_t i = 0; i < count; ++i) {
        PlanValue value;
        value.source = {NodeId(i + 1), 0};
        plan->values.push_back(value);
        Step step;
        step.index = i;
        step.op = &op;
        step.inputs = inputsOf(i);
        step.outputs = {i};
        plan->steps.push_back(std::move(step));
    }
    planMemory(*plan, true);
    planWaits(*plan, std::vector<bool>(count, false));
    return plan;
}

/// Counts the records: each step of each iteration with its times.
class Counter final : public RunObserver {
public:
    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord> records) override { seen += records.size(); }
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    void finished(RunResult) noexcept override {}
    std::size_t seen = 0;
};

void run(benchmark::State& state, const std::shared_ptr<const Plan>& plan) {
    constexpr std::int64_t iterations = 200;
    for (auto _ : state) {
        Counter counter;
        const RunResult result = runToEnd(plan, {.iterations = iterations}, &counter);
        if (counter.seen != plan->steps.size() * iterations) state.SkipWithError("records are missing");
        state.SetIterationTime(static_cast<double>(result.wallNs) * 1e-9);
        state.counters["ns/step"] = static_cast<double>(result.wallNs) / static_cast<double>(iterations) /
                                    static_cast<double>(plan->steps.size());
    }
}

void chain(benchmark::State& state) {
    run(state, emptySteps(static_cast<std::uint32_t>(state.range(0)), [](std::uint32_t i) {
            return i ? std::vector<std::uint32_t>{i - 1} : std::vector<std::uint32_t>{};
        }));
}
BENCHMARK(chain)->Arg(10'000)->UseManualTime()->Unit(benchmark::kMillisecond);

void tree(benchmark::State& state) {
    // A binary tree summed from its leaves: node i of the heap reads 2i+1 and 2i+2; the steps run from the
    // leaves to the root.
    const auto count = static_cast<std::uint32_t>(state.range(0));
    run(state, emptySteps(count, [count](std::uint32_t i) {
            const std::uint32_t heap = count - 1 - i;
            std::vector<std::uint32_t> inputs;
            for (std::uint32_t child : {2 * heap + 1, 2 * heap + 2})
                if (child < count) inputs.push_back(count - 1 - child);
            return inputs;
        }));
}
BENCHMARK(tree)->Arg(10'000)->UseManualTime()->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
