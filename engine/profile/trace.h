#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <ostream>
#include <span>
#include <vector>

namespace twb {

/// Collects the records of a run for a Chrome trace, up to a limit, and counts the records that did not fit.
class TraceRecorder {
public:
    explicit TraceRecorder(std::shared_ptr<const Plan> plan, std::size_t limit = 2'000'000);
    void add(std::span<const StepRecord> records);
    /// Chrome trace events (JSON object format): `ts`/`dur` in µs, integer pid (device) and tid (stream),
    /// metadata names, flow arrows from producer to transfer to consumer, memory counters. A simulated
    /// device's process is named "… (modelled)", so that measured and modelled time never share a track.
    void write(std::ostream& out) const;

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<StepRecord> m_records;
    std::size_t m_limit;
    std::size_t m_left = 0;
};

} // namespace twb
