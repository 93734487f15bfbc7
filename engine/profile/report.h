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

struct RankReport;

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

/// A Probe's tensor after the last iteration.
struct ProbeValue {
    std::string name;
    std::string type;          ///< "f32 scalar"
    std::int64_t elements = 1; ///< the value of a single element; without elements no figure is valid
    double value = 0;
    std::string digits{}; ///< of the value, if its dtype is an integer; a double may not have all of them
    double minimum = 0;   ///< of the elements that are not NaN
    double maximum = 0;
    double mean = 0;
    std::int64_t notANumber = 0; ///< elements that are NaN
};

/// Reads a tensor in host memory.
ProbeValue probe(std::string name, const Tensor& tensor);

/// A file that a run read, with its TensorFiles::fingerprint at that time.
struct RunInputFile {
    std::string path;
    std::string fingerprint;
};

/// "2026-11-22T21:40:05Z"
std::string dateNow();

/// The files that a plan reads, with their current fingerprints.
std::vector<RunInputFile> inputFiles(const Plan& plan);

/// All data of a run for `twb run --report`.
struct RunReport {
    std::string file;
    std::string date; ///< the end of the run, in the format of dateNow(); empty if unknown
    std::string host; ///< the other machine of the run; empty: this one
    std::string policy;
    bool allowTf32 = false; ///< RunOptions::allowTf32
    std::shared_ptr<const Plan> plan;
    const Ledger* ledger = nullptr;
    const StepTimes* steps = nullptr;
    const RunTimeline* timeline = nullptr;
    const Graph* graph = nullptr; ///< the graph as it ran, for drawing it
    RunResult result;
    std::vector<Diagnostic> diagnostics;
    std::vector<ProbeValue> probes;
    std::vector<RunInputFile> inputs;
    const RankReport* ranks = nullptr; ///< of a run on several ranks
};

/// One JSON object in UTF-8; resources/schema/report.schema.json describes its keys and their units. A number
/// that JSON cannot represent is the string "nan", "inf" or "-inf".
std::string toJson(const RunReport& report);
/// The tables that `twb run` prints at the end.
std::string toTable(const RunReport& report, bool color);
/// The diagnostics of one file as a JSON object, for `twb check --json`; resources/schema/check.schema.json
/// describes its keys.
std::string diagnosticsToJson(const std::string& file, const std::vector<Diagnostic>& diagnostics,
                              const Graph& graph);

} // namespace twb
