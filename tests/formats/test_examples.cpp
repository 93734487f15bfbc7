#include "formats/npy.h"
#include "formats/project.h"
#include "placement/analysis.h"
#include "placement/fixes.h"
#include "profile/prediction.h"
#include "profile/profiles.h"
#include "runtime/executor.h"
#include "support/insert_to.h"
#include "support/test_main.h"
#include "training/mixed_precision.h"
#include "training/training_session.h"

#include <QDir>
#include <QRectF>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace twb;
namespace fs = std::filesystem;

namespace {

const fs::path kResources = fs::path(TWB_SOURCE_DIR) / "resources";
const fs::path kExamples = kResources / "examples";

struct Example {
    Graph graph;
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;
    Analysis analysis;

    explicit Example(const std::string& name, const std::vector<DeviceChoice>& choices = {})
        : graph(loadProject(kExamples / name)),
          devices(makeDeviceMap(graph, choices, ProfileLibrary(kResources / "devices"))),
          files(makeProjectFiles(kExamples)),
          analysis(analyze(graph, devices, graph.info().policy, files.get())) {}

    void apply(const Delta& delta) {
        graph.apply(delta);
        analysis = analyze(graph, devices, graph.info().policy, files.get());
    }

    std::shared_ptr<const Plan> plan() const {
        return compile(graph, analysis, devices, files, {0, graph.info().policy, false, {}});
    }

    /// Runs two iterations and returns the Probes' values by name.
    std::map<std::string, double> run() const {
        const auto compiled = plan();
        const RunResult result = runToEnd(compiled, {2, false});
        if (result.status != RunStatus::finished)
            qFatal("the run failed: %s", result.errors.empty() ? "" : result.errors[0].message.c_str());
        std::map<std::string, double> values;
        for (const Node& node : graph.nodes()) {
            if (node.op != "Probe") continue;
            const Tensor* tensor = result.tensor(*graph.sourceOf({node.id, 0}));
            if (!tensor) qFatal("%s kept nothing", node.name.c_str());
            values[node.name] = toHost(*tensor, devices).at(0);
        }
        return values;
    }

    QStringList errors() const {
        QStringList codes;
        for (const Diagnostic& d : analysis.diagnostics)
            if (d.severity == Severity::error) codes << QString::fromStdString(d.code + ": " + d.message);
        return codes;
    }
};

/// A captured script, which has several errors and cannot run.
const QString kCaptured = QStringLiteral("10-your-own-script.twb");

/// Its data set is a package of its own.
const QString kFashion = QStringLiteral("17-fashion-mnist.twb");

/// Each state of the optimizer is on the wrong device.
const QString kOptimizerFirst = QStringLiteral("13-the-optimizer-was-made-first.twb");

QStringList exampleNames() {
    return QDir(QString::fromStdString(kExamples.string()))
        .entryList({QStringLiteral("*.twb")}, QDir::Files, QDir::Name);
}

} // namespace

