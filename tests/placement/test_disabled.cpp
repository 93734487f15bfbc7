#include "core/error.h"
#include "formats/onnx/onnx_export.h"
#include "formats/project.h"
#include "formats/pytorch/pytorch_export.h"
#include "placement/causes.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"
#include "placement/step_transfers.h"
#include "runtime/runs.h"
#include "support/random_networks.h"
#include "support/test_main.h"

#include <QObject>
#include <QTemporaryDir>

#include <algorithm>
#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

Graph disabled(Graph graph, const std::vector<NodeId>& nodes) {
    DeltaBuilder builder(graph, "Disable");
    for (const NodeId id : nodes) {
        Node node = *graph.find(id);
        node.disabled = true;
        builder.change(node);
    }
    graph.apply(builder.take());
    return graph;
}

Analysis analysisOf(const Graph& graph) { return analyze(graph, simulatedMap(2), Policy::strict, nullptr); }

/// The diagnostics of disabled nodes, one per line.
QString saidOf(const Analysis& analysis) {
    QStringList out;
    for (const Diagnostic& d : analysis.diagnostics)
        out << QString::fromStdString(std::string(name(d.severity)) + " " + d.code + ": " + d.message);
    return out.join(QLatin1Char('\n'));
}

std::vector<float> resultOf(const Graph& graph, NodeId node) {
    const DeviceMap map = simulatedMap(2);
    const RunResult result = runToEnd(planOf(graph, map, {.keepAll = true}), {});
    return result.status == RunStatus::finished ? floats(result, node, map) : std::vector<float>();
}

/// x -> relu -> gemm (2x3 to 2x4) -> out, with a Probe; other is independent.
struct Network {
    GraphMaker g;
    NodeId x, negative, relu, weight, gemm, out, probe, other;
    Network() {
        x = g.node("Arange", "x", "cpu", {{"start", -2.0}, {"limit", 4.0}, {"dtype", std::string("f32")}});
        const NodeId shape =
            g.node("Constant", "shape", "cpu", {{"value", Ints{2, 3}}, {"dtype", std::string("i64")}});
        negative = g.node("Reshape", "negative", "cpu", {}, {x, shape});
        relu = g.node("Relu", "relu", "cpu", {}, {negative});
        weight = g.node("Ones", "weight", "cpu", {{"shape", Ints{3, 4}}});
        gemm = g.node("Gemm", "gemm", "cpu", {}, {relu, weight});
        out = g.node("Neg", "out", "cpu", {}, {gemm});
        probe = g.node("Probe", "probe", "cpu", {}, {out});
        other = g.node("Neg", "other", "cpu", {}, {x});
    }
};

} // namespace

