#include "app/training_trace.h"

#include "backends/cpu/host_stream.h"

namespace twb {
namespace {

const char* nameOf(TrainingPart part) {
    switch (part) {
    case TrainingPart::batch:
        return "batch";
    case TrainingPart::lastBatch:
        return "last batch";
    case TrainingPart::validation:
        break;
    }
    return "validation";
}

} // namespace

RunObserver* TrainingTrace::observe(const std::shared_ptr<const Plan>& plan, TrainingPart part) {
    m_next = plan;
    m_part = part;
    return this;
}

void TrainingTrace::started(std::uint64_t, const Plan&) {
    const std::int64_t now = steadyNs();
    if (!m_recorder) {
        m_recorder.emplace(m_next);
        m_startedNs = now;
    }
    m_recorder->nextRun(m_next, nameOf(m_part), now - m_startedNs);
}

} // namespace twb
