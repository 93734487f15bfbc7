// Times to validate and compile 10,000 and 100,000 nodes (linear, at most 1 s together for 100,000), to open
// and save them, to update diagnostics after one edit, and to propose a placement for 2,000 nodes (at most 2
// s).
#include "formats/project.h"
#include "graph/arrange.h"
#include "placement/analysis.h"
#include "placement/proposal.h"
#include "profile/prediction.h"
#include "runtime/plan.h"
#include "support/graphs.h"

#include <benchmark/benchmark.h>

#include <filesystem>
#include <random>

namespace {

using namespace twb;

void validate(benchmark::State& state) {
    const Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const DeviceMap devices = test::simulatedMap();
    for (auto _ : state) {
        const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        if (analysis.hasErrors()) state.SkipWithError(analysis.diagnostics.front().message.c_str());
        benchmark::DoNotOptimize(&analysis);
    }
    state.counters["ns/node"] =
        benchmark::Counter(static_cast<double>(state.range(0)),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(validate)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void validateMismatches(benchmark::State& state) {
    // Without its To nodes, each crossing is an error with fixes.
    Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), false);
    Delta move;
    for (const Node& node : graph.nodes())
        if (value(node.id) % 2) {
            Node moved = node;
            moved.lane = LaneId(2);
            move.nodes.push_back({node, moved});
        }
    graph.apply(move);
    const DeviceMap devices = test::simulatedMap();
    for (auto _ : state) {
        const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        state.counters["errors"] = static_cast<double>(analysis.errorCount());
    }
}
BENCHMARK(validateMismatches)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Diagnostics after one edit in the middle of the graph, and after its undo.
enum Edit : std::int64_t { attribute, lane, disconnect };
void revalidate(benchmark::State& state) {
    Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const DeviceMap devices = test::simulatedMap();
    Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
    const NodeId middle{static_cast<std::uint64_t>(state.range(0)) / 2};
    DeltaBuilder builder(graph, "edit");
    Node node = *graph.find(middle);
    if (state.range(1) == attribute) node.name = "middle";
    if (state.range(1) == lane) node.lane = LaneId(value(node.lane) % 2 + 1);
    builder.change(node);
    if (state.range(1) == disconnect) builder.disconnect({*graph.inputs(middle)[0], {middle, 0}});
    Delta there = builder.take();
    Delta back = there.inverse();
    for (auto _ : state) {
        state.PauseTiming();
        graph.apply(there);
        state.ResumeTiming();
        reanalyze(analysis, graph, there, devices, nullptr);
        std::swap(there, back);
    }
    state.counters["errors"] = static_cast<double>(analysis.errorCount());
}
BENCHMARK(revalidate)
    ->ArgNames({"nodes", "edit"})
    ->ArgsProduct({{10'000, 100'000}, {attribute, lane, disconnect}})
    ->Unit(benchmark::kMillisecond);

/// A network of products, sums and activations on two devices at random, so that most nodes have a better
/// device.
Graph scattered(std::size_t nodes) {
    test::GraphMaker g;
    std::mt19937 random(3);
    std::vector<NodeId> made;
    for (std::int64_t i = 0; i < 4; ++i)
        made.push_back(g.node("RandomNormal", "x" + std::to_string(i), "cpu",
                              {{"seed", i + 1}, {"shape", std::vector<std::int64_t>{256, 256}}}));
    while (made.size() < nodes) {
        const auto recent = [&] {
            return made[made.size() - 1 - random() % std::min<std::size_t>(made.size(), 6)];
        };
        const bool isBinary = random() % 10 < 6;
        const char* op = isBinary ? (random() % 2 ? "MatMul" : "Add") : (random() % 2 ? "Relu" : "Tanh");
        const std::vector<NodeId> inputs = isBinary ? std::vector{recent(), recent()} : std::vector{recent()};
        made.push_back(
            g.node(op, op + std::to_string(made.size()), random() % 2 ? "cpu" : "cuda:0", {}, inputs));
    }
    return g.graph();
}

void propose(benchmark::State& state) {
    const Graph graph = scattered(static_cast<std::size_t>(state.range(0)));
    const DeviceMap devices = test::simulatedMap();
    const Analysis analysis = analyze(graph, devices, *Policy::parse("implicit"), nullptr);
    const auto iterationNs = [&](const Graph& moved) {
        return predict(moved, devices, nullptr, analysis.policy).iterationNs;
    };
    for (auto _ : state) {
        const PlacementProposal proposal = proposePlacement(graph, analysis, devices, nullptr, iterationNs);
        state.counters["moves"] = static_cast<double>(proposal.moves.size());
        state.counters["of_now"] = proposal.ns / proposal.nsNow;
    }
}
BENCHMARK(propose)->Arg(2000)->Unit(benchmark::kMillisecond);

void compilePlan(benchmark::State& state) {
    const Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const DeviceMap devices = test::simulatedMap();
    const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
    for (auto _ : state) benchmark::DoNotOptimize(compile(graph, analysis, devices, nullptr, {}));
}
BENCHMARK(compilePlan)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void save(benchmark::State& state) {
    const Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const auto path = std::filesystem::temp_directory_path() / "twb-bench.twb";
    for (auto _ : state) saveProject(graph, path);
    std::filesystem::remove(path);
}
BENCHMARK(save)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void open(benchmark::State& state) {
    const Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const auto path = std::filesystem::temp_directory_path() / "twb-bench.twb";
    saveProject(graph, path);
    for (auto _ : state) benchmark::DoNotOptimize(loadProject(path));
    std::filesystem::remove(path);
}
BENCHMARK(open)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void snapshotAndEdit(benchmark::State& state) {
    Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    for (auto _ : state) {
        const Graph snapshot = graph;
        const Node before = *graph.find(NodeId(500));
        Node after = before;
        after.position.x += 8;
        Delta delta;
        delta.nodes.push_back({before, after});
        graph.apply(delta);
        benchmark::DoNotOptimize(&snapshot);
    }
}
BENCHMARK(snapshotAndEdit)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

/// All cards are placed anew: without modules, and with modules of this many nodes in modules of as many
/// modules.
void arrangeCards(benchmark::State& state) {
    Graph graph = test::largeGraph(static_cast<std::size_t>(state.range(0)), true);
    const auto size = static_cast<std::uint64_t>(state.range(1));
    if (size > 0) {
        DeltaBuilder builder(graph, "modules");
        std::vector<FrameId> modules;
        FrameId around = FrameId::none;
        for (const Node& before : graph.nodes()) {
            const std::uint64_t module = (value(before.id) - 1) / size;
            if (module % size == 0 && module == modules.size()) around = builder.addFrame({});
            if (module == modules.size()) modules.push_back(builder.addFrame({FrameId::none, "", around}));
            Node node = before;
            node.frame = modules[module];
            builder.change(node);
        }
        graph.apply(builder.take());
    }
    for (auto _ : state) {
        const Arranged arranged = arrangeAll(graph);
        state.counters["width/height"] = arranged.width / arranged.height;
    }
}
BENCHMARK(arrangeCards)
    ->ArgNames({"nodes", "in a module"})
    ->ArgsProduct({{1'000, 6'700, 100'000}, {0, 20}})
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
