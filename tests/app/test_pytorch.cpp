#include "app/program.h"
#include "backends/cpu/cpu_backend.h"
#include "formats/pytorch/pytorch_export.h"
#include "placement/fixes.h"
#include "support/insert_to.h"
#include "support/test_main.h"

#include <QDirIterator>
#include <QRegularExpression>

#include <cmath>

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

const fs::path kExamples = fs::path(TWB_SOURCE_DIR) / "resources/examples";

/// Lesson 10 is a captured script, which cannot run. The trainings after it have inputs in the place of their
/// data once they are exported.
bool isCompared(const QString& example) {
    return example == QStringLiteral("digits.twb") || example.left(2).toInt() < 10;
}

QStringList exampleNames() {
    QStringList names = QDir(QString::fromStdString(kExamples.string()))
                            .entryList({QStringLiteral("*.twb")}, QDir::Files, QDir::Name);
    names.removeIf([](const QString& name) { return !isCompared(name); });
    return names;
}

Analysis analyzed(const Graph& graph, const TensorFiles* files) {
    DeviceMap devices;
    for (const Lane& lane : graph.lanes())
        if (lane.device.isCuda()) devices.set(lane.device, cpuBackend(), false);
    return analyze(graph, devices, graph.info().policy, files);
}

/// The example, with the lesson's fix applied if it has an error.
Graph mended(const fs::path& path) {
    Graph graph = loadProject(path);
    const auto files = makeProjectFiles(path.parent_path());
    for (const Diagnostic& d : analyzed(graph, files.get()).diagnostics)
        if (d.severity == Severity::error) {
            graph.apply(toDelta(graph, insertToOf(d)));
            break;
        }
    return graph;
}

std::int64_t copiesOf(const Graph& graph, const TensorFiles* files) {
    const auto explicitOnes = std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                            [](const Node& node) { return node.op == "To"; });
    return explicitOnes + static_cast<std::int64_t>(analyzed(graph, files).implicitCopies.size());
}

/// The module's classes and functions without those that load inputs and print.
QString working(const QByteArray& module) {
    const QString text = QString::fromUtf8(module);
    const auto start = text.indexOf(QRegularExpression(QStringLiteral("\n(class \\w+\\(nn|def graph)")));
    return text.mid(start, text.indexOf(QStringLiteral("\ndef main")) - start);
}

QByteArray exported(const Program& twb, const GraphMaker& maker) {
    exportPyTorch(maker.graph(), nullptr, {}, twb.fsPath(QStringLiteral("g.py")));
    return twb.read(QStringLiteral("g.py"));
}

} // namespace

