#pragma once

#include "runtime/executor.h"
#include "training/training.h"
#include "training/training_metrics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// What a run of a training computes.
enum class TrainingPart : std::uint8_t {
    batch,
    lastBatch, ///< of an epoch, with fewer rows
    validation
};

struct TrainerOptions {
    Policy policy{};
    bool allowTf32 = false;
    /// Data for validation instead of the rows that Batches holds out.
    std::string validationData{};
    std::string validationLabels{};
    /// Keep the gradients of the last step of each epoch, for TrainedSteps::figures and gradients().
    bool measures = false;
    /// In a world of several ranks, BatchNormalization uses the mean and variance over the rows of all ranks,
    /// as torch.nn.SyncBatchNorm (sync_batch_norm.h). Otherwise each rank has its own.
    bool syncBatchNorm = false;
    /// The observer of each run of the training; null: none.
    std::function<RunObserver*(const std::shared_ptr<const Plan>&, TrainingPart)> observe{};
};

/// The position of a training run in its data.
struct TrainingPlace {
    std::int64_t epoch = 0; ///< epochs completed
    std::int64_t batch = 0; ///< batches completed in this epoch
    std::int64_t steps = 0; ///< in total
    bool operator==(const TrainingPlace&) const = default;
};

struct Validation {
    double loss = 0; ///< mean over the rows
    /// The share of the labels whose class has the highest score; labels of the loss's ignore_index do not
    /// count. Nothing if the loss is not a cross-entropy, or without labels.
    std::optional<double> accuracy;
    std::int64_t rows = 0;
    ConfusionMatrix confusion; ///< of a cross-entropy over few classes
};

/// Steps of a training run that ran together.
struct TrainedSteps {
    std::vector<double> losses; ///< one per step
    std::int64_t rows = 0;
    double rowLoss = 0; ///< sum over the rows: each step's loss times its rows
    std::int64_t wallNs = 0;
    std::int64_t clockNs = 0;    ///< on the clock of the runs, which is virtual if a device is simulated
    std::int64_t dataWaitNs = 0; ///< part of clockNs: the steps waited for their batches (DataWaits)
    bool endsEpoch = false;
    std::vector<ParameterFigures>
        figures; ///< of the last step, with TrainerOptions::measures at the end of an epoch
};

/// Runs the training of a graph (trainingOf()) step by step. Between two calls, the parameters and the
/// optimizer's state stay on their devices. An epoch takes all rows of the graph's Batches nodes; the rows
/// that do not fill a batch are a batch of their own, unless drop_last is set. Without Batches, an epoch has
/// the graph's number of iterations. Throws Error(badGraph) with the first error of the graph.
///
/// In a world of several ranks (DeviceMap::world), each rank makes a Trainer of the same graph, and all of
/// them make the same calls: each rank computes its part of the rows of a batch, and the gradients are
/// averaged over all rows, so that the parameters are those of one rank that has all rows, if the loss is a
/// mean over them and the statistics of BatchNormalization are synchronized. A rank that is left with no row
/// computes one that does not count. The constructor throws Error(badGraph) if the ranks' graphs differ
/// (same_plan.h).
class Trainer {
public:
    Trainer(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
            TrainerOptions options);
    ~Trainer();

    std::int64_t batchesPerEpoch() const noexcept;
    std::int64_t rowsPerEpoch() const noexcept; ///< 0 without Batches
    bool hasValidation() const noexcept;
    bool isModelled() const noexcept; ///< a simulated device takes part: times come from its profile
    World& world() const noexcept;
    const Plan& plan() const noexcept; ///< of a step with a whole batch
    /// All ranks take over the place and the state of rank 0. Called by run() before the first step, and to
    /// be called after only rank 0 has been restored.
    void agree();

    /// Hashes the trained parameters of each rank; all ranks must call it together. Throws Error(failed) with
    /// the first rank whose parameters differ from those of rank 0: a sum over ranks did not give all ranks
    /// the same bits. If the ranks have unlike devices, which round differently, it does not throw.
    void compareParameters();
    /// The hashes of the last comparison, by rank. Empty before it, and without other ranks.
    const std::vector<std::uint64_t>& parameterHashes() const noexcept;

    /// Runs up to `most` steps, but not beyond the end of the epoch. `stop` ends it between two steps, except
    /// in a world of several ranks, which must run the same steps. Throws Error(failed) with the first error
    /// of the run; the training run then cannot continue.
    TrainedSteps run(std::int64_t most, const std::atomic<bool>* stop = nullptr);
    /// The loss over the validation rows, with the graph as it is in inference. Nothing if `stop` ended
    /// it.
    std::optional<Validation> validate(const std::atomic<bool>* stop = nullptr);
    /// Sets the learning rate to that of the graph's schedule times `factor`, in place of an earlier factor.
    void scaleRate(double factor);
    /// The learning rate of the last step; nothing before it.
    std::optional<double> learningRate() const;

    const TrainingPlace& place() const noexcept;
    /// Host copies of everything that the steps change, by the names of their sources.
    std::map<std::string, Tensor> state() const;
    /// Continues from such a state. Throws Error(badFile), with `origin`, that names a tensor that is missing
    /// or has another type.
    void restore(const TrainingPlace& place, const std::map<std::string, Tensor>& state,
                 const std::string& origin);
    /// Host copies of the parameters and of their moving averages, by name.
    std::map<std::string, Tensor> parameters() const;

    /// Host copies of the gradients in the last step of the last epoch, by the parameters' names. Empty
    /// without TrainerOptions::measures, or before the end of an epoch.
    const std::map<std::string, Tensor>& gradients() const noexcept;

    /// The names that state() and parameters() use, by source: those of the nodes, made unique.
    const std::map<NodeId, std::string>& names() const noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace twb
