#include "placement/lints.h"

#include "core/format.h"
#include "placement/device_rule.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"
#include "placement/placement_model.h"
#include "placement/step_transfers.h"
#include "placement/update_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace twb {
namespace {

constexpr std::size_t kMany = 4; // minimum number of copies for a report

/// " (8,192 B, 0.012 ms modelled)"; empty for an unknown price.
std::string clauseOf(const Price& price, const char* what = "") {
    if (!price.isKnown) return {};
    return fmt::format(" ({}{}, {} modelled)", what, formatExactBytes(price.bytes), formatMs(price.ns));
}

} // namespace

std::string Lints::label(NodeId node) const { return labelOf(m_graph, node); }

Price Lints::priceOf(PortRef tensor, Device from, Device to, bool pinned) const {
    const auto& type = m_analysis.typeOf(tensor);
    return type ? priceOfTransfer(*type, from, to, pinned, m_devices) : Price{};
}

Diagnostic& Lints::add(Severity severity, std::string code, NodeId node, std::string message) {
    Diagnostic& d = m_analysis.diagnostics.emplace_back();
    d.severity = severity;
    d.code = std::move(code);
    d.node = node;
    d.message = std::move(message);
    return d;
}

/// The new value of an attribute; absent: its default.
Fix Lints::setting(NodeId node, const std::string& attribute, std::optional<AttributeValue> value,
                   Price price) const {
    Fix fix;
    fix.kind = Fix::Kind::setAttribute;
    fix.title = fmt::format("set {} of {} to {}", attribute, label(node), value ? toString(*value) : "false");
    fix.node = node;
    fix.attribute = attribute;
    fix.value = std::move(value);
    fix.price = price;
    return fix;
}

void Lints::lookAt(const NodeFacts& facts) {
    if (!facts.fine || !facts.op) return;
    const Node& node = *m_graph.find(facts.id);
    if (m_graph.runsOnce(node)) return;
    if (node.source) lookAtSync(facts);
    if (facts.op->role == OpRole::transfer)
        lookAtTransfer(facts);
    else if (facts.op->role == OpRole::compute)
        lookAtOp(facts);
}

void Lints::lookAtTransfer(const NodeFacts& to) {
    const NodeFacts* source = factsOf(to.inputs[0]);
    if (!source || source->device == to.device) return;
    lookAtComingBack(to, *source);
    if (to.device.sharesRankWith(source->device)) {
        lookAtBatches(to, *source);
        lookAtBlocking(to, *source);
    }
    if (m_graph.find(to.id)->source)
        lookAtImported(to, *source);
    else
        lookAtWhatStays(to, *source);
    const auto& type = m_analysis.typeOf(*to.inputs[0]);
    const Price price = priceOf(*to.inputs[0], source->device, to.device, to.attributes.flag("pin_memory"));
    if (!type || !price.isKnown) return;
    const Price empty = priceOfTransfer({type->dtype, Shape{0}}, source->device, to.device,
                                        to.attributes.flag("pin_memory"), m_devices);
    if (price.ns > 2 * empty.ns) return;
    m_analysis.smallCopies.push_back(
        {to.id, source->device, to.device, price.bytes, std::llround(price.ns * 1e3)});
}

void Lints::lookAtComingBack(const NodeFacts& to, const NodeFacts& source) {
    const NodeFacts* at = &source;
    PortRef tensor = *to.inputs[0];
    while (isPlainTransfer(*at, m_analysis) && at->device != to.device) {
        tensor = *at->inputs[0];
        at = m_analysis.find(tensor.node);
        if (!at) return;
    }
    if (at == &source || at->device != to.device || !isPlainTransfer(to, m_analysis)) return;
    Diagnostic& d = add(Severity::warning, "ping-pong", to.id,
                        fmt::format("{} is copied to {} and back to {}, where it already is",
                                    label(tensor.node), source.device.toString(), to.device.toString()));
    d.port = 0;
    d.edge = Edge{*to.inputs[0], {to.id, 0}};
    Fix fix;
    fix.kind = Fix::Kind::bypass;
    fix.title = fmt::format("read {} instead of {}", label(tensor.node), label(to.id));
    fix.node = to.id;
    fix.edge = Edge{tensor, {to.id, 0}};
    fix.price = {.bytes = 0, .ns = 0, .modelled = true, .isKnown = true};
    d.fixes.push_back(std::move(fix));
}

