#include "app/program.h"
#include "support/test_main.h"

#include <QXmlStreamReader>

using namespace twb;
using namespace twb::test;
using nlohmann::json;

namespace {

/// A report of the crossing graph on a simulated H200, changed by `edit`.
template <class Edit> void saveReport(const Program& twb, const QString& name, const Edit& edit) {
    twb.save(QStringLiteral("g.twb"), crossingGraph());
    const Ended ended = twb.run({"run", "g.twb", "--quiet", "--iterations", "30", "--report", "r.json",
                                 "--device-map", "cuda:0=simulated:h200"});
    QVERIFY2(ended.exit == 0, qPrintable(ended.err));
    json report = twb.json(QStringLiteral("r.json"));
    edit(report);
    twb.write(name, QByteArray::fromStdString(report.dump()));
}

void asItIs(json&) {}

/// The test cases of a JUnit file, as "name outcome".
QStringList casesIn(const QByteArray& xml) {
    QXmlStreamReader reader(xml);
    QStringList out;
    while (!reader.atEnd()) {
        reader.readNext();
        if (reader.isStartElement() && reader.name() == QStringLiteral("testcase"))
            out << reader.attributes().value(QStringLiteral("name")).toString() + QStringLiteral(" passed");
        if (reader.isStartElement() &&
            (reader.name() == QStringLiteral("failure") || reader.name() == QStringLiteral("error")))
            out.back().replace(QStringLiteral(" passed"), ' ' + reader.name().toString());
    }
    return reader.hasError() ? QStringList{reader.errorString()} : out;
}

} // namespace

