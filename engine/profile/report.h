#pragma once

#include "core/format.h"
#include "graph/diagnostic.h"
#include "graph/graph.h"
#include "placement/analysis.h"
#include "profile/ledger.h"
#include "profile/run_timeline.h"
#include "runtime/executor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

inline constexpr int kReportSchema = 1;

/// Times of each step over the iterations of a run; rows parallel Plan::steps.
class StepTimes {
public:
    StepTimes() = default;
    explicit StepTimes(std::shared_ptr<const Plan> plan);
    void add(std::span<const StepRecord> records);
    struct Row {
        std::uint64_t count = 0;
        std::int64_t lastNs = 0;
        std::int64_t totalNs = 0;
        Histogram times;
        StepState state = StepState::pending;
    };
    const std::vector<Row>& rows() const noexcept { return m_rows; }

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<Row> m_rows;
};

/// "finished", "failed", "cancelled".
std::string_view name(RunStatus status) noexcept;
/// Whether a step's times come from a profile: a simulated device takes part in it.
bool isModelled(const Plan& plan, const Step& step);

/// What a Probe saw after the last iteration.
struct ProbeValue {
    std::string name;
    std::string type;          ///< "f32 scalar"
    std::int64_t elements = 1; ///< of one element, `value` is it; of none, no figure means anything
    double value = 0;
    double minimum = 0; ///< of the elements that are numbers
    double maximum = 0;
    double mean = 0;
    std::int64_t notANumber = 0; ///< elements that are NaN
};

/// Reads a tensor in host memory.
ProbeValue probe(std::string name, const Tensor& tensor);

/// A file that a run read, and TensorFiles::fingerprint of it then.
struct InputFile {
    std::string path;
    std::string fingerprint;
};

/// "2026-11-22T21:40:05Z"
std::string dateNow();

/// The files that a plan reads, as they are now.
std::vector<InputFile> inputFiles(const Plan& plan);

/// Everything about one run: what `twb run --report` writes.
struct RunReport {
    std::string file;
    std::string date; ///< when the run ended, as dateNow() has it; empty where nobody knows
    std::string policy;
    bool allowTf32 = false; ///< RunOptions::allowTf32
    std::shared_ptr<const Plan> plan;
    const Ledger* ledger = nullptr;
    const StepTimes* steps = nullptr;
    const RunTimeline* timeline = nullptr;
    const Graph* graph = nullptr; ///< what ran, for pictures
    RunResult result;
    std::vector<Diagnostic> diagnostics;
    std::vector<ProbeValue> probes;
    std::vector<InputFile> inputs;
};

/// One JSON object, UTF-8, as resources/schema/report.schema.json describes it. Times are in ms (`*_ms`),
/// rates in 10^9 bytes/s (`gb_per_s`), sizes in bytes. A number that JSON cannot hold is the text "nan",
/// "inf" or "-inf". New keys may appear without a new schema number.
///
///     schema      kReportSchema
///     file, policy
///     title       of the graph; absent where it has none
///     date        when the run ended, in UTC: "2026-11-22T21:40:05Z"
///     allow_tf32  whether real GPUs might round products of f32 to TF32
///     status      "finished", "failed", "cancelled"
///     iterations  completed
///     wall_ms     the iterations on the host's clock, measured
///     clock_ms    the same on the run's clock; "clock": "measured", or "modelled" when a simulated device
///     takes part:
///                 the clock is then the virtual one, on which the cpu's steps take what was measured
///     setup_ms    what runs once before them, measured
///     prepare_ms  before that, measured: kernels compiled for this plan, or found to have been; absent where
///                 it has none such
///     cuda_graphs {graphs, launches, replays, refused}: graphs made of steps that repeat, two of each such
///                 stretch since two iterations may be under way, what lies in them, how often one was
///                 launched, and those that could not be made or launched, whose steps went one by one;
///                 absent where none was tried
///     iteration_ms  {median, p95, count}, from the end of one iteration to the end of the next on the run's
///     clock devices     [{device, name, detail, simulated, profile: {id, name, link, source}, planned_bytes,
///     used_bytes,
///                 peak_bytes, total_bytes}]; the profile is what predictions come from
///     steps       [{node, label, op, device, stream, setup, state, count, median_ms, p95_ms, last_ms,
///     total_ms,
///                 predicted_ms, modelled}]
///                 and members, the nodes whose ops ran in one launch, where these are several: its times
///                 are theirs together
///     transfers   [{label, kind, from: {node, port}, to: {node, port}, source, target, setup, pinned, count,
///     bytes,
///                 last_ms, min_ms, median_ms, p95_ms, total_ms, wait_ms, gb_per_s, predicted_ms, modelled,
///                 direction, link_peak_gb_per_s, of_link_peak_percent, queue_wait_ms, overlapped_percent,
///                 prediction_error_percent}]; the last four are null where they mean nothing: the error of a
///                 modelled time, for one
///     graph       {lanes: [{id, device, resolved, title}], nodes: [{id, name, op, lane, x, y, type}],
///                 edges: [{from: {node, port}, to: {node, port}}]}
///     timeline    of the last complete iteration, from its start: {iteration, left_out, streams: [{device,
///     label,
///                 modelled}], slices: [{step, stream, start_ms, ms, wait_ms}]}; step counts in steps
///     memory      bytes of live tensors in it: [{device, modelled, samples: [[ms, bytes]]}]
///     probes      [{name, type, elements, value | min, max, mean, nan}]
///     inputs      [{path, fingerprint}]
///     errors      [{node, label, code, message}]
///     diagnostics as diagnosticsToJson
///
/// "modelled": true stands beside every time of a simulated device; predicted_ms is a prediction everywhere.
std::string toJson(const RunReport& report);
/// The table of steps and transfers that `twb run` ends with.
std::string toTable(const RunReport& report, bool color);
/// The diagnostics of one file as a JSON object, for `twb check --json`:
///
///     schema, file, errors, warnings (counts)
///     diagnostics [{severity, code, node, name, port, edge, message, operands: [{argument, label, device,
///     origin}],
///                 fixes: [{title, price: {bytes, ms, modelled} | null}]}]
std::string diagnosticsToJson(const std::string& file, const std::vector<Diagnostic>& diagnostics,
                              const Graph& graph);

} // namespace twb
