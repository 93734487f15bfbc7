#pragma once

#include "graph/simplify.h"
#include "runtime/runs.h"
#include "support/graphs.h"

#include <QString>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twb::test {

using Numbers = std::vector<double>;
using Inputs = std::vector<NodeId>;

/// A graph of f32 tensors with an Input "x", whose results are Probes.
class Model {
public:
    explicit Model(Ints shape = {2, 3, 8})
        : x(maker.node("Input", "x", "cpu", {{"shape", std::move(shape)}, {"seed", std::int64_t{7}}})) {}

    NodeId op(const std::string& op, const Inputs& inputs, Attributes attributes = {}) {
        return maker.node(op, "/block/" + op + "_" + std::to_string(m_count++), "cpu", std::move(attributes),
                          inputs);
    }
    NodeId number(double value) { return constant({value}, Ints{}); }
    NodeId constant(Numbers values, std::optional<Ints> shape = {}) {
        Attributes attributes{{"value", std::move(values)}};
        if (shape) attributes.set("shape", *shape);
        return op("Constant", {}, std::move(attributes));
    }
    NodeId integers(Ints values) {
        return op("Constant", {}, {{"value", std::move(values)}, {"dtype", std::string("i64")}});
    }
    NodeId boolean(bool value) {
        return op("Constant", {},
                  {{"value", std::int64_t{value}}, {"shape", Ints{}}, {"dtype", std::string("bool")}});
    }
    /// Numbers around 1.
    NodeId weight(std::int64_t count) {
        Numbers values;
        for (std::int64_t i = 0; i < count; ++i) values.push_back(1 + 0.1 * double(i % 5));
        return constant(values);
    }
    void probe(NodeId from, const std::string& name = "y") { maker.node("Probe", name, "cpu", {}, {from}); }
    const Graph& graph() const { return maker.graph(); }

    GraphMaker maker;
    NodeId x;

private:
    int m_count = 0;
};

inline int count(const Graph& graph, const std::string& op) {
    int n = 0;
    for (const Node& node : graph.nodes()) n += node.op == op;
    return n;
}

inline Graph simplified(const Graph& graph, const SimplifyOptions& options = {}) {
    const Simplified out = simplify(graph, options);
    Graph after = graph;
    after.apply(out.delta);
    Graph undone = after;
    undone.apply(out.delta.inverse());
    if (!(undone == graph)) qFatal("undo does not give the original graph");
    return after;
}

/// The tensors at the Probes, by their names.
inline std::map<std::string, Tensor> results(const Graph& graph) {
    const DeviceMap map;
    const auto plan = planOf(graph, map);
    const RunResult result = runToEnd(plan, {}, nullptr);
    if (!result.errors.empty()) qFatal("%s", result.errors[0].message.c_str());
    std::map<std::string, Tensor> out;
    for (const Node& node : graph.nodes())
        if (node.op == "Probe") out[node.name] = toHost(*result.tensor(*graph.sourceOf({node.id, 0})), map);
    return out;
}

/// A sentence about the first difference; empty if there is none.
inline QString difference(const Graph& before, const Graph& after, double tolerance = 1e-5) {
    const auto wanted = results(before);
    const auto got = results(after);
    if (wanted.size() != got.size()) return QStringLiteral("another number of results");
    for (const auto& [name, tensor] : wanted) {
        const auto at = got.find(name);
        if (at == got.end() || !(at->second.type() == tensor.type()))
            return QString::fromStdString(name) + " is missing or has another type";
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
            if (!(std::isnan(tensor.at(i)) && std::isnan(at->second.at(i))) &&
                !(std::abs(at->second.at(i) - tensor.at(i)) <= tolerance * (1 + std::abs(tensor.at(i)))))
                return QStringLiteral("%1[%2] is %3, not %4")
                    .arg(QString::fromStdString(name))
                    .arg(i)
                    .arg(at->second.at(i))
                    .arg(tensor.at(i));
    }
    return {};
}

} // namespace twb::test
