#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/nccl_library.h"
#include "backends/rank_device.h"
#include "cuda/fake_nccl.h"
#include "cuda/fake_runtime.h"
#include "ops/op_table.h"
#include "runtime/joined_devices.h"
#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/ranks.h"
#include "support/test_main.h"
#include "training/normalized_network.h"
#include "training/trainer.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <map>

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<double>;

const std::string kNoGpu =
    "cuda:0 cannot use NCCL, because rank 1 has no real GPU. Its tensors are copied to "
    "the cpu for calls over ranks.";

int currentGpu() {
    int gpu = -1;
    cudaGetDevice(&gpu);
    return gpu;
}

fake::Nccl working() {
    fake::Nccl nccl;
    nccl.enqueue = fake::enqueue;
    nccl.currentGpu = currentGpu;
    return nccl;
}

/// A GPU for each rank.
std::vector<std::shared_ptr<Backend>> gpusFor(int ranks, const fake::Nccl& nccl) {
    fake::startNccl(nccl);
    fake::start({.gpus = ranks, .mostDelayUs = 200});
    std::string problem;
    auto found = cuda::findGpus(problem);
    if (static_cast<int>(found.size()) != ranks) qFatal("%s", problem.c_str());
    return found;
}

DeviceMap mapOf(const std::shared_ptr<Backend>& gpu, const std::shared_ptr<World>& world) {
    DeviceMap map;
    map.set(Device::cuda(0), gpu, true);
    map.set(gpu->info().device, gpu, true); // its tensors name it so
    map.setWorld(world);
    return map;
}

/// Each op over ranks on a lane of `device`; `results` are read on the cpu.
struct AllOps {
    explicit AllOps(const std::string& device) {
        const auto file = [&](const char* name) {
            return g.node("File", name, device, {{"path", std::string(name) + ".npy"}});
        };
        const NodeId x = file("x");
        const NodeId y = file("y");
        const auto add = [&](const char* op, const std::string& name, Attributes attributes,
                             const std::vector<NodeId>& inputs, int outputs = 1) {
            const NodeId node = g.node(op, name, device, std::move(attributes), inputs);
            for (int i = 0; i < outputs; ++i) {
                const NodeId back = g.node("To", name + " " + std::to_string(i), "cpu");
                g.connect(node, back, 0, i);
                results.push_back(back);
            }
        };
        add("AllReduce", "sum", {{"num_outputs", std::int64_t{2}}}, {x, y}, 2);
        add("AllReduce", "mean", {{"reduction", std::string("mean")}}, {x});
        add("AllReduce", "max", {{"reduction", std::string("max")}}, {x});
        add("Broadcast", "sent", {{"root", std::int64_t{1}}}, {y});
        add("Reduce", "reduced", {{"root", std::int64_t{1}}}, {x});
        add("AllGather", "gathered", {}, {x});
        add("ReduceScatter", "scattered", {}, {y});
        add("SendReceive", "moved", {{"source", std::int64_t{1}}, {"target", std::int64_t{0}}}, {y});
        add("Barrier", "met", {}, {x});
    }
    GraphMaker g;
    std::vector<NodeId> results;
};

std::shared_ptr<MemoryFiles> filesOf(int rank) {
    auto files = std::make_shared<MemoryFiles>();
    const auto base = static_cast<double>(rank + 1);
    files->put("x.npy", tensorOf(DType::f32, {2, 2}, {base, -base, 3 * base, 1}));
    files->put("y.npy", tensorOf(DType::f32, {6}, {base, 2, base * base, -4, 5, 6 * base}));
    return files;
}

/// The results by node; the run is repeated a few times.
std::vector<Values> resultsOf(const AllOps& ops, const DeviceMap& map, int rank) {
    CompileOptions options;
    for (const NodeId result : ops.results) options.keep.insert({result, 0});
    const RunResult result = runToEnd(planOf(ops.g.graph(), map, options, filesOf(rank)), {.iterations = 12});
    if (result.status != RunStatus::finished) throw Error(ErrorCode::failed, result.errors.at(0).message);
    std::vector<Values> out;
    for (const NodeId node : ops.results) out.push_back(valuesOf(*result.tensor({node, 0})));
    return out;
}

