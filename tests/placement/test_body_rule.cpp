#include "placement/analysis.h"
#include "placement/fixes.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// A Loop that computes x = x + step three times.
struct Counter {
    GraphMaker g;
    NodeId zero, step, x, sum, loop;
    Counter() {
        zero = g.node("Zeros", "zero", "cpu", {{"shape", Ints{2}}});
        step = g.node("Ones", "step", "cpu", {{"shape", Ints{2}}});
        x = g.node("Carried", "x", "cpu", {}, {zero});
        sum = g.node("Add", "sum", "cpu", {}, {x, step});
        loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        g.connect(sum, loop, 3);
        g.body(loop, "body", {x, sum});
    }
};

Analysis analysisOf(const Graph& graph) { return analyze(graph, simulatedMap(), Policy::strict, nullptr); }

Graph changed(const Graph& graph, NodeId id, const std::function<void(Node&)>& how) {
    DeltaBuilder builder(graph, "change");
    Node node = *graph.find(id);
    how(node);
    builder.change(node);
    Graph out = graph;
    out.apply(builder.take());
    return out;
}

/// The only error of a graph, with its full text.
QString theError(const Graph& graph) {
    const Analysis analysis = analysisOf(graph);
    if (analysis.errorCount() != 1) return QStringLiteral("%1 errors").arg(analysis.errorCount());
    return QString::fromStdString(analysis.diagnostics[0].code + ": " + analysis.diagnostics[0].message);
}

} // namespace

