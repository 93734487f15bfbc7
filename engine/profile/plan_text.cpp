#include "profile/plan_text.h"

#include "core/error.h"
#include "graph/rank_lanes.h"
#include "ops/op_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <utility>

namespace twb {
namespace {

using Json = nlohmann::json;

/// A device of another machine.
class DescribedDevice final : public Backend {
public:
    DescribedDevice(DeviceInfo info, DeviceProfile profile)
        : m_info(std::move(info)), m_profile(std::move(profile)) {}

    const DeviceInfo& info() const override { return m_info; }
    const DeviceProfile& profile() const override { return m_profile; }
    Allocator& memory() override { refuse(); }
    std::size_t freeBytes() override { return m_info.memoryBytes; }
    Allocator& pinnedMemory() override { refuse(); }
    std::unique_ptr<Stream> createStream(QueueKind) override { refuse(); }
    std::unique_ptr<Event> createEvent() override { refuse(); }
    bool supports(const char*, HostKernel, std::span<const DType>) const override { return false; }
    bool canCopyTo(const Backend&) const override { return false; }
    void collect(std::span<LaunchTiming>) override {}

private:
    [[noreturn]] void refuse() const {
        throw Error(ErrorCode::missingDevice,
                    fmt::format("{} ({}) is on another machine", m_info.device.toString(), m_info.name));
    }
    const DeviceInfo m_info;
    const DeviceProfile m_profile;
};

void require(bool isFine) {
    if (!isFine) throw Error(ErrorCode::badFile, "a plan refers to something that it does not have");
}

DType dtypeFrom(const Json& json) { return enumFrom(json, "a dtype", static_cast<DType>(kDTypeCount - 1)); }
MemoryKind memoryFrom(const Json& json) { return enumFrom(json, "a kind of memory", MemoryKind::device); }

/// The figures of a profile, in one order for both ways.
template <class Profile> auto figuresOf(Profile& profile) {
    return std::array{&profile.memoryGBps,       &profile.launchUs,      &profile.linkPinnedGBps, //
                      &profile.linkPageableGBps, &profile.linkLatencyUs, &profile.pageableLatencyUs,
                      &profile.peerGBps};
}

Json toJson(const Backend& backend) {
    const DeviceInfo& info = backend.info();
    const DeviceProfile& profile = backend.profile();
    Json figures = Json::array();
    for (const double* figure : figuresOf(profile)) figures.push_back(*figure);
    return {{"device", info.device.toString()},
            {"name", info.name},
            {"detail", info.detail},
            {"simulated", info.simulated},
            {"memory", info.memoryBytes},
            {"profile", {profile.id, profile.name, profile.link, profile.source}},
            {"peak", profile.peakGflops},
            {"figures", std::move(figures)}};
}

Device deviceFrom(const Json& text, int rank) {
    if (const auto device = Device::parse(text.get<std::string>())) return asSeenBy(rank, *device);
    throw Error(ErrorCode::badFile, "a device of a plan has no name");
}

std::shared_ptr<Backend> backendFrom(const Json& json, int rank) {
    DeviceInfo info{deviceFrom(json.at("device"), rank), json.at("name"), json.at("detail"),
                    json.at("simulated"), json.at("memory")};
    DeviceProfile profile;
    const Json& names = json.at("profile");
    profile.id = names.at(0);
    profile.name = names.at(1);
    profile.link = names.at(2);
    profile.source = names.at(3);
    profile.memoryBytes = info.memoryBytes;
    profile.peakGflops = json.at("peak").get<decltype(profile.peakGflops)>();
    std::size_t at = 0;
    for (double* figure : figuresOf(profile)) *figure = json.at("figures").at(at++);
    return std::make_shared<DescribedDevice>(std::move(info), std::move(profile));
}

Json toJson(PortRef port) { return {value(port.node), port.port}; }
PortRef portFrom(const Json& json) { return {NodeId{json.at(0).get<std::uint64_t>()}, json.at(1)}; }

Json toJson(const PlanValue& v) {
    return {toJson(v.source),
            int(v.type.dtype),
            v.type.shape.dims(),
            v.device.toString(),
            int(v.memory),
            v.slot,
            v.kept,
            v.absent,
            v.ahead,
            v.isUpdated,
            v.updateOf,
            v.label};
}

Shape shapeFrom(const Json& json, DType dtype) {
    std::vector<std::int64_t> dims;
    for (const Json& size : json) dims.push_back(wholeFrom(size, "a size", kUnknownDim));
    Shape shape(std::move(dims));
    try {
        if (shape.isKnown()) shape.byteCount(dtype);
    } catch (const Error& error) {
        throw Error(ErrorCode::badFile, error.what());
    }
    return shape;
}

PlanValue valueFrom(const Json& json, int rank) {
    PlanValue v;
    v.source = portFrom(json.at(0));
    v.type.dtype = dtypeFrom(json.at(1));
    v.type.shape = shapeFrom(json.at(2), v.type.dtype);
    v.device = deviceFrom(json.at(3), rank);
    v.memory = memoryFrom(json.at(4));
    v.slot = json.at(5);
    v.kept = json.at(6);
    v.absent = json.at(7);
    v.ahead = json.at(8);
    v.isUpdated = json.at(9);
    v.updateOf = json.at(10);
    v.label = json.at(11);
    return v;
}

Json toJson(const Step& s) {
    Json members = Json::array();
    for (const NodeId member : s.members) members.push_back(value(member));
    return {{"node", value(s.node)},
            {"op", s.op ? Json(s.op->name) : Json()},
            {"transfer", s.transfer},
            {"stream", s.stream},
            {"inputs", s.inputs},
            {"outputs", s.outputs},
            {"waits", s.waits},
            {"carried", s.carriedWaits},
            {"laps", s.lapWaits},
            {"flags", {s.recorded, s.setup, s.last, s.dynamic, s.ahead}},
            {"control", {s.control, s.owner, s.body}},
            {"in_place", s.inPlaceOf},
            {"cost", {s.cost.flops, s.cost.bytes, int(s.cost.dtype)}},
            {"predicted", s.predictedNs},
            {"members", std::move(members)},
            {"label", s.label}};
}

Step stepFrom(const Json& json, Plan& plan) {
    Step s;
    s.index = static_cast<std::uint32_t>(plan.steps.size());
    s.node = NodeId{json.at("node").get<std::uint64_t>()};
    if (const Json& op = json.at("op"); op.is_string()) {
        s.op = findOp(op.get<std::string>());
        if (!s.op) { // the joined names of fused ops, or an op of a plug-in that is not here
            auto other = std::make_shared<Op>();
            other->name = op;
            plan.chainOps.push_back(other);
            s.op = other.get();
        }
    }
    s.transfer = json.at("transfer");
    s.stream = json.at("stream");
    for (const auto& [key, list] :
         {std::pair("inputs", &s.inputs), std::pair("outputs", &s.outputs), std::pair("waits", &s.waits),
          std::pair("carried", &s.carriedWaits), std::pair("laps", &s.lapWaits)})
        *list = json.at(key).get<std::vector<std::uint32_t>>();
    const Json& flags = json.at("flags");
    s.recorded = flags.at(0);
    s.setup = flags.at(1);
    s.last = flags.at(2);
    s.dynamic = flags.at(3);
    s.ahead = flags.at(4);
    const Json& control = json.at("control");
    s.control = control.at(0);
    s.owner = control.at(1);
    s.body = control.at(2);
    s.inPlaceOf = json.at("in_place");
    const Json& cost = json.at("cost");
    s.cost = {cost.at(0), cost.at(1), dtypeFrom(cost.at(2))};
    s.predictedNs = json.at("predicted");
    for (const Json& member : json.at("members")) s.members.push_back(NodeId{member.get<std::uint64_t>()});
    if (!s.members.empty()) s.chain = std::make_shared<OpChain>();
    s.label = json.at("label");
    return s;
}

Json toJson(const Transfer& t) {
    return {{"kind", int(t.kind)},
            {"from", toJson(t.from)},
            {"to", toJson(t.to)},
            {"node", value(t.node)},
            {"source", t.source.toString()},
            {"target", t.target.toString()},
            {"bytes", {t.bytes, t.wireBytes}},
            {"flags", {t.pinned, t.setup, t.modelled}},
            {"link", t.link},
            {"predicted", t.predictedNs},
            {"label", t.label}};
}

Transfer transferFrom(const Json& json, int rank) {
    Transfer t;
    t.kind = enumFrom(json.at("kind"), "a kind of transfer", TransferKind::collective);
    t.from = portFrom(json.at("from"));
    t.to = portFrom(json.at("to"));
    t.node = NodeId{json.at("node").get<std::uint64_t>()};
    t.source = deviceFrom(json.at("source"), rank);
    t.target = deviceFrom(json.at("target"), rank);
    t.bytes = json.at("bytes").at(0);
    t.wireBytes = json.at("bytes").at(1);
    t.pinned = json.at("flags").at(0);
    t.setup = json.at("flags").at(1);
    t.modelled = json.at("flags").at(2);
    t.link = json.value("link", ""); // traces of earlier versions have none
    t.predictedNs = json.at("predicted");
    t.label = json.at("label");
    return t;
}

/// Requires that each index of the plan exists, since its readers use them without a check. Throws
/// Error(badFile).
void check(const Plan& plan) {
    const auto inside = [](std::uint32_t index, std::size_t size, bool mayBeNone = true) {
        return (mayBeNone && index == kNone) || index < size;
    };
    const auto all = [&](const std::vector<std::uint32_t>& indices, std::size_t size, bool mayBeNone = true) {
        for (const std::uint32_t index : indices) require(inside(index, size, mayBeNone));
    };
    require(plan.producers.size() == plan.values.size() && plan.setupSteps <= plan.steps.size() &&
            plan.inFlight > 0);
    all(plan.producers, plan.steps.size());
    for (const Step& step : plan.steps) {
        require(inside(step.stream, plan.streams.size(), false));
        require(inside(step.transfer, plan.transfers.size()));
        require(inside(step.control, plan.controls.size()) && inside(step.owner, plan.controls.size()));
        require(inside(step.inPlaceOf, plan.values.size()));
        all(step.inputs, plan.values.size());
        all(step.outputs, plan.values.size());
        for (const auto* waits : {&step.waits, &step.carriedWaits, &step.lapWaits})
            all(*waits, plan.steps.size(), false);
    }
    for (const auto& [node, values] : plan.valuesOfNode) all(values, plan.values.size());
    for (const PlanStream& stream : plan.streams) require(plan.devices.find(stream.device) != nullptr);
    for (const PlanValue& value : plan.values)
        require(plan.devices.find(value.device) && inside(value.updateOf, plan.values.size()) &&
                inside(value.slot, plan.slots.size()));
    for (const Transfer& transfer : plan.transfers)
        require(plan.devices.find(transfer.source) && plan.devices.find(transfer.target));
}

} // namespace

Json planToJson(const Plan& plan) {
    Json devices = Json::array();
    for (const Device device : plan.devices.devices()) devices.push_back(toJson(plan.devices.at(device)));
    Json streams = Json::array();
    for (const PlanStream& s : plan.streams)
        streams.push_back({s.device.toString(), int(s.queue), s.label, s.modelled});
    Json slots = Json::array();
    for (const PlanSlot& s : plan.slots) slots.push_back({s.device.toString(), int(s.memory), s.bytes});
    Json values = Json::array();
    for (const PlanValue& v : plan.values) values.push_back(toJson(v));
    Json steps = Json::array();
    for (const Step& s : plan.steps) steps.push_back(toJson(s));
    Json transfers = Json::array();
    for (const Transfer& t : plan.transfers) transfers.push_back(toJson(t));
    Json outputs = Json::array();
    for (const auto& [node, of] : plan.valuesOfNode) outputs.push_back({value(node), of});
    return {{"devices", std::move(devices)},
            {"streams", std::move(streams)},
            {"slots", std::move(slots)},
            {"values", std::move(values)},
            {"producers", plan.producers},
            {"steps", std::move(steps)},
            {"transfers", std::move(transfers)},
            {"outputs", std::move(outputs)},
            {"controls", plan.controls.size()},
            {"setup_steps", plan.setupSteps},
            {"in_flight", plan.inFlight},
            {"virtual_clock", plan.virtualClock},
            {"is_part", plan.isPart}};
}

std::shared_ptr<const Plan> planFromJson(const Json& json, int rank) {
    auto plan = std::make_shared<Plan>();
    for (const Json& device : json.at("devices")) {
        std::shared_ptr<Backend> backend = backendFrom(device, rank);
        const Device of = backend->info().device;
        plan->devices.set(of, std::move(backend), true);
    }
    for (const Json& s : json.at("streams")) {
        const Device device = deviceFrom(s.at(0), rank);
        const auto queue = enumFrom(s.at(1), "a kind of queue", QueueKind::network);
        const bool modelled = s.size() > 3 ? s.at(3).get<bool>() // traces of earlier versions have none
                                           : queue == QueueKind::network || plan->devices.isSimulated(device);
        plan->streams.push_back({device, queue, s.at(2), modelled});
    }
    for (const Json& s : json.at("slots"))
        plan->slots.push_back({deviceFrom(s.at(0), rank), memoryFrom(s.at(1)), s.at(2)});
    for (const Json& v : json.at("values")) plan->values.push_back(valueFrom(v, rank));
    plan->producers = json.at("producers").get<std::vector<std::uint32_t>>();
    for (const Json& t : json.at("transfers")) plan->transfers.push_back(transferFrom(t, rank));
    for (const Json& s : json.at("steps")) plan->steps.push_back(stepFrom(s, *plan));
    const auto controls = json.at("controls").get<std::size_t>();
    require(controls <= plan->steps.size()); // each has a step
    plan->controls.resize(controls);
    for (const Json& output : json.at("outputs"))
        plan->valuesOfNode[NodeId{output.at(0).get<std::uint64_t>()}] =
            output.at(1).get<std::vector<std::uint32_t>>();
    plan->setupSteps = json.at("setup_steps");
    plan->inFlight = json.at("in_flight");
    plan->virtualClock = json.at("virtual_clock");
    plan->isPart = json.value("is_part", false); // traces of earlier versions have none
    check(*plan);
    return plan;
}

std::int64_t wholeFrom(const Json& json, std::string_view what, std::int64_t least, std::int64_t most) {
    const bool fits =
        json.is_number_unsigned() ? json.get<std::uint64_t>() <= INT64_MAX : json.is_number_integer();
    const std::int64_t number = fits ? json.get<std::int64_t>() : 0;
    if (!fits || number < least || number > most)
        throw Error(ErrorCode::badFile,
                    fmt::format("{} is {}, which is no whole number from {} to {}", what,
                                json.is_structured()
                                    ? json.type_name()
                                    : json.dump(-1, ' ', true, Json::error_handler_t::replace),
                                least, most));
    return number;
}

bool ReadTimes::count(std::int64_t ns) noexcept {
    constexpr std::int64_t most = INT64_MAX / 4; // so that the difference of two sums fits
    if (ns < 0 || ns > most - m_sum) return false;
    m_sum += ns;
    return true;
}

bool ReadTimes::set(StepRecord& record, std::int64_t startNs, std::int64_t durationNs,
                    std::optional<std::int64_t> waitNs) {
    constexpr std::int64_t latest = INT64_MAX / 4;
    if (startNs < -latest || startNs > latest || !count(durationNs) || !count(waitNs.value_or(0)))
        return false;
    record.startNs = startNs;
    record.endNs = startNs + durationNs;
    record.waitNs = waitNs;
    return true;
}

} // namespace twb
