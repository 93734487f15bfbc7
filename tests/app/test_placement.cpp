#include "app/program.h"
#include "support/test_main.h"

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
