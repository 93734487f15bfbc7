#include "formats/pytorch/pytorch_exporter.h"

#include <fmt/ranges.h>

namespace twb::pytorch {
namespace {

/// The Python expression for a host input of If or Loop, or for the attribute in its place.
std::string numberOf(const Call& call, int port, const char* attribute, const char* otherwise) {
    if (call.has(port)) return call.in(port) + ".item()";
    return call.hasAttribute(attribute) ? literal(*call.attributes().find(attribute)) : otherwise;
}

} // namespace

void Exporter::writeControl(std::size_t scope, const NodeFacts& facts) {
    if (facts.op->name == "If")
        writeIf(scope, facts);
    else
        writeLoop(scope, facts);
}

void Exporter::writeBody(std::size_t scope, const Body& body) {
    for (const LiveNode& live : m_live)
        if (m_bodies.around(live.facts->id) == &body) writeNode(scope, *live.facts);
}

/// The body's expression for its owner's result number `result`.
std::string Exporter::resultOf(std::size_t scope, const NodeFacts& facts, std::size_t result) const {
    const std::size_t port = static_cast<std::size_t>(Bodies::firstResult(*facts.op)) + result;
    return nameIn(scope, *facts.inputs[port]);
}

void Exporter::writeIf(std::size_t scope, const NodeFacts& facts) {
    const Call call(
        m_graph, m_analysis, facts, [&](PortRef value) { return nameIn(scope, value); }, m_helpers);
    std::vector<std::string> outputs;
    for (std::size_t port = 0; port < facts.outputs.size(); ++port)
        outputs.push_back(m_nameOf.at({facts.id, static_cast<std::int32_t>(port)}));
    for (const int index : {0, 1}) {
        line(index == 0 ? fmt::format("if {}:", numberOf(call, 0, "cond", "True")) : "else:");
        ++m_indent;
        if (const Body* body = m_bodies.of(facts.id, index)) writeBody(scope, *body);
        const std::size_t first = index == 0 ? 0 : outputs.size();
        for (std::size_t i = 0; i < outputs.size(); ++i)
            line(fmt::format("{} = {}", outputs[i], resultOf(scope, facts, first + i)));
        if (outputs.empty()) line("pass");
        --m_indent;
    }
}

void Exporter::writeLoop(std::size_t scope, const NodeFacts& facts) {
    const bool isLoop = facts.op->name == "Loop";
    const Call call(
        m_graph, m_analysis, facts, [&](PortRef value) { return nameIn(scope, value); }, m_helpers);
    const Body* body = m_bodies.of(facts.id, 0);
    if (!body) call.refuse("it has no body");
    const auto carried = static_cast<std::size_t>(call.integer("carried"));
    const std::string own = m_nameOf.at({facts.id, 0});
    const std::string count = m_names.variable(own + "_i");
    std::vector<std::string> states(carried);
    std::string trips;
    std::vector<const NodeFacts*> slices;
    std::vector<const NodeFacts*> counters;
    for (const LiveNode& live : m_live) {
        if (m_bodies.around(live.facts->id) != body) continue;
        const NodeFacts& inside = *live.facts;
        if (inside.op->name == "Carried") {
            std::string& state = states.at(static_cast<std::size_t>(inside.attributes.integer("index")));
            // Several nodes that read the same state share one variable.
            if (state.empty()) {
                state = m_nameOf.at({inside.id, 0});
                line(fmt::format("{} = {}", state, nameIn(scope, *inside.inputs[0])));
            } else {
                m_nameOf[{inside.id, 0}] = state;
            }
        }
        if (inside.op->name == "ScanSlice") {
            slices.push_back(&inside);
            trips = fmt::format("{}.shape[{}]", nameIn(scope, *inside.inputs[0]),
                                normalizeAxis(inside.attributes.integer("axis"),
                                              m_analysis.typeOf(*inside.inputs[0])->shape.rank())
                                    .value_or(0));
        }
        if (inside.op->name == "Iteration") counters.push_back(&inside);
    }
    std::vector<std::string> stacks;
    for (std::size_t i = carried; i < facts.outputs.size(); ++i) {
        stacks.push_back(m_names.variable(fmt::format("{}_all_{}", own, i - carried)));
        line(fmt::format("{} = []", stacks.back()));
    }
    const std::string goesOn = m_names.variable(own + "_goes_on");
    if (isLoop) {
        trips = numberOf(call, 0, "M", "float(\"inf\")");
        line(fmt::format("{} = {}", goesOn, numberOf(call, 1, "cond", "True")));
        line(fmt::format("{} = 0", count));
        line(fmt::format("while {} and {} < {}:", goesOn, count, trips));
    } else {
        line(fmt::format("for {} in range({}):", count, trips.empty() ? "0" : trips));
    }
    ++m_indent;
    for (const NodeFacts* counter : counters)
        line(fmt::format("{} = torch.tensor({})", m_nameOf.at({counter->id, 0}), count));
    for (const NodeFacts* slice : slices) {
        const std::string all = nameIn(scope, *slice->inputs[0]);
        const std::int64_t axis = slice->attributes.integer("axis");
        line(fmt::format("{} = {}.select({}, {})", m_nameOf.at({slice->id, 0}), all, axis,
                         slice->attributes.flag("reverse") ? fmt::format("{} - 1 - {}", trips, count)
                                                           : count));
    }
    writeBody(scope, *body);
    for (std::size_t i = 0; i < stacks.size(); ++i)
        line(fmt::format("{}.append({})", stacks[i], resultOf(scope, facts, carried + i)));
    if (isLoop)
        line(fmt::format("{} = {}", goesOn,
                         call.has(2) ? call.in(2) + ".item()" : numberOf(call, 2, "cond_out", "True")));
    if (carried > 0) {
        std::vector<std::string> next;
        for (std::size_t i = 0; i < carried; ++i) next.push_back(resultOf(scope, facts, i));
        line(fmt::format("{} = {}", fmt::join(states, ", "), fmt::join(next, ", ")));
    }
    if (isLoop) line(fmt::format("{} += 1", count));
    --m_indent;
    for (std::size_t i = 0; i < carried; ++i)
        line(fmt::format("{} = {}", m_nameOf.at({facts.id, static_cast<std::int32_t>(i)}), states[i]));
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        const auto at = [&](const char* name) {
            return call.hasAttribute(name) && i < call.attributes().integers(name).size()
                       ? call.attributes().integers(name)[i]
                       : 0;
        };
        line(fmt::format("{} = torch.stack({}{}, {})",
                         m_nameOf.at({facts.id, static_cast<std::int32_t>(carried + i)}), stacks[i],
                         at("scan_output_directions") != 0 ? "[::-1]" : "", at("scan_output_axes")));
    }
}

} // namespace twb::pytorch