/// twb export --to pytorch.
class TestPyTorch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Every example is exported and runs under PyTorch with cuda:0 mapped to cpu, all in one interpreter.
    void everyExampleGivesTheSameValues() {
        if (!hasTorch()) QSKIP("skipped: PyTorch is not installed (Debian: python3-torch)");
        const Program twb;
        fs::copy(kExamples, twb.fsPath(QStringLiteral("examples")), fs::copy_options::recursive);
        QByteArray script = "import importlib.util, os\n";
        for (const QString& name : exampleNames()) {
            const QString stem = QStringLiteral("examples/") + name.chopped(4);
            saveProject(mended(kExamples / name.toStdString()), twb.fsPath(stem + QStringLiteral(".twb")));
            const Ended ended = twb.run({"export", stem + ".twb", "--to", "pytorch", "-o", stem + ".py"});
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            script +=
                QStringLiteral(
                    "os.makedirs('%1.out')\n"
                    "spec = importlib.util.spec_from_file_location('m', '%1.py')\n"
                    "m = importlib.util.module_from_spec(spec)\n"
                    "spec.loader.exec_module(m)\n"
                    "m.main(['--device-map', 'cuda:0=cpu', '--iterations', '2', '--output', '%1.out'])\n")
                    .arg(stem)
                    .toUtf8();
        }
        twb.write(QStringLiteral("all.py"), script);
        QProcess python;
        python.setWorkingDirectory(QFileInfo(twb.file(QStringLiteral("all.py"))).path());
        python.start(debiansPython(), {QStringLiteral("all.py")});
        const Ended ran = Program::wait(python, 120000);
        QVERIFY2(ran.exit == 0, qPrintable(ran.err));
        // Contains every example and lesson that the window offers.
        QStringList offered;
        for (QDirIterator all(QString::fromStdString(kExamples.string()), {QStringLiteral("*.twb")},
                              QDir::Files, QDirIterator::Subdirectories);
             all.hasNext();)
            offered << QFileInfo(all.next()).fileName();
        offered.sort();
        offered.removeIf([](const QString& name) { return !isCompared(name); });
        QCOMPARE(offered, exampleNames());
        QVERIFY(offered.size() >= 10);
        for (const QString& name : exampleNames()) {
            int compared = 0;
            const QString stem = QStringLiteral("examples/") + name.chopped(4);
            const Graph graph = loadProject(twb.fsPath(stem + QStringLiteral(".twb")));
            for (const Node& node : graph.nodes()) {
                if (node.op != "Probe") continue;
                const QString probe = QString::fromStdString(node.name);
                const Ended run = twb.run(
                    {"run", stem + ".twb", "--iterations", "1", "--quiet", "--output", probe + "=seen.npy"});
                QVERIFY2(run.exit == 0, qPrintable(run.err));
                const auto wanted = twb.tensor(QStringLiteral("seen.npy"));
                const auto got = twb.tensor(stem + QStringLiteral(".out/") + probe + QStringLiteral(".npy"));
                QCOMPARE(got.size(), wanted.size());
                for (std::size_t i = 0; i < got.size(); ++i)
                    // Some Probes show the difference of logits, which are rounded to about 1e-6 of 20.
                    QVERIFY2(std::abs(got[i] - wanted[i]) <= 3e-5 + 1e-5 * std::abs(wanted[i]),
                             qPrintable(QStringLiteral("%1 of %2: %3, not %4")
                                            .arg(probe, name)
                                            .arg(got[i])
                                            .arg(wanted[i])));
                // Its value is also printed, once per iteration or once at the end.
                QVERIFY2(ran.out.contains(probe), qPrintable(probe));
                ++compared;
            }
            QVERIFY2(compared > 0, qPrintable(name)); // every example has a Probe
            const QDir written(twb.file(stem + QStringLiteral(".out")));
            QCOMPARE(int(written.entryList({QStringLiteral("*.npy")}).size()),
                     compared); // no other files are written
        }
    }

    /// This includes an Input that only a module reads: the caller of the module passes another value.
    void anInputIsAnArgument() {
        GraphMaker maker;
        const NodeId x = maker.node("Input", "x", "cpu", {{"shape", std::vector<std::int64_t>{2, 3}}});
        const NodeId relu = maker.node("Relu", "relu", "cpu", {}, {x});
        maker.node("Probe", "seen", "cpu", {}, {relu});
        Graph graph = maker.graph();
        DeltaBuilder builder(graph, "make a module");
        Frame frame;
        frame.title = "block";
        const FrameId block = builder.addFrame(frame);
        for (const NodeId id : {x, relu}) {
            Node node = *builder.graph().find(id);
            node.frame = block;
            builder.change(node);
        }
        graph.apply(builder.take());
        const Program twb;
        saveProject(graph, twb.fsPath(QStringLiteral("g.twb")));
        const Ended ended = twb.run({"export", "g.twb", "--to", "pytorch", "-o", "g.py"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const QByteArray text = twb.read(QStringLiteral("g.py"));
        QVERIFY2(text.contains("def forward(self, x"), text.constData());
        QVERIFY2(!text.contains("self.x"), text.constData());
    }

    void moduleHasExactlyTheGraphsCopies() {
        const Program twb;
        for (const QString& name : exampleNames()) {
            const Graph graph = mended(kExamples / name.toStdString());
            const auto files = makeProjectFiles(kExamples);
            exportPyTorch(graph, files.get(), kExamples, twb.fsPath(QStringLiteral("m.py")));
            const QString text = working(twb.read(QStringLiteral("m.py")));
            QVERIFY(!text.isEmpty());
            QVERIFY2(text.count(QStringLiteral(".to(")) == copiesOf(graph, files.get()),
                     qPrintable(name + text));
        }
    }

    void aCopyKeepsItsOptions() {
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", Integers{4}}});
        const NodeId there =
            maker.node("To", "there", "cuda:1", {{"pin_memory", true}, {"non_blocking", true}}, {x});
        const NodeId back =
            maker.node("To", "back", "cpu", {{"dtype", "f64"}, {"non_blocking", true}}, {there});
        maker.node("Probe", "seen", "cpu", {}, {back});
        const Program twb;
        const QString text = working(exported(twb, maker));
        QVERIFY2(text.contains("there = pinned(x).to(device(\"cuda:1\"), non_blocking=True)"),
                 qPrintable(text));
        QVERIFY2(text.contains("back = arrived(there.to(device(\"cpu\"), torch.float64, non_blocking=True))"),
                 qPrintable(text));
    }

    /// Python refuses a source with a null character.
    void controlCharactersAreLeftOut() {
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x\x07", "cpu", {{"shape", Integers{2}}});
        maker.node("Probe", std::string("p\0q", 3), "cpu", {}, {x});
        Graph graph = maker.graph();
        GraphInfo info = graph.info();
        info.title = std::string("a\0b", 3);
        info.description = std::string("c\0\x1b\x7f\nd \"\"\"", 10);
        DeltaBuilder builder(graph, "describe");
        builder.setInfo(info);
        graph.apply(builder.take());
        const Program twb;
        saveProject(graph, twb.fsPath("g.twb"));
        const Ended ended = twb.run({"export", "g.twb", "--to", "pytorch", "-o", "g.py"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        for (const char c : twb.read("g.py"))
            QVERIFY2((c >= ' ' && c != '\x7f') || c == '\n' || static_cast<unsigned char>(c) >= 0x80,
                     qPrintable(QString::number(c)));
    }

    void integersAreClippedToIntegers() {
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", Integers{4}}, {"dtype", "i64"}});
        maker.node("Probe", "seen", "cpu", {},
                   {maker.node("Clip", "clipped", "cpu", {{"min", 0.0}, {"max", 2e7}}, {x})});
        const NodeId bytes = maker.node("Ones", "bytes", "cpu", {{"shape", Integers{4}}, {"dtype", "i8"}});
        maker.node("Probe", "small", "cpu", {},
                   {maker.node("Clip", "narrow", "cpu", {{"min", -300.0}, {"max", 300.0}}, {bytes})});
        const Program twb;
        const QString text = working(exported(twb, maker));
        QVERIFY2(text.contains("torch.clamp(x, min=0, max=20000000)"), qPrintable(text));
        QVERIFY2(text.contains("torch.clamp(bytes, min=-128, max=127)") ||
                     text.contains("torch.clamp(bytes_, min=-128, max=127)"),
                 qPrintable(text));
    }

    void generatorsAreSavedBesideIt() {
        GraphMaker maker;
        const NodeId x = maker.node("RandomNormal", "x", "cpu", {{"shape", Integers{4}}});
        maker.node("Probe", "seen", "cpu", {}, {x});
        const Program twb;
        QVERIFY(exported(twb, maker).contains("x = load_safetensors(\"g_tensors.safetensors#x\", \"cpu\")"));
        QVERIFY(twb.exists(QStringLiteral("g_tensors.safetensors")));
    }

    /// Two modules that depend on each other cannot be functions; their nodes are still emitted in order.
    void mutuallyDependentFramesAreInlined() {
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", Integers{4}}});
        const NodeId a = maker.node("Relu", "a", "cpu", {}, {x});
        const NodeId b = maker.node("Neg", "b", "cpu", {}, {a});
        const NodeId c = maker.node("Abs", "c", "cpu", {}, {b});
        maker.node("Probe", "seen", "cpu", {}, {c});
        Graph graph = maker.graph();
        DeltaBuilder builder(graph, "frames");
        Frame first;
        first.title = "first";
        const FrameId one = builder.addFrame(first);
        Frame second;
        second.title = "second";
        const FrameId two = builder.addFrame(second);
        for (const auto& [id, frame] : {std::pair{a, one}, {b, two}, {c, one}}) {
            Node node = *builder.graph().find(id);
            node.frame = frame;
            builder.change(node);
        }
        graph.apply(builder.take());
        const Program twb;
        exportPyTorch(graph, nullptr, {}, twb.fsPath(QStringLiteral("g.py")));
        const QString text = working(twb.read(QStringLiteral("g.py")));
        QVERIFY2(text.contains("a = torch.relu(x)\n    b = -a\n    c = torch.abs(b)\n"), qPrintable(text));
    }

    void unsupportedOpsAreRefused_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<QString>("reason");
        QTest::newRow("op")
            << "Bernoulli"
            << "f32"
            << "Bernoulli \"odd \" one\" cannot be exported to PyTorch: PyTorch has no function for it";
        QTest::newRow("dtype") << "Identity"
                               << "u16"
                               << "Zeros \"x\" cannot be exported to PyTorch, which has no tensors of u16";
    }
    void unsupportedOpsAreRefused() {
        QFETCH(QString, op);
        QFETCH(QString, dtype);
        QFETCH(QString, reason);
        GraphMaker maker;
        const NodeId x =
            maker.node("Zeros", "x", "cpu", {{"shape", Integers{4}}, {"dtype", dtype.toStdString()}});
        const NodeId y = maker.node(op.toStdString(), "odd \" one", "cpu", {}, {x});
        maker.node("Probe", "seen", "cpu", {}, {y});
        const Program twb;
        twb.save(QStringLiteral("g.twb"), maker);
        const Ended ended = twb.run({"export", "g.twb", "--to", "pytorch", "-o", "g.py"});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains(reason), qPrintable(ended.err));
        QVERIFY(!twb.exists(QStringLiteral("g.py")));
    }

    void aGraphWithErrorsIsRefused() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), crossingGraph(false));
        const Ended ended = twb.run({"export", "g.twb", "--to", "pytorch", "-o", "g.py"});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains(
                     "the graph has errors and cannot be exported to PyTorch: Expected all tensors"),
                 qPrintable(ended.err));
        QVERIFY(!twb.exists(QStringLiteral("g.py")));
    }
};

TWB_TEST_MAIN(TestPyTorch)
#include "test_pytorch.moc"