void Lints::lookAtBlocking(const NodeFacts& to, const NodeFacts& source) {
    if (!to.attributes.flag("non_blocking")) return;
    const NodeFacts* batches = batchesOf(to);
    const bool isAhead = batches && batches->attributes.integer("prefetch") > 0; // such memory is pinned
    if (source.device.isCpu() && !to.attributes.flag("pin_memory") && !isAhead) {
        Diagnostic& d =
            add(Severity::warning, "non-blocking-pageable", to.id,
                fmt::format(
                    "non_blocking of {} has no effect: {} is in pageable memory, so the copy blocks the host",
                    label(to.id), label(source.id)));
        d.port = 0;
        d.edge = Edge{*to.inputs[0], {to.id, 0}};
        d.fixes.push_back(setting(to.id, "pin_memory", AttributeValue{true},
                                  priceOf(*to.inputs[0], source.device, to.device, true)));
    }
    if (!to.device.isCpu()) return;
    const auto& readers = m_graph.outgoing(to.id);
    const auto onHost = std::find_if(readers.begin(), readers.end(), [&](const Edge& edge) {
        const NodeFacts* reader = m_analysis.find(edge.to.node);
        return reader && reader->op && reader->op->role != OpRole::transfer;
    });
    if (onHost == readers.end()) return;
    Diagnostic& d =
        add(Severity::warning, "read-before-complete", to.id,
            fmt::format("{} may read {} before the copy is done: in PyTorch, call torch.cuda.synchronize() "
                        "after a non_blocking copy to the host (a run of this program waits for the copy)",
                        label(onHost->to.node), label(to.id)));
    d.edge = *onHost;
    d.fixes.push_back(
        setting(to.id, "non_blocking", std::nullopt,
                priceOf(*to.inputs[0], source.device, to.device, to.attributes.flag("pin_memory"))));
}

void Lints::lookAtWhatStays(const NodeFacts& to, const NodeFacts& source) {
    if (!isConstantSource(m_graph, source)) return;
    const Price price = priceOf(*to.inputs[0], source.device, to.device, to.attributes.flag("pin_memory"));
    const auto& readers = m_graph.outgoing(source.id);
    if (!isFirstThere(to, source)) return; // reported for the first
    const DeviceRule rule(m_graph, m_devices, m_analysis);
    const bool onlyThere = std::all_of(readers.begin(), readers.end(), [&](const Edge& edge) {
        const NodeFacts* reader = m_analysis.find(edge.to.node);
        return reader && rule.wanted(*reader, edge.to.port) == to.device;
    });
    if (!onlyThere || m_graph.find(source.id)->pinned) return;
    Diagnostic& d =
        add(Severity::note, "transfer-in-iteration", to.id,
            fmt::format("{} is constant but copied every iteration{}. {} it on {} to avoid the copy.",
                        label(source.id), clauseOf(price), source.op->attribute("path") ? "Load" : "Create",
                        to.device.toString()));
    d.port = 0;
    d.edge = Edge{*to.inputs[0], {to.id, 0}};
    Fix fix = moveFix(m_graph, source.id, to.device);
    fix.title = fmt::format("{} {} on {}", source.op->attribute("path") ? "load" : "create", label(source.id),
                            to.device.toString());
    fix.price.isKnown = true;
    d.fixes.push_back(std::move(fix));
}

/// The Batches node whose data this tensor is, or from whose data ops on the cpu compute it, through their
/// first inputs; null if there is none.
const NodeFacts* Lints::batchesOf(const NodeFacts& reader) const {
    const NodeFacts* at = &reader;
    for (std::size_t distance = 0; at && at->op && distance < kFarthestBatches; ++distance) {
        if (at->inputs.empty() || !at->inputs[0]) return nullptr;
        const PortRef from = *at->inputs[0];
        at = m_analysis.find(from.node);
        if (!at || !at->op || !at->device.isCpu()) return nullptr;
        if (at->op->name == "Batches") return from.port == 0 ? at : nullptr;
        // An op that also reads what this iteration computes cannot run before it.
        for (std::size_t port = 1; port < at->inputs.size(); ++port) {
            const NodeFacts* other = factsOf(at->inputs[port]);
            if (other && !isConstantSource(m_graph, *other)) return nullptr;
        }
    }
    return nullptr;
}

