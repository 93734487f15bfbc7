#pragma once

#include "ops/batch_rows.h"
#include "training/trainer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// A plan of a training, and where it keeps what is read after a run.
struct TrainingPlan {
    std::shared_ptr<const Plan> plan;
    TrainingPart part = TrainingPart::batch;
    PortRef losses;                      ///< one number per iteration, by its number modulo kRecordedLosses
    std::optional<LabelCounts> counts;   ///< of a validation
    std::vector<PortRef> state;          ///< what the steps change
    std::map<NodeId, PortRef> gradients; ///< that are kept, by parameter
};

/// The number of iterations whose losses fit into the record of one run.
inline constexpr std::int64_t kRecordedLosses = 4096;

/// The part of a batch that a rank computes.
struct BatchShare {
    std::int64_t rows = 0;
    std::int64_t offset = 0; ///< its first row in the batch
    double weight = 1;       ///< of its mean loss in that of the batch
};

/// The graph of a training as this rank runs it, and its plans: for the batches, for the rows that do not
/// fill a batch, for the step whose gradients are read, and for the validation.
class TrainingPlans {
public:
    /// Throws as Trainer's constructor.
    TrainingPlans(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
                  TrainerOptions options);

    const Graph& graph() const noexcept { return m_graph; }
    const Training& training() const noexcept { return m_training; }
    const DeviceMap& devices() const noexcept { return m_devices; }
    const TrainerOptions& options() const noexcept { return m_options; }
    const Analysis& analysis() const noexcept { return m_analysis; } ///< of graph()
    const BatchRows& rows() const noexcept { return m_rows; }        ///< of all ranks together
    bool hasBatches() const noexcept { return m_hasBatches; }        ///< without, an iteration is a batch
    bool hasValidation() const noexcept;
    BatchRows validationRows() const;
    /// Of a batch of so many rows.
    BatchShare shareOf(std::int64_t rows) const;
    /// By source that the training changes: the names of the nodes, made unique.
    const std::map<NodeId, std::string>& names() const noexcept { return m_names; }

    const TrainingPlan& batch() const noexcept { return m_batch; }
    const std::optional<TrainingPlan>& lastBatch() const noexcept { return m_lastBatch; }
    /// The last step of an epoch, which keeps the gradients; nothing without TrainerOptions::measures.
    const std::optional<TrainingPlan>& measured() const noexcept { return m_measured; }
    const std::optional<TrainingPlan>& validation() const noexcept { return m_validation; }
    const std::optional<TrainingPlan>& lastValidation() const noexcept { return m_lastValidation; }

    /// What the sources of the state make before the first step.
    std::map<PortRef, Tensor> initialState() const;
    /// Sets the learning rate to that of the graph's schedule times `factor`, in place of an earlier factor.
    void scaleRate(double factor);

private:
    void findBatches();
    void compareGraphs();
    void synchronize();
    Graph shareOfGraph(std::int64_t rows, std::optional<std::int64_t> firstRow) const;
    void makeSteps();
    void nameSources(const std::vector<PortRef>& state);
    TrainingPlan finish(DeltaBuilder& builder, const std::optional<LabelCounts>& counts = std::nullopt,
                        bool keepsGradients = false) const;
    TrainingPlan makeLastBatch(bool keepsGradients = false) const;
    TrainingPlan makeMeasured() const;
    void makeValidations();
    TrainingPlan makeValidation(const BatchRows& rows, std::int64_t first) const;
    std::int64_t ranks() const noexcept;
    std::int64_t rank() const noexcept;

    Graph m_graph;
    Graph m_alone;                 ///< of several ranks: as a single rank runs it
    std::vector<NodeId> m_weights; ///< SyncBatchNorms::weights
    const DeviceMap m_devices;
    const std::shared_ptr<const TensorFiles> m_files;
    const TrainerOptions m_options;
    Training m_training;
    std::vector<NodeId> m_batches;
    BatchRows m_rows;
    std::int64_t m_heldRows = 0;
    bool m_hasBatches = false;
    double m_rateFactor = 1;
    std::map<NodeId, std::string> m_names;
    Analysis m_analysis;
    TrainingPlan m_batch;
    std::optional<TrainingPlan> m_lastBatch;
    std::optional<TrainingPlan> m_measured;
    std::optional<TrainingPlan> m_validation;
    std::optional<TrainingPlan> m_lastValidation;
};

} // namespace twb