class TestBodyRule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aBodyStandsBeforeItsOwner() {
        const Counter c;
        const Analysis analysis = analysisOf(c.g.graph());
        QVERIFY(analysis.diagnostics.empty());
        for (const NodeId inside : {c.x, c.sum})
            QVERIFY(analysis.index.at(inside) < analysis.index.at(c.loop));
        QCOMPARE(analysis.typeOf({c.loop, 0})->toString(), std::string("f32 2"));
    }

    /// The copy in the body does not exist when the body begins.
    void anInitialValueIsNotReadInItsBody() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{2}}});
        const NodeId state = g.node("Carried", "state", "cuda:0", {}, {x});
        const NodeId copy = g.node("To", "copy", "cuda:0", {}, {x});
        const NodeId sum = g.node("Add", "sum", "cuda:0", {}, {state, copy});
        const NodeId loop =
            g.node("Loop", "loop", "cuda:0", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        g.connect(sum, loop, 3);
        g.body(loop, "body", {state, copy, sum});
        const Analysis analysis = analysisOf(g.graph());
        QCOMPARE(analysis.errorCount(), std::size_t(1));
        for (const Diagnostic& d : analysis.diagnostics)
            for (const Fix& fix : d.fixes) {
                Graph mended = g.graph();
                mended.apply(toDelta(mended, {fix}, "Fix"));
                QVERIFY(mended.sourceOf({state, 0}) != PortRef({copy, 0}));
            }
    }

    void onlyTheOwnerReadsOutOfABody() {
        Counter c;
        const NodeId spy = c.g.node("Neg", "spy", "cpu", {}, {c.sum});
        const QString error = theError(c.g.graph());
        QVERIFY2(error.startsWith(QStringLiteral("body: sum is computed in body of Loop \"loop\"")),
                 qPrintable(error));
        Graph graph = c.g.graph();
        graph.apply(toDelta(graph, analysisOf(graph).diagnostics[0].fixes.at(0)));
        QVERIFY(!graph.sourceOf({spy, 0}));
    }

    void aBodyThatWaitsForItsOwnerIsACycle() {
        Counter c;
        const NodeId late = c.g.node("Neg", "late", "cpu", {}, {c.loop});
        const FrameId frame = c.g.graph().find(c.x)->frame;
        const Graph graph = changed(c.g.graph(), late, [&](Node& node) { node.frame = frame; });
        const QString error = theError(graph);
        QVERIFY2(error.startsWith(QStringLiteral("cycle: ")) &&
                     error.contains(QStringLiteral("late -> loop")),
                 qPrintable(error));
        const Graph inItself = changed(c.g.graph(), c.loop, [&](Node& node) { node.frame = frame; });
        const Analysis own = analysisOf(inItself);
        QVERIFY(std::any_of(own.diagnostics.begin(), own.diagnostics.end(), [](const Diagnostic& d) {
            return d.code == "cycle" && d.message.find("loop -> loop") != std::string::npos;
        }));
    }

    void statesBelongToBodies() {
        Counter c;
        c.g.node("Carried", "lost", "cpu", {{"index", std::int64_t{1}}}, {c.zero});
        const QString lost = theError(c.g.graph());
        QVERIFY2(lost.contains(QStringLiteral("Carried \"lost\" is outside all bodies")), qPrintable(lost));

        Counter twice;
        const NodeId y = twice.g.node("Carried", "y", "cpu", {}, {twice.zero});
        const FrameId frame = twice.g.graph().find(twice.x)->frame;
        const QString same = theError(changed(twice.g.graph(), y, [&](Node& node) { node.frame = frame; }));
        QVERIFY2(same.contains(QStringLiteral("has the same index 0 as x")), qPrintable(same));

        const Counter missing;
        const QString none = theError(changed(missing.g.graph(), missing.loop, [](Node& node) {
            node.attributes.set("carried", std::int64_t{0});
        }));
        QVERIFY2(none.contains(QStringLiteral("set \"carried\" of Loop")), qPrintable(none));
    }

    void whatIsCarriedComesBackAsItWent() {
        Counter c;
        const NodeId longer =
            c.g.node("Concat", "longer", "cpu", {{"axis", std::int64_t{0}}}, {c.sum, c.step});
        const FrameId frame = c.g.graph().find(c.x)->frame;
        DeltaBuilder builder(c.g.graph(), "");
        Node node = *c.g.graph().find(longer);
        node.frame = frame;
        builder.change(node);
        builder.connect({{longer, 0}, {c.loop, 3}});
        Graph graph = c.g.graph();
        graph.apply(builder.take());
        const QString error = theError(graph);
        QVERIFY2(error.contains(QStringLiteral("accepts x as f32 [2], but returns it as f32 [4]")),
                 qPrintable(error));
        const Fix vary = analysisOf(graph).diagnostics[0].fixes.at(0);
        graph.apply(toDelta(graph, vary));
        // The sizes are now known only at run time; operands added to x must still match.
        const Analysis after = analysisOf(graph);
        QVERIFY(!after.hasErrors());
        QVERIFY(!after.typeOf({c.loop, 0})->isKnown());

        Counter cast;
        const NodeId wrong = cast.g.node("Cast", "wrong", "cpu", {{"to", std::string("f64")}}, {cast.sum});
        DeltaBuilder other(cast.g.graph(), "");
        node = *cast.g.graph().find(wrong);
        node.frame = cast.g.graph().find(cast.x)->frame;
        other.change(node);
        other.connect({{wrong, 0}, {cast.loop, 3}});
        graph = cast.g.graph();
        graph.apply(other.take());
        QVERIFY2(theError(graph).contains(QStringLiteral("dtype and rank must stay the same")),
                 qPrintable(theError(graph)));
    }

    void aCarriedStandsWhereItsOwnerStands() {
        Counter c;
        const LaneId gpu = c.g.lane("cuda:0");
        const Graph graph = changed(c.g.graph(), c.x, [&](Node& node) { node.lane = gpu; });
        const Analysis analysis = analysisOf(graph);
        bool said = false;
        for (const Diagnostic& d : analysis.diagnostics)
            said = said ||
                   (d.code == "body" && d.message.find("returns its value on cpu") != std::string::npos &&
                    d.fixes.at(0).title == "move x to cpu");
        QVERIFY(said);
    }

    void mismatchesInABodyAreFoundAndMendedInIt() {
        Counter c;
        const LaneId gpu = c.g.lane("cuda:0");
        Graph graph = changed(c.g.graph(), c.sum, [&](Node& node) { node.lane = gpu; });
        Analysis analysis = analysisOf(graph);
        QVERIFY(analysis.errorCount() >= 3); // both operands and the loop's carried result
        for (int round = 0; round < 4 && analysis.hasErrors(); ++round) {
            graph.apply(toDelta(graph, analysis.diagnostics[0].fixes.at(0)));
            analysis = analysisOf(graph);
        }
        QVERIFY2(!analysis.hasErrors(),
                 analysis.diagnostics.empty() ? "" : analysis.diagnostics[0].message.c_str());
        const FrameId frame = graph.find(c.x)->frame;
        for (const Node& node : graph.nodes()) {
            if (node.op != "To") continue;
            const bool outside =
                graph.inputs(node.id)[0]->node == c.step; // copied once, not in each iteration of the body
            QCOMPARE(node.frame == frame, !outside);
        }
    }

    void branchesMustAgree() {
        GraphMaker g;
        const NodeId cond =
            g.node("Input", "cond", "cpu", {{"shape", Ints{}}, {"dtype", std::string("bool")}});
        const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2}}});
        const NodeId b = g.node("Zeros", "b", "cpu", {{"shape", Ints{3}}});
        const NodeId choice = g.node("If", "choice", "cpu", {}, {cond, a, b});
        const Analysis analysis = analysisOf(g.graph());
        QVERIFY(!analysis.hasErrors());
        QCOMPARE(analysis.typeOf({choice, 0})->toString(), std::string("f32 ?"));
        const NodeId c = g.node("Zeros", "c", "cpu", {{"shape", Ints{2, 2}}});
        GraphMaker ranks = g;
        ranks.node("If", "ranks", "cpu", {}, {cond, a, c});
        QVERIFY(theError(ranks.graph()).startsWith(QStringLiteral("shape-mismatch: ")));
        g.node("If", "few", "cpu", {}, {cond, a});
        QVERIFY(
            theError(g.graph()).contains(QStringLiteral("needs 2 results of its body, but 1 are connected")));
    }

    /// PyTorch exports squeeze(0) as an If on the axis' size, whose branches return different ranks.
    void onlyTheBranchThatRunsCounts() {
        GraphMaker g;
        const NodeId x = g.node("Input", "x", "cpu", {{"shape", Ints{3, 2}}});
        const NodeId places = g.node("NonZero", "places", "cpu", {}, {x}); // 2×?
        const auto number = [&](const std::string& name, std::int64_t value) {
            return g.node("Constant", name, "cpu",
                          {{"value", value}, {"shape", Ints{}}, {"dtype", std::string("i64")}});
        };
        const NodeId two = number("two", 2);
        const auto choose = [&](std::int64_t axis) {
            const std::string name = std::to_string(axis);
            const NodeId shape = g.node("Shape", "shape" + name, "cpu", {}, {places});
            const NodeId size =
                g.node("Gather", "size" + name, "cpu", {}, {shape, number("axis" + name, axis)});
            const NodeId is = g.node("Equal", "is" + name, "cpu", {}, {size, two});
            const NodeId yes = g.node("Cast", "yes" + name, "cpu", {{"to", std::string("f32")}}, {places});
            const NodeId no = g.node("ReduceSum", "no" + name, "cpu", {{"keepdims", false}}, {yes});
            return g.node("If", "if" + name, "cpu", {}, {is, yes, no});
        };
        const NodeId known = choose(0);
        const Analysis analysis = analysisOf(g.graph());
        if (analysis.hasErrors()) QFAIL(analysis.diagnostics.front().message.c_str());
        QCOMPARE(analysis.typeOf({known, 0})->toString(), std::string("f32 2×?"));
        choose(1); // the number of places is not known before the run
        QVERIFY(theError(g.graph()).startsWith(QStringLiteral("shape-mismatch: the then branch returns 2")));
    }

    void aScanStacksOneResultPerSlice() {
        const auto typesOf = [](bool isKnown) {
            GraphMaker g;
            const NodeId x = g.node("Input", "x", "cpu", {{"shape", Ints{3, 2}}});
            const NodeId all = isKnown ? x : g.node("NonZero", "places", "cpu", {}, {x}); // 2×?
            const NodeId part =
                g.node("ScanSlice", "part", "cpu", {{"axis", std::int64_t{isKnown ? 0 : 1}}}, {all});
            const NodeId product = g.node("Mul", "product", "cpu", {}, {part, part});
            const NodeId scan = g.node("Scan", "scan", "cpu",
                                       {{"num_outputs", std::int64_t{2}}, {"scan_output_axes", Ints{0, -1}}},
                                       {part, product});
            g.body(scan, "body", {part, product});
            const Analysis analysis = analysisOf(g.graph());
            return analysis.typeOf({scan, 0})->toString() + ", " + analysis.typeOf({scan, 1})->toString();
        };
        QCOMPARE(typesOf(true), std::string("f32 3×2, f32 2×3"));
        QCOMPARE(typesOf(false), std::string("i64 ?×2, i64 2×?"));
    }

    void filesAreNotWrittenInABody() {
        Counter c;
        const NodeId save = c.g.node("Save", "save", "cpu", {{"path", std::string("x.npy")}}, {c.sum});
        const FrameId frame = c.g.graph().find(c.x)->frame;
        const QString error = theError(changed(c.g.graph(), save, [&](Node& node) { node.frame = frame; }));
        QVERIFY2(error.contains(QStringLiteral("move it out")), qPrintable(error));
    }

    void removingAnOwnerLeavesAModule() {
        const Counter c;
        DeltaBuilder builder(c.g.graph(), "remove");
        builder.removeNode(c.loop);
        const Delta delta = builder.take();
        Graph graph = c.g.graph();
        graph.apply(delta);
        const FrameId frame = graph.find(c.x)->frame;
        QVERIFY(graph.find(frame)->owner == NodeId::none && graph.find(frame)->body.empty());
        QVERIFY(theError(graph).contains(QStringLiteral("is outside all bodies")));
        graph.apply(delta.inverse());
        QVERIFY(graph == c.g.graph());
    }

    void aCopiedLoopHasItsOwnBody() {
        const Counter c;
        const Fragment fragment = copyOf(c.g.graph(), {c.zero, c.step, c.x, c.sum, c.loop});
        DeltaBuilder builder(c.g.graph(), "paste");
        std::vector<NodeId> added;
        paste(builder, fragment, {400, 0}, c.g.graph().find(c.x)->lane, &added);
        Graph graph = c.g.graph();
        graph.apply(builder.take());
        QVERIFY(!analysisOf(graph).hasErrors());
        const Frame* body = graph.find(graph.find(added[2])->frame);
        QVERIFY(body->owner == added[4] && body->body == "body");
        // Copied without its owner, a body becomes a module.
        QVERIFY(copyOf(c.g.graph(), {c.x, c.sum}).frames.at(0).owner == NodeId::none);
    }
};

TWB_TEST_MAIN(TestBodyRule)
#include "test_body_rule.moc"
