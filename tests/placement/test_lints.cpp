#include "placement/fixes.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

const DeviceMap& devices() {
    static const DeviceMap map = simulatedMap(2);
    return map;
}

std::vector<Diagnostic> lintsOf(const Graph& graph, std::string_view code) {
    std::vector<Diagnostic> out;
    for (Diagnostic& d : analyze(graph, devices(), Policy::strict, nullptr).diagnostics)
        if (d.code == code) out.push_back(std::move(d));
    return out;
}

/// The graph after the first fix of the only such lint; the lint must be gone.
Graph mended(const Graph& graph, std::string_view code) {
    const auto lints = lintsOf(graph, code);
    Graph out = graph;
    if (lints.size() == 1 && !lints[0].fixes.empty()) out.apply(toDelta(graph, lints[0].fixes[0]));
    return out;
}

NodeId random(GraphMaker& g, const std::string& name, const std::string& device, Ints shape = {256, 256}) {
    return g.node("RandomNormal", name, device, {{"shape", std::move(shape)}});
}

} // namespace

class TestLints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void waitsForData() {
        GraphMaker g;
        MemoryFiles files;
        files.put("x.npy", tensorOf(DType::f32, {8, 2}, std::vector<double>(16)));
        const NodeId data = g.node("Batches", "data", "cpu",
                                   {{"path", std::string("x.npy")}, {"batch_size", std::int64_t{4}}});
        const NodeId there = g.node("To", "there", "cuda:0", {}, {data});
        const NodeId scaled = g.node("Neg", "scaled", "cpu", {}, {data});
        const NodeId also = g.node("To", "also", "cuda:0", {{"non_blocking", true}}, {scaled});
        const NodeId pinned =
            g.node("To", "pinned", "cuda:0", {{"non_blocking", true}, {"pin_memory", true}}, {data});
        // Many ops may prepare a batch, but not with what the iteration computes.
        NodeId prepared = scaled;
        const NodeId two = g.node("Constant", "two", "cpu", {{"value", 2.0}});
        for (const char* op : {"Exp", "Relu", "Sqrt"}) prepared = g.node(op, op, "cpu", {}, {prepared});
        const NodeId doubled = g.node("Mul", "doubled", "cpu", {}, {prepared, two});
        const NodeId far = g.node("To", "far", "cuda:0", {}, {doubled});
        const NodeId back = g.node("To", "back", "cpu", {}, {g.node("Neg", "device", "cuda:0", {}, {far})});
        g.node("To", "again", "cuda:0", {}, {g.node("Mul", "product", "cpu", {}, {doubled, back})});
        g.node("Sum", "sum", "cuda:0", {}, {there, also, pinned});
        const auto found = [&](const Graph& graph, std::string_view code) {
            std::vector<NodeId> out;
            for (const Diagnostic& d : analyze(graph, devices(), Policy::strict, &files).diagnostics)
                if (d.code == code) out.push_back(d.node);
            return out;
        };
        QCOMPARE(found(g.graph(), "waits-for-data"), (std::vector<NodeId>{there, also, far}));
        QCOMPARE(found(g.graph(), "non-blocking-pageable"), std::vector<NodeId>{also});
        const Analysis analysis = analyze(g.graph(), devices(), Policy::strict, &files);
        const auto note = std::ranges::find(analysis.diagnostics, "waits-for-data", &Diagnostic::code);
        QVERIFY(note->severity == Severity::note);
        QVERIFY2(note->message.starts_with("cuda:0 waits in each iteration until data has loaded its batch"),
                 note->message.c_str());
        Graph mended = g.graph();
        mended.apply(toDelta(mended, note->fixes.at(0)));
        QVERIFY(found(mended, "waits-for-data").empty());
        QVERIFY(found(mended, "non-blocking-pageable").empty()); // memory of such batches is pinned
    }

    void pingPong() {
        GraphMaker g;
        const NodeId a = g.node("Relu", "a", "cpu", {}, {random(g, "x", "cpu")});
        const NodeId there = g.node("To", "there", "cuda:0", {}, {a});
        const NodeId on = g.node("To", "on", "cuda:1", {}, {there});
        const NodeId back = g.node("To", "back", "cpu", {}, {on});
        const NodeId b = g.node("Relu", "b", "cpu", {}, {back});
        const auto lints = lintsOf(g.graph(), "ping-pong");
        QCOMPARE(lints.size(), std::size_t{1});
        QVERIFY(lints[0].severity == Severity::warning);
        QVERIFY(lints[0].node == back);
        QCOMPARE(lints[0].message, std::string("a is copied to cuda:1 and back to cpu, where it already is"));
        const Graph graph = mended(g.graph(), "ping-pong");
        QVERIFY(graph.sourceOf({b, 0}) == PortRef({a, 0}));
        QVERIFY(!graph.find(back));
        QVERIFY(lintsOf(graph, "ping-pong").empty());
    }

    void noPingPongWhereSomethingHappens() {
        GraphMaker g;
        const NodeId a = g.node("Relu", "a", "cpu", {}, {random(g, "x", "cpu")});
        const NodeId there = g.node("To", "there", "cuda:0", {}, {a});
        const NodeId b = g.node("MatMul", "b", "cuda:0", {}, {there, there});
        g.node("To", "back", "cpu", {}, {b});
        // The same holds if a dtype changes on the way.
        const NodeId half = g.node("To", "half", "cuda:0", {{"dtype", std::string("f16")}}, {a});
        g.node("To", "half back", "cpu", {}, {half});
        QVERIFY(lintsOf(g.graph(), "ping-pong").empty());
    }

    void nonBlockingFromPageableMemory() {
        GraphMaker g;
        const NodeId a = g.node("Relu", "a", "cpu", {}, {random(g, "x", "cpu")});
        const NodeId to = g.node("To", "to", "cuda:0", {{"non_blocking", true}}, {a});
        QCOMPARE(lintsOf(g.graph(), "non-blocking-pageable").size(), std::size_t{1});
        const Graph graph = mended(g.graph(), "non-blocking-pageable");
        QVERIFY(lintsOf(graph, "non-blocking-pageable").empty());
        const AttributeValue* pinned = graph.find(to)->attributes.find("pin_memory");
        QVERIFY(pinned && std::get<bool>(*pinned));
        g.node("To", "pinned", "cuda:0", {{"non_blocking", true}, {"pin_memory", true}}, {a});
        QCOMPARE(lintsOf(g.graph(), "non-blocking-pageable").size(), std::size_t{1});
    }

    void aReadBeforeTheCopyIsComplete() {
        GraphMaker g;
        const NodeId a = g.node("Relu", "a", "cuda:0", {}, {random(g, "x", "cuda:0")});
        const NodeId to = g.node("To", "to", "cpu", {{"non_blocking", true}}, {a});
        QVERIFY(lintsOf(g.graph(), "read-before-complete").empty()); // without consumers
        g.node("Relu", "b", "cpu", {}, {to});
        const auto lints = lintsOf(g.graph(), "read-before-complete");
        QCOMPARE(lints.size(), std::size_t{1});
        QVERIFY(lints[0].message.find("torch.cuda.synchronize()") != std::string::npos);
        QVERIFY(lintsOf(mended(g.graph(), "read-before-complete"), "read-before-complete").empty());
    }

    void aCopyOfWhatDoesNotChange() {
        GraphMaker g;
        const NodeId x = random(g, "x", "cpu");
        const NodeId to = g.node("To", "to", "cuda:0", {}, {x});
        g.node("Relu", "a", "cuda:0", {}, {to});
        const auto lints = lintsOf(g.graph(), "transfer-in-iteration");
        QCOMPARE(lints.size(), std::size_t{1});
        QVERIFY(lints[0].severity == Severity::note);
        const Graph graph = mended(g.graph(), "transfer-in-iteration");
        QCOMPARE(graph.deviceOf(*graph.find(x)), Device::cuda(0));
        QVERIFY(lintsOf(graph, "transfer-in-iteration").empty());
        // If the host reads it, too, it must be there.
        g.node("Relu", "b", "cpu", {}, {x});
        QVERIFY(lintsOf(g.graph(), "transfer-in-iteration").empty());
    }

    void manySmallCopies() {
        GraphMaker g;
        const NodeId x = random(g, "x", "cpu", {16});
        for (int i = 0; i < 4; ++i) {
            QVERIFY(lintsOf(g.graph(), "small-copies").empty());
            const std::string n = std::to_string(i);
            g.node("To", "to" + n, "cuda:0", {}, {g.node("Relu", "r" + n, "cpu", {}, {x})});
        }
        const auto lints = lintsOf(g.graph(), "small-copies");
        QCOMPARE(lints.size(), std::size_t{1});
        QVERIFY2(lints[0].message.starts_with("4 copies from cpu to cuda:0, of 64 B on average"),
                 lints[0].message.c_str());
    }

    void anOpTooSmallForItsTransfers() {
        const auto lints = [](const char* op, std::int64_t size) {
            GraphMaker g;
            const NodeId x = g.node("Relu", "x", "cpu", {}, {random(g, "noise", "cpu", {size, size})});
            const NodeId up = g.node("To", "up", "cuda:0", {}, {x});
            const bool pair = std::string_view(op) == "MatMul";
            const NodeId y =
                g.node(op, "y", "cuda:0", {},
                       pair ? std::vector{up, random(g, "w", "cuda:0", {size, size})} : std::vector{up});
            const NodeId down = g.node("To", "down", "cpu", {}, {y});
            g.node("Relu", "z", "cpu", {}, {down});
            return lintsOf(g.graph(), "tiny-op").size();
        };
        QCOMPARE(lints("Relu", 64), std::size_t{1});
        QCOMPARE(lints("MatMul", 4096), std::size_t{0});
    }
};

TWB_TEST_MAIN(TestLints)
#include "test_lints.moc"
