#pragma once

#include "core/format.h"
#include "graph/diagnostic.h"
#include "graph/graph.h"
#include "placement/analysis.h"
#include "profile/ledger.h"
#include "runtime/executor.h"

#include <cstdint>
#include <string>
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

/// The value of a scalar that a Probe or a sink saw, for the report ("accuracy": 0.911).
struct ProbeValue {
    std::string name;
    std::string type;   ///< "f32 scalar"
    double value = 0;   ///< of the only element
};

/// Everything about one run: what `twb run --report` writes.
struct RunReport {
    std::string file;
    std::string policy;
    std::shared_ptr<const Plan> plan;
    const Ledger* ledger = nullptr;
    const StepTimes* steps = nullptr;
    RunResult result;
    std::vector<Diagnostic> diagnostics;
    std::vector<ProbeValue> probes;
};

/// JSON with "schema": kReportSchema; every time of a simulated device carries "modelled": true.
std::string toJson(const RunReport& report);
/// The table of steps and transfers that `twb run` ends with.
std::string toTable(const RunReport& report, bool color);
/// A list of diagnostics as JSON, for `twb check --json`.
std::string diagnosticsToJson(const std::string& file, const std::vector<Diagnostic>& diagnostics, const Graph& graph);

} // namespace twb