class TestExamples : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void thereIsOneForEachLesson() { QCOMPARE(exampleNames().size(), 18); }

    void eachIsWrittenAsItWouldBeSaved_data() { everyExample(); }
    void eachIsWrittenAsItWouldBeSaved() {
        QFETCH(QString, name);
        const fs::path path = kExamples / name.toStdString();
        QCOMPARE(toProjectText(loadProject(path), kExamples), readFile(path, 1 << 20));
    }

    void eachHasADescription_data() { everyExample(); }
    void eachHasADescription() {
        QFETCH(QString, name);
        const Graph graph = loadProject(kExamples / name.toStdString());
        QVERIFY(!graph.info().title.empty());
        QVERIFY(!graph.info().description.empty());
        QCOMPARE(graph.notes().size(), std::size_t(1));
        QVERIFY(graph.notes().begin()->text.size() > 200);
        std::set<std::string> names;
        for (const Node& node : graph.nodes()) {
            QVERIFY2(names.insert(node.name).second, node.name.c_str());
            QVERIFY(node.source || node.name.find('.') == std::string::npos || node.name.starts_with("fc") ||
                    node.name.starts_with("conv") || node.name.starts_with("x."));
        }
    }

    void cardsStandApart_data() { everyExample(); }
    void cardsStandApart() {
        QFETCH(QString, name);
        const Graph graph = loadProject(kExamples / name.toStdString());
        // The minimum size of a card; wide cards are 176.
        const auto box = [](const Node& node) {
            return QRectF(node.position.x, node.position.y, node.op == "To" ? 112 : 144,
                          node.op == "To" ? 34 : 74);
        };
        // Cards of different modules may share a place while one of the modules is collapsed.
        for (const Node& a : graph.nodes())
            for (const Node& b : graph.nodes())
                if (a.id < b.id && a.lane == b.lane && a.frame == b.frame && !a.folded && !b.folded)
                    QVERIFY2(!box(a).adjusted(-8, -8, 8, 8).intersects(box(b)),
                             (a.name + " and " + b.name).c_str());
    }

    void lessonsHaveTheirErrors_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QStringList>("expected");
        const auto mismatch = [](const char* operand, const char* node) {
            return QStringLiteral("device-mismatch: Expected all tensors to be on the same device, but got "
                                  "%1 is on cpu, "
                                  "different from other tensors on cuda:0 (when checking arguments of %2)")
                .arg(QLatin1String(operand), QLatin1String(node));
        };
        const std::map<QString, QStringList> errors{
            {QStringLiteral("01-cpu-tensor-plus-cuda-tensor.twb"), {mismatch("self", "Add \"a + b\"")}},
            {QStringLiteral("02-mat1-is-on-the-cpu.twb"), {mismatch("mat1", "Gemm \"fc\"")}},
            {QStringLiteral("04-the-layer-is-on-the-gpu.twb"), {mismatch("mat1", "Gemm \"linear\"")}},
            {QStringLiteral("09-to-gives-a-new-tensor.twb"), {mismatch("self", "Mul \"x * w\"")}},
            {QStringLiteral("12-the-labels-stayed-on-the-cpu.twb"),
             {mismatch("target", "SoftmaxCrossEntropyLoss \"loss\"")}}};
        for (const QString& name : exampleNames()) {
            if (name == kCaptured || name == kOptimizerFirst || name == kFashion) continue;
            const auto wanted = errors.find(name);
            QTest::newRow(qPrintable(name))
                << name << (wanted == errors.end() ? QStringList() : wanted->second);
        }
    }
    void lessonsHaveTheirErrors() {
        QFETCH(QString, name);
        QFETCH(QStringList, expected);
        Example example(name.toStdString());
        QCOMPARE(example.errors(), expected);
        if (!expected.isEmpty()) {
            // The lesson's fix inserts a To on the wire.
            const Fix& fix = test::insertToOf(example.analysis.diagnostics.front());
            QVERIFY(fix.price.isKnown);
            QVERIFY(fix.price.bytes > 0 || fix.title.starts_with("read ")); // the fix reads an existing copy
            example.apply(toDelta(example.graph, fix));
            QCOMPARE(example.errors(), QStringList());
        }
        for (const auto& [probe, value] : example.run()) QVERIFY2(std::isfinite(value), probe.c_str());
    }

    void theOptimizersStateIsCreatedWhereItsParameterIs() {
        Example example(kOptimizerFirst.toStdString());
        QCOMPARE(example.errors().size(), 4);
        const std::vector<Diagnostic> all = example.analysis.diagnostics;
        for (const Diagnostic& d : all) {
            if (d.severity != Severity::error) continue;
            QCOMPARE(d.fixes.size(), std::size_t(1));
            QVERIFY(d.fixes[0].price.isKnown);
            QCOMPARE(d.fixes[0].price.bytes, std::uint64_t(0));
            example.apply(toDelta(example.graph, d.fixes[0]));
        }
        QCOMPARE(example.errors(), QStringList());
        (void)example.run();
    }

    /// 96 of 100 digits that the model has not seen.
    void theModelLearns() {
        const Example example("11-a-model-learns.twb");
        Trainer trainer(example.graph, example.devices, example.files, {});
        TrainingSession session(trainer, {});
        while (!session.isDone()) (void)session.advance(1000);
        QVERIFY(session.record().epochs.back().accuracy.value() > 0.95);
    }

    void aNetworkLearnsFashionMnist() {
        const Example example(kFashion.toStdString());
        if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
            QCOMPARE(example.errors().size(), 1);
            QVERIFY(example.errors().front().contains("(Debian package dataset-fashion-mnist)"));
            QSKIP("The data set is not installed.");
        }
        Graph graph = example.graph;
        DeltaBuilder builder(graph, {});
        for (const Node& node : example.graph.nodes())
            if (node.op == "Batches")
                builder.setAttribute(node.id, "validation", 0.9); // 6,000 rows to learn from
        graph.apply(builder.take());
        Trainer trainer(graph, example.devices, example.files, {});
        while (trainer.place().epoch < 1) (void)trainer.run(100);
        QVERIFY(trainer.validate().value().accuracy.value() > 0.7);
    }

    void prefetchHidesTheCopy() {
        Example example("15-prefetch-or-wait.twb");
        const auto note =
            std::ranges::find(example.analysis.diagnostics, "waits-for-data", &Diagnostic::code);
        QVERIFY(note != example.analysis.diagnostics.end());
        const double before = predict(*example.plan()).iterationNs;
        example.apply(toDelta(example.graph, note->fixes.at(0)));
        QVERIFY(predict(*example.plan()).iterationNs < 0.85 * before);
    }

    void mixedPrecisionIsFaster() {
        Example example("16-mixed-precision.twb");
        const double before = predict(*example.plan()).iterationNs;
        const NodeId loss = trainingOf(example.graph).value().loss;
        example.apply(
            makeMixedPrecision(example.graph, example.devices, example.files.get(), loss, DType::bf16));
        QCOMPARE(example.errors(), QStringList());
        QVERIFY(predict(*example.plan()).iterationNs < 0.7 * before);
    }

    void printingTheLossCopiesItInEachIteration() {
        const Example example("14-loss-item-in-every-step.twb");
        const auto plan = example.plan();
        QCOMPARE(plan->transfers.size(), std::size_t(3));
        const auto back = std::ranges::find(plan->transfers, Device::cpu(), &Transfer::target);
        QVERIFY(back != plan->transfers.end());
        QCOMPARE(back->bytes, std::uint64_t(4));
        QVERIFY(!back->setup);
    }

    /// The comments of the script name its faults.
    void theCapturedScriptHasItsFaults() {
        const Example example(kCaptured.toStdString());
        std::set<std::string> expected, found;
        QFile script(QString::fromStdString((kExamples / "scripts/train_digits.py").string()));
        QVERIFY(script.open(QIODevice::ReadOnly));
        for (int line = 1; !script.atEnd(); ++line)
            if (script.readLine().contains("# fault")) expected.insert(std::to_string(line));
        for (const Diagnostic& d : example.analysis.diagnostics) {
            if (d.code != "device-mismatch" || d.root != NodeId::none) continue;
            const SourceLine& at = *example.graph.find(d.node)->source;
            QCOMPARE(fs::path(at.file), kExamples / "scripts/train_digits.py");
            found.insert(std::to_string(at.line));
        }
        QCOMPARE(expected.size(), std::size_t(5));
        QCOMPARE(found, expected);
    }

    void digitsNamesWhatPyTorchNames() {
        const auto values = Example("digits.twb").run();
        QCOMPARE(std::round(values.at("accuracy") * 360), 328.0);
        QVERIFY(std::abs(values.at("accuracy") * 360 - 328) < 1e-3);
        QVERIFY2(values.at("logits_error") <= 1e-4, qPrintable(QString::number(values.at("logits_error"))));
        QVERIFY(values.at("logits_error") >= 0);
    }

    void sameSeedSameNumbersOnEveryDevice() {
        QCOMPARE(Example("03-create-it-on-the-device.twb").run().at("largest_difference"), 0.0);
    }

    void autoGivesTheSameResultEverywhere() {
        const Example onCpu("05-auto-use-the-gpu-if-there-is-one.twb");
        const Example onGpu("05-auto-use-the-gpu-if-there-is-one.twb", {{Device::cuda(0), "t4"}});
        QVERIFY(onCpu.devices.resolve(Device::automatic()) == Device::cpu());
        QVERIFY(onGpu.devices.resolve(Device::automatic()) == Device::cuda(0));
        QCOMPARE(onCpu.run().at("result"), onGpu.run().at("result"));
    }

    void tightLoopHasTwiceTheTransfers() {
        const Example example("06-a-transfer-in-a-tight-loop.twb");
        const auto values = example.run();
        QCOMPARE(values.at("fast"), values.at("slow"));
        QCOMPARE(example.plan()->transfers.size(), std::size_t(6));
    }

    void theImplicitPolicyCopiesOncePerTensorAndDevice() {
        const Example example("08-implicit-policy.twb");
        QCOMPARE(example.analysis.implicitCopies.size(), std::size_t(2));
        QCOMPARE(example.analysis.implicitCopies[0].edges.size() +
                     example.analysis.implicitCopies[1].edges.size(),
                 std::size_t(3));
        const auto plan = example.plan();
        QCOMPARE(plan->transfers.size(), std::size_t(2));
        QCOMPARE(std::count_if(plan->transfers.begin(), plan->transfers.end(),
                               [](const Transfer& t) { return t.setup; }),
                 1);
    }

private:
    static void everyExample() {
        QTest::addColumn<QString>("name");
        for (const QString& name : exampleNames()) QTest::newRow(qPrintable(name)) << name;
    }
};

TWB_TEST_MAIN(TestExamples)
#include "test_examples.moc"
