#include "training/training_session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace twb {
namespace {

constexpr double kAdvanceSeconds = 0.1;

/// Smaller is better.
double scoreOf(const EpochRecord& epoch, Metric metric) noexcept {
    const std::optional<double> value = valueOf(epoch, metric);
    if (!value) return std::numeric_limits<double>::infinity();
    return metric == Metric::accuracy ? -*value : *value;
}

} // namespace

std::string_view name(Metric metric) noexcept {
    switch (metric) {
    case Metric::loss:
        return "loss";
    case Metric::validationLoss:
        return "validation loss";
    case Metric::accuracy:
        return "accuracy";
    }
    return {};
}

std::optional<double> valueOf(const EpochRecord& epoch, Metric metric) noexcept {
    switch (metric) {
    case Metric::loss:
        return epoch.loss;
    case Metric::validationLoss:
        return epoch.validationLoss;
    case Metric::accuracy:
        return epoch.accuracy;
    }
    return std::nullopt;
}

const EpochRecord* bestEpoch(const TrainingRecord& record, Metric metric) noexcept {
    if (record.epochs.empty()) return nullptr;
    return &*std::ranges::min_element(record.epochs, {},
                                      [&](const EpochRecord& e) { return scoreOf(e, metric); });
}

TrainingSession::TrainingSession(Trainer& trainer, const SessionOptions& options, TrainingRecord record)
    : m_trainer(trainer), m_options(options),
      m_metric(options.metric.value_or(trainer.hasValidation() ? Metric::validationLoss : Metric::loss)),
      m_record(std::move(record)) {
    m_trainer.scaleRate(m_record.rateFactor);
}

std::int64_t TrainingSession::epochsWithoutGain() const noexcept {
    const EpochRecord* best = bestEpoch(m_record, m_metric);
    return best ? m_record.epochs.data() + m_record.epochs.size() - best - 1 : 0;
}

bool TrainingSession::isDone() const noexcept {
    const TrainingPlace& place = m_trainer.place();
    if (place.epoch >= m_options.epochs) return true;
    return m_options.stopsEarly && place.batch == 0 && !m_record.epochs.empty() &&
           epochsWithoutGain() >= m_options.patience;
}

TrainedSteps TrainingSession::advance(std::int64_t most, const std::atomic<bool>* stop) {
    TrainedSteps steps = m_trainer.run(std::min(most, m_most), stop);
    const auto count = static_cast<std::int64_t>(steps.losses.size());
    const double seconds = static_cast<double>(steps.wallNs) * 1e-9;
    m_record.rows += steps.rows > 0 ? steps.rows : count;
    m_record.rowLoss += steps.rowLoss;
    m_record.seconds += static_cast<double>(steps.clockNs) * 1e-9;
    const double wanted = kAdvanceSeconds * static_cast<double>(count) / std::max(seconds, 1e-9);
    m_most = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, 1e9)), 1, 4 * m_most);
    if (steps.endsEpoch) endEpoch(steps, stop);
    return steps;
}

void TrainingSession::endEpoch(TrainedSteps& last, const std::atomic<bool>* stop) {
    EpochRecord epoch;
    epoch.epoch = m_trainer.place().epoch;
    epoch.steps = m_trainer.place().steps;
    epoch.loss = m_record.rowLoss / static_cast<double>(m_record.rows);
    epoch.rows = last.rows > 0 ? m_record.rows : 0;
    epoch.figures = std::move(last.figures);
    epoch.seconds = m_record.seconds;
    epoch.rate = m_trainer.learningRate();
    if (m_trainer.hasValidation()) {
        if (std::optional<Validation> validation = m_trainer.validate(stop)) {
            epoch.validationLoss = validation->loss;
            epoch.accuracy = validation->accuracy;
            m_record.confusion = std::move(validation->confusion);
        }
    }
    m_record.rows = 0;
    m_record.rowLoss = m_record.seconds = 0;
    m_record.epochs.push_back(std::move(epoch));
    constexpr std::int64_t patience = 10;
    const std::int64_t without = epochsWithoutGain();
    if (!m_options.lowersRate || without == 0 || without % (patience + 1) != 0) return;
    m_record.rateFactor *= 0.1;
    m_trainer.scaleRate(m_record.rateFactor);
}

} // namespace twb
