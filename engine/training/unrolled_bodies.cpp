#include "training/unrolled_bodies.h"

#include "ops/composition.h"
#include "ops/op_table.h"
#include "placement/body_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace twb {
namespace {

/// The largest number of unrolled nodes: making more would take longer than a user waits.
constexpr std::size_t kMostNodes = 20'000;

/// A host value as the attribute that replaces it.
AttributeValue attributeOf(const AttributeSpec& spec, const Tensor& value) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < value.elementCount(); ++i) numbers.push_back(value.at(i));
    switch (spec.type) {
    case AttributeType::flag:
        return numbers.at(0) != 0;
    case AttributeType::integer:
        return value.toIntegers().at(0);
    case AttributeType::number:
        return numbers.at(0);
    case AttributeType::numbers:
        return numbers;
    default:
        return value.toIntegers();
    }
}

GraphTensor stacked(GradientContext& g, const std::vector<GraphTensor>& parts, std::int64_t axis) {
    std::vector<GraphTensor> lifted;
    for (const GraphTensor& part : parts) {
        std::vector<std::int64_t> dims = part.shape().dims();
        dims.insert(dims.begin() + (axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) + 1 : axis), 1);
        lifted.push_back(reshape(part, Shape(std::move(dims))));
    }
    return concat(g, lifted, axis);
}

} // namespace

std::vector<const NodeFacts*> UnrolledBodies::nodesOf(const Body& body) const {
    std::vector<const NodeFacts*> out;
    for (const NodeFacts& facts : m_analysis.nodes)
        if (m_bodies.around(facts.id) == &body) out.push_back(&facts);
    std::ranges::sort(out, {}, &NodeFacts::rank);
    return out;
}

bool UnrolledBodies::isInside(NodeId node, NodeId owner) const {
    const Body* body = m_bodies.around(node);
    while (body && body->owner != owner) body = m_bodies.around(*body);
    return body != nullptr;
}

std::vector<PortRef> UnrolledBodies::captured(const NodeFacts& owner) const {
    std::vector<PortRef> out;
    for (const NodeFacts& facts : m_analysis.nodes) {
        if (facts.id != owner.id && !isInside(facts.id, owner.id)) continue;
        for (const std::optional<PortRef>& from : facts.inputs)
            if (from && !isInside(from->node, owner.id) && std::ranges::find(out, *from) == out.end())
                out.push_back(*from);
    }
    return out;
}

std::vector<GraphTensor> UnrolledBodies::outputs(GradientContext& g, const NodeFacts& owner) {
    m_g = &g;
    m_captured = captured(owner);
    return outputsOf(owner);
}

GraphTensor UnrolledBodies::valueOf(PortRef at) {
    if (const auto known = m_values.find(at); known != m_values.end()) return known->second;
    const auto outside = std::ranges::find(m_captured, at);
    if (outside == m_captured.end()) m_g->refuse("its body reads a tensor of a node that does not run");
    return m_g->input(static_cast<int>(outside - m_captured.begin()));
}

/// Null if the port is not connected. Refuses a value that is known only at run time.
const Tensor* UnrolledBodies::knownAt(const NodeFacts& facts, int port) const {
    const auto p = static_cast<std::size_t>(port);
    if (p >= facts.inputs.size() || !facts.inputs[p]) return nullptr;
    const NodeFacts* from = m_analysis.find(facts.inputs[p]->node);
    if (!from || !from->value)
        m_g->refuse(fmt::format("{} of {} is known only at run time; connect a Constant",
                                facts.op->inputAt(port).name, facts.op->name));
    return &from->value;
}

std::vector<GraphTensor> UnrolledBodies::outputsOf(const NodeFacts& owner) {
    if (owner.op->bodies.size() == 2) return outputsOfIf(owner);
    const Body* body = m_bodies.of(owner.id, 0);
    if (!body) m_g->refuse("it has no body");
    return outputsOfRepeated(owner, *body);
}

/// Without a condition that is known before the run, both branches are computed, and the results chosen.
std::vector<GraphTensor> UnrolledBodies::outputsOfIf(const NodeFacts& owner) {
    const auto count = static_cast<std::size_t>(owner.attributes.integer("num_outputs"));
    const NodeFacts* condition = m_analysis.find(owner.inputs.at(0)->node);
    const bool isKnown = condition && condition->value;
    std::vector<GraphTensor> branches[2];
    for (const int index : {0, 1}) {
        if (isKnown && (condition->value.at(0) != 0) != (index == 0)) continue;
        if (const Body* body = m_bodies.of(owner.id, index)) run(*body, 0, 1, {});
        for (std::size_t i = 0; i < count; ++i)
            branches[index].push_back(
                valueOf(*owner.inputs.at(1 + static_cast<std::size_t>(index) * count + i)));
    }
    if (branches[0].empty()) return branches[1];
    if (branches[1].empty()) return branches[0];
    std::vector<GraphTensor> out;
    for (std::size_t i = 0; i < count; ++i) {
        if (branches[0][i].shape() != branches[1][i].shape())
            m_g->refuse(
                "its branches give tensors of different sizes, and the condition is known only at run time");
        out.push_back(where(valueOf(*owner.inputs[0]), branches[0][i], branches[1][i]));
    }
    return out;
}

