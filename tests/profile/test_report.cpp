#include "graph/delta.h"
#include "profile/example_plan.h"
#include "profile/report.h"
#include "profile/report_page.h"
#include "support/test_main.h"

#include <QFloat16>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace twb;
using nlohmann::json;

class TestReport : public QObject {
    Q_OBJECT

    std::shared_ptr<Plan> m_plan;
    Ledger m_ledger;
    StepTimes m_times;
    RunReport m_report;

private Q_SLOTS:
    void init() {
        m_plan = test::examplePlan();
        m_ledger = Ledger(m_plan);
        m_times = StepTimes(m_plan);
        m_ledger.add(test::exampleRecords());
        m_times.add(test::exampleRecords());
        m_report = {};
        m_report.file = "digits.twb";
        m_report.policy = "strict";
        m_report.plan = m_plan;
        m_report.ledger = &m_ledger;
        m_report.steps = &m_times;
        m_report.result.iterations = 2;
        m_report.result.wallNs = 4'000'000;
        m_report.result.clockNs = 6'000;
        m_report.result.memory = {{Device::cuda(0), {100, 200, 0, 1'000'000}}};
    }

    void everyTimeOfASimulatedDeviceIsModelled() {
        const json report = json::parse(toJson(m_report));
        QCOMPARE(report.at("schema"), kReportSchema);
        QCOMPARE(report.at("status"), "finished");
        QCOMPARE(report.at("iterations"), 2);
        QCOMPARE(report.at("clock"), "modelled");
        QCOMPARE(report.at("clock_ms"), 0.006);
        QCOMPARE(report.at("wall_ms"), 4.0);
        QCOMPARE(report.at("steps").size(), 4U);
        for (const json& step : report.at("steps")) QCOMPARE(step.at("modelled"), step.at("device") != "cpu");
        const json& copy = report.at("transfers").at(0);
        QCOMPARE(copy.at("modelled"), true);
        QCOMPARE(copy.at("count"), 2);
        QCOMPARE(copy.at("bytes"), 5120);
        QCOMPARE(copy.at("total_ms"), 0.00512);
        QCOMPARE(copy.at("label"), "images → cuda:0");
        QCOMPARE(copy.at("from").at("node"), 1);
        QCOMPARE(copy.at("to").at("node"), 3);
        for (const json& device : report.at("devices")) {
            QCOMPARE(device.at("simulated"), device.at("device") != "cpu");
            if (device.at("device") == "cuda:0") QCOMPARE(device.at("peak_bytes"), 200);
        }
    }

    void thePageHasATitleAndADate() {
        m_report.file = "/home/user/projects/of/mine/digits.twb";
        m_report.date = "2026-11-22T21:40:05Z";
        const auto page = [&] { return QString::fromStdString(reportPage(toJson(m_report), "r.json")); };
        QVERIFY(page().contains(QStringLiteral("<h1>digits.twb</h1>")));
        QVERIFY(page().contains(QStringLiteral("<title>digits.twb</title>")));
        QVERIFY(page().contains(QStringLiteral("22 November 2026, 21:40 UTC")));
        Graph graph;
        DeltaBuilder builder(graph, "name");
        GraphInfo info;
        info.title = "Digits <of> 1998";
        builder.setInfo(info);
        graph.apply(builder.take());
        m_report.graph = &graph;
        QVERIFY(page().contains(QStringLiteral("<h1>Digits &lt;of&gt; 1998</h1>")));
        m_report.date.clear(); // as in a report of an older version
        QVERIFY(!page().contains(QStringLiteral("UTC")));
    }

    void theTableLabelsModelledTimes() {
        const QString table = QString::fromStdString(toTable(m_report, false));
        for (const QString& line : table.split('\n')) {
            if (line.startsWith("  fc1 ") || line.startsWith("  relu ") ||
                line.startsWith("  images → cuda:0"))
                QVERIFY2(line.contains("modelled"), qPrintable(line));
            if (line.startsWith("  images  ")) QVERIFY2(line.contains("measured, setup"), qPrintable(line));
        }
        QVERIFY(table.startsWith("digits.twb: finished, 2 iterations, 0.003 ms each (modelled)"));
        QVERIFY(table.contains("5,120 B"));
        QVERIFY(!table.contains('\x1b'));
        QVERIFY(toTable(m_report, true).find("\x1b[1mTransfers\x1b[0m") != std::string::npos);
    }

