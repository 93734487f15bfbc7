#include "core/error.h"
#include "formats/model_formats.h"
#include "formats/project.h"
#include "formats/pytorch/capture.h"
#include "formats/pytorch/capture_record.h"
#include "formats/pytorch/capture_steps.h"
#include "placement/analysis.h"
#include "placement/step_transfers.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"
#include "support/captures.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

using namespace twb;
using namespace twb::test;

namespace {

std::string dataFile(const std::string& name) {
    return readFile(std::filesystem::path(TWB_SOURCE_DIR) / "tests/data" / name, 1 << 20);
}

Analysis analyzeOnSimulatedGpu(const Graph& graph) {
    const DeviceMap devices = makeDeviceMap(graph, {}, ProfileLibrary(resourceFolder() / "devices"), false);
    return analyze(graph, devices, Policy::strict, nullptr);
}

/// File, line and operand of each root mismatch.
using Roots = std::multiset<std::tuple<std::string, int>>;

Roots rootsOf(const Graph& graph, const Analysis& analysis) {
    Roots out;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.code == "device-mismatch" && d.root == NodeId::none) {
            const SourceLine& at = *graph.find(d.node)->source;
            out.emplace(std::filesystem::path(at.file).filename().string(), at.line);
        }
    return out;
}

Roots rootsOf(const capture::Record& record) {
    Roots out;
    for (const capture::Mismatch& mismatch : record.mismatches) {
        if (mismatch.root != 0) continue;
        const capture::Location& at = record.locations[record.userLine(mismatch.location)];
        out.emplace(std::filesystem::path(at.file).filename().string(), at.line);
    }
    return out;
}

std::set<std::string> outerFrames(const Graph& graph) {
    std::set<std::string> out;
    for (const Frame& frame : graph.frames())
        if (frame.parent == FrameId::none) out.insert(frame.title);
    return out;
}

} // namespace

class TestCaptureImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void capturesAreKnownByTheirExtensionInAnyCase() {
        QVERIFY(isCapture("run.twbcap") && isCapture("RUN.TWBCAP"));
        QVERIFY(!isCapture("run.pt2") && !isCapture("twbcap"));
    }

    /// The same ops as in a capture's own list of syncs.
    void opsOfUnknownSizeAreSyncs() {
        for (const char* target :
             {"aten::nonzero", "aten::bincount", "aten::multinomial", "aten::allclose"}) {
            GraphMaker maker;
            const NodeId x =
                maker.node("RandomNormal", "x", "cuda:0", {{"shape", std::vector<std::int64_t>{4}}});
            const NodeId node = maker.node("Opaque", "op", "cuda:0",
                                           {{"target", std::string(target)},
                                            {"num_outputs", std::int64_t{1}},
                                            {"outputs", std::vector<std::string>{"i64[4]"}},
                                            {"reason", std::string("test")}},
                                           {x});
            const Analysis analysis = analyze(maker.graph(), DeviceMap(), Policy::strict, nullptr);
            QVERIFY2(isSync(maker.graph(), analysis, *analysis.find(node)), target);
        }
    }

    void equalStepsBecomeOneIteration() {
        const capture::Record record = capture::parseCapture(loopCapture(1000), "loop.twbcap");
        const capture::Steps steps = capture::foldSteps(record);
        QCOMPARE(steps.count, 1000);
        const ImportedModel model = parseCapture(loopCapture(1000), "loop.twbcap");
        QCOMPARE(model.graph.info().iterations, 1000);
        QCOMPARE(outerFrames(model.graph),
                 (std::set<std::string>{"Set-up", "Forward", "Backward", "Optimizer", "After the loop"}));
        QVERIFY(model.graph.nodes().size() < 24);
    }

    void aStepThatDiffersHasItsOwnFrame() {
        const ImportedModel model = parseCapture(loopCapture(10, 4), "loop.twbcap");
        QCOMPARE(model.graph.info().iterations, 9);
        const auto frames = outerFrames(model.graph);
        QVERIFY(std::any_of(frames.begin(), frames.end(), [](const std::string& title) {
            return title.starts_with("Step 4: 1 op more, from aten::relu at train.py:");
        }));
    }

    /// The optimizer writes the weight in place; the next step reads it from set-up.
    void stateCarriedAcrossStepsMakesNoCycle() {
        const ImportedModel model = parseCapture(loopCapture(5), "loop.twbcap");
        const Analysis analysis = analyzeOnSimulatedGpu(model.graph);
        for (const Diagnostic& d : analysis.diagnostics)
            QVERIFY2(d.severity != Severity::error, d.message.c_str());
        const Node* weight = model.graph.findByName("Net.weight");
        QVERIFY(weight);
        QCOMPARE(weight->op, "To");
        QVERIFY(model.graph.runsOnce(*weight));
        QVERIFY(model.graph.outgoing(weight->id).size() >= 2); // the forward and the optimizer
    }

    void whatOnlyTheLoopChangesBeginsInSetUp() {
        const ImportedModel model = parseCapture(loopCapture(5), "loop.twbcap");
        const Node* count = model.graph.findByName("tensor_8");
        QVERIFY(count);
        QCOMPARE(count->op, "Input");
        QVERIFY(model.graph.runsOnce(*count));
        for (const Node& node : model.graph.nodes())
            QVERIFY2(node.name.find("of the previous step") == std::string::npos, node.name.c_str());
    }

    void clearedGradientsBelongToTheBackward() {
        const ImportedModel model = parseCapture(loopCapture(5), "loop.twbcap");
        const Node* cleared = model.graph.findByName("zero_");
        QVERIFY(cleared);
        QCOMPARE(model.graph.find(cleared->frame)->title, "Backward");
    }

    void whatHappensOnceIsNoTransferOfTheStep() {
        const ImportedModel model = parseCapture(loopCapture(5), "loop.twbcap");
        const Analysis analysis = analyzeOnSimulatedGpu(model.graph);
        std::uint64_t bytes = 0;
        std::size_t syncs = 0;
        for (const StepTransfer& transfer : stepTransfers(model.graph, analysis)) {
            bytes += transfer.bytes;
            syncs += transfer.isSync ? 1 : 0;
        }
        QCOMPARE(bytes, std::uint64_t{32 + 4}); // the batch, and the loss for item()
        QCOMPARE(syncs, std::size_t{1});
    }

    void theGraphFindsTheMismatchesOfTheCapture_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("count");
        QTest::newRow("five faults") << "capture_five_faults.twbcap" << 5;
        QTest::newRow("average") << "capture_average_of_weights.twbcap" << 1;
        QTest::newRow("lstm") << "capture_packed_lstm.twbcap" << 1;
    }

    void theGraphFindsTheMismatchesOfTheCapture() {
        QFETCH(QString, file);
        QFETCH(int, count);
        const std::string bytes = dataFile(file.toStdString());
        const capture::Record record = capture::parseCapture(bytes, "run.twbcap");
        const Roots recorded = rootsOf(record);
        QCOMPARE(static_cast<int>(recorded.size()), count);
        const ImportedModel model = parseCapture(bytes, "run.twbcap");
        const Analysis analysis = analyzeOnSimulatedGpu(model.graph);
        const Roots found = rootsOf(model.graph, analysis);
        for (const auto& [name, line] : found) qInfo("found %s:%d", name.c_str(), line);
        QCOMPARE(found, recorded);
        for (const Diagnostic& d : analysis.diagnostics)
            QVERIFY2(d.severity != Severity::error || d.code == "device-mismatch", d.message.c_str());
    }

    /// Of a large program, the iteration is open as far as about 32 cards allow; Set-up is one card.
    void largeProgramsStartWithCollapsedFrames() {
        const Graph graph =
            importCapture(std::filesystem::path(TWB_SOURCE_DIR) / "tests/data/capture_five_faults.twbcap")
                .graph;
        std::set<std::pair<FrameId, NodeId>> cards; // a collapsed frame, or a node
        for (const Node& node : graph.nodes()) {
            if (node.folded) continue;
            FrameId outermost = FrameId::none;
            for (const Frame* f = graph.find(node.frame); f; f = graph.find(f->parent))
                if (f->collapsed) outermost = f->id;
            cards.emplace(outermost, outermost == FrameId::none ? node.id : NodeId::none);
        }
        QVERIFY2(cards.size() > 10 && cards.size() <= 33, qPrintable(QString::number(cards.size())));
        for (const Frame& frame : graph.frames())
            if (frame.parent == FrameId::none) QCOMPARE(frame.collapsed, frame.title != "Forward");
    }

    void aSavedImportReadsBack() {
        const ImportedModel model = parseCapture(dataFile("capture_five_faults.twbcap"), "run.twbcap");
        QVERIFY(parseProject(toProjectText(model.graph), "saved") == model.graph);
    }

    void aCaptureCutAnywhereOpensUpToThere() {
        const std::string whole = loopCapture(3);
        const std::size_t header = whole.find('\n');
        for (std::size_t size = header + 1; size < whole.size(); size += 31) {
            const ImportedModel model = parseCapture(whole.substr(0, size), "cut.twbcap");
            QVERIFY(std::any_of(model.remarks.begin(), model.remarks.end(), [](const std::string& remark) {
                return remark.starts_with("cut.twbcap: the capture ends early, at line ");
            }));
        }
    }

    void refusesBadLines_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("sentence");
        const QByteArray head = QByteArray::fromStdString(captureHeader());
        QTest::newRow("empty") << QByteArray() << QByteArray("line 1: not a capture: the file is empty");
        QTest::newRow("text") << QByteArray("hello\n") << QByteArray("line 1: not a capture");
        QTest::newRow("newer") << QByteArray(
                                      R"({"format":"tensor-workbench-capture","version":2,"script":""})")
                               << QByteArray("line 1: the capture has version 2");
        QTest::newRow("damaged") << head + "{]\n{}\n" << QByteArray("line 2: not a JSON object");
        QTest::newRow("no kind") << head + "{}\n" << QByteArray("line 2: \"kind\" is missing");
        QTest::newRow("unknown tensor")
            << head +
                   R"({"kind":"op","id":1,"op":"aten::relu","in":[{"arg":"self","id":7}],"out":[],"device":"cpu","phase":"forward","step":0})"
                   "\n"
            << QByteArray("line 2: \"id\" names tensor 7, which no earlier line defines");
        QTest::newRow("huge shape")
            << head +
                   R"({"kind":"tensor","id":1,"shape":[4611686018427387904,4],"dtype":"float32","device":"cpu"})"
                   "\n"
            << QByteArray("line 2: \"shape\": ");
    }

    void refusesBadLines() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, sentence);
        try {
            parseCapture(bytes.toStdString(), "bad.twbcap");
            QFAIL("no error");
        } catch (const Error& e) {
            QCOMPARE(e.code(), ErrorCode::badFile);
            QVERIFY2(std::string_view(e.what()).starts_with("bad.twbcap: " + sentence.toStdString()),
                     e.what());
        }
    }

    void unknownKindsAndKeysAreSkipped() {
        const ImportedModel model =
            parseCapture(captureHeader() + R"({"kind":"later","value":1})" + "\n", "new.twbcap");
        QCOMPARE(model.graph.nodes().size(), std::size_t{0});
    }
};

TWB_TEST_MAIN(TestCaptureImport)
#include "test_capture_import.moc"
