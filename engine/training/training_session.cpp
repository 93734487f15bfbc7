#include "training/training_session.h"

#include "backends/world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace twb {
namespace {

constexpr double kAdvanceSeconds = 0.1;
constexpr double kPlateauFactor = 0.1; ///< of the learning rate

/// Smaller is better.
double scoreOf(const EpochRecord& epoch, Metric metric) noexcept {
    const std::optional<double> value = valueOf(epoch, metric);
    if (!value) return std::numeric_limits<double>::infinity();
    return metric == Metric::accuracy ? -*value : *value;
}

/// How often torch.optim.lr_scheduler.ReduceLROnPlateau, with its defaults, lowers the learning rate in the
/// course of these epochs.
int plateausIn(const std::vector<EpochRecord>& epochs, Metric metric) noexcept {
    constexpr double threshold = 1e-4; // least relative gain
    constexpr int patience = 10;
    constexpr double leastDecrease = 1e-8; // of the learning rate
    std::optional<double> best;
    int without = 0;
    int out = 0;
    for (const EpochRecord& epoch : epochs) {
        const double score = scoreOf(epoch, metric);
        if (!best || score < *best - threshold * std::abs(*best)) {
            best = score;
            without = 0;
        } else if (++without > patience) {
            const double decrease = (1 - kPlateauFactor) * epoch.rate.value_or(1);
            out += decrease > leastDecrease ? 1 : 0;
            without = 0;
        }
    }
    return out;
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
    m_trainer.agree();
    decide();
}

/// Ranks differ in their clocks, and only rank 0 may have read a checkpoint.
void TrainingSession::decide() {
    const TrainingPlace& place = m_trainer.place();
    m_isDone = place.epoch >= m_options.epochs ||
               (m_options.stopsEarly && place.batch == 0 && !m_record.epochs.empty() &&
                epochsWithoutGain() >= m_options.patience);
    World& world = m_trainer.world();
    if (world.size() > 1 && !world.info().simulated) {
        std::array<double, 3> said{static_cast<double>(m_most), m_isDone ? 1.0 : 0.0, m_record.rateFactor};
        world.run({CollectiveKind::broadcast, Reduction::sum, DType::f64, said.data(), said.data(),
                   said.size(), 0, "decisions"});
        m_most = std::llround(said[0]);
        m_isDone = said[1] != 0;
        m_record.rateFactor = said[2];
    }
    m_trainer.scaleRate(m_record.rateFactor);
}

std::int64_t TrainingSession::epochsWithoutGain() const noexcept {
    const EpochRecord* best = bestEpoch(m_record, m_metric);
    return best ? m_record.epochs.data() + m_record.epochs.size() - best - 1 : 0;
}

bool TrainingSession::isDone() const noexcept { return m_isDone; }

TrainedSteps TrainingSession::advance(std::int64_t most, const std::atomic<bool>* stop) {
    TrainedSteps steps = m_trainer.run(std::min(most, m_most), stop);
    const auto count = static_cast<std::int64_t>(steps.losses.size());
    const double seconds = static_cast<double>(steps.wallNs) * 1e-9;
    m_record.rows += steps.rows > 0 ? steps.rows : count;
    m_record.rowLoss += steps.rowLoss;
    m_record.seconds += static_cast<double>(steps.clockNs) * 1e-9;
    m_record.dataWait += static_cast<double>(steps.dataWaitNs) * 1e-9;
    const double wanted = kAdvanceSeconds * static_cast<double>(count) / std::max(seconds, 1e-9);
    m_most = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, 1e9)), 1, 4 * m_most);
    if (steps.endsEpoch) endEpoch(steps, stop);
    decide();
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
    epoch.dataWait = m_record.dataWait;
    epoch.rate = m_trainer.learningRate();
    m_trainer.compareParameters();
    m_trainer.agree(); // statistics of BatchNormalization differ between ranks
    if (m_trainer.hasValidation()) {
        if (std::optional<Validation> validation = m_trainer.validate(stop)) {
            epoch.validationLoss = validation->loss;
            epoch.accuracy = validation->accuracy;
            m_record.confusion = std::move(validation->confusion);
        }
    }
    m_record.rows = 0;
    m_record.rowLoss = m_record.seconds = m_record.dataWait = 0;
    m_record.epochs.push_back(std::move(epoch));
    if (!m_options.lowersRate) return;
    m_record.rateFactor = std::pow(kPlateauFactor, plateausIn(m_record.epochs, m_metric));
}

} // namespace twb
