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
    staging,    ///< of a File that stands on a GPU lane
};
std::string_view name(TransferKind kind) noexcept;

/// One row of the ledger: a copy between devices that the plan makes.
struct Transfer {
    TransferKind kind = TransferKind::explicitTo;
    PortRef from;               ///< the tensor; for staging the File's own output
    PortRef to;                 ///< the first input it serves
    NodeId node = NodeId::none; ///< the To or File node; none for an implicit copy
    Device source;
    Device target;
    std::uint64_t bytes = 0; ///< of one copy; 0 when known only at run time
    bool pinned = false;     ///< host side page-locked
    bool setup = false;      ///< outside of the iteration
    bool modelled = false;   ///< on a simulated device: its time comes from a profile
    double predictedNs = 0;
    std::string label; ///< "images → cuda:0"
    auto edge() const noexcept { return Edge{from, to}; }
};

/// A tensor of a plan.
struct PlanValue {
    PortRef source;  ///< the output it is
    TensorType type; ///< may have unknown dimensions: sized when its step is reached
    Device device;
    MemoryKind memory = MemoryKind::pageable;
    std::uint32_t slot = kNone; ///< memory it lives in; values whose lives do not overlap share slots
    bool kept = false;          ///< readable after the run
    bool channelsLast = false;  ///< lies as channelsLastStrides() says; else row-major
    bool absent = false;        ///< an optional output that nobody reads: it gets no memory
    bool handedOn = false;      ///< a body's result: its memory goes on to the next time, shared with nobody
    std::string label;
};

/// Memory of one device that values take turns in. Allocated when the run starts.
struct PlanSlot {
    Device device;
    MemoryKind memory = MemoryKind::pageable;
    std::size_t bytes = 0; ///< 0: sized at run time
};

/// A queue of one device.
struct PlanStream {
    Device device;
    QueueKind queue = QueueKind::compute;
    std::string label; ///< "cuda:0 host→device"
};

/// One launch: an op or a copy.
struct Step {
    std::uint32_t index = 0;
    NodeId node = NodeId::none;
    const Op* op = nullptr;         ///< null for a copy
    std::uint32_t transfer = kNone; ///< into Plan::transfers, for a copy between devices
    std::uint32_t stream = 0;
    Attributes attributes;
    std::vector<std::uint32_t> inputs; ///< values; kNone for an unconnected one
    std::vector<std::uint32_t> outputs;
    std::vector<std::uint32_t> waits;        ///< steps of other streams that must be done before
    std::vector<std::uint32_t> carriedWaits; ///< the same, of the iteration before
    bool recorded = false;                   ///< some step waits for it
    bool setup = false;                      ///< runs once, before the first iteration
    bool last = false;                       ///< runs in the last iteration only (Save)
    bool dynamic = false;                    ///< output sizes are found when it is reached
    std::uint32_t control = kNone;           ///< into Plan::controls, for an If, Loop or Scan
    std::uint32_t owner = kNone;             ///< the control in whose body it runs
    std::uint32_t body = 0;                  ///< which of that one's bodies
    std::uint32_t inPlaceOf = kNone;         ///< value whose memory its output takes over
    Cost cost;
    double predictedNs = 0;
    /// Null but for several nodes' ops in one launch: `op` is then their names together, `node` the last
    /// of `members`, and the step's time is that of all of them.
    std::shared_ptr<const OpChain> chain;
    std::vector<NodeId> members; ///< of a chain, in the chain's order
    std::uint64_t signature = 0; ///< of op, attributes, inputs' signatures and device; 0: not cacheable
    std::string label;           ///< "fc1"
};

/// What a body finds each time it runs, by a Carried, ScanSlice or Iteration in it.
struct PlanState {
    enum class Kind : std::uint8_t { carried, slice, iteration };
    Kind kind = Kind::carried;
    std::uint32_t value = kNone; ///< made by no step
    std::uint32_t from = kNone;  ///< what it is the first time, or what it is a slice of
    std::uint32_t stream = 0;    ///< slices are cut on
    std::uint32_t result = 0;    ///< carried: as which the body gives it back
    int axis = 0;                ///< of a slice
    bool reverse = false;
};

/// One body of a control. Its steps are those of [first, last) that have it as owner; the others there belong
/// to bodies inside.
struct PlanBody {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::vector<PlanState> states;
    std::vector<std::uint32_t> results; ///< values
};

/// A result of Loop or Scan of which there is one for each time that the body ran.
struct PlanStack {
    int axis = 0;
    bool reverse = false;
};

/// What runs bodies: an If (two of them), a Loop or a Scan. The executor does so when it reaches its step,
/// with all streams at rest before and after each body.
struct PlanControl {
    enum class Kind : std::uint8_t { branch, loop, scan };
    Kind kind = Kind::branch;
    std::uint32_t trips = kNone;     ///< value of M; kNone: its attribute
    std::uint32_t condition = kNone; ///< value of cond; kNone: its attribute
    std::uint32_t goesOn = kNone;    ///< value of cond_out; kNone: its attribute
    std::vector<PlanBody> bodies;
    std::uint32_t carried = 0;     ///< results that are; the others of a Loop or Scan are stacked
    std::vector<PlanStack> stacks; ///< by stacked result
};

/// What compile makes of a graph for one device map and policy: steps in order, their streams, their memory,
/// what each waits for. Immutable; shared by the executor, the ledger and the window.
struct Plan {
    std::uint64_t revision = 0;
    std::vector<PlanStream> streams;
    std::vector<PlanSlot> slots;
    std::vector<PlanValue> values;
    std::vector<std::uint32_t> producers; ///< by value: the step that makes it
    std::vector<Step> steps;              ///< each after all it waits for; setup steps first
    std::vector<Transfer> transfers;
    std::vector<PlanControl> controls;
    std::vector<std::shared_ptr<const Op>> chainOps; ///< what chains go by in the place of an op
    std::uint32_t setupSteps = 0;
    bool virtualClock = false; ///< a simulated device takes part: times are on the virtual clock
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;

    /// Steps of a node, by position in `steps`; most nodes have one, an aliasing To none.
    std::vector<std::uint32_t> stepsOf(NodeId node) const;
    /// The value that an output is, kNone when the plan has none.
    std::uint32_t valueOf(PortRef output) const noexcept;
    /// Bytes planned on a device.
    std::size_t bytesOn(Device device) const noexcept;

    std::unordered_map<NodeId, std::vector<std::uint32_t>> valuesOfNode; ///< by output port
};

struct CompileOptions {
    std::uint64_t revision = 0;
    Policy policy{};
    bool keepAll = false;     ///< every value readable after the run: no memory is shared
    bool fuse = true;         ///< neighbouring ops are one step where the backend can (Step::chain)
    std::set<PortRef> keep{}; ///< these readable after the run; sinks' inputs always are
};

/// Turns a graph into a plan, without placeholders and what depends on them. Throws Error(badGraph) with the
/// number of errors and the first one when the analysis has other errors (Analysis::mayRun); `analysis` must
/// be of this graph, device map and policy.
std::shared_ptr<const Plan> compile(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files, const CompileOptions& options);

} // namespace twb