/// A sum of two tensors of a GPU, with a step before it.
Graph sumOnGpu() {
    GraphMaker g;
    const auto ones = [&](const char* name) { return g.node("Ones", name, "cuda:0", {{"shape", Ints{3}}}); };
    const NodeId negative = g.node("Neg", "negative", "cuda:0", {}, {ones("a")});
    const NodeId sum = g.node("AllReduce", "sum of both", "cuda:0", {{"num_outputs", std::int64_t{2}}},
                              {negative, ones("b")});
    g.node("Probe", "seen", "cuda:0", {}, {sum});
    return g.graph();
}

/// Runs it on two ranks; by rank, the sentence of its error.
std::vector<std::string> failuresOf(const fake::Nccl& nccl) {
    const auto gpus = gpusFor(2, nccl);
    const Graph graph = sumOnGpu();
    return onRanks(2, [&](const std::shared_ptr<World>& world) {
        const DeviceMap map = mapOf(gpus[static_cast<std::size_t>(world->rank())], world);
        const JoinedDevices joined(graph, map);
        const RunResult result = runToEnd(planOf(graph, map, {}), {.iterations = 5});
        if (result.status != RunStatus::finished) throw Error(ErrorCode::failed, result.errors.at(0).message);
    });
}

std::vector<std::string> withoutMessages(std::vector<std::string> calls) {
    std::erase_if(
        calls, [](const std::string& call) { return call.starts_with("Send") || call.starts_with("Recv"); });
    return calls;
}

#if __has_include(<nccl.h>)
/// Whether two functions take and return values of the same sizes, and pointers in the same places.
template <class A, class B> struct Like : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Like<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) &&
                         (true && ... &&
                          (sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>))> {
};
template <class A, class B> constexpr bool isLike() { return Like<A, B>::value; }
#endif

} // namespace

