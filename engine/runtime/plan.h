#pragma once

#include "backends/device_map.h"
#include "backends/kernel.h"
#include "graph/graph.h"
#include "ops/op.h"
#include "placement/analysis.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

inline constexpr std::uint32_t kNone = 0xffffffff;

enum class TransferKind : std::uint8_t {
    explicitTo, ///< a To node
    implicitTo, ///< made by the implicit policy
    staging,    ///< of a File on a GPU lane
    collective, ///< a call over all ranks, or from one rank to another
};
std::string_view name(TransferKind kind) noexcept;

/// A copy between devices, or a call over ranks, in a plan: one row of the ledger.
struct Transfer {
    TransferKind kind = TransferKind::explicitTo;
    PortRef from;               ///< the tensor; for staging, the File's own output
    PortRef to;                 ///< the first input it serves
    NodeId node = NodeId::none; ///< the To or File node; none for an implicit copy
    Device source;
    Device target;
    std::uint64_t bytes = 0; ///< of one copy; 0 if known only at run time; of a collective as from bytesOf()
    std::uint64_t wireBytes = 0; ///< of a collective: what each rank sends (backends/world.h)
    bool pinned = false;         ///< page-locked on the host side
    bool setup = false;          ///< outside the iteration
    bool modelled = false;       ///< on a simulated device: the time comes from a profile
    std::string link;            ///< of a copy to another rank: "25 GbE", which gives its time; else empty
    double predictedNs = 0;
    std::string label; ///< "images → cuda:0"
    auto edge() const noexcept { return Edge{from, to}; }
};

/// A tensor of a plan.
struct PlanValue {
    PortRef source;  ///< the output that computes it
    TensorType type; ///< unknown dimensions are determined when its step is reached
    Device device;
    MemoryKind memory = MemoryKind::pageable;
    std::uint32_t slot = kNone; ///< its memory; values whose lifetimes do not overlap share slots
    bool kept = false;          ///< readable after the run
    bool channelsLast = false;  ///< laid out by channelsLastStrides(); else row-major
    bool absent = false;        ///< an optional output without a consumer: it has no memory
    /// Written while the previous iteration is under way, by a loader or a copy that the host does not wait
    /// for: it has memory for each iteration in flight, in consecutive slots from `slot` on.
    bool ahead = false;
    /// The output of a source that a step updates in place: its memory is its own, and its elements change
    /// from iteration to iteration.
    bool isUpdated = false;
    std::uint32_t updateOf = kNone; ///< for the output of an update: the value whose memory it shares
    /// A body's result, whose memory passes to the next run of the body, or its condition: read after the
    /// body has run, so its memory is not shared.
    bool handedOn = false;
    std::string label;
};

/// Memory of one device that several values use in turn. Allocated at the start of the run.
struct PlanSlot {
    Device device;
    MemoryKind memory = MemoryKind::pageable;
    std::size_t bytes = 0; ///< 0: sized at run time
};

/// A queue on one device.
struct PlanStream {
    Device device;
    QueueKind queue = QueueKind::compute;
    std::string label;     ///< "cuda:0 host→device"
    bool modelled = false; ///< its steps take the time of a device or a link that is simulated
};

/// One launch: an op or a copy.
struct Step {
    std::uint32_t index = 0;
    NodeId node = NodeId::none;
    const Op* op = nullptr;         ///< null for a copy
    std::uint32_t transfer = kNone; ///< index in Plan::transfers, for a copy between devices or ranks
    std::uint32_t stream = 0;
    Attributes attributes;
    std::vector<std::uint32_t> inputs; ///< values; kNone for an unconnected input
    std::vector<std::uint32_t> outputs;
    std::vector<std::uint32_t> waits;        ///< steps of other streams that must be done first
    std::vector<std::uint32_t> carriedWaits; ///< the same, of the previous iteration
    /// Steps, Plan::inFlight iterations ago, that used the same memory written ahead; they must be done
    /// first.
    std::vector<std::uint32_t> lapWaits;
    bool recorded = false; ///< other streams wait for it
    bool setup = false;    ///< runs once, before the first iteration
    bool last = false;     ///< runs in the last iteration only (Save)
    bool dynamic = false;  ///< output sizes are determined when it is reached
    bool ahead = false;    ///< loads a batch ahead: blocking copies, which stop the host, do not stop it
    std::uint32_t control = kNone;   ///< index in Plan::controls, for an If, Loop or Scan
    std::uint32_t owner = kNone;     ///< the control whose body contains it
    std::uint32_t body = 0;          ///< index of that body
    std::uint32_t inPlaceOf = kNone; ///< value whose memory its output reuses
    Cost cost;
    double predictedNs = 0;
    /// Of a step that fuses the ops of several nodes: `op` has their joined names, `node` is the last of
    /// `members`, and the step's time is their total. Null if `op` has a kernel for all of them.
    std::shared_ptr<const OpChain> chain;
    std::vector<NodeId> members; ///< the fused nodes, in execution order; else empty
    std::uint64_t signature = 0; ///< of op, attributes, inputs' signatures and device; 0: not cacheable
    std::string label;           ///< "fc1"
};

