// The steps of a project on the cpu, each beside its floor: the larger of its flops over the peak of all
// threads and its bytes over the bandwidth of a copy, both measured first. A copy of as many bytes decides,
// so that tensors that fit in a cache have the cache's bandwidth.
//
// A step's time is the least of its iterations.
//
//   bench_floors FILE.twb [ITERATIONS]

#include "backends/cpu/parallel.h"
#include "backends/device_map.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "placement/analysis.h"
#include "profile/report.h"
#include "runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <immintrin.h>
#include <map>
#include <string>
#include <vector>

using namespace twb;

namespace {

double nsOf(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

constexpr std::int64_t kRounds = 2'000; ///< of multiply-adds per range
constexpr std::int64_t kRanges = 64;
constexpr int kSums = 12; ///< as many as two units keep busy

__attribute__((target("avx512f"))) float multiplyAdd512() {
    __m512 sums[kSums];
    for (__m512& sum : sums) sum = _mm512_set1_ps(1);
    const __m512 factor = _mm512_set1_ps(0.999F);
    for (std::int64_t i = 0; i < kRounds; ++i)
#pragma GCC unroll 12
        for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, factor);
    float out = 0;
    for (const __m512& sum : sums) out += _mm512_cvtss_f32(sum);
    return out;
}

__attribute__((target("avx2,fma"))) float multiplyAdd256() {
    __m256 sums[kSums];
    for (__m256& sum : sums) sum = _mm256_set1_ps(1);
    const __m256 factor = _mm256_set1_ps(0.999F);
    for (std::int64_t i = 0; i < kRounds; ++i)
#pragma GCC unroll 12
        for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, factor);
    float out = 0;
    for (const __m256& sum : sums) out += _mm256_cvtss_f32(sum);
    return out;
}

/// Flops per ns of f32 multiply-adds on all threads.
double measuredPeak() {
    const bool is512 = __builtin_cpu_supports("avx512f");
    std::vector<float> results(kRanges);
    double best = 1e300;
    for (int round = 0; round < 500; ++round)
        best = std::min(best, nsOf([&] {
                            parallelRanges(kRanges, kRanges * kParallelElements, 1,
                                           [&](std::int64_t begin, std::int64_t end) {
                                               for (std::int64_t i = begin; i < end; ++i)
                                                   results[static_cast<std::size_t>(i)] =
                                                       is512 ? multiplyAdd512() : multiplyAdd256();
                                           });
                        }));
    return 2.0 * kSums * (is512 ? 16 : 8) * kRounds * kRanges / best;
}

/// Bytes per ns, read and written, by the power of two of the bytes.
std::map<int, double> measuredBandwidths() {
    std::map<int, double> out;
    for (int power = 14; power <= 28; ++power) {
        const std::int64_t half = std::int64_t{1} << (power - 1);
        std::vector<char> from(static_cast<std::size_t>(half), 1);
        std::vector<char> to(static_cast<std::size_t>(half));
        const auto copy = [&] {
            parallelRanges(half, half, 4096, [&](std::int64_t begin, std::int64_t end) {
                std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
            });
        };
        copy();
        double best = 1e300;
        for (int round = 0; round < (power < 24 ? 300 : 20); ++round) best = std::min(best, nsOf(copy));
        out[power] = 2.0 * static_cast<double>(half) / best;
    }
    return out;
}

class Floors {
public:
    Floors() : m_peak(measuredPeak()), m_bandwidths(measuredBandwidths()) {
        fmt::print("peak {:.0f} GFLOP/s; copies of 256 KiB {:.0f}, 4 MiB {:.0f}, 64 MiB {:.0f} GB/s\n",
                   m_peak, m_bandwidths[18], m_bandwidths[22], m_bandwidths[26]);
    }
    double ns(const Cost& cost) const {
        int power = m_bandwidths.begin()->first;
        while (power < m_bandwidths.rbegin()->first &&
               static_cast<double>(std::int64_t{1} << power) < cost.bytes)
            ++power;
        return std::max(cost.flops / m_peak, cost.bytes / m_bandwidths.at(power));
    }

private:
    double m_peak;
    std::map<int, double> m_bandwidths;
};

class Times final : public RunObserver {
public:
    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord> records) override { times.add(records); }
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    void finished(RunResult) noexcept override {}
    StepTimes times;
};

struct Row {
    std::string name;
    double ms = 0;
    double floorMs = 0;
};

void print(std::vector<Row> rows) {
    std::ranges::sort(rows, std::greater<>(), [](const Row& row) { return row.ms - row.floorMs; });
    for (const Row& row : rows)
        fmt::print("{:9.3f} ms   floor {:8.3f} ms   {:6.2f} ×   {}\n", row.ms, row.floorMs,
                   row.floorMs > 0 ? row.ms / row.floorMs : 0, row.name);
}

void run(const std::string& file, std::int64_t iterations) {
    const Graph graph = loadProject(file);
    const auto files = makeProjectFiles(std::filesystem::absolute(file).parent_path(), false);
    const DeviceMap devices;
    const Analysis analysis = analyze(graph, devices, Policy{}, files.get());
    const auto plan = compile(graph, analysis, devices, files, {.fuseOnCpu = true});
    Times observer;
    observer.times = StepTimes(plan);
    const RunResult result = runToEnd(plan, {.iterations = iterations}, &observer);
    if (result.status != RunStatus::finished)
        throw Error(ErrorCode::failed, result.errors.empty() ? "the run failed" : result.errors[0].message);

    const Floors floors;
    std::vector<Row> rows;
    std::map<std::string, Row> byOp;
    Row total{"all steps"};
    for (const Step& step : plan->steps) {
        const StepTimes::Row& times = observer.times.rows()[step.index];
        if (step.setup || !step.op || step.outputs.empty() || times.count == 0) continue;
        const double ms = times.times.quantile(0) / 1e6;
        const double floorMs = floors.ns(step.cost) / 1e6;
        rows.push_back({fmt::format("{} {} → {}", step.op->name, step.label,
                                    plan->values[step.outputs[0]].type.toString()),
                        ms, floorMs});
        Row& op = byOp[step.op->name];
        op = {step.op->name, op.ms + ms, op.floorMs + floorMs};
        total.ms += ms;
        total.floorMs += floorMs;
    }
    print(rows);
    fmt::print("\n");
    std::vector<Row> ops;
    for (const auto& [name, row] : byOp) ops.push_back(row);
    print(ops);
    fmt::print("\n");
    print({total});
    fmt::print("{:9.3f} ms   an iteration, on average\n",
               static_cast<double>(result.wallNs) / 1e6 / static_cast<double>(iterations));
}

} // namespace

int main(int argc, char** argv) try {
    if (argc < 2 || argc > 3) {
        fmt::print(stderr, "usage: bench_floors FILE.twb [ITERATIONS]\n");
        return 2;
    }
    run(argv[1], argc > 2 ? std::stoll(argv[2]) : 50);
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "bench_floors: {}\n", error.what());
    return 1;
}
