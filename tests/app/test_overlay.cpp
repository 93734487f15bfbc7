#include "app/program.h"
#include "support/json_schema.h"
#include "support/round_trip.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;
using namespace twb::test;
using nlohmann::json;

namespace {

/// A row of a list of the report, by its label.
json row(const json& report, const char* list, const std::string& label) {
    for (const json& each : report.at(list))
        if (each.at("label") == label) return each;
    return {};
}

QString problem(const json& report) {
    const auto path = std::filesystem::path(TWB_SOURCE_DIR) / "resources/schema/report.schema.json";
    return QString::fromStdString(Schema(json::parse(readFile(path, 1 << 20)), true).problem(report));
}

} // namespace

/// `twb overlay`: measured times of other programs' profiles on a graph.
class TestOverlay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nodesOfOnnxRuntimeMatchByName() {
        const Program twb;
        QProcess copy;
        copy.start("cp", {"-r", QStringLiteral(TWB_SOURCE_DIR "/resources/examples"), twb.file("examples")});
        QVERIFY(copy.waitForFinished() && copy.exitCode() == 0);
        const Ended ended =
            twb.run({"overlay", "examples/digits.twb",
                     QStringLiteral(TWB_SOURCE_DIR "/tests/data/traces/digits-onnxruntime-1.32.json.gz"),
                     "-o", "r.json"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        QVERIFY2(ended.out.contains("relu (Relu)"), qPrintable(ended.out)); // fused into fc1
        const json report = twb.json("r.json");
        QCOMPARE(problem(report), QString());
        QCOMPARE(report.at("iterations"), 5);
        for (const char* node : {"fc1", "fc2", "predicted", "share", "largest"}) {
            const json step = row(report, "steps", node);
            QCOMPARE(step.at("count"), 5);
            QCOMPARE(step.at("modelled"), false);
            QCOMPARE(step.at("measured_by"), "ONNX Runtime");
            QVERIFY(step.at("predicted_ms") > 0);
        }
        // fc1 took 138 µs in the second run, as the profile says.
        QVERIFY(row(report, "steps", "fc1").at("total_ms") > 0.138);
        // A step without a measured time keeps its prediction only.
        const json relu = row(report, "steps", "relu");
        QVERIFY(relu.at("measured_by").is_null() && !relu.contains("median_ms"));
        QCOMPARE(report.at("overlay").at("profiler"), "ONNX Runtime");
        QVERIFY(twb.run({"report", "r.json", "-o", "r.html"}).exit == 0);
        QVERIFY(twb.read("r.html").contains("ONNX Runtime"));
    }

    void opsOfKinetoMatchByShapeAndOrder() {
        const Program twb;
        twb.save("g.twb", roundTrip());
        KinetoTraceMaker trace;
        trace.iteration();
        trace.iteration();
        trace.iteration();
        twb.write("t.json", trace.text());
        const Ended ended = twb.run({"overlay", "g.twb", "t.json", "-o", "r.json"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        const json report = twb.json("r.json");
        QCOMPARE(problem(report), QString());
        const auto median = [&](const char* list, const char* label) {
            return row(report, list, label).value("median_ms", -1.0);
        };
        QCOMPARE(median("steps", "y"), 0.040);
        QCOMPARE(median("steps", "r"), 0.003); // the first of each pair
        QCOMPARE(median("steps", "s"), 0.005);
        QCOMPARE(row(report, "steps", "s").at("count"), 3);
        QCOMPARE(median("steps", "z"), -1.0); // another shape
        QVERIFY(row(report, "steps", "z").at("measured_by").is_null());
        const json there = row(report, "transfers", "x → cuda:0");
        QCOMPARE(there.at("median_ms"), 0.009);
        QCOMPARE(there.at("bytes"), 3 * 8192);
        QCOMPARE(there.at("modelled"), false);
        QCOMPARE(there.at("measured_by"), "PyTorch's profiler");
        const json& about = report.at("overlay");
        QCOMPARE(about.at("matched_transfers"), 2);
        const json others = about.at("unmatched_ops");
        QCOMPARE(others.size(), std::size_t(2)); // zeros and sigmoid
        QCOMPARE(others.at(0).at("name"), "aten::sigmoid");
        QCOMPARE(others.at(1).at("total_ms"), 0.006);
        // The timeline is that of the GPU in the last iteration: one launch each 0.2 ms.
        const json& timeline = report.at("timeline");
        QCOMPARE(timeline.at("iteration"), 2);
        QVERIFY(std::none_of(timeline.at("streams").begin(), timeline.at("streams").end(),
                             [](const json& stream) { return stream.at("modelled").get<bool>(); }));
        std::vector<std::string> labels;
        for (const json& slice : timeline.at("slices"))
            labels.push_back(report.at("steps").at(slice.at("step").get<std::size_t>()).at("label"));
        QCOMPARE(labels, (std::vector<std::string>{"x → cuda:0", "y", "r", "s", "z → cpu"}));
        QCOMPARE(timeline.at("slices").at(1).at("start_ms"), 0.4);
        QCOMPARE(timeline.at("slices").at(1).at("ms"), 0.04);
        QVERIFY(!report.contains("memory"));
        QVERIFY(twb.run({"report", "r.json", "-o", "r.html"}).exit == 0);
        const QByteArray page = twb.read("r.html");
        QVERIFY(page.contains("Timeline of the last iteration") && page.contains("times of t.json"));
        QVERIFY(!page.contains("run finished"));
    }

    /// The backward pass of PyTorch calls its ops inside of the engine's.
    void opsInsideOfOthersMatch() {
        const Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("RandomNormal", "x", "cuda:0", {{"shape", Integers{32, 64}}});
        const NodeId w = maker.node("RandomNormal", "w", "cuda:0", {{"shape", Integers{64, 16}}});
        const NodeId y = maker.node("MatMul", "mm", "cuda:0", {}, {x, w});
        // Two nodes from one call, as an import makes them: "tanh_backward sub" and "tanh_backward".
        const NodeId squared = maker.node("Mul", "tanh_backward mul", "cuda:0", {}, {y, y});
        const NodeId slope = maker.node("Sub", "tanh_backward", "cuda:0", {}, {y, squared});
        maker.node("Relu", "r", "cuda:0", {}, {slope});
        twb.save("g.twb", maker);
        KinetoTraceMaker trace;
        for (int i = 0; i < 2; ++i) {
            trace.opInside("autograd::engine::evaluate_function: MmBackward0", "aten::mm",
                           "[[32,64],[64,16]]", 40);
            trace.opInside("autograd::engine::evaluate_function: TanhBackward0", "aten::tanh_backward",
                           "[[32,16],[32,16]]", 7);
            trace.opInside("autograd::engine::evaluate_function: TBackward0", "aten::t", "[[32,16]]", 1);
        }
        twb.write("t.json", trace.text());
        const Ended ended = twb.run({"overlay", "g.twb", "t.json", "-o", "r.json"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        const json report = twb.json("r.json");
        QCOMPARE(problem(report), QString());
        QCOMPARE(report.at("iterations"), 2);
        QCOMPARE(row(report, "steps", "mm").at("median_ms"), 0.04);
        // The whole call's time is at the node of its result.
        QCOMPARE(row(report, "steps", "tanh_backward").at("median_ms"), 0.007);
        const json part = row(report, "steps", "tanh_backward mul");
        QVERIFY(part.at("measured_by").is_null() && !part.contains("median_ms"));
        QCOMPARE(part.at("measured_with"), "tanh_backward");
        QCOMPARE(report.at("overlay").at("unmatched_steps"), json::array({"r"}));
        QVERIFY(twb.run({"report", "r.json", "-o", "r.html"}).exit == 0);
        QVERIFY(twb.read("r.html").contains("in the time of tanh_backward"));
        // An op without a match inside is named as a whole.
        const json others = report.at("overlay").at("unmatched_ops");
        QCOMPARE(others.size(), std::size_t(1));
        QCOMPARE(others.at(0).at("name"), "autograd::engine::evaluate_function: TBackward0");
    }

    /// A program that was captured without a GPU may have mismatches.
    void captureIsAGraph() {
        const Program twb;
        const QString capture = QStringLiteral(TWB_SOURCE_DIR "/tests/data/capture_five_faults.twbcap");
        KinetoTraceMaker trace;
        for (int i = 0; i < 3; ++i) trace.op("aten::linear", "[[16,32],[64,32],[64]]", "kernel", "gemm", 40);
        twb.write("t.json", trace.text());
        const Ended ended = twb.run({"overlay", capture, "t.json", "-o", "r.json"});
        QVERIFY2(ended.exit == 0 &&
                     ended.err.contains("5 mismatches; operands on the wrong device are treated as copied"),
                 qPrintable(ended.err));
        const json report = twb.json("r.json");
        QCOMPARE(problem(report), QString());
        QCOMPARE(report.at("overlay").at("matched_steps"), 1);
        QCOMPARE(twb.run({"overlay", capture, "t.json", "--policy", "strict"}).exit, 3);
    }

    /// Three ops for two steps do not tell which is which.
    void countsThatDoNotFitStayUnmatched() {
        const Program twb;
        twb.save("g.twb", roundTrip());
        KinetoTraceMaker trace;
        for (int i = 0; i < 3; ++i) trace.op("aten::relu", "[[32,16]]", "kernel", "relu", 3);
        twb.write("t.json", trace.text());
        QCOMPARE(twb.run({"overlay", "g.twb", "t.json", "-o", "r.json"}).exit, 0);
        const json report = twb.json("r.json");
        QCOMPARE(report.at("overlay").at("matched_steps"), 0);
        QVERIFY(std::none_of(report.at("steps").begin(), report.at("steps").end(),
                             [](const json& step) { return step.contains("median_ms"); }));
        QCOMPARE(report.at("overlay").at("unmatched_ops").at(0).at("count"), 3);
    }

    void profileOfAnotherModelIsSaidToBeOne() {
        const Program twb;
        twb.save("g.twb", roundTrip());
        const Ended ended =
            twb.run({"overlay", "g.twb",
                     QStringLiteral(TWB_SOURCE_DIR "/tests/data/traces/h100-bert-small-inference.json.gz")});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.out.contains("0 of 2 transfers"), qPrintable(ended.out));
        QVERIFY(ended.out.contains("NVIDIA H100"));
        twb.write("list.json", "[{\"cat\": \"Node\"}]");
        const Ended refused = twb.run({"overlay", "g.twb", "list.json"});
        QCOMPARE(refused.exit, 4);
        QVERIFY2(refused.err.contains("not a profile of ONNX Runtime"), qPrintable(refused.err));
    }
};

TWB_TEST_MAIN(TestOverlay)
#include "test_overlay.moc"