void Lints::lookAtBatches(const NodeFacts& to, const NodeFacts& source) {
    const NodeFacts* batches = batchesOf(to);
    const bool waits = !to.attributes.flag("non_blocking") || !to.attributes.flag("pin_memory");
    if (!batches || !waits || batches->attributes.integer("prefetch") > 0) return;
    const Price price = priceOf(*to.inputs[0], source.device, to.device, true);
    Diagnostic& d =
        add(Severity::note, "waits-for-data", to.id,
            fmt::format("{} waits in each iteration until {} has loaded its batch and {} has copied it{}. "
                        "With prefetch, loading and copying overlap the previous iteration.",
                        to.device.toString(), label(batches->id), label(to.id), clauseOf(price)));
    d.port = 0;
    d.edge = Edge{*to.inputs[0], {to.id, 0}};
    d.fixes.push_back(setting(batches->id, "prefetch", AttributeValue{std::int64_t{1}}, price));
}

/// In a program, what is set up is constant, and what is created in the iteration is not.
void Lints::lookAtImported(const NodeFacts& to, const NodeFacts& source) {
    const Node& from = *m_graph.find(source.id);
    const Price price = priceOf(*to.inputs[0], source.device, to.device, to.attributes.flag("pin_memory"));
    const std::string cost = clauseOf(price);
    const std::string where = from.source ? fmt::format(", made at {},", toShortString(*from.source)) : "";
    Diagnostic d;
    d.severity = Severity::note;
    d.node = to.id;
    d.port = 0;
    d.edge = Edge{*to.inputs[0], {to.id, 0}};
    d.price = price;
    if (m_graph.runsOnce(from)) {
        d.code = "transfer-in-iteration";
        d.message = fmt::format("{}{} does not change but is copied to {} in every iteration{}. Copy it once "
                                "before the loop.",
                                label(source.id), where, to.device.toString(), cost);
    } else if (isConstantSource(m_graph, source) && from.op != "Input" &&
               m_graph.outgoing(source.id).size() == 1) {
        d.code = "created-elsewhere";
        d.message =
            fmt::format("{0}{1} is created on {2} and immediately copied to {3} in every iteration{4}. "
                        "Create {0} on {3} with device=\"{3}\".",
                        label(source.id), where, source.device.toString(), to.device.toString(), cost);
        Fix fix = moveFix(m_graph, source.id, to.device);
        fix.title = fmt::format("create {} on {}", label(source.id), to.device.toString());
        fix.price.isKnown = true;
        d.fixes.push_back(std::move(fix));
    } else {
        return;
    }
    m_analysis.diagnostics.push_back(std::move(d));
}

void Lints::lookAtSync(const NodeFacts& facts) {
    if (!isSync(m_graph, m_analysis, facts)) return;
    const NodeFacts* source = facts.op->role == OpRole::transfer ? factsOf(facts.inputs[0]) : nullptr;
    const Device device = source ? source->device : facts.device;
    Diagnostic& d = add(Severity::note, "sync", facts.id, {});
    if (source)
        d.price = priceOf(*facts.inputs[0], device, facts.device, facts.attributes.flag("pin_memory"));
    d.message = fmt::format("{} makes the CPU wait for {} in every iteration{}", label(facts.id),
                            device.toString(), clauseOf(d.price, "a copy of "));
}

/// Whether this is the first To, in the order of the consumers, that copies the source to that device.
bool Lints::isFirstThere(const NodeFacts& to, const NodeFacts& source) {
    const auto [at, fresh] = m_first.try_emplace({source.id, to.device}, to.id);
    if (!fresh) return at->second == to.id;
    for (const Edge& edge : readersOf(m_graph, m_analysis, source.id)) {
        const NodeFacts* reader = m_analysis.find(edge.to.node);
        if (!reader || !reader->fine || reader->op->role != OpRole::transfer || reader->device != to.device)
            continue;
        at->second = reader->id;
        break;
    }
    return at->second == to.id;
}

