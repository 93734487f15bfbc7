#include "backends/rank_device.h"
#include "backends/simulated/simulated_backend.h"
#include "core/format.h"
#include "profile/ledger.h"
#include "profile/report.h"
#include "runs.h"
#include "runtime/same_plan.h"
#include "support/op_runner.h"
#include "support/ranks.h"
#include "support/test_main.h"
#include "training/backward.h"

#include <fmt/format.h>

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

using Values = std::vector<double>;

/// loss = Σ c · op(x), with tensors x and c of each rank's own.
struct Weighted {
    Weighted(const char* op, const Attributes& attributes) {
        x = g.node("File", "x", "cpu", {{"path", std::string("x.npy")}});
        const NodeId c = g.node("File", "c", "cpu", {{"path", std::string("c.npy")}});
        y = g.node(op, "y", "cpu", attributes, {x});
        const NodeId product = g.node("Mul", "product", "cpu", {}, {y, c});
        loss = g.node("ReduceSum", "loss", "cpu", {{"keepdims", false}}, {product});
    }
    GraphMaker g;
    NodeId x, y, loss;
};

/// A graph, and the output that is read.
struct Problem {
    Graph graph;
    PortRef output;
};

/// Runs a graph on ranks with their own files. By rank, the values of an output.
std::vector<Values> runOnRanks(int ranks,
                               const std::function<Problem(const DeviceMap&, const TensorFiles&)>& make,
                               const std::vector<std::shared_ptr<MemoryFiles>>& files) {
    std::vector<Values> out(static_cast<std::size_t>(ranks));
    const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
        const auto r = static_cast<std::size_t>(world->rank());
        const DeviceMap map = mapIn(world);
        const Problem problem = make(map, *files[r]);
        CompileOptions options;
        options.keep = {problem.output};
        const RunResult result = runToEnd(planOf(problem.graph, map, options, files[r]), {});
        if (result.status != RunStatus::finished) throw Error(ErrorCode::failed, result.errors.at(0).message);
        out[r] = valuesOf(toHost(*result.tensor(problem.output), map));
    });
    for (const std::string& error : errors)
        if (!error.empty()) qFatal("%s", error.c_str());
    return out;
}

/// A GPU that makes calls over ranks once it has joined, as with NCCL; it never does.
class UnjoinedGpu final : public Backend, public RankDevice {
public:
    const DeviceInfo& info() const override { return m_gpu->info(); }
    const DeviceProfile& profile() const override { return m_gpu->profile(); }
    Allocator& memory() override { return m_gpu->memory(); }
    std::size_t freeBytes() override { return m_gpu->freeBytes(); }
    Allocator& pinnedMemory() override { return m_gpu->pinnedMemory(); }
    std::unique_ptr<Stream> createStream(QueueKind kind) override {
        if (kind == QueueKind::collective) qFatal("a device that has not joined has no stream for calls");
        return m_gpu->createStream(kind);
    }
    std::unique_ptr<Event> createEvent() override { return m_gpu->createEvent(); }
    bool supports(const char* op, HostKernel host, std::span<const DType> dtypes) const override {
        return m_gpu->supports(op, host, dtypes);
    }
    bool canCopyTo(const Backend& other) const override { return m_gpu->canCopyTo(other); }
    void collect(std::span<LaunchTiming> timings) override { m_gpu->collect(timings); }

    std::string whyNoCalls() const override { return "this test has no library for them"; }
    void join(World&) override { throw Error(ErrorCode::failed, whyNoCalls()); }
    bool hasJoined() const noexcept override { return false; }
    void leave() noexcept override {}

private:
    std::shared_ptr<Backend> m_gpu = makeSimulatedBackend(Device::cuda(0), roundProfile());
};

DeviceMap mapWithUnjoinedGpu(const std::shared_ptr<World>& world) {
    DeviceMap map;
    map.set(Device::cuda(0), std::make_shared<UnjoinedGpu>(), true);
    map.setWorld(world);
    return map;
}

RunResult runIn(const std::shared_ptr<World>& world, const Graph& graph, const CompileOptions& options = {},
                const std::shared_ptr<const TensorFiles>& files = nullptr) {
    return runToEnd(planOf(graph, mapIn(world), options, files), {});
}

} // namespace

