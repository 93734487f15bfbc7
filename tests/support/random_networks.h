#pragma once

#include "placement/fixes.h"
#include "runtime/plan.h"
#include "support/graphs.h"
#include "support/insert_to.h"

#include <set>

namespace twb::test {

/// A network of `ops` ops on random devices, with small and large tensors. A To brings every operand to its
/// op, so the graph has no mismatches. `devices`: number of devices.
struct RandomNetwork {
    RandomNetwork(std::mt19937_64& random, int ops, const std::vector<std::string>& devices) {
        const auto one = [&](std::size_t of) { return random() % of; };
        const auto size = std::int64_t{1} << (3 + one(8));
        std::vector<NodeId> made;
        for (std::size_t i = 0; i < 2; ++i)
            made.push_back(g.node("RandomNormal", "x" + std::to_string(i), devices[one(devices.size())],
                                  {{"shape", std::vector<std::int64_t>{size, size}}}));
        for (int i = 0; i < ops; ++i) {
            const NodeId a = made[one(made.size())];
            const NodeId b = made[one(made.size())];
            const std::string device = devices[one(devices.size())];
            const std::string name = "op" + std::to_string(i);
            switch (one(3)) {
            case 0:
                made.push_back(g.node("Relu", name, device, {}, {a}));
                break;
            case 1:
                made.push_back(g.node("Add", name, device, {}, {a, b}));
                break;
            default:
                made.push_back(g.node("MatMul", name, device, {}, {a, b}));
            }
        }
        g.node("Probe", "out", devices[one(devices.size())], {}, {made.back()});
    }
    GraphMaker g;
};

/// A To for every operand on a wrong device, one per tensor and device.
inline Graph withTos(Graph graph, const DeviceMap& devices) {
    const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.code == "device-mismatch") graph.apply(toDelta(graph, insertToOf(d)));
    return graph;
}

/// The predicted sum of the steps and copies of one iteration.
inline double sumNs(const Graph& graph, const DeviceMap& devices) {
    const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
    const auto plan = compile(graph, analysis, devices, nullptr, {});
    double sum = 0;
    for (const Step& step : plan->steps)
        if (!step.setup && !step.last) sum += step.predictedNs;
    return sum;
}

inline Graph moved(Graph graph, NodeId node, Device device) {
    if (graph.deviceOf(*graph.find(node)) != device)
        graph.apply(toDelta(graph, moveFix(graph, node, device)));
    return graph;
}

/// One lane per device.
inline void addLanes(GraphMaker& g, const std::vector<std::string>& devices) {
    for (const std::string& device : devices) g.lane(device);
}

} // namespace twb::test