/// Calls over ranks that a GPU makes, on stand-ins for the CUDA runtime and NCCL.
class TestRankCalls : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { qputenv("TWB_NCCL", TWB_FAKE_NCCL); }

    void resultsAreThoseOfTheCpu_data() {
        QTest::addColumn<int>("ranks");
        QTest::newRow("2") << 2;
        QTest::newRow("3") << 3;
    }
    void resultsAreThoseOfTheCpu() {
        QFETCH(const int, ranks);
        const auto gpus = gpusFor(ranks, working());
        const AllOps onGpu("cuda:0");
        const AllOps onCpu("cpu");
        std::vector<std::vector<Values>> got(static_cast<std::size_t>(ranks));
        std::vector<std::vector<Values>> wanted = got;
        std::vector<std::vector<CollectiveLog>> logs(static_cast<std::size_t>(ranks));
        const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            const DeviceMap map = mapOf(gpus[rank], world);
            const JoinedDevices joined(onGpu.g.graph(), map);
            if (!joined.remarks().empty()) throw Error(ErrorCode::failed, joined.remarks()[0]);
            got[rank] = resultsOf(onGpu, map, world->rank());
            DeviceMap host;
            host.setWorld(world);
            wanted[rank] = resultsOf(onCpu, host, world->rank());
            logs[rank] = world->log();
            world->run({}); // no rank leaves before the others are done
        });
        QCOMPARE(errors, std::vector<std::string>(static_cast<std::size_t>(ranks)));
        QCOMPARE(got, wanted);
        QVERIFY(got[0][0] != got[0][5]);
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        QCOMPARE(fake::liveCommunicators(), 0);
        for (int r = 1; r < ranks; ++r)
            QCOMPARE(withoutMessages(fake::ncclCalls(r)), withoutMessages(fake::ncclCalls(0)));
        // Two tensors are one group, a single one is none.
        const auto calls = fake::ncclCalls(0);
        const std::vector<std::string> group{"AllReduce f32 4 sum", "AllReduce f32 6 sum", "GroupEnd of 2"};
        QVERIFY(std::search(calls.begin(), calls.end(), group.begin(), group.end()) != calls.end());
        QCOMPARE(std::ranges::count(calls, "GroupEnd of 2"), 12);
        QCOMPARE(std::ranges::count(calls, "AllReduce f32 4 avg"), 12);
        QCOMPARE(std::ranges::count(calls, "Recv u8 24 of 1"), 12);
        QCOMPARE(calls.back(), std::string("Destroy"));
        // The log has the calls of the GPU, as many and as large as those of the cpu.
        for (const CollectiveLog& row : logs[0])
            if (row.label == "sum" || row.label == "gathered") {
                QCOMPARE(row.calls, std::uint64_t{24});
                QCOMPARE(row.bytes, std::uint64_t(row.label == "sum" ? 24 * 40 : 24 * 16 * ranks));
            }
    }

    void aSingleRankMakesCalls() {
        const auto gpus = gpusFor(1, working());
        const Graph graph = sumOnGpu();
        const DeviceMap map = mapOf(gpus[0], makeThreadWorlds(1)[0]);
        // Before it has joined, its tensors go by the host.
        QVERIFY(!analyze(graph, map, Policy::strict, nullptr).hasErrors());
        QCOMPARE(runToEnd(planOf(graph, map, {}), {.iterations = 3}).status, RunStatus::finished);
        QCOMPARE(fake::ncclCalls(0), std::vector<std::string>());
        {
            const JoinedDevices joined(graph, map);
            QCOMPARE(joined.remarks(), std::vector<std::string>());
            QCOMPARE(runToEnd(planOf(graph, map, {}), {.iterations = 3}).status, RunStatus::finished);
        }
        QCOMPARE(std::ranges::count(fake::ncclCalls(0), "GroupEnd of 2"), 3);
        QVERIFY(!makesCalls(map, Device::cuda(0)));
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        // Without such a call, NCCL is not asked.
        fake::startNccl(working());
        GraphMaker other;
        other.node("Ones", "ones", "cuda:0", {{"shape", Ints{3}}});
        { const JoinedDevices joined(other.graph(), map); }
        QCOMPARE(fake::ncclCalls(0), std::vector<std::string>());
    }

    /// In data-parallel training, gradients stay on the GPU.
    void gradientsAreSummedWhereTheyAre() {
        const auto gpus = gpusFor(2, working());
        GraphMaker g;
        const NodeId w = g.node("Parameter", "w", "cuda:0", {{"shape", Ints{3}}});
        const NodeId square = g.node("Mul", "square", "cuda:0", {}, {w, w});
        const NodeId loss = g.node("ReduceSum", "loss", "cuda:0", {{"keepdims", false}}, {square});
        const auto copies = [&](const DeviceMap& map) {
            Graph graph = g.graph();
            const NodeId parameters[] = {w};
            graph.apply(makeTraining(graph, map, nullptr, loss, parameters, {}));
            int sums = 0;
            for (const Node& node : graph.nodes()) sums += node.op == "AllReduce" ? 1 : 0;
            if (sums != 1) qFatal("no sum over ranks");
            return std::ranges::count(graph.nodes(), "To", &Node::op);
        };
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const DeviceMap map = mapOf(gpus[static_cast<std::size_t>(world->rank())], world);
            if (copies(map) != -1 && !makesCalls(map, Device::cuda(0))) {
                const JoinedDevices joined(g.graph(), map);
                if (copies(map) != 0) qFatal("a gradient is copied");
                world->run({});
            }
        });
        QCOMPARE(errors, std::vector<std::string>(2));
    }

    /// Also with synchronized statistics, which are calls over ranks in the middle of both passes.
    void aTrainingIsThatOfOneProcess() {
        constexpr std::int64_t steps = 12;
        constexpr int ranks = 3;
        const auto gpus = gpusFor(ranks, working());
        const Problem problem = normalizedNetwork(50, 10, {}, "cuda:0");
        const auto trained = [&](const DeviceMap& map) {
            TrainerOptions options;
            options.syncBatchNorm = true;
            Trainer trainer(problem.graph, map, problem.files, options);
            while (trainer.place().steps < steps) {
                (void)trainer.run(steps - trainer.place().steps);
                trainer.compareParameters();
            }
            std::map<std::string, Values> out;
            for (const auto& [name, tensor] : trainer.parameters()) out[name] = valuesOf(tensor);
            return out;
        };
        const auto alone = trained(simulatedMap());
        std::vector<std::map<std::string, Values>> got(ranks);
        const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            const DeviceMap map = mapOf(gpus[rank], world);
            const JoinedDevices joined(problem.graph, map);
            got[rank] = trained(map);
            world->run({});
        });
        for (const std::string& error : errors) QVERIFY2(error.empty(), error.c_str());
        double far = 0;
        for (const auto& one : got) {
            QCOMPARE(one.size(), alone.size());
            for (const auto& [name, values] : alone)
                for (std::size_t i = 0; i < values.size(); ++i)
                    far = std::max(far, std::abs(values[i] - one.at(name)[i]));
        }
        QVERIFY2(far <= 1e-12, qPrintable(QString::number(far)));
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        // One group for all gradients, and a call for each BatchNormalization in the forward pass. In the
        // backward pass, the first needs none: its input is data.
        const auto calls = fake::ncclCalls(0);
        const auto count = [&](const char* start) {
            return std::ranges::count_if(calls,
                                         [&](const std::string& call) { return call.starts_with(start); });
        };
        QCOMPARE(count("GroupEnd of 6"), steps);
        QCOMPARE(count("AllGather"), 2 * steps);
        QCOMPARE(count("ReduceScatter"), steps);
    }

    void anErrorOfNcclIsASentence() {
        fake::Nccl nccl = working();
        nccl.failingRank = 1;
        nccl.failingCall = 6; // the second tensor in the third iteration
        const auto errors = failuresOf(nccl);
        const std::string wanted = "NCCL reports: unhandled system error: the stand-in was told to fail "
                                   "(ncclAllReduce for \"sum of both\"); NCCL_DEBUG=INFO makes it say more";
        QVERIFY2(errors[1].find(wanted) != std::string::npos, errors[1].c_str());
        // The other rank's call would wait forever: it is aborted with the sentence of the first.
        QVERIFY2(errors[0].find("rank 1 failed: ") != std::string::npos &&
                     errors[0].find(wanted) != std::string::npos,
                 errors[0].c_str());
        for (const int rank : {0, 1}) QCOMPARE(fake::ncclCalls(rank).back(), std::string("Abort"));
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// A connection that is lost while a call runs.
    void anErrorDuringACallEndsIt() {
        fake::Nccl nccl = working();
        nccl.failingRank = 0;
        nccl.failingCall = 3;
        nccl.later = true;
        const auto errors = failuresOf(nccl);
        QVERIFY2(errors[0].find("NCCL reports: remote process exited or there was a network error") !=
                     std::string::npos,
                 errors[0].c_str());
        QVERIFY2(errors[1].find("rank 0 failed: ") != std::string::npos, errors[1].c_str());
        for (const int rank : {0, 1}) QCOMPARE(fake::ncclCalls(rank).back(), std::string("Abort"));
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// A step of one rank fails, so that it does not make the call for which the other waits on its GPU.
    void aFailureElsewhereEndsTheCallsOfTheOthers() {
        const auto gpus = gpusFor(2, working());
        GraphMaker g;
        const auto file = [&](const char* name) {
            return g.node("File", name, "cuda:0", {{"path", std::string(name) + ".npy"}});
        };
        const NodeId ratio = g.node("Div", "ratio", "cuda:0", {}, {file("x"), file("y")});
        g.node("Probe", "seen", "cuda:0", {}, {g.node("AllReduce", "sum", "cuda:0", {}, {ratio})});
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            const auto files = std::make_shared<MemoryFiles>();
            files->put("x.npy", tensorOf(DType::i64, {2}, {6, 8}));
            files->put("y.npy", tensorOf(DType::i64, {2}, {3, rank == 1 ? 0.0 : 2.0}));
            const DeviceMap map = mapOf(gpus[rank], world);
            const JoinedDevices joined(g.graph(), map);
            const RunResult result = runToEnd(planOf(g.graph(), map, {}, files), {});
            if (result.status != RunStatus::finished)
                throw Error(ErrorCode::failed, result.errors.at(0).message);
        });
        QVERIFY2(errors[1].find("\"ratio\"") != std::string::npos, errors[1].c_str());
        QVERIFY2(errors[0].find("rank 1 failed: ") != std::string::npos &&
                     errors[0].find("\"ratio\"") != std::string::npos,
                 errors[0].c_str());
        for (const int rank : {0, 1}) QCOMPARE(fake::ncclCalls(rank).back(), std::string("Abort"));
        QCOMPARE(fake::ncclMistakes(), std::vector<std::string>());
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    void withoutNcclTheCpuMakesTheCalls_data() {
        QTest::addColumn<QByteArray>("library");
        QTest::addColumn<int>("version");
        QTest::addColumn<int>("init");
        QTest::addColumn<QString>("why");
        const QByteArray ours(TWB_FAKE_NCCL);
        QTest::newRow("missing") << QByteArray("/nowhere/libnccl.so.2") << 22809 << 0
                                 << "NCCL not found (/nowhere/libnccl.so.2) on rank 0";
        QTest::newRow("disabled") << QByteArray("none") << 22809 << 0
                                  << "TWB_NCCL=none disables NCCL on rank 0";
        QTest::newRow("another library")
            << QByteArray("libm.so.6") << 22809 << 0 << "libm.so.6 has no function ncclGetVersion on rank 0";
        QTest::newRow("old") << ours << 2708 << 0 << "NCCL 0.27 is too old: 2.10 is needed on rank 0";
        QTest::newRow("ranks on one GPU")
            << ours << 22809 << 5
            << "NCCL reports: invalid usage: the stand-in was told to fail "
               "(ncclCommInitRank); NCCL_DEBUG=INFO makes it say more on rank 0";
    }
    void withoutNcclTheCpuMakesTheCalls() {
        QFETCH(const QByteArray, library);
        QFETCH(const int, version);
        QFETCH(const int, init);
        QFETCH(const QString, why);
        fake::Nccl nccl = working();
        nccl.version = version;
        nccl.init = init;
        const auto gpus = gpusFor(2, nccl);
        qputenv("TWB_NCCL", library);
        std::vector<std::string> remarks(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            const DeviceMap map = mapOf(gpus[rank], world);
            const JoinedDevices joined(sumOnGpu(), map);
            if (joined.remarks().size() != 1) throw Error(ErrorCode::failed, "no remark");
            remarks[rank] = joined.remarks()[0];
            if (makesCalls(map, Device::cuda(0))) throw Error(ErrorCode::failed, "it has joined");
            world->run({});
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        const QString wanted =
            QString("cuda:0 cannot use NCCL: %1. Its tensors are copied to the cpu for calls over ranks.")
                .arg(why);
        for (const std::string& remark : remarks) QCOMPARE(QString::fromStdString(remark), wanted);
    }

    /// The other rank may wait in NCCL for the one that failed, so the world ends.
    void aFailureInsideNcclEndsTheWorld() {
        fake::Nccl nccl = working();
        nccl.init = cuda::nccl::kInternalError;
        for (const std::string& error : failuresOf(nccl))
            QVERIFY2(error.starts_with("rank ") && error.find(" failed: NCCL reports: ") != std::string::npos,
                     error.c_str());
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// One rank has a simulated GPU.
    void aRankWithoutAGpuKeepsAllFromJoining() {
        const auto gpus = gpusFor(2, working());
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const DeviceMap map = world->rank() == 0 ? mapOf(gpus[0], world) : mapIn(world);
            const JoinedDevices joined(sumOnGpu(), map);
            if (makesCalls(map, Device::cuda(0))) throw Error(ErrorCode::failed, "it has joined");
            if (world->rank() == 0 && joined.remarks().at(0) != kNoGpu)
                throw Error(ErrorCode::failed, joined.remarks()[0]);
            world->run({});
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// `auto` is a GPU on rank 0 and the cpu on rank 1.
    void autoMayBeAnotherDeviceOnEachRank() {
        const auto gpus = gpusFor(2, working());
        GraphMaker g;
        g.node("Ones", "a", "auto", {{"shape", Ints{3}}});
        g.node("Ones", "b", "cuda:0", {{"shape", Ints{3}}});
        std::vector<std::vector<std::string>> remarks(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            DeviceMap map;
            if (world->rank() == 0) map = mapOf(gpus[0], world);
            map.setWorld(world);
            const JoinedDevices joined(g.graph(), map);
            remarks[static_cast<std::size_t>(world->rank())] = joined.remarks();
            if (makesCalls(map, Device::cuda(0))) throw Error(ErrorCode::failed, "it has joined");
            world->run({});
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(remarks[0],
                 (std::vector<std::string>{
                     "cuda:0 cannot use NCCL, because rank 1 uses the cpu instead. Its tensors are "
                     "copied to the cpu for calls over ranks.",
                     kNoGpu}));
        // Where all ranks have the GPU, it joins once.
        const auto again = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const DeviceMap map = mapOf(gpus[static_cast<std::size_t>(world->rank())], world);
            const JoinedDevices joined(g.graph(), map);
            if (!joined.remarks().empty()) throw Error(ErrorCode::failed, joined.remarks()[0]);
            if (!makesCalls(map, Device::cuda(0))) throw Error(ErrorCode::failed, "it has not joined");
            world->run({});
        });
        QCOMPARE(again, std::vector<std::string>(2));
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// A rank whose GPU is lost does not reach NCCL, in which the other would wait for it for ever.
    void aRankThatFailsBeforeNcclKeepsAllFromJoining() {
        const auto gpus = gpusFor(2, working());
        fake::lose({.number = 1});
        std::vector<std::string> remarks(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            const DeviceMap map = mapOf(gpus[rank], world);
            const JoinedDevices joined(sumOnGpu(), map);
            remarks[rank] = joined.remarks().at(0);
            if (makesCalls(map, Device::cuda(0))) throw Error(ErrorCode::failed, "it has joined");
            world->run({});
        });
        fake::giveBack();
        QCOMPARE(errors, std::vector<std::string>(2));
        QVERIFY2(remarks[0].starts_with("cuda:0 cannot use NCCL: ") &&
                     remarks[0].find(" on rank 0. Its tensors") != std::string::npos,
                 remarks[0].c_str());
        QCOMPARE(fake::liveCommunicators(), 0);
    }

    /// Our own declarations against NCCL's header and library, where the toolkit has them.
    void declarationsAreThoseOfNccl() {
#if __has_include(<nccl.h>)
        static_assert(sizeof(cuda::nccl::UniqueId) == sizeof(ncclUniqueId));
        static_assert(int{cuda::nccl::kRemoteError} == int{ncclRemoteError});
        static_assert(int{cuda::nccl::kInProgress} == int{ncclInProgress});
        static_assert(int{cuda::nccl::kInt8} == int{ncclInt8} && int{cuda::nccl::kUint8} == int{ncclUint8});
        static_assert(int{cuda::nccl::kInt32} == int{ncclInt32} &&
                      int{cuda::nccl::kUint32} == int{ncclUint32});
        static_assert(int{cuda::nccl::kInt64} == int{ncclInt64} &&
                      int{cuda::nccl::kUint64} == int{ncclUint64});
        static_assert(int{cuda::nccl::kFloat16} == int{ncclFloat16} &&
                      int{cuda::nccl::kFloat32} == int{ncclFloat32});
        static_assert(int{cuda::nccl::kFloat64} == int{ncclFloat64} &&
                      int{cuda::nccl::kBfloat16} == int{ncclBfloat16});
        static_assert(int{cuda::nccl::kSum} == int{ncclSum} && int{cuda::nccl::kMax} == int{ncclMax} &&
                      int{cuda::nccl::kAverage} == int{ncclAvg});
        using Library = cuda::nccl::Library;
        static_assert(isLike<decltype(Library::version), decltype(&ncclGetVersion)>());
        static_assert(isLike<decltype(Library::uniqueId), decltype(&ncclGetUniqueId)>());
        static_assert(isLike<decltype(Library::init), decltype(&ncclCommInitRank)>());
        static_assert(isLike<decltype(Library::destroy), decltype(&ncclCommDestroy)>());
        static_assert(isLike<decltype(Library::abort), decltype(&ncclCommAbort)>());
        static_assert(isLike<decltype(Library::errorText), decltype(&ncclGetErrorString)>());
        static_assert(isLike<decltype(Library::asyncError), decltype(&ncclCommGetAsyncError)>());
        static_assert(isLike<decltype(Library::groupEnd), decltype(&ncclGroupEnd)>());
        static_assert(isLike<decltype(Library::allReduce), decltype(&ncclAllReduce)>());
        static_assert(isLike<decltype(Library::broadcast), decltype(&ncclBroadcast)>());
        static_assert(isLike<decltype(Library::reduce), decltype(&ncclReduce)>());
        static_assert(isLike<decltype(Library::allGather), decltype(&ncclAllGather)>());
        static_assert(isLike<decltype(Library::reduceScatter), decltype(&ncclReduceScatter)>());
        static_assert(isLike<decltype(Library::send), decltype(&ncclSend)>());
        static_assert(isLike<decltype(Library::receive), decltype(&ncclRecv)>());
#endif
        qunsetenv("TWB_NCCL");
        std::string problem;
        const auto library = cuda::nccl::open(problem);
        if (!library) QSKIP("no libnccl.so.2 to look into");
        QCOMPARE(std::string(library->errorText(cuda::nccl::kInvalidUsage)).substr(0, 7),
                 std::string("invalid"));
    }
};

TWB_TEST_MAIN(TestRankCalls)
#include "test_rank_calls.moc"
