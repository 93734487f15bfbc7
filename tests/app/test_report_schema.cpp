#include "app/program.h"
#include "support/json_schema.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

const fs::path kResources = fs::path(TWB_SOURCE_DIR) / "resources";

Schema schemaOf(const char* name) {
    return Schema(nlohmann::json::parse(readFile(kResources / "schema" / name, 1 << 20)), true);
}

QString problem(const Schema& schema, const nlohmann::json& value) {
    return QString::fromStdString(schema.problem(value));
}

GraphMaker failingGraph() {
    GraphMaker maker;
    const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", Integers{4}}});
    const NodeId places = maker.node("Constant", "places", "cpu", {{"value", Integers{9}}, {"dtype", "i64"}});
    const NodeId y = maker.node("Gather", "y", "cpu", {}, {x, places});
    maker.node("Probe", "seen", "cpu", {}, {y});
    return maker;
}

} // namespace

/// Validates the program's reports against the published schemas. Every key must be described.
class TestReportSchema : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void exampleReportsFollowTheSchema() {
        const Program twb;
        const Schema schema = schemaOf("report.schema.json");
        const QString folder = QString::fromStdString((kResources / "examples").string());
        int reports = 0;
        for (const QString& name : QDir(folder).entryList({QStringLiteral("*.twb")}, QDir::Files)) {
            // A captured script, which cannot run; a state that no policy copies; a data set that is not
            // here.
            const QStringList others{"10-", "13-", "17-"};
            if (others.contains(name.left(3))) continue;
            const Ended ended = twb.run({"run", folder + '/' + name, "--policy", "implicit", "--iterations",
                                         "2", "--quiet", "--report", "r.json"});
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            const nlohmann::json report = twb.json(QStringLiteral("r.json"));
            QVERIFY(!report.is_discarded());
            QCOMPARE(problem(schema, report), QString());
            QCOMPARE(report.at("iteration_ms").at("count"), 2);
            QVERIFY(!report.at("graph").at("nodes").empty() && !report.at("timeline").at("slices").empty());
            ++reports;
        }
        QCOMPARE(reports, 15);
    }

    void reportOfAFailedRunFollowsTheSchema() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), failingGraph());
        QCOMPARE(twb.run({"run", "g.twb", "--quiet", "--report", "r.json"}).exit, 1);
        const nlohmann::json report = twb.json(QStringLiteral("r.json"));
        QCOMPARE(report.at("status"), "failed");
        QVERIFY(!report.at("errors").empty());
        QCOMPARE(problem(schemaOf("report.schema.json"), report), QString());
    }

    void invalidReportsAreRejected() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), crossingGraph());
        QCOMPARE(twb.run({"run", "g.twb", "--quiet", "--report", "r.json"}).exit, 0);
        const Schema schema = schemaOf("report.schema.json");
        nlohmann::json report = twb.json(QStringLiteral("r.json"));
        QCOMPARE(problem(schema, report), QString());
        report["transfers"][0].erase("modelled");
        QVERIFY(problem(schema, report).contains("[transfers][0]: Missing required property 'modelled'"));
        report = twb.json(QStringLiteral("r.json"));
        report["steps"][0]["median_ms"] = "fast";
        QVERIFY(problem(schema, report).contains("[steps][0][median_ms]: Value type not permitted"));
        report = twb.json(QStringLiteral("r.json"));
        report["devices"][0]["colour"] = "red";
        QVERIFY(problem(schema, report).contains("[devices][0]: ") &&
                problem(schema, report).contains("'colour'"));
    }

    void batchReportsFollowTheSchema() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), smallGraph());
        QCOMPARE(twb.run({"batch", "g.twb", "--set", "base.value=1,2", "--report", "out", "--quiet"}).exit,
                 0);
        const QStringList reports =
            QDir(twb.file(QStringLiteral("out"))).entryList({QStringLiteral("g__*.json")}, QDir::Files);
        QCOMPARE(reports.size(), 2);
        for (const QString& name : reports)
            QCOMPARE(problem(schemaOf("report.schema.json"), twb.json("out/" + name)), QString());
    }

    void diagnosticsFollowTheirSchema() {
        const Program twb;
        twb.save(QStringLiteral("wrong.twb"), crossingGraph(false));
        twb.save(QStringLiteral("fine.twb"), smallGraph());
        twb.write(QStringLiteral("broken.twb"), "{");
        const Ended ended = twb.run({"check", "wrong.twb", "fine.twb", "broken.twb", "--json"});
        const nlohmann::json out = parsed(ended.out);
        QCOMPARE(out.at("errors"), 1);
        QCOMPARE(out.at("unreadable"), 1);
        QCOMPARE(problem(schemaOf("check.schema.json"), out), QString());
    }
};

TWB_TEST_MAIN(TestReportSchema)
#include "test_report_schema.moc"
