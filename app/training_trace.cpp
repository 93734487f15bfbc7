#include "app/training_trace.h"

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

void TrainingTrace::started(std::uint64_t, const Plan&, std::int64_t startNs) {
    if (!m_recorder) {
        m_recorder.emplace(m_next);
        m_startedNs = startNs;
    }
    m_recorder->nextRun(m_next, nameOf(m_part), startNs - m_startedNs);
}

} // namespace twb
