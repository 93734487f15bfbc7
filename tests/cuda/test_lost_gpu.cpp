#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "cuda/fake_runtime.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <fmt/format.h>

using namespace twb;
using namespace twb::test;

namespace {

/// Enough for CUDA graphs. All iterations compute the same, so only a run of one iteration shows a result
/// that was computed from lost data.
constexpr int kIterations = 10;

DeviceMap gpus() {
    fake::start({.gpus = 2, .eventScale = 0.01});
    std::string problem;
    DeviceMap map;
    for (const auto& backend : cuda::findGpus(problem)) map.set(backend->info().device, backend, true);
    return map;
}

/// Work on cpu, cuda:0 and cuda:1 with copies in all directions, and a branch that never leaves cpu.
struct Branches {
    GraphMaker g;
    NodeId back;
    NodeId other;
    NodeId alone;
    Branches() {
        const Attributes shape{{"shape", Ints{8, 8}}};
        const NodeId x = g.node("RandomNormal", "x", "cpu", shape);
        const NodeId changed = g.node("Exp", "changed", "cpu", {}, {x});
        const NodeId up = g.node("To", "up", "cuda:0", {}, {changed});
        const NodeId weight = g.node("RandomNormal", "weight", "cuda:0", shape);
        const NodeId product = g.node("MatMul", "product", "cuda:0", {}, {up, weight});
        const NodeId relu = g.node("Relu", "relu", "cuda:0", {}, {product});
        const NodeId chain =
            g.node("Neg", "negative", "cuda:0", {}, {g.node("Exp", "grown", "cuda:0", {}, {relu})});
        const NodeId sum = g.node("ReduceSum", "sum", "cuda:0", {}, {chain});
        back = g.node("Neg", "back", "cpu", {}, {g.node("To", "down", "cpu", {}, {relu})});
        other = g.node("Neg", "other", "cuda:1", {}, {g.node("To", "across", "cuda:1", {}, {sum})});
        alone = g.node("Neg", "alone", "cpu", {}, {g.node("Ones", "ones", "cpu", shape)});
    }
    std::shared_ptr<const Plan> plan(const DeviceMap& map) const {
        return planOf(g.graph(), map, {.keep = {{back, 0}, {other, 0}, {alone, 0}}});
    }
};

struct Outcome {
    RunStatus status = RunStatus::failed;
    std::vector<std::string> sentences;
    std::vector<std::string> nodes; ///< by sentence; none if the run did not start
    std::vector<float> back;
    std::vector<float> other;
    std::vector<float> alone;
};

/// A run's results, or the error that refused it, with all its memory freed.
Outcome run(const Branches& graph, const std::shared_ptr<const Plan>& plan, int iterations = kIterations) {
    Outcome out;
    const auto valuesOf = [&](const RunResult& result, NodeId node) {
        try {
            return floats(result, node, plan->devices);
        } catch (const Error&) { // the GPU that holds it is lost
            return std::vector<float>{};
        }
    };
    try {
        const RunResult result = runToEnd(plan, {.iterations = iterations});
        out.status = result.status;
        for (const StepError& error : result.errors) {
            out.sentences.push_back(error.message);
            out.nodes.push_back(plan->steps[error.step].label);
        }
        out.back = valuesOf(result, graph.back);
        out.other = valuesOf(result, graph.other);
        out.alone = valuesOf(result, graph.alone);
    } catch (const Error& error) {
        out.sentences.emplace_back(error.what());
    }
    return out;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// Why the sentences of a failed run do not help a user; empty if they do.
std::string faultOf(const Outcome& outcome) {
    if (outcome.status != RunStatus::failed) return "the run did not fail";
    if (outcome.sentences.empty()) return "no sentence";
    for (std::size_t i = 0; i < outcome.sentences.size(); ++i) {
        const std::string& said = outcome.sentences[i];
        const bool named = outcome.nodes.empty() || contains(said, fmt::format("\"{}\": ", outcome.nodes[i]));
        const bool wayOut =
            contains(said, "cuda:0 can no longer be used; restart the program, or simulate cuda:0: CUDA") ||
            contains(said, "cuda:0 cannot be used now; run again later, or simulate cuda:0: CUDA");
        if (!named || !wayOut) return said;
    }
    return {};
}

} // namespace

/// GPU 0 is lost at any moment of a run. Each test's GPUs are those of a new program.
class TestLostGpu : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void eachMomentOfALossGivesASentence_data() {
        QTest::addColumn<int>("at");
        QTest::addColumn<int>("error");
        QTest::addColumn<int>("iterations");
        for (const int iterations : {1, kIterations}) {
            QTest::addRow("a call fails, iterations: %d", iterations)
                << int(fake::Loss::At::call) << int(cudaErrorIllegalAddress) << iterations;
            QTest::addRow("a call fails, the GPU is unavailable, iterations: %d", iterations)
                << int(fake::Loss::At::call) << int(cudaErrorDevicesUnavailable) << iterations;
            QTest::addRow("the GPU fails while it works, iterations: %d", iterations)
                << int(fake::Loss::At::command) << int(cudaErrorIllegalAddress) << iterations;
        }
    }

