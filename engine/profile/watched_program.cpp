#include "profile/watched_program.h"

#include "core/error.h"
#include "ops/op_table.h"
#include "placement/analysis.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

namespace twb {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "tensor-workbench-watch";
constexpr int kVersion = 1;
constexpr std::int64_t kUnknownTime = -1; ///< priced when the record is taken
constexpr double kRowHeight = 96;
constexpr double kMargin = 24;
constexpr double kToColumn = 320;

[[noreturn]] void refuse(const std::string& problem) {
    throw Error(ErrorCode::badFile, "The watched program sent a line that is not understood: " + problem);
}

std::int64_t integer(const json& line, const char* key, std::int64_t least = 0) {
    const auto at = line.find(key);
    if (at == line.end() || !at->is_number_integer()) refuse(fmt::format("\"{}\" must be an integer", key));
    if (at->is_number_unsigned() &&
        at->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse(fmt::format("\"{}\" is too large", key));
    const auto value = at->get<std::int64_t>();
    if (value < least) refuse(fmt::format("\"{}\" must be at least {}, but is {}", key, least, value));
    return value;
}

std::string text(const json& line, const char* key) {
    const auto at = line.find(key);
    if (at == line.end() || !at->is_string()) refuse(fmt::format("\"{}\" must be a string", key));
    return at->get<std::string>();
}

bool flag(const json& line, const char* key) {
    const auto at = line.find(key);
    if (at == line.end()) return false;
    if (!at->is_boolean()) refuse(fmt::format("\"{}\" must be true or false", key));
    return at->get<bool>();
}

/// "cuda" is any GPU; the first one stands for it.
Device device(const json& line, const char* key) {
    const std::string name = text(line, key);
    if (name == "cuda") return Device::cuda(0);
    const std::optional<Device> device = Device::parse(name);
    if (!device || device->isAuto() || device->rank != 0)
        refuse(fmt::format("\"{}\" must be a device such as cpu or cuda:0, but is \"{}\"", key, name));
    return *device;
}

TensorType bytesType(std::uint64_t bytes) { return {DType::u8, Shape{static_cast<std::int64_t>(bytes)}}; }

} // namespace

void WatchedProgram::readHeader(const std::string& line) {
    const json header = json::parse(line, nullptr, false);
    if (!header.is_object() || header.value("format", json()) != kFormat)
        refuse("the first line is not the header of a watched program");
    if (header.value("version", json()) != kVersion)
        throw Error(
            ErrorCode::badFile,
            fmt::format(
                "The watched program uses version {} of the watch protocol, this window version {}. In the "
                "environment of the watched program, run \"pip install app/python\" in the source folder of "
                "this version of Tensor Workbench.",
                header.value("version", json()).dump(), kVersion));
    m_script = text(header, "script");
    m_process = integer(header, "pid");
    m_step = m_firstStep = integer(header, "step");
    m_clockNs = integer(header, "at");
    m_started = true;
}

void WatchedProgram::read(std::string_view text_) {
    if (text_.empty()) return;
    if (!m_started) return readHeader(std::string(text_));
    const json line = json::parse(text_, nullptr, false);
    if (!line.is_object()) refuse("not a JSON object");
    const std::string kind = text(line, "kind");
    if (line.contains("at")) m_clockNs = std::max(m_clockNs, integer(line, "at"));
    if (kind == "site") {
        Site site;
        site.id = integer(line, "id", 1);
        if (m_indices.contains(site.id)) return; // sent again with the header
        if (m_sites.size() == kMostSites) return;
        site.cause = text(line, "cause");
        site.from = device(line, "from");
        if (line.contains("to")) site.to = device(line, "to");
        site.pinned = flag(line, "pinned");
        site.nonBlocking = flag(line, "non_blocking");
        site.modelled = flag(line, "claimed");
        if (line.contains("file")) {
            const std::int64_t number = integer(line, "line", 1);
            if (number > 999'999'999) refuse("\"line\" is too large");
            site.source = SourceLine{text(line, "file"), static_cast<int>(number), text(line, "function")};
            if (site.source->file.empty()) refuse("\"file\" is empty");
        }
        m_indices.emplace(site.id, static_cast<std::uint32_t>(m_sites.size()));
        m_sites.push_back(std::move(site));
    } else if (kind == "transfer" || kind == "sync") {
        const auto at = m_indices.find(integer(line, "site", 1));
        if (at == m_indices.end()) {
            if (m_sites.size() < kMostSites) refuse("its \"site\" is unknown");
            ++m_lost;
            return;
        }
        Site& site = m_sites[at->second];
        if (site.to.has_value() != (kind == "transfer"))
            refuse("its \"site\" has the wrong kind for this event");
        const std::int64_t step = integer(line, "step");
        const std::int64_t iteration = step - m_firstStep;
        if (iteration < 0 || iteration > std::numeric_limits<std::uint32_t>::max()) refuse("wrong \"step\"");
        StepRecord record;
        record.step = at->second;
        record.iteration = static_cast<std::uint32_t>(iteration);
        record.state = StepState::done;
        record.startNs = integer(line, "at");
        std::int64_t ns = 0;
        if (site.to) {
            record.bytes = static_cast<std::uint64_t>(integer(line, "bytes"));
            if (site.bytes == 0) site.bytes = record.bytes;
            if (line.contains("ns"))
                ns = integer(line, "ns");
            else if (line.contains("wait") && !site.modelled)
                ns = integer(line, "wait");
            else
                ns = kUnknownTime;
        } else if (line.contains("wait")) {
            ns = integer(line, "wait");
        }
        if (ns > std::numeric_limits<std::int64_t>::max() - record.startNs) refuse("a time is too large");
        record.endNs = ns == kUnknownTime ? kUnknownTime : record.startNs + ns;
        m_new.push_back(record);
    } else if (kind == "step") {
        m_step = std::max(m_step, integer(line, "step") + 1);
    } else if (kind == "lost") {
        m_lost += static_cast<std::uint64_t>(integer(line, "events"));
    } else if (kind == "end") {
        m_ended = true;
    }
    // Other kinds come from a newer package, and are skipped.
}

std::string WatchedProgram::titleOf(const Site& site) const {
    if (!site.source) return site.cause;
    return fmt::format("{} {}:{}", site.cause, std::filesystem::path(site.source->file).filename().string(),
                       site.source->line);
}

Delta WatchedProgram::grow(const Graph& graph) {
    DeltaBuilder builder(graph, "Show lines of the watched program");
    const auto laneOf = [&](Device device) {
        for (const Lane& lane : builder.graph().lanesInOrder())
            if (lane.device == device) return lane.id;
        Lane lane;
        lane.device = device;
        lane.order = static_cast<int>(builder.graph().lanes().size());
        return builder.addLane(lane);
    };
    laneOf(Device::cpu());                       // the upper lane
    std::map<std::pair<LaneId, bool>, int> rows; // in use, of a lane's tensors and of its To nodes
    for (const Node& node : graph.nodes()) ++rows[{node.lane, node.op == "To"}];
    const auto place = [&rows](const Node& node, double column) {
        return Position{kMargin + column, kMargin + kRowHeight * rows[{node.lane, node.op == "To"}]++};
    };
    for (; m_drawn < m_sites.size(); ++m_drawn) {
        Site& site = m_sites[m_drawn];
        if (!site.to) continue;
        Node tensor;
        tensor.op = "Input";
        tensor.attributes.set("dtype", std::string("u8"));
        tensor.attributes.set("shape", std::vector<std::int64_t>{static_cast<std::int64_t>(site.bytes)});
        tensor.name = builder.graph().uniqueName(
            site.source ? fmt::format("tensor of line {}", site.source->line) : std::string("tensor"));
        tensor.source = site.source;
        tensor.lane = laneOf(site.from);
        tensor.position = place(tensor, 0);
        site.tensor = builder.addNode(std::move(tensor));
        Node node;
        node.name = builder.graph().uniqueName(titleOf(site));
        node.source = site.source;
        node.op = "To";
        if (site.nonBlocking) node.attributes.set("non_blocking", true);
        if (site.pinned) node.attributes.set("pin_memory", true);
        node.lane = laneOf(*site.to);
        node.position = place(node, kToColumn);
        site.node = builder.addNode(std::move(node));
        builder.connect({{site.tensor, 0}, {site.node, 0}});
    }
    return builder.take();
}

std::shared_ptr<const Plan> WatchedProgram::plan(const DeviceMap& devices) {
    m_devices = devices;
    m_planned = m_drawn;
    auto plan = std::make_shared<Plan>();
    plan->devices = m_devices;
    const Op* const to = findOp("To");
    std::map<std::pair<Device, QueueKind>, std::uint32_t> streams;
    const auto streamOf = [&](Device device, QueueKind queue, const char* label) {
        const auto [at, isNew] =
            streams.emplace(std::pair{device, queue}, static_cast<std::uint32_t>(plan->streams.size()));
        if (isNew) plan->streams.push_back({device, queue, fmt::format("{} {}", device.toString(), label)});
        return at->second;
    };
    for (std::size_t i = 0; i < m_drawn; ++i) {
        const Site& site = m_sites[i];
        Step step;
        step.index = static_cast<std::uint32_t>(i);
        step.node = site.node;
        step.label = titleOf(site);
        if (site.to) {
            step.op = to;
            step.transfer = static_cast<std::uint32_t>(plan->transfers.size());
            const bool isUpload = site.from.isCpu();
            step.stream = streamOf(isUpload ? *site.to : site.from,
                                   isUpload ? QueueKind::hostToDevice : QueueKind::deviceToHost,
                                   isUpload ? "host→device" : "device→host");
            Transfer transfer;
            transfer.from = {site.tensor, 0};
            transfer.to = {site.node, 0};
            transfer.node = site.node;
            transfer.source = site.from;
            transfer.target = *site.to;
            transfer.bytes = site.bytes;
            transfer.pinned = site.pinned;
            transfer.modelled = site.modelled;
            transfer.predictedNs =
                priceOfTransfer(bytesType(site.bytes), site.from, *site.to, site.pinned, m_devices).ns;
            transfer.label = step.label;
            step.predictedNs = transfer.predictedNs;
            plan->transfers.push_back(std::move(transfer));
            plan->virtualClock = plan->virtualClock || site.modelled;
        } else {
            step.op = findOp("Input"); // not a copy; the label says what it is
            step.stream = streamOf(site.from, QueueKind::compute, "waits of the CPU");
        }
        plan->steps.push_back(std::move(step));
    }
    return plan;
}

std::vector<StepRecord> WatchedProgram::takeRecords() {
    const auto known = std::stable_partition(m_new.begin(), m_new.end(),
                                             [this](const StepRecord& r) { return r.step < m_planned; });
    std::vector<StepRecord> out(m_new.begin(), known);
    m_new.erase(m_new.begin(), known);
    for (StepRecord& record : out) {
        if (record.endNs != kUnknownTime) continue;
        const Site& site = m_sites[record.step];
        const Price price =
            priceOfTransfer(bytesType(record.bytes), site.from, *site.to, site.pinned, m_devices);
        record.endNs = record.startNs + static_cast<std::int64_t>(price.ns);
    }
    m_records.insert(m_records.end(), out.begin(), out.end());
    if (m_records.size() > kMostRecords)
        m_records.erase(m_records.begin(),
                        m_records.begin() + static_cast<std::ptrdiff_t>(m_records.size() - kMostRecords / 2));
    return out;
}

} // namespace twb