/// A value that a body reads at each run through a Carried, ScanSlice or Iteration.
struct PlanState {
    enum class Kind : std::uint8_t { carried, slice, iteration };
    Kind kind = Kind::carried;
    std::uint32_t value = kNone; ///< has no producing step
    std::uint32_t from = kNone;  ///< its initial value, or the tensor that is sliced
    std::uint32_t stream = 0;    ///< stream that cuts the slices
    std::uint32_t result = 0;    ///< carried: index of the body's result for the next run
    int axis = 0;                ///< of the slices
    bool reverse = false;
};

/// One body of a control. Its steps are those in [first, last) whose owner is the control; the others there
/// belong to inner bodies.
struct PlanBody {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::vector<PlanState> states;
    std::vector<std::uint32_t> results; ///< values
};

/// A result of Loop or Scan that stacks one tensor per run of the body.
struct PlanStack {
    int axis = 0;
    bool reverse = false;
};

/// An If (two bodies), a Loop or a Scan. The executor runs the bodies when it reaches the step; all streams
/// are idle before and after each body.
struct PlanControl {
    enum class Kind : std::uint8_t { branch, loop, scan };
    Kind kind = Kind::branch;
    std::uint32_t trips = kNone;     ///< value of M; kNone: its attribute
    std::uint32_t condition = kNone; ///< value of cond; kNone: its attribute
    std::uint32_t goesOn = kNone;    ///< value of cond_out; kNone: its attribute
    std::vector<PlanBody> bodies;
    std::uint32_t carried = 0;     ///< number of carried results; the others of a Loop or Scan are stacked
    std::vector<PlanStack> stacks; ///< by stacked result
};

/// The result of compile for one device map and policy: steps in order, with their streams, their memory and
/// their dependencies. Immutable; shared by the executor, the ledger and the window.
struct Plan {
    std::uint64_t revision = 0;
    std::vector<PlanStream> streams;
    std::vector<PlanSlot> slots;
    std::vector<PlanValue> values;
    std::vector<std::uint32_t> producers; ///< by value: the step that makes it
    std::vector<Step> steps;              ///< each after the steps that it waits for; setup steps first
    std::vector<Transfer> transfers;
    std::vector<PlanControl> controls;
    std::vector<std::shared_ptr<const Op>> chainOps; ///< entries that stand for the fused ops of chains
    std::uint32_t setupSteps = 0;
    /// Iterations that are submitted before the first of them must be done. The lap of an iteration is its
    /// number modulo this.
    std::uint32_t inFlight = 2;
    bool virtualClock = false; ///< a simulated device takes part: times are on the virtual clock
    bool isPart = false;       ///< other ranks run other parts of the graph (CompileOptions::ownPart)
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;

    /// The steps of a node, as indices in `steps`. Most nodes have one, an aliasing To has none.
    std::vector<std::uint32_t> stepsOf(NodeId node) const;
    /// Whether the value is made before the first iteration and then stays the same.
    bool isConstant(std::uint32_t value) const noexcept {
        return producers[value] != kNone && steps[producers[value]].setup && !values[value].isUpdated;
    }
    std::size_t lapOf(std::int64_t iteration) const noexcept {
        return static_cast<std::size_t>(iteration) % inFlight;
    }
    /// The slot of a value in the iterations of a lap.
    std::size_t slotOf(std::uint32_t value, std::size_t lap) const noexcept {
        return values[value].slot + (values[value].ahead ? lap : 0);
    }
    std::size_t memoriesOf(std::uint32_t value) const noexcept { return values[value].ahead ? inFlight : 1; }
    bool usesSlot(std::uint32_t value, std::size_t slot) const noexcept {
        return slot >= values[value].slot && slot < values[value].slot + memoriesOf(value);
    }
    /// The value of an output; kNone if the plan has none.
    std::uint32_t valueOf(PortRef output) const noexcept;
    /// Planned bytes on a device in a run of so many iterations; 0: of any number. A run of fewer iterations
    /// than `inFlight` has that many memories for what is written ahead.
    std::size_t bytesOn(Device device, std::int64_t iterations = 0) const;
    bool isCollective(const Step& step) const noexcept {
        return step.transfer != kNone && transfers[step.transfer].kind == TransferKind::collective;
    }

    std::unordered_map<NodeId, std::vector<std::uint32_t>> valuesOfNode; ///< by output port
};

struct CompileOptions {
    std::uint64_t revision = 0;
    Policy policy{};
    bool keepAll = false;     ///< all values stay readable after the run; no memory is shared
    bool fuse = true;         ///< neighbouring ops become one step if the backend supports it (Step::chain)
    bool fuseOnCpu = false;   ///< with `fuse`, on the cpu, too; no op of a group then has a time of its own
    std::set<PortRef> keep{}; ///< stay readable after the run, like the inputs of sinks
    /// Only this rank's part of a graph that divides its nodes among ranks: the nodes on devices without a
    /// rank in a graph asSeenBy() this rank. Copies from and to other ranks become calls of the world. See
    /// requireParts().
    bool ownPart = false;
};

/// Compiles a graph without its placeholders and the nodes that depend on them. Throws Error(badGraph) with
/// the number of errors and the first one if the analysis has other errors (Analysis::mayRun). `analysis`
/// must be of this graph, device map and policy.
std::shared_ptr<const Plan> compile(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files, const CompileOptions& options);

} // namespace twb