/// twb compare, and --junit of each command that has it.
class TestCompare : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A Loop copies once per trip.
    void transfersInABodyCountPerIteration() {
        const Program twb;
        for (const std::int64_t trips : {3, 6}) {
            GraphMaker g;
            const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Integers{100}}});
            const NodeId c = g.node("Carried", "c", "cpu", {{"index", std::int64_t{0}}}, {x});
            const NodeId there = g.node("To", "there", "cuda:0", {}, {c});
            const NodeId back = g.node("To", "back", "cpu", {}, {there});
            const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", trips}, {"carried", std::int64_t{1}}});
            g.connect(back, loop, 3);
            g.body(loop, "body", {c, there, back});
            g.node("Probe", "out", "cpu", {}, {loop});
            twb.save("g.twb", g);
            const QString report = QStringLiteral("%1.json").arg(trips);
            const Ended ended = twb.run({"run", "g.twb", "--iterations", "2", "--report", report,
                                         "--device-map", "cuda:0=simulated:h200"});
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            // No step computes while it copies; the Loop itself does not count.
            const json transfers = twb.json(report).at("transfers");
            for (const json& row : transfers) QCOMPARE(row.at("overlapped_percent"), 0.0);
        }
        const Ended ended = twb.run({"compare", "3.json", "6.json", "--fail-if-transfer-bytes-grow", "10"});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.out.contains("2,400 B") && ended.out.contains("4,800 B"), qPrintable(ended.out));
    }

    void reportEqualsItself() {
        const Program twb;
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        const Ended ended = twb.run({"compare", "a.json", "a.json", "--json", "--fail-if-transfer-bytes-grow",
                                     "0%", "--fail-if-time-grows", "0%"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const json out = parsed(ended.out);
        QCOMPARE(out.at("schema"), 1);
        QCOMPARE(out.at("bytes").at("before"), out.at("bytes").at("after"));
        QVERIFY(out.at("bytes").at("before").get<int>() > 0);
        for (const char* rows : {"transfers", "steps"}) {
            QVERIFY(!out.at(rows).empty());
            for (const json& row : out.at(rows)) QCOMPARE(row.at("change"), "same");
        }
        QVERIFY(out.at("devices").empty() && out.at("exceeded").empty());
    }

    void runsOfDifferentLengthsCompareByIteration() {
        const Program twb;
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        QCOMPARE(twb.run({"run", "g.twb", "--quiet", "--iterations", "60", "--report", "b.json",
                          "--device-map", "cuda:0=simulated:h200"})
                     .exit,
                 0);
        const json out = parsed(twb.run({"compare", "a.json", "b.json", "--json"}).out);
        QCOMPARE(out.at("bytes").at("before"), out.at("bytes").at("after"));
    }

    void addedRemovedAndMovedNodesAreListed() {
        const Program twb;
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        saveReport(twb, QStringLiteral("b.json"), [](json& report) {
            for (json& step : report["steps"])
                if (step["label"] == "scaled") step["device"] = "cpu";
            for (json& transfer : report["transfers"])
                if (transfer["source"] == "cuda:0") transfer["to"]["node"] = 99;
        });
        const json out = parsed(twb.run({"compare", "a.json", "b.json", "--json"}).out);
        QStringList changes;
        for (const char* rows : {"transfers", "steps"})
            for (const json& row : out.at(rows))
                if (row.at("change") != "same")
                    changes << QString::fromStdString(row.at("change").get<std::string>() + ' ' +
                                                      row.at("from").get<std::string>() + '|' +
                                                      row.at("to").get<std::string>());
        QCOMPARE(changes,
                 (QStringList{QStringLiteral("removed cuda:0 → cpu|"), QStringLiteral("added |cuda:0 → cpu"),
                              QStringLiteral("changed cuda:0|cpu")}));
        const QString text = twb.run({"compare", "a.json", "b.json"}).out;
        QVERIFY2(text.contains("cuda:0 ⇒ cpu") && text.contains("removed") && text.contains("modelled"),
                 qPrintable(text));
    }

    void growthPastALimitExitsWithOne() {
        const Program twb;
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        saveReport(twb, QStringLiteral("b.json"), [](json& report) {
            for (json& transfer : report["transfers"])
                transfer["bytes"] = transfer["bytes"].get<int>() * 11 / 10;
            report["iteration_ms"]["median"] = report["iteration_ms"]["median"].get<double>() * 1.2;
        });
        const auto exitOf = [&](const char* option, const char* percent) {
            return twb.run({"compare", "a.json", "b.json", option, percent}).exit;
        };
        QCOMPARE(exitOf("--fail-if-transfer-bytes-grow", "5%"), 1);
        QCOMPARE(exitOf("--fail-if-transfer-bytes-grow", "10"), 0);
        QCOMPARE(exitOf("--fail-if-time-grows", "19%"), 1);
        QCOMPARE(exitOf("--fail-if-time-grows", "21%"), 0);
        QCOMPARE(exitOf("--fail-if-time-grows", "fast"), 2);
        const QString said =
            twb.run({"compare", "a.json", "b.json", "--fail-if-transfer-bytes-grow", "5%"}).err;
        QVERIFY2(said.contains("the bytes moved per iteration grew from 32 B to 34 B, by more than 5 %"),
                 qPrintable(said));
    }

    /// A modelled time is not compared with a measured one.
    void modelledAndMeasuredAreNotCompared() {
        const Program twb;
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        saveReport(twb, QStringLiteral("b.json"), [](json& report) {
            report["clock"] = "measured";
            for (json& transfer : report["transfers"]) transfer["modelled"] = false;
            for (json& device : report["devices"])
                if (device["device"] == "cuda:0") device["name"] = "NVIDIA H200";
        });
        const Ended ended = twb.run({"compare", "a.json", "b.json", "--fail-if-time-grows", "1000%"});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.err.contains("the times cannot be compared: the times of a.json are modelled, those "
                                    "of b.json are measured"),
                 qPrintable(ended.err));
        QVERIFY(ended.out.contains("not compared: modelled against measured"));
        QVERIFY(ended.out.contains(
            "cuda:0 is NVIDIA H200, PCIe 5.0 x16 instead of simulated NVIDIA H200, PCIe 5.0 x16"));
        const json out = parsed(twb.run({"compare", "a.json", "b.json", "--json"}).out);
        QCOMPARE(out.at("iteration_ms").at("comparable"), false);
        QCOMPARE(out.at("iteration_ms").at("changed"), false);
    }

    void measuredTimesHaveNoise() {
        const Program twb;
        const auto measured = [](double median, double p95) {
            return [=](json& report) {
                report["clock"] = "measured";
                report["iteration_ms"] = {{"median", median}, {"p95", p95}, {"count", 30}};
            };
        };
        saveReport(twb, QStringLiteral("a.json"), measured(1.0, 1.4));
        saveReport(twb, QStringLiteral("b.json"), measured(1.3, 1.5));
        saveReport(twb, QStringLiteral("c.json"), measured(1.5, 1.6));
        QVERIFY(twb.run({"compare", "a.json", "b.json"}).out.contains("measured, within noise"));
        QVERIFY(twb.run({"compare", "a.json", "c.json"}).out.contains("+50.0 % measured"));
        // The limit applies, but the message says that the difference is within noise.
        const Ended ended = twb.run({"compare", "a.json", "b.json", "--fail-if-time-grows", "10%"});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.err.contains("; the difference is within the spread"), qPrintable(ended.err));
    }

    void filesThatAreNotReportsAreErrors_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("no JSON") << QByteArray("{");
        QTest::newRow("a project") << QByteArray(R"({"format": "tensor-workbench", "version": 1})");
        QTest::newRow("a list") << QByteArray("[1, 2]");
        QTest::newRow("newer") << QByteArray(R"({"schema": 2})");
        QTest::newRow("rows of other kinds")
            << QByteArray(R"({"schema": 1, "iterations": 1, "devices": [1], "steps": [], "transfers": []})");
    }
    void filesThatAreNotReportsAreErrors() {
        QFETCH(QByteArray, text);
        const Program twb;
        twb.write(QStringLiteral("a.json"), text);
        for (const QStringList& arguments :
             {QStringList{"compare", "a.json", "a.json"}, QStringList{"report", "a.json", "-o", "a.html"}}) {
            const Ended ended = twb.run(arguments);
            QCOMPARE(ended.exit, 4);
            QVERIFY2(ended.err.contains("a.json") &&
                         ended.err.contains("is not a report from twb run --report"),
                     qPrintable(ended.err));
        }
        QVERIFY(!twb.exists(QStringLiteral("a.html")));
    }

    void junitHasACasePerGraph() {
        const Program twb;
        twb.save(QStringLiteral("fine.twb"), smallGraph());
        twb.save(QStringLiteral("a <b> & \"c\".twb"), crossingGraph(false));
        QCOMPARE(twb.run({"check", "fine.twb", "a <b> & \"c\".twb", "gone.twb", "--junit", "check.xml"}).exit,
                 4);
        QCOMPARE(casesIn(twb.read(QStringLiteral("check.xml"))),
                 (QStringList{QStringLiteral("fine.twb passed"), QStringLiteral("a <b> & \"c\".twb failure"),
                              QStringLiteral("gone.twb error")}));
        QCOMPARE(twb.run({"run", "fine.twb", "--quiet", "--junit", "run.xml"}).exit, 0);
        QCOMPARE(casesIn(twb.read(QStringLiteral("run.xml"))),
                 QStringList{QStringLiteral("fine.twb passed")});
        QCOMPARE(twb.run({"run", "a <b> & \"c\".twb", "--quiet", "--junit", "run.xml"}).exit, 3);
        QCOMPARE(casesIn(twb.read(QStringLiteral("run.xml"))),
                 QStringList{QStringLiteral("a <b> & \"c\".twb failure")});
        QVERIFY(
            twb.read(QStringLiteral("run.xml")).contains("Expected all tensors to be on the same device"));
        QCOMPARE(twb.run({"run", "gone.twb", "--quiet", "--junit", "run.xml"}).exit, 4);
        QCOMPARE(casesIn(twb.read(QStringLiteral("run.xml"))), QStringList{QStringLiteral("gone.twb error")});
        QCOMPARE(twb.run({"batch", "fine.twb", "a <b> & \"c\".twb", "--quiet", "--junit", "batch.xml"}).exit,
                 3);
        const QStringList members = casesIn(twb.read(QStringLiteral("batch.xml")));
        QCOMPARE(members.size(), 2);
        QVERIFY(members.filter(QStringLiteral("passed")).size() == 1 &&
                members.filter(QStringLiteral("failure")).size() == 1);
        saveReport(twb, QStringLiteral("a.json"), asItIs);
        saveReport(twb, QStringLiteral("b.json"), [](json& report) { report["transfers"].clear(); });
        QCOMPARE(twb.run({"compare", "b.json", "a.json", "--fail-if-transfer-bytes-grow", "5%", "--junit",
                          "c.xml"})
                     .exit,
                 1);
        QCOMPARE(casesIn(twb.read(QStringLiteral("c.xml"))),
                 QStringList{QStringLiteral("b.json to a.json failure")});
    }
};

TWB_TEST_MAIN(TestCompare)
#include "test_compare.moc"