    void eachMomentOfALossGivesASentence() {
        QFETCH(int, at);
        QFETCH(int, error);
        QFETCH(int, iterations);
        const auto where = fake::Loss::At(at);
        const Branches graph;
        int moments = 0;
        Outcome whole;
        {
            const auto plan = graph.plan(gpus());
            fake::lose({.at = where, .number = 0});
            whole = run(graph, plan, iterations);
            moments = fake::counted(where);
        }
        QCOMPARE(whole.status, RunStatus::finished);
        QVERIFY2(moments > 40, qPrintable(QString::number(moments)));
        int failures = 0;
        for (int n = 1; n <= moments; n += 1 + n / 60) {
            const auto plan = graph.plan(gpus());
            fake::lose({.at = where, .number = n, .error = cudaError_t(error)});
            const Outcome lost = run(graph, plan, iterations);
            const std::string moment = fmt::format("moment {} of {}: ", n, moments);
            if (lost.status == RunStatus::failed) {
                ++failures;
                const std::string fault = faultOf(lost);
                QVERIFY2(fault.empty(), (moment + fault).c_str());
                // A run that started computes what needs no GPU, and no result comes from lost data.
                if (!lost.nodes.empty()) QVERIFY2(lost.alone == whole.alone, moment.c_str());
                QVERIFY2(lost.back.empty() || lost.back == whole.back, moment.c_str());
                QVERIFY2(lost.other.empty() || lost.other == whole.other, moment.c_str());
            }
            // The next run, with the GPU still lost.
            const Outcome again = run(graph, plan);
            const std::string fault = faultOf(again);
            QVERIFY2(fault.empty(), fmt::format("{}again: {}", moment, fault).c_str());
            // And a run in which it is simulated.
            DeviceMap map = simulatedMap(2);
            QCOMPARE(run(graph, graph.plan(map)).back, whole.back);
        }
        // At the last moments the run has ended.
        QVERIFY2(failures > 30, qPrintable(QString::number(failures)));
    }

    void aGpuThatWasUnavailableWorksInALaterRun() {
        const Branches graph;
        const auto plan = graph.plan(gpus());
        fake::lose({.at = fake::Loss::At::call, .number = 1, .error = cudaErrorDevicesUnavailable});
        const Outcome busy = run(graph, plan);
        QCOMPARE(
            QString::fromStdString(busy.sentences.at(0)),
            QStringLiteral("cuda:0 cannot be used now; run again later, or simulate cuda:0: CUDA reports: "
                           "CUDA-capable device(s) is/are busy or unavailable "
                           "(cudaErrorDevicesUnavailable), while creating a stream"));
        fake::giveBack();
        const Outcome later = run(graph, plan);
        QCOMPARE(later.status, RunStatus::finished);
        QCOMPARE(later.back.size(), std::size_t{64});
    }

    void aLostGpuWorksAfterARestart() {
        const Branches graph;
        {
            const auto plan = graph.plan(gpus());
            fake::lose({.at = fake::Loss::At::command, .number = 20});
            QCOMPARE(run(graph, plan).status, RunStatus::failed);
            fake::giveBack(); // the driver has reset it, but this program's context is gone
            QVERIFY(faultOf(run(graph, plan)).empty());
        }
        QCOMPARE(run(graph, graph.plan(gpus())).status, RunStatus::finished);
    }
};

TWB_TEST_MAIN(TestLostGpu)
#include "test_lost_gpu.moc"