void Lints::sumUp() {
    struct Sum {
        NodeId first = NodeId::none;
        std::size_t count = 0;
        std::uint64_t bytes = 0;
        std::int64_t picoseconds = 0;
    };
    std::map<std::pair<Device, Device>, Sum> sums;
    for (const SmallCopy& copy : m_analysis.smallCopies) {
        Sum& sum = sums[{copy.from, copy.target}];
        if (sum.count++ == 0 || copy.to < sum.first) sum.first = copy.to;
        sum.bytes += copy.bytes;
        sum.picoseconds += copy.picoseconds;
    }
    for (const auto& [ends, sum] : sums) {
        const auto& [from, to] = ends;
        if (sum.count < kMany) continue;
        const TensorType together{DType::u8, Shape{static_cast<std::int64_t>(sum.bytes)}};
        const Price once = priceOfTransfer(together, from, to, false, m_devices);
        add(Severity::note, "small-copies", sum.first,
            fmt::format("{} copies from {} to {}, of {} on average, take {} per iteration, mostly latency; "
                        "one concatenated copy would take {} (modelled)",
                        sum.count, from.toString(), to.toString(),
                        formatBytes(static_cast<double>(sum.bytes) / static_cast<double>(sum.count)),
                        formatMs(static_cast<double>(sum.picoseconds) * 1e-3), formatMs(once.ns)));
    }
}

/// Whether all varying inputs of an op were copied for it from one device, and its results go back there.
void Lints::lookAtOp(const NodeFacts& facts) {
    std::optional<Device> home;
    double copies = 0;
    std::vector<TensorType> inputs;
    std::vector<DType> dtypes;
    for (const auto& from : facts.inputs) {
        const NodeFacts* source = factsOf(from);
        if (!source) {
            if (from) return;
            inputs.push_back({DType::f32, Shape{0}});
            dtypes.push_back(DType::f32);
            continue;
        }
        const auto& type = m_analysis.typeOf(*from);
        if (!type || !type->isKnown()) return;
        inputs.push_back(*type);
        dtypes.push_back(type->dtype);
        if (source->op && source->op->role == OpRole::source) continue; // could be created on any device
        if (!isPlainTransfer(*source, m_analysis) || m_graph.outgoing(source->id).size() != 1) return;
        const NodeFacts* before = factsOf(source->inputs[0]);
        if (!before || before->device == facts.device || (home && *home != before->device)) return;
        home = before->device;
        const Price price =
            priceOf(*source->inputs[0], *home, facts.device, source->attributes.flag("pin_memory"));
        copies += price.ns;
    }
    if (!home || facts.outputs.size() != 1 || !facts.outputs[0] || !facts.outputs[0]->isKnown()) return;
    const auto& readers = m_graph.outgoing(facts.id);
    if (readers.empty()) return;
    for (const Edge& edge : readers) {
        const NodeFacts* reader = m_analysis.find(edge.to.node);
        if (!reader || !isPlainTransfer(*reader, m_analysis) || reader->device != *home) return;
    }
    copies += priceOf({facts.id, 0}, facts.device, *home).ns;
    const Backend* there = m_devices.find(*home);
    const Backend* here = m_devices.find(facts.device);
    facts.addOutputs(dtypes);
    if (!there || !here || !there->supports(facts.op->name.c_str(), facts.op->kernel, dtypes)) return;
    const std::array outputs{*facts.outputs[0]};
    const Cost cost = costOf(*facts.op, inputs, outputs, facts.attributes);
    const double ns = there->profile().kernelNs(cost);
    if (ns >= here->profile().kernelNs(cost) + copies) return;
    add(Severity::note, "tiny-op", facts.id,
        fmt::format("{} is too small to be worth moving: the copies to {} and back take {}; on {}, the op "
                    "without the copies would take {} (modelled)",
                    label(facts.id), facts.device.toString(), formatMs(copies), home->toString(),
                    formatMs(ns)));
}

} // namespace twb