std::int64_t UnrolledBodies::runsOf(const NodeFacts& owner, const Body& body) const {
    if (owner.op->name == "Scan") {
        for (const NodeFacts* facts : nodesOf(body)) {
            if (facts->op != findOp("ScanSlice")) continue;
            const std::int64_t count = sliceCountOf(m_analysis, *facts);
            if (count != kUnknownDim) return count;
        }
        m_g->refuse("the number of its slices is known only at run time");
    }
    for (const int port : {1, 2}) {
        const Tensor* known = knownAt(owner, port);
        if (known ? known->at(0) == 0 : !owner.attributes.flag(owner.op->inputAt(port).name))
            m_g->refuse("its condition ends it before M iterations");
    }
    const Tensor* known = knownAt(owner, 0);
    if (!known && !owner.attributes.has("M")) m_g->refuse("its number of iterations has no limit; set M");
    return known ? known->toIntegers().at(0) : owner.attributes.integer("M");
}

std::vector<GraphTensor> UnrolledBodies::outputsOfRepeated(const NodeFacts& owner, const Body& body) {
    const bool isScan = owner.op->name == "Scan";
    const auto first = static_cast<std::size_t>(Bodies::firstResult(*owner.op));
    const std::size_t count = owner.inputs.size() - first;
    const auto carriedCount = static_cast<std::size_t>(owner.attributes.integer("carried"));
    const std::int64_t runs = runsOf(owner, body);
    const std::size_t nodes = nodesOf(body).size() * static_cast<std::size_t>(runs);
    if (runs < 1) m_g->refuse("its body runs 0 times");
    if (nodes > kMostNodes)
        m_g->refuse(
            fmt::format("its backward pass repeats the body {} times, which takes more than {} nodes; "
                        "reduce the number of iterations",
                        runs, kMostNodes));
    std::vector<GraphTensor> carried;
    std::vector<std::vector<GraphTensor>> parts(count - carriedCount);
    for (std::int64_t i = 0; i < runs; ++i) {
        run(body, i, runs, carried);
        std::vector<GraphTensor> next;
        for (std::size_t r = 0; r < count; ++r) {
            const GraphTensor result = valueOf(*owner.inputs[first + r]);
            if (r < carriedCount)
                next.push_back(result);
            else
                parts[r - carriedCount].push_back(result);
        }
        carried = std::move(next);
    }
    std::vector<GraphTensor> out = std::move(carried);
    const auto setting = [&](const char* name, std::size_t i) {
        return isScan && owner.attributes.has(name) ? owner.attributes.integers(name)[i] : 0;
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (setting("scan_output_directions", i) == 1) std::ranges::reverse(parts[i]);
        out.push_back(stacked(*m_g, parts[i], setting("scan_output_axes", i)));
    }
    return out;
}

/// Computes the tensors of a body in one iteration. `carried` are the results of the previous iteration.
void UnrolledBodies::run(const Body& body, std::int64_t iteration, std::int64_t runs,
                         const std::vector<GraphTensor>& carried) {
    const Device device = m_analysis.find(body.owner)->device;
    for (const NodeFacts* facts : nodesOf(body)) {
        if (!facts->op) continue;
        const std::string& op = facts->op->name;
        const PortRef at{facts->id, 0};
        if (op == "Carried") {
            const auto index = static_cast<std::size_t>(facts->attributes.integer("index"));
            m_values[at] = iteration == 0 ? valueOf(*facts->inputs.at(0)) : carried.at(index);
        } else if (op == "ScanSlice") {
            const GraphTensor all = valueOf(*facts->inputs.at(0));
            const int axis = normalizeAxis(facts->attributes.integer("axis"), all.shape().rank()).value_or(0);
            const std::int64_t place = facts->attributes.flag("reverse") ? runs - 1 - iteration : iteration;
            m_values[at] = gather(all, constant(*m_g, DType::i64, {}, {static_cast<double>(place)}), axis);
        } else if (op == "Iteration") {
            m_values[at] = constant(*m_g, DType::i64, {}, {static_cast<double>(iteration)});
        } else if (facts->device != device) {
            m_g->refuse("its body runs on more than one device");
        } else {
            addAgain(*facts);
        }
    }
}

/// Adds a copy of the op of a body's node.
void UnrolledBodies::addAgain(const NodeFacts& facts) {
    const Op& op = *facts.op;
    std::vector<GraphTensor> results;
    if (op.role == OpRole::control) {
        results = outputsOf(facts);
    } else {
        if (op.readsIteration || op.category == "Random" || !op.updates.empty() || op.role == OpRole::sink)
            m_g->refuse(
                fmt::format("its body has the op {}, which the backward pass cannot recompute, because "
                            "it draws random numbers, updates a tensor or depends on the iteration",
                            op.name));
        Attributes attributes = facts.attributes;
        std::vector<GraphTensor> inputs;
        for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
            const PortSpec& spec = op.inputAt(static_cast<int>(port));
            inputs.push_back(facts.inputs[port] && !spec.hostValue ? valueOf(*facts.inputs[port])
                                                                   : GraphTensor());
            if (!spec.hostValue || !facts.inputs[port]) continue;
            if (const AttributeSpec* attribute = op.attribute(spec.name))
                attributes.set(spec.name, attributeOf(*attribute, *knownAt(facts, static_cast<int>(port))));
        }
        const GraphTensor first = m_g->add(op.name, inputs, attributes);
        for (std::size_t port = 0; port < facts.outputs.size(); ++port)
            results.push_back(outputOf(first, static_cast<int>(port)));
    }
    for (std::size_t port = 0; port < results.size(); ++port)
        m_values[{facts.id, static_cast<std::int32_t>(port)}] = results[port];
}

} // namespace twb