    void errorsAndStates() {
        m_report.result.status = RunStatus::failed;
        m_report.result.errors = {{2, NodeId(3), ErrorCode::outOfMemory, "fc1 wants 1 TB"}};
        StepRecord failed = test::exampleRecords()[2];
        failed.state = StepState::failed;
        m_times.add({&failed, 1});
        const json report = json::parse(toJson(m_report));
        QCOMPARE(report.at("status"), "failed");
        QCOMPARE(report.at("errors").at(0).at("code"), "out-of-memory");
        QCOMPARE(report.at("errors").at(0).at("label"), "fc1");
        QCOMPARE(report.at("steps").at(2).at("state"), "failed");
        QVERIFY(toTable(m_report, false).find("fc1 wants 1 TB") != std::string::npos);
    }

    void probesOfEverySize() {
        const auto inf = std::numeric_limits<double>::infinity();
        const auto nan = std::numeric_limits<double>::quiet_NaN();
        m_report.probes = {probe("accuracy", Tensor::of<float>({}, {0.5F})),
                           probe("logits", Tensor::of<double>({4}, {1.0, nan, -2.0, 4.0})),
                           probe("nothing", Tensor::of<float>({0}, {})),
                           probe("loss", Tensor::of<double>({1}, {inf})),
                           probe("lost", Tensor::of<double>({2}, {nan, nan})),
                           probe("right", Tensor::of<bool>({3}, {true, false, true})),
                           probe("odd", Tensor::of<std::int64_t>({}, {9007199254740993}))};
        const json rows = json::parse(toJson(m_report)).at("probes");
        QCOMPARE(rows[0].at("value"), 0.5);
        QCOMPARE(rows[0].at("type"), "f32 scalar");
        QCOMPARE(rows[1].at("min"), -2.0);
        QCOMPARE(rows[1].at("max"), 4.0);
        QCOMPARE(rows[1].at("mean"), 1.0);
        QCOMPARE(rows[1].at("nan"), 1);
        QCOMPARE(rows[2].at("elements"), 0);
        QVERIFY(!rows[2].contains("value"));
        QCOMPARE(rows[3].at("value"), "inf");
        QCOMPARE(rows[4].at("mean"), "nan");
        QVERIFY(std::abs(rows[5].at("mean").get<double>() - 2.0 / 3) < 1e-12);
        QCOMPARE(rows[6].at("value"), 9007199254740993); // no double
        const std::string table = toTable(m_report, false);
        QVERIFY(table.find("9007199254740993") != std::string::npos);
        QVERIFY(table.find("min -2  max 4  mean 1  nan 1") != std::string::npos);
        QVERIFY(table.find("no elements") != std::string::npos);
    }

    void diagnosticsNameTheirNodes() {
        Graph graph;
        DeltaBuilder builder(graph, "");
        Lane lane;
        const LaneId laneId = builder.addLane(lane);
        Node node;
        node.op = "Gemm";
        node.name = "fc1 \xff";
        node.lane = laneId;
        const NodeId id = builder.addNode(node);
        graph.apply(builder.take());

        Diagnostic error;
        error.code = "device-mismatch";
        error.node = id;
        error.port = 1;
        error.edge = Edge{{id, 0}, {id, 1}};
        error.message = "m";
        error.operands = {{"mat1", "images", Device::cpu(), "o"}};
        Fix fix;
        fix.title = "insert To(cuda:0)";
        error.fixes = {fix, fix};
        error.fixes[1].price = {10, 2000, true, true};
        Diagnostic warning;
        warning.severity = Severity::warning;
        const json out = json::parse(diagnosticsToJson("a.twb", {error, warning}, graph));
        QCOMPARE(out.at("schema"), kReportSchema);
        QCOMPARE(out.at("errors"), 1);
        QCOMPARE(out.at("warnings"), 1);
        const json& first = out.at("diagnostics").at(0);
        QCOMPARE(first.at("name"), "fc1 \uFFFD");
        QCOMPARE(first.at("severity"), "error");
        QCOMPARE(first.at("edge").at("to").at("port"), 1);
        QCOMPARE(first.at("operands").at(0).at("device"), "cpu");
        QVERIFY(first.at("fixes").at(0).at("price").is_null());
        QCOMPARE(first.at("fixes").at(1).at("price").at("ms"), 0.002);
    }
};

TWB_TEST_MAIN(TestReport)
#include "test_report.moc"
