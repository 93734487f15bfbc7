#include "app/program.h"
#include "support/test_main.h"
#include "training/training.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <csignal>
#include <sys/types.h>

using namespace twb;
using namespace twb::test;

class TestPlacement : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fixAppliesFixesAndExplainsThem() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        QCOMPARE(twb.run({"check", "a.twb"}).exit, 3);
        const Ended ended = twb.run({"fix", "a.twb", "-o", "b.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.out.contains(" is on cpu, and 1 op on cuda:0 reads it"), qPrintable(ended.out));
        QVERIFY(ended.out.contains("no set of fixes has a smaller total time"));
        QVERIFY(ended.out.contains("The times are modelled from the figures of "));
        QVERIFY(twb.run({"check", "a.twb"}).out.contains("datasheet (SXM); error unknown).\n1 graph"));
        QCOMPARE(twb.run({"check", "b.twb"}).exit, 0);
        const Ended again = twb.run({"fix", "b.twb"});
        QCOMPARE(again.out, "b.twb: no device mismatches\n");
        const QJsonObject json =
            QJsonDocument::fromJson(twb.run({"fix", "a.twb", "--json"}).out.toUtf8()).object();
        QCOMPARE(json["causes"].toArray().size(), 1);
        QVERIFY(json["modelled"].toBool() && json["exact"].toBool());
        QVERIFY(json["iteration_ms"].toDouble() <= json["iteration_ms_with_to_on_each"].toDouble());
    }

    /// Ctrl-C ends a long search at once and leaves no file.
    void fixCanBeInterrupted() {
        const Program twb;
        saveProject(largeGraph(100'000, true), twb.fsPath("large.twb"));
        QProcess process;
        process.setWorkingDirectory(twb.file(""));
        process.start(Program::path(), {"fix", "large.twb", "-o", "fixed.twb"});
        QVERIFY(process.waitForStarted());
        QVERIFY(Program::handlesInterrupts(process));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QCOMPARE(ended.out, "");
        QVERIFY(!twb.exists("fixed.twb"));
    }

    /// The predicted time of a fixed file is the one that `fix` printed, even if nothing is left to fix.
    void fixPrintsThePredictedTime() {
        GraphMaker g;
        const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{512, 512}}});
        const NodeId first = g.node("To", "first", "cuda:0", {}, {x});
        const NodeId second = g.node("To", "second", "cuda:0", {}, {x});
        const NodeId product = g.node("MatMul", "product", "cpu", {}, {first, second});
        g.node("Probe", "out", "cuda:0", {}, {g.node("Relu", "relu", "cuda:0", {}, {product})});
        const Program twb;
        twb.save("a.twb", g);
        const auto json = [&](const QStringList& arguments) {
            return QJsonDocument::fromJson(twb.run(arguments).out.toUtf8()).object();
        };
        const double claim = json({"fix", "a.twb", "-o", "b.twb", "--json"})["iteration_ms"].toDouble();
        const double predicted =
            json({"predict", "b.twb", "--json"})["cases"].toArray()[0].toObject()["sum_ms"].toDouble();
        QVERIFY(claim > 0);
        QVERIFY2(std::abs(claim - predicted) < 1e-6,
                 qPrintable(QStringLiteral("%1, not %2").arg(claim).arg(predicted)));
        const QJsonObject clean = json({"fix", "b.twb", "--json"});
        QVERIFY(clean["fixes"].toArray().isEmpty());
        QVERIFY(std::abs(clean["iteration_ms"].toDouble() - predicted) < 1e-6);
    }

    void placeProposesAndWrites() {
        const Program twb;
        twb.save("a.twb", crossingGraph(true));
        const Ended ended = twb.run({"place", "a.twb", "-o", "b.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.out.contains("removes 2 copies"), qPrintable(ended.out));
        QVERIFY(ended.out.contains("Modelled iteration: "));
        QVERIFY(ended.out.contains("datasheet (SXM); error unknown)"));
        QCOMPARE(twb.run({"check", "b.twb"}).exit, 0);
        QVERIFY(twb.run({"place", "b.twb"}).out.contains("no better placement found"));
        const QJsonObject json =
            QJsonDocument::fromJson(twb.run({"place", "a.twb", "--json"}).out.toUtf8()).object();
        QVERIFY(!json["moves"].toArray().isEmpty());
        QVERIFY(json["sum_ms"].toDouble() < json["sum_ms_now"].toDouble());
    }

    void placeRequiresAGraphWithoutErrors() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        const Ended ended = twb.run({"place", "a.twb"});
        QCOMPARE(ended.exit, 3);
        QVERIFY(ended.err.contains("a.twb has 1 error; the first one: Expected all tensors"));
    }

    void predictComparesDevices() {
        const Program twb;
        twb.save("a.twb", crossingGraph(true));
        const Ended ended = twb.run({"predict", "a.twb", "--what-if", "cuda:0=simulated:t4", "--what-if",
                                     "cuda:0=simulated:rtx4090"});
        QCOMPARE(ended.exit, 0);
        for (const char* name :
             {"simulated NVIDIA H200", "simulated NVIDIA T4", "simulated NVIDIA GeForce RTX 4090"})
            QVERIFY2(ended.out.contains(name), qPrintable(ended.out));
        QVERIFY(ended.out.contains("modelled from the figures of"));
        QVERIFY(ended.out.contains("datasheet; error unknown)"));
        const QJsonObject json =
            QJsonDocument::fromJson(
                twb.run({"predict", "a.twb", "--json", "--what-if", "cuda:0=simulated:t4"}).out.toUtf8())
                .object();
        const QJsonArray cases = json["cases"].toArray();
        QCOMPARE(cases.size(), 2);
        for (const QJsonValue& each : cases) {
            QVERIFY(each["modelled"].toBool() && each["fits"].toBool() && each["complete"].toBool());
            const double parts = each["critical_compute_ms"].toDouble() +
                                 each["critical_transfer_ms"].toDouble() +
                                 each["critical_overhead_ms"].toDouble();
            QVERIFY(std::abs(parts - each["latency_ms"].toDouble()) < 1e-9);
        }
        QVERIFY(cases[1]["iteration_ms"].toDouble() > cases[0]["iteration_ms"].toDouble());
        const Ended unknown = twb.run({"predict", "a.twb", "--what-if", "cuda:0=simulated:t5"});
        QCOMPARE(unknown.exit, 2);
        QVERIFY(unknown.err.contains("t5"));
    }

    /// What a link between ranks would take, without the other machines.
    void aWorldIsAWhatIf() {
        const Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("Zeros", "x", "cpu", {{"shape", std::vector<std::int64_t>{1000, 1000}}});
        const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
        maker.node("Probe", "seen", "rank1/cpu", {}, {maker.node("Neg", "neg", "rank1/cpu", {}, {there})});
        twb.save("g.twb", maker);
        const auto predicted = [&](const QStringList& more) {
            const Ended ended = twb.run(QStringList{"predict", "g.twb", "--json"} + more);
            return QJsonDocument::fromJson(ended.out.toUtf8()).object()["cases"].toArray();
        };
        const QJsonArray cases =
            predicted({"--world", "simulated:2:nvlink", "--what-if", "world=simulated:2:25gbe", "--what-if",
                       "world=simulated:2:30us,2.9GB/s"});
        QCOMPARE(cases.size(), 3);
        QCOMPARE(cases[0]["world"].toString(), QStringLiteral("2 ranks on NVLink 4"));
        QCOMPARE(cases[1]["world"].toString(), QStringLiteral("2 ranks on 25 GbE"));
        const auto transfer = [&](int at) { return cases[at]["critical_transfer_ms"].toDouble(); };
        QVERIFY(std::abs(transfer(0) - (0.003 + 4e6 / 450e6)) < 1e-6);
        QVERIFY(std::abs(transfer(1) - (0.030 + 4e6 / 2.9e6)) < 1e-6);
        QCOMPARE(transfer(2), transfer(1));
        const QJsonArray plain = predicted({});
        QCOMPARE(plain[0]["world"].toString(), QString());
        QCOMPARE(plain[0]["critical_transfer_ms"].toDouble(), transfer(1)); // the default link
        const Ended table = twb.run({"predict", "g.twb", "--world", "simulated:2:nvlink"});
        QVERIFY2(table.out.contains("2 ranks on NVLink 4"), qPrintable(table.out));

        const auto placed = [&](const QString& link) {
            const Ended ended = twb.run({"place", "g.twb", "--json", "--world", "simulated:2:" + link});
            return QJsonDocument::fromJson(ended.out.toUtf8()).object()["sum_ms_now"].toDouble();
        };
        QVERIFY(std::abs(placed("25gbe") - placed("nvlink") - transfer(1) + transfer(0)) < 1e-6);

        twb.save("far.twb", [] {
            GraphMaker far;
            far.node("Zeros", "x", "rank3/cpu");
            return far;
        }());
        const Ended far = twb.run({"predict", "far.twb", "--world", "simulated:2:nvlink"});
        QCOMPARE(far.exit, 5);
        QVERIFY2(far.err.contains("the graph has a lane of rank 3"), qPrintable(far.err));
        for (const char* command : {"predict", "place", "check"}) {
            const Ended wrong = twb.run({command, "g.twb", "--world", "four"});
            QCOMPARE(wrong.exit, 2);
            QVERIFY2(wrong.err.contains("write simulated:RANKS:LINK"), qPrintable(wrong.err));
        }
    }

    /// A graph that all ranks run: its gradients are averaged, but only in the prediction.
    void aWorldHasTheCallsOfATraining() {
        const Program twb;
        GraphMaker maker;
        const NodeId w = maker.node("Parameter", "w", "cpu", {{"shape", std::vector<std::int64_t>{1000}}});
        const NodeId square = maker.node("Mul", "square", "cpu", {}, {w, w});
        const NodeId loss = maker.node("ReduceSum", "loss", "cpu", {{"keepdims", false}}, {square});
        Graph graph = maker.graph();
        const NodeId parameters[] = {w};
        graph.apply(makeTraining(graph, DeviceMap(), nullptr, loss, parameters, {}));
        saveProject(graph, twb.fsPath("t.twb"));
        const Ended ended = twb.run({"predict", "t.twb", "--json", "--world", "simulated:4:25gbe:ring"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const QJsonValue one = QJsonDocument::fromJson(ended.out.toUtf8()).object()["cases"].toArray()[0];
        const double wanted = 6 * 0.030 + 1.5 * 4000 / 2.9e6;
        QVERIFY2(std::abs(one["communication_ms"].toDouble() - wanted) < 1e-9, qPrintable(ended.out));
        QCOMPARE(twb.run({"place", "t.twb", "--world", "simulated:4:25gbe", "-o", "placed.twb"}).exit, 0);
        const Graph placed = loadProject(twb.fsPath("placed.twb"));
        QCOMPARE(std::ranges::count(placed.nodes(), "AllReduce", &Node::op), 0);
    }

    void guardPolicyByDirection() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        QCOMPARE(twb.run({"check", "a.twb", "--policy", "guard:h2d=allow"}).exit, 0);
        const Ended refused = twb.run({"check", "a.twb", "--policy", "guard:h2d=disallow"});
        QCOMPARE(refused.exit, 3);
        QVERIFY(refused.out.contains("Disallowed host-to-device transfer"));
        QCOMPARE(twb.run({"run", "a.twb", "--policy", "guard", "--quiet"}).exit, 0);
        const Ended wrong = twb.run({"check", "a.twb", "--policy", "guard:up=log"});
        QCOMPARE(wrong.exit, 2);
        QVERIFY(wrong.err.contains("guard:h2d=disallow"));
    }
};

TWB_TEST_MAIN(TestPlacement)
#include "test_placement.moc"
