#pragma once

#include "support/graphs.h"

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace twb::test {

/// A graph of square tensors on random lanes, so that most operands are on a wrong device, with all special
/// cases of fixes: To nodes (several of one tensor, with a dtype, pinned memory, pinned to their lane,
/// without consumers), 0-dimensional operands, folded parameters, shapes read by the host (constant or
/// computed), one source read by the host and by ops, and Probes.
inline Graph faultyGraph(std::mt19937_64& random, const std::vector<std::string>& devices) {
    using Ints = std::vector<std::int64_t>;
    constexpr std::int64_t size = 16;
    GraphMaker g;
    for (const std::string& device : devices) g.lane(device);
    const auto one = [&](std::size_t of) { return static_cast<std::size_t>(random() % of); };
    const auto lane = [&] { return devices[one(devices.size())]; };
    std::vector<NodeId> made;
    std::vector<NodeId> scalars;
    std::vector<NodeId> changed; // folded or pinned
    for (std::size_t i = 0; i < 3; ++i)
        made.push_back(
            g.node("RandomNormal", "x" + std::to_string(i), lane(), {{"shape", Ints{size, size}}}));
    for (std::size_t i = 0; i < 2; ++i)
        scalars.push_back(g.node("Constant", "s" + std::to_string(i), lane(), {{"value", 2.0}}));
    const NodeId sizes =
        g.node("Constant", "sizes", lane(), {{"value", Ints{size, size}}, {"dtype", std::string("i64")}});
    const auto any = [&] { return made[one(made.size())]; };
    const std::size_t ops = 3 + one(10);
    for (std::size_t i = 0; i < ops; ++i) {
        const std::string n = std::to_string(i);
        switch (one(9)) {
        case 0:
            made.push_back(g.node("Relu", "relu" + n, lane(), {}, {any()}));
            break;
        case 1:
            made.push_back(g.node("MatMul", "product" + n, lane(), {}, {any(), any()}));
            break;
        case 2:
            made.push_back(g.node("Mul", "scaled" + n, lane(), {}, {any(), scalars[one(2)]}));
            break;
        case 3: {
            const NodeId weight = g.node("RandomNormal", "w" + n, lane(), {{"shape", Ints{size, size}}});
            made.push_back(g.node("Add", "sum" + n, lane(), {}, {any(), weight}));
            changed.push_back(weight);
            break;
        }
        case 4:
        case 5:
            made.push_back(g.node("To", "to" + n, lane(),
                                  one(3) == 0 ? Attributes{{"pin_memory", true}} : Attributes{}, {any()}));
            if (one(4) == 0) changed.push_back(made.back());
            break;
        case 6: {
            const NodeId half = g.node("To", "half" + n, lane(), {{"dtype", std::string("f64")}}, {any()});
            made.push_back(g.node("To", "full" + n, lane(), {{"dtype", std::string("f32")}}, {half}));
            break;
        }
        case 7:
            made.push_back(g.node("Reshape", "shaped" + n, lane(), {}, {any(), sizes}));
            break;
        default: {
            const NodeId shape = g.node("Shape", "shape" + n, lane(), {}, {any()});
            made.push_back(g.node("Reshape", "shaped" + n, lane(), {}, {any(), shape}));
        }
        }
    }
    g.node("Probe", "out", lane(), {}, {made.back()});
    Graph graph = g.graph();
    DeltaBuilder builder(graph, "fold and pin");
    for (const NodeId id : changed) {
        Node node = *graph.find(id);
        (node.op == "To" ? node.pinned : node.folded) = true;
        builder.change(node);
    }
    graph.apply(builder.take());
    return graph;
}

} // namespace twb::test
