#pragma once

#include "support/graphs.h"

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace twb::test {

/// Random elementwise ops on random lanes (cpu, cuda:0, cuda:1), some with several consumers, some with a
/// 0-dimensional operand on cpu; and the last op. The same graph on cpu alone has the same values.
inline std::pair<Graph, NodeId> graphOnRandomLanes(unsigned seed, bool onCpuOnly) {
    std::mt19937 random(seed);
    const char* const lanes[] = {"cpu", "cuda:0", "cuda:1"};
    const char* const ops[] = {"Add", "Sub", "Max", "Min"};
    const auto lane = [&] {
        const char* picked = lanes[random() % 3];
        return onCpuOnly ? lanes[0] : picked;
    };
    GraphMaker g;
    std::vector<NodeId> made;
    for (int i = 0; i < 3; ++i) {
        const char* where = lane();
        made.push_back(g.node("RandomNormal", fmt::format("x{}", i), where,
                              {{"shape", std::vector<std::int64_t>{777}}, {"seed", std::int64_t{i}}}));
    }
    const NodeId scalar = g.node("Constant", "two", "cpu", {{"value", 2.0}});
    for (int i = 0; i < 20; ++i) {
        const char* where = lane();
        const NodeId a = made[random() % made.size()];
        const NodeId b = random() % 5 == 0 ? scalar : made[random() % made.size()];
        made.push_back(g.node(ops[random() % 4], fmt::format("n{}", i), where, {}, {a, b}));
    }
    return {g.graph(), made.back()};
}

} // namespace twb::test
