#pragma once

#include "training/trainer.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace twb {

/// One completed epoch of a training run.
struct EpochRecord {
    std::int64_t epoch = 0; ///< from 1
    std::int64_t steps = 0; ///< in total, at its end
    double loss = 0;        ///< mean over the rows
    std::optional<double> validationLoss;
    std::optional<double> accuracy;
    std::optional<double> rate;            ///< learning rate of its last step
    std::int64_t rows = 0;                 ///< 0 without Batches
    double seconds = 0;                    ///< of its steps, on the clock of the runs
    double dataWait = 0;                   ///< part of `seconds`: the steps waited for their batches
    std::vector<ParameterFigures> figures; ///< of its last step, with TrainerOptions::measures
};

/// The record of a training run so far.
struct TrainingRecord {
    std::vector<EpochRecord> epochs;
    ConfusionMatrix confusion; ///< of the last validation
    // Of the epoch that is not complete.
    std::int64_t rows = 0;
    double rowLoss = 0; ///< sum over the rows
    double seconds = 0;
    double dataWait = 0;
    double rateFactor = 1; ///< of the learning rate, lowered on a plateau
};

/// The number by which epochs are compared.
enum class Metric : std::uint8_t { loss, validationLoss, accuracy };
std::string_view name(Metric metric) noexcept; ///< "validation loss"
/// The epoch with the best value; null before the first. The first of equal ones.
const EpochRecord* bestEpoch(const TrainingRecord& record, Metric metric) noexcept;
/// Nothing if the epoch has no such value.
std::optional<double> valueOf(const EpochRecord& epoch, Metric metric) noexcept;

struct SessionOptions {
    std::int64_t epochs = 10;
    std::optional<Metric> metric{}; ///< nothing: the validation loss, or the loss without validation
    bool stopsEarly = false;        ///< after `patience` epochs without a gain
    std::int64_t patience = 5;
    /// Lowers the learning rate to a tenth after 10 epochs without a gain, as
    /// torch.optim.lr_scheduler.ReduceLROnPlateau does by default.
    bool lowersRate = false;
};

/// A training run over epochs: steps, validation after each epoch, and the record of both. In a world of
/// several ranks, each has a session, and rank 0 decides for all of them.
class TrainingSession {
public:
    /// The trainer must outlive the session.
    TrainingSession(Trainer& trainer, const SessionOptions& options, TrainingRecord record = {});

    bool isDone() const noexcept;
    /// Runs steps for about a tenth of a second, but not more than `most` and not beyond the end of the
    /// epoch. Throws as Trainer::run() does.
    TrainedSteps advance(std::int64_t most, const std::atomic<bool>* stop = nullptr);
    const TrainingRecord& record() const noexcept { return m_record; }
    Metric metric() const noexcept { return m_metric; }

private:
    void endEpoch(TrainedSteps& last, const std::atomic<bool>* stop);
    void decide();
    std::int64_t epochsWithoutGain() const noexcept;

    Trainer& m_trainer;
    SessionOptions m_options;
    Metric m_metric;
    TrainingRecord m_record;
    std::int64_t m_most = 1; ///< steps that fit into a tenth of a second
    bool m_isDone = false;
};

} // namespace twb