class TestCollectives : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gradientsAreThoseOfTheSumOfAllLosses_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("attribute");
        QTest::addColumn<int>("given");
        QTest::addColumn<int>("result");
        QTest::newRow("sum") << "AllReduce"
                             << "reduction=sum" << 3 << 3;
        QTest::newRow("mean") << "AllReduce"
                              << "reduction=mean" << 3 << 3;
        QTest::newRow("max") << "AllReduce"
                             << "reduction=max" << 3 << 3;
        QTest::newRow("broadcast") << "Broadcast"
                                   << "root=1" << 3 << 3;
        QTest::newRow("reduce") << "Reduce"
                                << "root=2" << 3 << 3;
        QTest::newRow("gather") << "AllGather"
                                << "" << 2 << 6;
        QTest::newRow("scatter") << "ReduceScatter"
                                 << "" << 6 << 2;
        QTest::newRow("send") << "SendReceive"
                              << "target=2" << 3 << 3;
        QTest::newRow("barrier") << "Barrier"
                                 << "" << 3 << 3;
    }
    /// v·J of each op against central differences of the sum of all ranks' losses.
    void gradientsAreThoseOfTheSumOfAllLosses() {
        QFETCH(const QString, op);
        QFETCH(const QString, attribute);
        QFETCH(const int, given);
        QFETCH(const int, result);
        constexpr int ranks = 3;
        Attributes attributes;
        const QStringList parts = attribute.split('=');
        if (parts[0] == "reduction") attributes.set("reduction", parts[1].toStdString());
        if (parts[0] == "root") attributes.set("root", std::int64_t{parts[1].toInt()});
        if (parts[0] == "target") attributes.set("target", std::int64_t{parts[1].toInt()});
        const Weighted weighted(op.toUtf8().constData(), attributes);

        Dice dice(11);
        std::vector<Values> x(ranks);
        std::vector<std::shared_ptr<MemoryFiles>> files;
        for (int r = 0; r < ranks; ++r) {
            Values c;
            for (int i = 0; i < given; ++i)
                x[static_cast<std::size_t>(r)].push_back(dice.integer(-50, 50) * 0.1 + 0.03 * r);
            for (int i = 0; i < result; ++i) c.push_back(dice.real(-2, 2));
            files.push_back(std::make_shared<MemoryFiles>());
            files.back()->put("c.npy", tensorOf(DType::f64, {result}, c));
        }
        const auto putX = [&] {
            for (std::size_t r = 0; r < files.size(); ++r)
                files[r]->put("x.npy", tensorOf(DType::f64, {given}, x[r]));
        };
        const auto lossNow = [&] {
            putX();
            double sum = 0;
            for (const Values& loss : runOnRanks(
                     ranks,
                     [&](const DeviceMap&, const TensorFiles&) {
                         return Problem{weighted.g.graph(), {weighted.loss, 0}};
                     },
                     files))
                sum += loss.at(0);
            return sum;
        };
        putX();
        const std::vector<Values> gradients = runOnRanks(
            ranks,
            [&](const DeviceMap& map, const TensorFiles& own) {
                const Analysis analysis = analyze(weighted.g.graph(), map, Policy::strict, &own);
                DeltaBuilder builder(weighted.g.graph(), "");
                const NodeId parameters[] = {weighted.x};
                const auto found =
                    addBackward(builder, analysis, {weighted.loss, 0}, parameters, FrameId::none);
                return Problem{builder.graph(), found.at(0)};
            },
            files);
        constexpr double step = 1e-6;
        for (std::size_t r = 0; r < x.size(); ++r)
            for (std::size_t i = 0; i < x[r].size(); ++i) {
                const double before = x[r][i];
                x[r][i] = before + step;
                const double above = lossNow();
                x[r][i] = before - step;
                const double below = lossNow();
                x[r][i] = before;
                const double wanted = (above - below) / (2 * step);
                QVERIFY2(std::abs(gradients[r].at(i) - wanted) < 1e-7,
                         qPrintable(QString("rank %1, element %2: %3, not %4")
                                        .arg(r)
                                        .arg(i)
                                        .arg(gradients[r].at(i))
                                        .arg(wanted)));
            }
    }

    /// Several tensors of one call.
    void aBucketIsOneCall() {
        std::vector<std::vector<float>> first(2);
        std::vector<std::vector<float>> second(2);
        std::vector<CollectiveLog> log;
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const double own = world->rank() + 1;
            const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{3}}, {"value", own}});
            const NodeId b = g.node("Full", "b", "cpu", {{"shape", Ints{2, 2}}, {"value", 10 * own}});
            const NodeId sum = g.node("AllReduce", "sum", "cpu", {{"num_outputs", std::int64_t{2}}}, {a, b});
            CompileOptions options;
            options.keep = {{sum, 0}, {sum, 1}};
            const DeviceMap map = mapIn(world);
            const RunResult result = runToEnd(planOf(g.graph(), map, options), {});
            if (result.status != RunStatus::finished)
                throw Error(ErrorCode::failed, result.errors.at(0).message);
            const auto r = static_cast<std::size_t>(world->rank());
            const auto values = [&](int port) {
                const auto span = result.tensor({sum, port})->values<float>();
                return std::vector<float>(span.begin(), span.end());
            };
            first[r] = values(0);
            second[r] = values(1);
            if (r == 0) log = world->log();
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        for (std::size_t r = 0; r < 2; ++r) {
            QCOMPARE(first[r], std::vector<float>(3, 3));
            QCOMPARE(second[r], std::vector<float>(4, 30));
        }
        QCOMPARE(log.size(), 1U);
        QCOMPARE(log[0].label, std::string("sum"));
        QCOMPARE(log[0].bytes, 28U);
    }

    void anyDTypeIsMoved_data() {
        QTest::addColumn<int>("dtype");
        for (const DType dtype : kAllDTypes)
            QTest::newRow(std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
    }
    /// Seven elements: the packed dtypes end inside a byte.
    void anyDTypeIsMoved() {
        QFETCH(const int, dtype);
        const auto type = static_cast<DType>(dtype);
        constexpr std::size_t ranks = 3;
        // Whole numbers from 0 to 3 are elements of most dtypes; the others have their nearest ones.
        const auto own = [&](std::size_t rank) {
            Values values;
            for (std::size_t i = 0; i < 7; ++i) values.push_back(static_cast<double>((i * i + rank) % 4));
            return tensorOf(type, {7}, values);
        };
        Values joined;
        for (std::size_t r = 0; r < ranks; ++r)
            for (const double value : valuesOf(own(r))) joined.push_back(value);
        std::vector<std::map<std::string, Values>> results(ranks);
        std::vector<std::map<std::string, std::uint64_t>> bytes(ranks);
        const auto errors = onRanks(static_cast<int>(ranks), [&](const std::shared_ptr<World>& world) {
            const auto r = static_cast<std::size_t>(world->rank());
            const auto files = std::make_shared<MemoryFiles>();
            files->put("x.npy", own(r));
            GraphMaker g;
            const NodeId x = g.node("File", "x", "cpu", {{"path", std::string("x.npy")}});
            std::map<std::string, NodeId> made{
                {"given", g.node("Broadcast", "given", "cpu", {{"root", std::int64_t{2}}}, {x})},
                {"all", g.node("AllGather", "all", "cpu", {}, {x})},
                {"sent", g.node("SendReceive", "sent", "cpu", {{"target", std::int64_t{1}}}, {x})},
                {"met", g.node("Barrier", "met", "cpu", {}, {x})}};
            CompileOptions options;
            for (const auto& [label, node] : made) options.keep.insert({node, 0});
            const RunResult result = runIn(world, g.graph(), options, files);
            if (result.status != RunStatus::finished)
                throw Error(ErrorCode::failed, result.errors.at(0).message);
            for (const auto& [label, node] : made) results[r][label] = valuesOf(*result.tensor({node, 0}));
            for (const CollectiveLog& row : world->log()) bytes[r][row.label] += row.bytes;
        });
        QCOMPARE(errors, std::vector<std::string>(ranks));
        const auto size = static_cast<std::uint64_t>(Shape{7}.byteCount(type));
        for (std::size_t r = 0; r < ranks; ++r) {
            QCOMPARE(results[r]["given"], valuesOf(own(2)));
            QCOMPARE(results[r]["all"], joined);
            QCOMPARE(results[r]["met"], valuesOf(own(r)));
            QCOMPARE(bytes[r]["given"], size);
            QCOMPARE(bytes[r]["all"], 3 * size);
        }
        QCOMPARE(results[1]["sent"], valuesOf(own(0)));
    }

    /// A sum is refused before the run where it is not defined, and nowhere else.
    void sumsOfOtherThanNumbersAreRefused() {
        for (const DType dtype : kAllDTypes)
            for (const char* op : {"AllReduce", "Reduce", "ReduceScatter"}) {
                GraphMaker g;
                const NodeId x =
                    g.node("Constant", "x", "cpu",
                           {{"value", 1.0}, {"shape", Ints{4}}, {"dtype", std::string(name(dtype))}});
                g.node(op, "sum", "cpu", {}, {x});
                const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
                if (isFloating(dtype) || isInteger(dtype)) {
                    QCOMPARE(analysis.errorCount(), 0U);
                    continue;
                }
                QCOMPARE(analysis.errorCount(), 1U);
                const std::string& message = analysis.diagnostics.front().message;
                if (dtype == DType::boolean && std::string_view(op) == "AllReduce") {
                    QVERIFY2(
                        message.find("the sum over ranks needs a number, not bool: cast the tensor, or set "
                                     "reduction to max") != std::string::npos,
                        message.c_str());
                    continue;
                }
                QVERIFY2(
                    message.find(fmt::format("{} is not implemented for {}: its input X takes f32, f64, f16, "
                                             "bf16, i8, i16, i32, i64, u8, u16, u32, u64",
                                             op, name(dtype))) != std::string::npos,
                    message.c_str());
            }
    }

    void theMaximumOfBoolsIsTrueWhereItIsOnAnyRank() {
        constexpr std::size_t ranks = 3;
        for (const bool isGroup : {false, true}) {
            std::vector<Values> results(ranks);
            const auto errors = onRanks(static_cast<int>(ranks), [&](const std::shared_ptr<World>& world) {
                const auto r = static_cast<std::size_t>(world->rank());
                const auto files = std::make_shared<MemoryFiles>();
                Values own(4); // false on all ranks, true on one, true on one, true on all
                own[1] = r == 0;
                own[2] = r == 2;
                own[3] = 1;
                files->put("x.npy", tensorOf(DType::boolean, {4}, own));
                GraphMaker g;
                const NodeId x = g.node("File", "x", "cpu", {{"path", std::string("x.npy")}});
                const NodeId any = g.node(
                    "AllReduce", "any", "cpu",
                    {{"reduction", std::string("max")}, {"num_outputs", std::int64_t{isGroup ? 2 : 1}}},
                    isGroup ? std::vector<NodeId>{x, x} : std::vector<NodeId>{x});
                CompileOptions options;
                options.keep.insert({any, isGroup ? 1 : 0});
                const RunResult result = runIn(world, g.graph(), options, files);
                if (result.status != RunStatus::finished)
                    throw Error(ErrorCode::failed, result.errors.at(0).message);
                const Tensor& tensor = *result.tensor({any, isGroup ? 1 : 0});
                if (tensor.dtype() != DType::boolean) throw Error(ErrorCode::failed, "not bool");
                results[r] = valuesOf(tensor);
            });
            QCOMPARE(errors, std::vector<std::string>(ranks));
            for (const Values& values : results) QCOMPARE(values, (Values{0, 1, 1, 1}));
        }
    }

    void shapesDependOnTheNumberOfRanks() {
        std::vector<std::string> said(3);
        onRanks(3, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{6, 2}}, {"value", 1.0}});
            const NodeId four = g.node("Full", "four", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
            const NodeId all = g.node("AllGather", "all", "cpu", {}, {a});
            const NodeId part = g.node("ReduceScatter", "part", "cpu", {}, {a});
            g.node("ReduceScatter", "uneven", "cpu", {}, {four});
            g.node("Broadcast", "far", "cpu", {{"root", std::int64_t{3}}}, {a});
            const NodeId whole =
                g.node("Constant", "whole", "cpu", {{"value", 2.0}, {"dtype", std::string("i64")}});
            g.node("AllReduce", "mean", "cpu", {{"reduction", std::string("mean")}}, {whole});
            const Analysis analysis = analyze(g.graph(), mapIn(world), Policy::strict, nullptr);
            std::string& out = said[static_cast<std::size_t>(world->rank())];
            out = analysis.typeOf({all, 0})->toString() + ", " + analysis.typeOf({part, 0})->toString();
            for (const Diagnostic& d : analysis.diagnostics)
                if (d.severity == Severity::error) out += " | " + d.message;
        });
        for (const std::string& out : said) {
            QVERIFY2(out.starts_with("f32 18×2, f32 2×2 | "), out.c_str());
            QVERIFY2(out.find("splits axis 0 over 3 ranks, but its size 4 is not a multiple of 3") !=
                         std::string::npos,
                     out.c_str());
            QVERIFY2(out.find("root is rank 3, but this run has ranks 0 to 2") != std::string::npos,
                     out.c_str());
            QVERIFY2(out.find("the mean over ranks needs a floating-point dtype, not i64") !=
                         std::string::npos,
                     out.c_str());
        }
    }

    /// Alone, a graph over ranks can be checked and run, unless it names another rank.
    void oneRankIsAlsoAWorld() {
        GraphMaker g;
        const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{2}}, {"value", 3.0}});
        const NodeId sum = g.node("AllReduce", "sum", "cpu", {}, {a});
        const NodeId all = g.node("AllGather", "all", "cpu", {}, {sum});
        CompileOptions options;
        options.keep = {{all, 0}};
        const DeviceMap map = simulatedMap();
        const RunResult result = runToEnd(planOf(g.graph(), map, options), {});
        QCOMPARE(floats(result, all, map), (std::vector<float>{3, 3}));
        g.node("SendReceive", "there", "cpu", {}, {a});
        const RunResult refused = runToEnd(planOf(g.graph(), map, options), {});
        QCOMPARE(refused.status, RunStatus::failed);
        QCOMPARE(refused.errors.at(0).message,
                 std::string("SendReceive \"there\": target is rank 1, but this run has only rank 0: start "
                             "it with mpirun -n 2, or set target "
                             "to a smaller rank"));
    }

    /// On the virtual clock, a call takes the time of the link, however long it took here.
    void aSimulatedLinkTakesTheTimeOfItsModel() {
        const auto world = makeSimulatedWorld("4:25gbe:ring");
        const DeviceMap map = mapIn(world);
        GraphMaker g;
        const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{1000}}, {"value", 1.0}});
        const NodeId sum = g.node("AllReduce", "sum", "cpu", {}, {a});
        g.node("Probe", "seen", "cpu", {}, {sum});
        const auto plan = planOf(g.graph(), map);
        QVERIFY(plan->virtualClock);
        QCOMPARE(plan->transfers.size(), 1U);
        const Transfer& row = plan->transfers[0];
        QCOMPARE(row.kind, TransferKind::collective);
        QVERIFY(row.modelled);
        QCOMPARE(row.bytes, 4000U);
        QCOMPARE(row.wireBytes, 6000U);
        const double wanted = 6 * 30000 + 1.5 * 4000 / 2.9;
        QCOMPARE(row.predictedNs, wanted);
        Ledger ledger(plan);
        Recorder recorder;
        RunOptions options;
        options.iterations = 5;
        const RunResult result = runToEnd(plan, options, &recorder);
        ledger.add(recorder.records);
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(ledger.rows()[0].count, 5U);
        QCOMPARE(ledger.rows()[0].bytes, 20000U);
        QCOMPARE(ledger.rows()[0].totalNs, 5 * std::llround(wanted));
        QCOMPARE(floats(result, sum, map)[0], 4.0F);
    }

    /// All calls are in one stream, whatever their lanes: each rank makes them in the same order.
    void callsOfAllLanesShareAStream() {
        std::vector<int> streams(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            for (const char* device : {"cpu", "cuda:0"}) {
                const NodeId a = g.node("Full", std::string("a on ") + device, device,
                                        {{"shape", Ints{100}}, {"value", 1.0}});
                const NodeId sum = g.node("AllReduce", std::string("sum on ") + device, device, {}, {a});
                g.node("Probe", std::string("seen on ") + device, device, {}, {sum});
            }
            const DeviceMap map = mapIn(world);
            const auto plan = planOf(g.graph(), map);
            int& count = streams[static_cast<std::size_t>(world->rank())];
            for (const PlanStream& stream : plan->streams) count += stream.queue == QueueKind::collective;
            RunOptions options;
            options.iterations = 50;
            const RunResult result = runToEnd(plan, options);
            if (result.status != RunStatus::finished)
                throw Error(ErrorCode::failed, result.errors.at(0).message);
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(streams, (std::vector<int>{1, 1}));
    }

    /// A step fails on one rank: it makes no later call in the place of the one that it left out.
    void aFailureEndsTheRunsOfAllRanks() {
        std::vector<std::string> said(3);
        onRanks(3, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId data = g.node("Full", "data", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
            const auto files = std::make_shared<MemoryFiles>();
            const double at = world->rank() == 1 ? 9 : 0; // outside of the data
            files->put("at.npy", tensorOf(DType::i64, {1}, {at}));
            const NodeId index = g.node("File", "index", "cpu", {{"path", std::string("at.npy")}});
            const NodeId picked = g.node("Gather", "picked", "cpu", {}, {data, index});
            const NodeId sum = g.node("AllReduce", "sum", "cpu", {}, {picked});
            const NodeId other = g.node("AllReduce", "other", "cpu", {}, {data});
            g.node("Probe", "seen", "cpu", {}, {sum});
            g.node("Probe", "seen too", "cpu", {}, {other});
            const RunResult result = runIn(world, g.graph(), {}, files);
            if (result.status == RunStatus::failed)
                said[static_cast<std::size_t>(world->rank())] = result.errors.at(0).message;
        });
        for (const std::string& one : said)
            QVERIFY2(one.find("Gather \"picked\": ") != std::string::npos, one.c_str());
        for (const std::size_t r : {0U, 2U})
            QVERIFY2(said[r].find("rank 1 failed: Gather \"picked\": ") != std::string::npos,
                     said[r].c_str());
    }

    /// Also if no step is a call: the ranks report to each other after the run.
    void aFailureWithoutCallsEndsTheOtherRanks() {
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId data = g.node("Full", "data", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
            const auto files = std::make_shared<MemoryFiles>();
            files->put("at.npy", tensorOf(DType::i64, {1}, {world->rank() == 1 ? 9.0 : 0.0}));
            const NodeId index = g.node("File", "index", "cpu", {{"path", std::string("at.npy")}});
            g.node("Probe", "seen", "cpu", {}, {g.node("Gather", "picked", "cpu", {}, {data, index})});
            const RunResult result = runIn(world, g.graph(), {}, files);
            if (result.status == RunStatus::finished) world->run({});
        });
        QVERIFY2(errors[0].starts_with("rank 1 failed: Gather \"picked\": "), errors[0].c_str());
    }

    void resultsOverRanksAreNotCached() {
        std::vector<double> counts(2);
        onRanks(2, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{1}}, {"value", 1.0}});
            g.node("Probe", "seen", "cpu", {}, {g.node("AllReduce", "sum", "cpu", {}, {a})});
            const auto plan = planOf(g.graph(), mapIn(world));
            Executor executor;
            RunOptions options;
            options.cache = true;
            for (int i = 0; i < 3; ++i) {
                Recorder recorder;
                executor.start(plan, options, recorder);
                executor.wait();
            }
            counts[static_cast<std::size_t>(world->rank())] = static_cast<double>(world->log().at(0).calls);
        });
        QCOMPARE(counts, (std::vector<double>{3, 3}));
    }

    void aGpuThatHasNotJoinedCallsByItsHost_data() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<bool>("simulated");
        QTest::newRow("alone") << 1 << false;
        QTest::newRow("two ranks") << 2 << false;
        QTest::newRow("four simulated ranks") << 4 << true;
    }
    /// As in `twb check` and in the window, where no GPU joins others.
    void aGpuThatHasNotJoinedCallsByItsHost() {
        QFETCH(const int, ranks);
        QFETCH(const bool, simulated);
        GraphMaker g;
        const NodeId a = g.node("Full", "a", "cuda:0", {{"shape", Ints{3}}, {"value", 1.5}});
        const NodeId b = g.node("Neg", "b", "cuda:0", {}, {a});
        const NodeId sum = g.node("AllReduce", "sum", "cuda:0", {{"num_outputs", std::int64_t{2}}}, {a, b});
        const NodeId after = g.node("Abs", "after", "cuda:0");
        g.connect(sum, after, 0, 1);
        const NodeId all = g.node("AllGather", "all", "cuda:0", {}, {after});
        CompileOptions options;
        options.keep = {{sum, 0}, {all, 0}};
        const auto check = [&](const std::shared_ptr<World>& world) {
            const DeviceMap map = mapWithUnjoinedGpu(world);
            if (analyze(g.graph(), map, Policy::strict, nullptr).hasErrors())
                throw Error(ErrorCode::failed, "a call on the GPU is refused");
            const auto plan = planOf(g.graph(), map, options);
            for (const Step& step : plan->steps) {
                const Device device = plan->streams[step.stream].device;
                if (plan->isCollective(step) != (device == Device::cpu()))
                    throw Error(ErrorCode::failed, step.label + " is on " + device.toString());
            }
            if (plan->values[plan->valueOf({sum, 1})].device != Device::cuda(0))
                throw Error(ErrorCode::failed, "the sum is not on the GPU");
            const RunResult result = runToEnd(plan, {.iterations = 3});
            if (result.status != RunStatus::finished)
                throw Error(ErrorCode::failed, result.errors.at(0).message);
            const float each = 1.5F * static_cast<float>(ranks);
            if (floats(result, sum, map) != std::vector<float>(3, each) ||
                floats(result, all, map) != std::vector<float>(static_cast<std::size_t>(3 * ranks), each))
                throw Error(ErrorCode::failed, "a wrong sum");
        };
        if (simulated)
            check(makeSimulatedWorld("4:pcie"));
        else
            QCOMPARE(onRanks(ranks, check), std::vector<std::string>(static_cast<std::size_t>(ranks)));
    }

    void plansThatDifferAreRefusedWithTheFirstStep() {
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
            const NodeId b =
                g.node("LeakyRelu", "b", "cpu", {{"alpha", world->rank() == 2 ? 0.2 : 0.1}}, {a});
            g.node("Probe", "seen", "cpu", {}, {g.node("AllReduce", "sum", "cpu", {}, {b})});
            const DeviceMap map = mapIn(world);
            requireSamePlan(*planOf(g.graph(), map));
        });
        for (const std::string& error : errors)
            QCOMPARE(
                error,
                std::string(
                    "rank 2 would not run the same graph as rank 0: LeakyRelu \"b\" of "
                    "rank 0 is the first that differs (in its settings, types or inputs); give all ranks "
                    "the same project, data and options"));
        const auto shorter = onRanks(2, [&](const std::shared_ptr<World>& world) {
            GraphMaker g;
            const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
            if (world->rank() == 0)
                g.node("Probe", "seen", "cpu", {}, {g.node("AllReduce", "sum", "cpu", {}, {a})});
            requireSamePlan(*planOf(g.graph(), mapIn(world)));
        });
        for (const std::string& error : shorter)
            QVERIFY2(
                error.find("AllReduce \"sum\" of rank 0 is the first that differs, rank 1 has no node") !=
                    std::string::npos,
                error.c_str());
        QCOMPARE(
            onRanks(3,
                    [&](const std::shared_ptr<World>& world) {
                        GraphMaker g;
                        const NodeId a = g.node("Full", "a", "cpu", {{"shape", Ints{4}}, {"value", 1.0}});
                        g.node("AllReduce", "sum", "cpu", {}, {a});
                        requireSamePlan(*planOf(g.graph(), mapIn(world)));
                    }),
            std::vector<std::string>(3));
    }
};

TWB_TEST_MAIN(TestCollectives)
#include "test_collectives.moc"
