#pragma once

#include "core/attributes.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// How parameters are updated from their gradients.
struct Optimizer {
    std::string op = "SGDUpdate";
    Attributes attributes; ///< of the op, without lr
    Attributes rate;       ///< of the LearningRate
    double clipNorm = 0;   ///< largest norm of all gradients together; 0: any
    double clipValue =
        0; ///< largest absolute value of a gradient's elements, clipped before the norm; 0: any
    double averageDecay = 0; ///< of an exponential moving average of the parameters; 0: none
};

struct OptimizerName {
    std::string_view name;  ///< on the command line: "adamw"
    std::string_view title; ///< "AdamW"
    std::string_view op;
};
std::span<const OptimizerName> optimizerNames() noexcept;
/// The op of an optimizer by its name. Throws Error(invalidArgument) that lists the names.
std::string_view optimizerOp(std::string_view name);

/// Sets the schedule of a LearningRate (constant, step, exponential, cosine or one_cycle) so that it takes
/// `steps` steps after `warmup` steps of linear warm-up: step lowers the rate to a tenth after each third of
/// them, exponential to a hundredth at their end.
void setSchedule(Attributes& rate, const std::string& schedule, std::int64_t steps, std::int64_t warmup);

/// A training module: a frame "Training" with the nodes of the optimizer, and in it a frame with the backward
/// pass.
struct Training {
    FrameId frame = FrameId::none;
    FrameId backward = FrameId::none;
    NodeId loss = NodeId::none;
    std::vector<NodeId> nodes; ///< of both frames, sorted
};
/// Nothing if the graph has no training module. Of several modules, the first.
std::optional<Training> trainingOf(const Graph& graph);

/// The factor of the loss and of all gradients in mixed precision with f16 (makeMixedPrecision). Nothing if
/// the module has none.
std::optional<PortRef> lossScaleOf(const Graph& graph, const Training& training);

/// Its optimizer, learning rate and, unless constant, schedule: "adamw lr 0.001 cosine".
std::string optimizerText(const Graph& graph, const Training& training);

/// The output that is the gradient of a parameter, before clipping; nothing if no optimizer updates it.
std::optional<PortRef> gradientOf(const Graph& graph, NodeId parameter);

/// The sources on which a loss depends and that training would usually change: the Parameter nodes or, if
/// there are none, the floating-point sources that are drawn on the cards of their consumers (folding.h).
/// Sorted.
std::vector<NodeId> parametersOf(const Graph& graph, const Analysis& analysis, NodeId loss);

/// Adds a training module: the backward pass of a loss and the steps of an optimizer, in a collapsed frame.
/// The optimizer's state is on its parameter's lane. As torch.nn.Module.train() does, it sets
/// training_mode of the Dropout and BatchNormalization nodes on which the loss depends; running means and
/// variances that come from sources are updated. Throws Error(badGraph) like addBackward(), if there is no
/// parameter, or if the graph has a training module already.
Delta makeTraining(const Graph& graph, const DeviceMap& devices, const TensorFiles* files, NodeId loss,
                   std::span<const NodeId> parameters, const Optimizer& optimizer);

/// Clears training_mode of all Dropout and BatchNormalization nodes, as torch.nn.Module.eval() does.
void setInference(DeltaBuilder& builder);

/// Whether a change of a graph with a training module touches the forward part, so that the backward pass
/// must be rebuilt. `graph`: after the change.
bool touchesForward(const Graph& graph, const Delta& delta);
/// Rebuilds the backward pass after a change of the forward graph. The optimizer stays, except for the steps
/// of parameters that were removed. Empty if nothing changes. Throws Error(badGraph) like
/// addBackward().
/// With several ranks (DeviceMap::world), the gradients are summed over them (gradient_sums.h), each rank's
/// times its `share` of the loss.
Delta remakeBackward(const Graph& graph, const DeviceMap& devices, const TensorFiles* files,
                     double share = 1);
/// Averages the gradients of a graph with a training module over the ranks of `devices`, which all run the
/// whole graph, each with a batch of its own. No change with one rank, or if the lanes divide the graph.
/// Throws like remakeBackward().
void averageOverRanks(Graph& graph, const DeviceMap& devices, const TensorFiles* files);
/// Adds the change of remakeBackward() to `builder`, for the builder's graph.
void addBackwardAgain(DeltaBuilder& builder, const DeviceMap& devices, const TensorFiles* files,
                      double share = 1);

/// The graph as it is used after training, for exports: without the training module, and with an Input in the
/// place of each Batches node. `files`: for the types of the batches.
Graph inferenceGraph(const Graph& graph, const TensorFiles* files);

/// Removes the training and what reads its tensors; the parameters keep their initial values.
Delta removeTraining(const Graph& graph);

} // namespace twb