class TestDisabled : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNodeOfTheSameTypeStandsAside() {
        const Network n;
        const Graph graph = disabled(n.g.graph(), {n.relu});
        const Analysis analysis = analysisOf(graph);
        QCOMPARE(saidOf(analysis),
                 "note disabled: Relu \"relu\" is disabled: its consumers read negative instead");
        QCOMPARE(analysis.find(n.gemm)->inputs[0], std::optional<PortRef>({n.negative, 0}));
        QVERIFY(analysis.find(n.gemm)->fine && !analysis.find(n.relu)->fine);
        QCOMPARE(resultOf(n.g.graph(), n.gemm), (std::vector<float>{0, 0, 0, 0, 6, 6, 6, 6}));
        QCOMPARE(resultOf(graph, n.gemm), (std::vector<float>{-3, -3, -3, -3, 6, 6, 6, 6}));
        // The result of a disabled node is its input.
        QCOMPARE(resultOf(graph, n.relu), (std::vector<float>{-2, -1, 0, 1, 2, 3}));
        const auto plan = planOf(graph, simulatedMap());
        QVERIFY(plan->stepsOf(n.relu).empty());
    }

    void nodeThatReadsItselfPassesNothingOn() {
        GraphMaker g;
        const NodeId self = g.node("Relu", "self", "cpu");
        g.connect(self, self, 0);
        g.node("Relu", "reader", "cpu", {}, {self});
        const Graph graph = disabled(g.graph(), {self});
        const Analysis analysis = analysisOf(graph);
        QVERIFY(!analysis.find(self)->passes);
        QCOMPARE(readersOf(graph, analysis, self).size(), std::size_t(1));
    }

    void aReaderBehindSeveralWiresOrACycleCountsOnce() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
        const NodeId sum = g.node("Add", "sum", "cpu", {}, {x, x});
        const NodeId relu = g.node("Relu", "relu", "cpu", {}, {sum});
        Graph graph = disabled(g.graph(), {sum});
        QVERIFY(readersOf(graph, analysisOf(graph), x) == (std::vector<Edge>{{{x, 0}, {relu, 0}}}));
        g.connect(relu, sum, 1);
        graph = disabled(g.graph(), {sum, relu});
        QVERIFY(readersOf(graph, analysisOf(graph), x).empty());
    }

    void whatNothingStandsInForIsNotRunAndSaysSo() {
        const Network n;
        const Graph graph = disabled(n.g.graph(), {n.gemm});
        const Analysis analysis = analysisOf(graph);
        QCOMPARE(saidOf(analysis),
                 "warning disabled: Neg \"out\" does not run: it needs gemm, which is disabled and has no "
                 "input with the dtype and shape of its output; enable the disabled node\n"
                 "note disabled: Gemm \"gemm\" is disabled: no input has the dtype and shape of "
                 "its output, f32 2×4; its consumers do not run");
        QVERIFY(analysis.mayRun());
        const auto plan = planOf(graph, simulatedMap());
        for (const NodeId id : {n.gemm, n.out, n.probe}) QVERIFY(plan->stepsOf(id).empty());
        QCOMPARE(resultOf(graph, n.other).size(), std::size_t(6));
        QCOMPARE(analysis.diagnostics[0].fixes.size(), std::size_t(1));
        Graph mended = graph;
        mended.apply(toDelta(graph, analysis.diagnostics[0].fixes[0]));
        QVERIFY(mended == n.g.graph());
    }

    /// It once had a price, and a To cpu ended the check.
    void aToThatStandsAsideCopiesNothing() {
        for (const char* target : {"cpu", "cuda:1"}) {
            GraphMaker g;
            const NodeId x = g.node("Ones", "x", "cuda:0", {{"shape", Ints{4}}});
            const NodeId negative = g.node("Neg", "negative", "cuda:0", {}, {x});
            const NodeId to = g.node("To", "to", target, {}, {negative});
            g.node("Probe", "p", "cuda:0", {}, {to});
            const Graph graph = disabled(g.graph(), {to});
            const Analysis analysis = analysisOf(graph);
            QVERIFY(!isSync(graph, analysis, *analysis.find(to)));
            QVERIFY(stepTransfers(graph, analysis).empty());
            QCOMPARE(analysis.errorCount(), std::size_t(0));
        }
    }

    void aSourceHasNothingToPass() {
        const Network n;
        const Analysis analysis = analysisOf(disabled(n.g.graph(), {n.weight}));
        QVERIFY2(saidOf(analysis).contains("warning disabled: Gemm \"gemm\" does not run: it needs weight"),
                 qPrintable(saidOf(analysis)));
        QVERIFY2(saidOf(analysis).contains("Ones \"weight\" is disabled: its consumers do not run"),
                 qPrintable(saidOf(analysis)));
        QVERIFY(!analysis.hasErrors());
    }

    void severalInARowAndAtTheEnd() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{3}}});
        const NodeId bias = g.node("Full", "bias", "cpu", {{"shape", Ints{1}}, {"value", 5.0}});
        const NodeId neg = g.node("Neg", "neg", "cpu", {}, {x});
        const NodeId add = g.node("Add", "add", "cpu", {}, {bias, neg}); // its first input is too small
        const NodeId last = g.node("Neg", "last", "cpu", {}, {add});
        const NodeId probe = g.node("Probe", "probe", "cpu", {}, {last});
        const Graph graph = disabled(g.graph(), {neg, add});
        QCOMPARE(analysisOf(graph).sourceOf({last, 0}), std::optional<PortRef>({x, 0}));
        QCOMPARE(resultOf(graph, last), (std::vector<float>{-1, -1, -1}));
        const Graph all = disabled(g.graph(), {neg, add, last, probe});
        QCOMPARE(planOf(all, simulatedMap())->stepsOf(probe).size(), std::size_t(0));
        QVERIFY(!analysisOf(all).hasErrors());
    }

    void whatIsWrongWithItNoLongerCounts() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{3}}});
        const NodeId unknown = g.node("Frobnicate", "who", "cpu", {}, {x});
        const NodeId lonely = g.node("MatMul", "lonely", "cpu", {}, {x});
        const NodeId after = g.node("Neg", "after", "cpu", {}, {unknown});
        g.node("Neg", "end", "cpu", {}, {lonely});
        QVERIFY(analysisOf(g.graph()).hasErrors());
        const Graph graph = disabled(g.graph(), {unknown, lonely});
        QVERIFY2(!analysisOf(graph).hasErrors(), qPrintable(saidOf(analysisOf(graph))));
        QCOMPARE(resultOf(graph, after), (std::vector<float>{-1, -1, -1}));
    }

    void aMismatchBehindItNamesTheWireThatIsThere() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{3}}});
        const NodeId to = g.node("To", "there", "cuda:0", {}, {x});
        const NodeId relu = g.node("Relu", "relu", "cuda:0", {}, {to});
        const Graph graph = disabled(g.graph(), {to});
        const Analysis analysis = analysisOf(graph);
        QCOMPARE(analysis.errorCount(), std::size_t(1));
        const Diagnostic& d = analysis.diagnostics[0];
        QCOMPARE(d.code, std::string("device-mismatch"));
        QVERIFY(d.edge == std::optional<Edge>({{to, 0}, {relu, 0}}));
        // The cause is the tensor, not the disabled node, and every fix removes the error.
        const auto causes = causesOf(graph, analysis, simulatedMap(2));
        QVERIFY2(causes[0].sentence.starts_with("x is on cpu"), causes[0].sentence.c_str());
        for (const Fix& fix : d.fixes) {
            Graph mended = graph;
            mended.apply(toDelta(graph, fix));
            QVERIFY2(!analysisOf(mended).hasErrors(), fix.title.c_str());
        }
        // The implicit policy's copy belongs to that wire, too.
        const Analysis implicit = analyze(graph, simulatedMap(), Policy::implicit, nullptr);
        QCOMPARE(implicit.implicitCopies.size(), std::size_t(1));
        QVERIFY(implicit.implicitCopies[0].edges == (std::vector<Edge>{{{to, 0}, {relu, 0}}}));
        const auto plan = compile(graph, implicit, simulatedMap(), nullptr, {.policy = Policy::implicit});
        QVERIFY(plan->transfers[0].from == (PortRef{to, 0}) && plan->transfers[0].to == (PortRef{relu, 0}));
    }

    void aBodyIsNotLeftThroughIt() {
        GraphMaker g;
        const NodeId zero = g.node("Zeros", "zero", "cpu", {{"shape", Ints{2}}});
        const NodeId step = g.node("Ones", "step", "cpu", {{"shape", Ints{2}}});
        const NodeId x = g.node("Carried", "x", "cpu", {}, {zero});
        const NodeId sum = g.node("Add", "sum", "cpu", {}, {x, step});
        const NodeId neg = g.node("Neg", "neg", "cpu", {}, {sum});
        const NodeId copy = g.node("Neg", "copy", "cpu", {}, {step});
        const NodeId loop =
            g.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        g.connect(neg, loop, 3);
        g.body(loop, "body", {x, sum, neg, copy});
        QCOMPARE(resultOf(disabled(g.graph(), {neg}), loop), (std::vector<float>{3, 3}));
        QVERIFY(analysisOf(disabled(g.graph(), {neg})).find(neg)->passes.has_value());
        QVERIFY(!analysisOf(disabled(g.graph(), {copy})).find(copy)->passes);
        for (const NodeId id : {x, loop, zero}) {
            const Graph graph = disabled(g.graph(), {id});
            const Analysis analysis = analysisOf(graph);
            QVERIFY2(!analysis.find(id)->passes && !analysis.hasErrors(), qPrintable(saidOf(analysis)));
            QCOMPARE(planOf(graph, simulatedMap())->stepsOf(loop).size(), std::size_t(0));
        }
    }

    /// A graph with disabled nodes is equivalent to the graph without them whose wires bypass them.
    void disabledNodesEqualBypassedWires() {
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            std::mt19937_64 random(seed);
            const RandomNetwork network(random, 12, {"cpu", "cuda:0", "cuda:1"});
            const DeviceMap map = simulatedMap(2);
            const Graph whole = withTos(network.g.graph(), map);
            std::vector<NodeId> chosen;
            for (const Node& node : whole.nodes())
                if (node.op != "RandomNormal" && random() % 3 == 0) chosen.push_back(node.id);
            const Graph graph = disabled(whole, chosen);
            const Analysis analysis = analyze(graph, map, Policy::implicit, nullptr);
            const Graph around = exportable(graph, analysis, "a test");
            QCOMPARE(around.nodes().size(), graph.nodes().size() - chosen.size());
            const Analysis alike = analyze(around, map, Policy::implicit, nullptr);
            QCOMPARE(alike.implicitCopies.size(), analysis.implicitCopies.size());
            for (const NodeFacts& facts : alike.nodes) {
                const NodeFacts& here = *analysis.find(facts.id);
                QVERIFY(here.inputs == facts.inputs && here.outputs == facts.outputs);
                QCOMPARE(here.fine, facts.fine);
            }
            const CompileOptions options{.policy = Policy::implicit, .keepAll = true};
            const RunResult a = runToEnd(compile(graph, analysis, map, nullptr, options), {});
            const RunResult b = runToEnd(compile(around, alike, map, nullptr, options), {});
            for (const NodeFacts& facts : alike.nodes)
                if (facts.fine) QCOMPARE(floats(a, facts.id, map), floats(b, facts.id, map));
        }
    }

    void theFileKeepsIt() {
        const Network n;
        const Graph graph = disabled(n.g.graph(), {n.relu});
        const std::string text = toProjectText(graph);
        QCOMPARE(QString::fromStdString(text).count("\"disabled\": true"), 1);
        QVERIFY(parseProject(text, "a test") == graph);
        QVERIFY_EXCEPTION_THROWN(
            parseProject(
                QString::fromStdString(text).replace("\"disabled\": true", "\"disabled\": 1").toStdString(),
                "a test"),
            Error);
    }

    void exportsLeaveItOut() {
        const Network n;
        const QTemporaryDir folder;
        const auto path = [&](const char* file) {
            return std::filesystem::path(folder.filePath(file).toStdString());
        };
        exportPyTorch(disabled(n.g.graph(), {n.relu}), nullptr, {}, path("a.py"));
        const std::string text = readFile(path("a.py"), 1 << 20);
        QVERIFY2(text.find("relu") == std::string::npos, text.c_str());
        exportPyTorch(n.g.graph(), nullptr, {}, path("b.py"));
        QVERIFY(readFile(path("b.py"), 1 << 20).find("relu") != std::string::npos);
        exportOnnx(disabled(n.g.graph(), {n.relu}), nullptr, path("a.onnx"));
        QVERIFY(readFile(path("a.onnx"), 1 << 20).find("Relu") == std::string::npos);
        exportOnnx(n.g.graph(), nullptr, path("b.onnx"));
        QVERIFY(readFile(path("b.onnx"), 1 << 20).find("Relu") != std::string::npos);
        for (const auto& write :
             {std::function<void()>(
                  [&] { exportPyTorch(disabled(n.g.graph(), {n.gemm}), nullptr, {}, path("c.py")); }),
              std::function<void()>(
                  [&] { exportOnnx(disabled(n.g.graph(), {n.gemm}), nullptr, path("c.onnx")); })}) {
            try {
                write();
                QFAIL("was exported");
            } catch (const Error& error) {
                QVERIFY2(std::string(error.what()).find("it needs gemm, which is disabled") !=
                             std::string::npos,
                         error.what());
            }
        }
    }
};

TWB_TEST_MAIN(TestDisabled)
#include "test_disabled.moc"
