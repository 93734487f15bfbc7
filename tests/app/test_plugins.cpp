#include "app/program.h"
#include "formats/module_files.h"
#include "formats/project.h"
#include "support/test_main.h"

#include <QStandardPaths>

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

QString library(const QString& name) {
    return QStringLiteral(TWB_BINARY_DIR "/tests/ops/twb_op_") + name + ".so";
}

/// A graph of the example's op, from 3 to tanh(3).
GraphMaker clippedGraph() {
    GraphMaker maker;
    const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{2, 3}}, {"value", 3.0}});
    const NodeId clipped = maker.node("Softclip", "clipped", "cpu", {{"limit", 2.0}}, {x});
    maker.node("Probe", "seen", "cpu", {}, {clipped});
    return maker;
}

/// Leak(x; slope = 0.1), a module of one node.
ModuleOp leak(std::int64_t version) {
    GraphMaker maker;
    const NodeId node = maker.node("LeakyRelu", "leaky", "cpu", {{"alpha", 0.1}});
    ModuleOp op;
    op.name = "Leak";
    op.version = version;
    op.doc = "Leaks below zero";
    op.fragment = copyOf(maker.graph(), {node});
    op.inputs = {{"x", {node, 0}}};
    op.outputs = {{"y", {node, 0}}};
    op.attributes = {{"slope", "", {{node, "alpha"}}}};
    frameFragment(op);
    return op;
}

} // namespace

/// Ops from shared libraries: resources/sdk/twb_op.h.
class TestPlugins : public QObject {
    Q_OBJECT

    Program m_twb;

    /// Runs twb with these plug-ins, and with a cache of its own.
    Ended run(const QString& ops, const QStringList& arguments) const {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("TWB_OPS", ops);
        environment.insert("XDG_DATA_HOME", m_twb.file("data"));
        environment.insert("XDG_CACHE_HOME", m_twb.file("cache"));
        environment.insert("XDG_CONFIG_HOME", m_twb.file("config"));
        process.setProcessEnvironment(environment);
        process.setWorkingDirectory(m_twb.file(""));
        process.start(Program::path(), arguments);
        return Program::wait(process);
    }

private Q_SLOTS:
    void initTestCase() { m_twb.save("clipped.twb", clippedGraph()); }

    void anOpOfAPluginRuns() {
        const Ended ended = run(library("example"), {"run", "clipped.twb", "--output", "clipped=y.npy"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(ended.err, "");
        for (const double y : m_twb.tensor("y.npy")) QVERIFY(std::abs(y - 2 * std::tanh(1.5)) < 1e-6);
        const nlohmann::json ops = parsed(run(library("example"), {"ops", "Softclip", "--json"}).out);
        QCOMPARE(ops.at("ops").at(0).at("category"), "softclip");
        QCOMPARE(ops.at("ops").at(0).at("attributes").at(0).at("name"), "limit");
    }

    void pluginsOfTheDataFolderAreLoaded() {
        QDir(m_twb.file("")).mkpath("data/tensor-workbench/ops");
        const QString place = m_twb.file("data/tensor-workbench/ops/softclip.so");
        QVERIFY(QFile::copy(library("example"), place));
        const Ended ended = run("", {"check", "clipped.twb"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.out + ended.err));
        QVERIFY(QFile::remove(place));
    }

    void withoutThePluginTheNodeIsAPlaceholder() {
        for (const auto& [ops, options] :
             {std::pair<QString, QStringList>{"none", {}}, {library("example"), {"--no-plugins"}}}) {
            const Ended ended = run(ops, QStringList(options) << "check"
                                                              << "clipped.twb");
            QVERIFY2(ended.out.contains("Softclip"), qPrintable(ended.out + ended.err));
            QVERIFY(ended.out.contains("unknown-op"));
        }
    }

    /// The nodes of a missing plug-in say where to get it, and saving again keeps its name.
    void aProjectNamesItsPlugins() {
        QVERIFY(m_twb.exists("clipped.twb"));
        const Ended placed = run(library("example"), {"place", "clipped.twb", "-o", "named.twb"});
        QVERIFY2(placed.exit == 0, qPrintable(placed.err));
        const QByteArray line = "{\"name\": \"softclip\", \"version\": \"1.0\", \"homepage\": "
                                "\"https://example.org/softclip\", \"ops\": [\"Softclip\"]}";
        QByteArray text = m_twb.read("named.twb");
        QVERIFY2(text.contains("\"plugins\": [\n" + line + "\n],"), text.constData());
        const Ended check = run("none", {"check", "named.twb"});
        QVERIFY2(check.out.contains("it is in the plug-in softclip 1.0, which is not loaded and available at "
                                    "https://example.org/softclip"),
                 qPrintable(check.out));
        const Ended again = run("none", {"fix", "named.twb", "-o", "again.twb"});
        QVERIFY2(m_twb.exists("again.twb"), qPrintable(again.err));
        QCOMPARE(m_twb.read("again.twb"), text);
        // A newer version of the plug-in takes its own place.
        text.replace("\"1.0\"", "\"0.1\"");
        m_twb.write("old.twb", text);
        const Ended newer = run(library("example"), {"place", "old.twb", "-o", "newer.twb"});
        QVERIFY2(newer.exit == 0, qPrintable(newer.err));
        QVERIFY(m_twb.read("newer.twb").contains(line));
        QCOMPARE(m_twb.read("newer.twb").count("\"name\": \"softclip\""), 1);
    }

    /// They are programs: nothing loads them without the user's word.
    void pluginsBesideAProjectNeedTrust() {
        QDir folder(m_twb.file(""));
        QVERIFY(folder.mkpath("mine/ops") && folder.mkpath("config/tensor-workbench"));
        QVERIFY(QFile::copy(m_twb.file("clipped.twb"), m_twb.file("mine/clipped.twb")));
        QVERIFY(QFile::copy(library("example"), m_twb.file("mine/ops/softclip.so")));
        const QString ops = QFileInfo(m_twb.file("mine/ops")).canonicalFilePath();
        const Ended unasked = run("", {"check", "mine/clipped.twb"});
        QVERIFY(unasked.out.contains("unknown-op"));
        QVERIFY2(unasked.err.contains("--project-ops"), qPrintable(unasked.err));
        const Ended allowed = run("", {"--project-ops", "run", "mine/clipped.twb"});
        QVERIFY2(allowed.exit == 0, qPrintable(allowed.err));
        QCOMPARE(allowed.err, "");
        m_twb.write("config/tensor-workbench/trusted-ops", QByteArray("-" + ops.toUtf8() + "\n"));
        const Ended refused = run("", {"check", "mine/clipped.twb"});
        QVERIFY(refused.out.contains("unknown-op"));
        QCOMPARE(refused.err, "");
        m_twb.write("config/tensor-workbench/trusted-ops", QByteArray("+" + ops.toUtf8() + "\n"));
        const Ended trusted = run("", {"check", "mine/clipped.twb"});
        QVERIFY2(trusted.exit == 0, qPrintable(trusted.out + trusted.err));
        QCOMPARE(run("", {"--no-plugins", "check", "mine/clipped.twb"}).exit, 3);
    }

    /// A module needs no compiler, and no trust: it is a file of data.
    void aModuleIsAnOp() {
        const ModuleOp op = leak(2);
        m_twb.write("modules/leak.twbmodule", QByteArray::fromStdString(toModuleText(op)));
        const Ended list = run(m_twb.file("modules"), {"ops"});
        QVERIFY2(list.err.isEmpty(), qPrintable(list.err));
        QVERIFY2(list.out.contains("Your modules\n  Leak"), qPrintable(list.out.right(400)));
        const Ended help = run(m_twb.file("modules/leak.twbmodule"), {"ops", "Leak"});
        QVERIFY2(help.exit == 0, qPrintable(help.err));
        QVERIFY2(help.out.startsWith("Leak(x): Leaks below zero\n"), qPrintable(help.out));
        QVERIFY(help.out.contains("module, version 2, of 1 node: LeakyRelu"));
        QVERIFY(help.out.contains("slope") && help.out.contains("= 0.1"));
        const nlohmann::json json = parsed(run(m_twb.file("modules"), {"ops", "Leak", "--json"}).out);
        QCOMPARE(json.at("ops").size(), std::size_t(0));
        QCOMPARE(json.at("modules").at(0).at("version"), 2);
        QCOMPARE(json.at("modules").at(0).at("attributes").at(0).at("name"), "slope");
        const Ended unknown = run(m_twb.file("modules"), {"ops", "Leek"});
        QVERIFY2(unknown.exit == 2 && unknown.err.contains("Leak"), qPrintable(unknown.err));
        m_twb.write("modules/torn.twbmodule", "{");
        const Ended torn = run(m_twb.file("modules"), {"ops", "Leak"});
        QVERIFY2(torn.exit == 0 && torn.err.contains("torn.twbmodule"), qPrintable(torn.err));
    }

    /// A project needs nothing but its file, and says if its op has changed since.
    void aChangedModuleIsTold() {
        Graph graph;
        DeltaBuilder builder(graph, "use");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        std::vector<NodeId> added;
        paste(builder, leak(1).fragment, {}, cpu, &added);
        Node x;
        x.op = "Ones";
        x.name = "x";
        x.lane = cpu;
        builder.connect({{builder.addNode(x), 0}, {added.at(0), 0}});
        graph.apply(builder.take());
        QDir(m_twb.file("")).mkpath("changed/ops");
        saveProject(graph, m_twb.file("changed/leaking.twb").toStdString());
        const Ended alone = run("", {"check", "changed/leaking.twb"});
        QVERIFY2(alone.exit == 0 && alone.err.isEmpty(), qPrintable(alone.out + alone.err));
        m_twb.write("changed/ops/leak.twbmodule", QByteArray::fromStdString(toModuleText(leak(1))));
        QCOMPARE(run("", {"check", "changed/leaking.twb"}).err, "");
        m_twb.write("changed/ops/leak.twbmodule", QByteArray::fromStdString(toModuleText(leak(2))));
        const QString note =
            "twb: changed/leaking.twb: note: module \"Leak\" was made from Leak version 1, but "
            "version 2 is installed; the graph keeps version 1 until you choose "
            "Graph ▸ Module ▸ Update module in the window\n";
        for (const QStringList& command :
             {QStringList{"check"}, {"run"}, {"export", "--to", "dot", "-o", "leaking.dot"}, {"batch"}}) {
            const Ended changed = run("", QStringList(command) << "changed/leaking.twb");
            QVERIFY2(changed.exit == 0, qPrintable(changed.err));
            QVERIFY2(changed.err.count(note) == 1, qPrintable(command.front() + ": " + changed.err));
        }
        const Ended training =
            run("", {"train", "changed/leaking.twb", "--loss", "leaky", "--epochs", "1", "-o", "out.twb"});
        QVERIFY2(training.err.count(note) == 1, qPrintable(training.err));
        for (const char* command : {"run", "batch"})
            QCOMPARE(run("", {command, "--quiet", "changed/leaking.twb"}).err.count(note), 0);
        // An older version than that of the project cannot replace it.
        m_twb.write("changed/ops/leak.twbmodule", QByteArray::fromStdString(toModuleText(leak(1))));
        Graph newer = graph;
        DeltaBuilder rename(newer, "name");
        Frame frame = *newer.frames().begin();
        frame.body = "Leak@3";
        rename.change(frame);
        newer.apply(rename.take());
        saveProject(newer, m_twb.file("changed/leaking.twb").toStdString());
        const Ended older = run("", {"check", "changed/leaking.twb"});
        QVERIFY2(older.err.endsWith("version 1 is installed; the graph keeps version 3\n"),
                 qPrintable(older.err));
    }

    void attributesOfAPluginAreChecked() {
        const Ended ended = run(library("example"), {"run", "clipped.twb", "--set", "clipped.limit=-1"});
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.contains("limit"), qPrintable(ended.err));
    }

    /// d(mean of limit · tanh(p / limit)) / dp = (1 − tanh²(p / limit)) / n.
    void theGradientOfAPluginTrains() {
        GraphMaker maker;
        const NodeId p =
            maker.node("Parameter", "p", "cpu",
                       {{"shape", Integers{4}}, {"init", std::string("constant")}, {"value", 1.0}});
        const NodeId clipped = maker.node("Softclip", "clipped", "cpu", {{"limit", 2.0}}, {p});
        maker.node("ReduceMean", "loss", "cpu", {{"keepdims", false}}, {clipped});
        m_twb.save("learns.twb", maker);
        const Ended ended = run(library("example"),
                                {"train", "learns.twb", "--loss", "loss", "--optimizer", "sgd", "--lr", "0.5",
                                 "--epochs", "1", "-o", "learned.twb", "--export-weights", "w.safetensors"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const Ended after = run(library("example"), {"run", "learned.twb", "--output", "p=p.npy"});
        QVERIFY2(after.exit == 0, qPrintable(after.err));
        const double slope = (1 - std::pow(std::tanh(0.5), 2)) / 4;
        for (const double value : m_twb.tensor("p.npy"))
            QVERIFY2(std::abs(value - (1 - 0.5 * slope)) < 1e-5, qPrintable(QString::number(value, 'g', 10)));
    }

    /// The fault costs a sentence: the command goes on with all other ops.
    void aFaultyPluginIsToldApartByName_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* fault, const char* says) {
            QTest::newRow(fault) << QString::fromLatin1(fault) << QString::fromUtf8(says);
        };
        row("crash", "it crashes in the kernel of Twice with X f32 7 (signal 11, Segmentation fault)");
        row("outside", "outside Y (f32 scalar) in the kernel of Twice");
        row("shape", "infer() of Twice gives its output Y the size -7");
        row("dtype",
            "infer() of Twice gives its output Y the element type f64, which the port does not have");
        row("unwritten", "the kernel of Twice leaves 1 of 7 elements of Y unwritten, with X f32 7");
        row("input", "it writes to its input X (f32 scalar) in the kernel of Twice");
        row("version",
            "it was built for version 2 of the interface, but this program has version 1; build it with "
            "the twb_op.h of this program");
        row("exits", "it ends the process in the kernel of Twice with X f32 scalar");
        row("unlinked", "its function or variable softclip_cuda is missing; link the file that defines it");
        row("name", "its op Relu has the name of an op of the program; rename it");
    }
    void aFaultyPluginIsToldApartByName() {
        QFETCH(QString, fault);
        QFETCH(QString, says);
        m_twb.save("small.twb", smallGraph());
        const Ended ended = run(library(fault), {"check", "small.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.err.startsWith("twb: warning: the plug-in " + library(fault) + " is left out: "),
                 qPrintable(ended.err));
        QVERIFY2(ended.err.contains(says), qPrintable(ended.err));
        QCOMPARE(ended.err.count('\n'), 1);
    }

    void theWindowOpensWithoutAFaultyPlugin() {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("TWB_OPS", library("crash"));
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench"),
                      {"--screenshot", m_twb.file("window.png"), "--tab", "log",
                       QStringLiteral(TWB_SOURCE_DIR "/resources/examples/digits.twb")});
        const Ended ended = Program::wait(process);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY2(ended.err.contains("is left out: it crashes in the kernel of Twice"), qPrintable(ended.err));
        QVERIFY(m_twb.exists("window.png"));
    }

    void aFileThatIsNoPluginIsRefused() {
        m_twb.write("text.so", "not a library");
        m_twb.save("small.twb", smallGraph());
        Ended ended = run(m_twb.file("text.so") + ":missing.so", {"check", "small.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.err.contains("text.so is left out: it cannot be loaded: "), qPrintable(ended.err));
        QVERIFY2(
            ended.err.contains("missing.so is left out: there is no such file or folder; correct TWB_OPS"),
            qPrintable(ended.err));
    }

    /// A plug-in is checked once, and again after a change.
    void aCheckedPluginIsRemembered() {
        const QString copy = m_twb.file("copy.so");
        QVERIFY(QFile::copy(library("example"), copy));
        const auto lines = [&] {
            return m_twb.read("cache/tensor-workbench/checked-plugins").count(copy.toUtf8());
        };
        QCOMPARE(run(copy, {"check", "clipped.twb"}).exit, 0);
        QCOMPARE(lines(), 1);
        QCOMPARE(run(copy, {"check", "clipped.twb"}).exit, 0);
        QCOMPARE(lines(), 1);
        QVERIFY(QFile::remove(copy));
        QVERIFY(QFile::copy(library("crash"), copy));
        QVERIFY(run(copy, {"check", "clipped.twb"}).err.contains("it crashes in the kernel of Twice"));
        QCOMPARE(lines(), 1);
    }

    void aNewOpBuildsAndRuns() {
        Ended ended = run("none", {"new-op", "Bend"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY(ended.out.contains("cmake -S bend -B bend/build && cmake --build bend/build"));
        for (const QStringList& call :
             {QStringList{"-S", "bend", "-B", "bend/build"}, {"--build", "bend/build"}}) {
            QProcess cmake;
            cmake.setWorkingDirectory(m_twb.file(""));
            cmake.start("cmake", call);
            const Ended built = Program::wait(cmake);
            QVERIFY2(built.exit == 0, qPrintable(built.err));
        }
        QVERIFY(!m_twb.exists("bend/bend.cu"));
        ended = run("bend/build/bend.so", {"ops", "Bend"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        QVERIFY(ended.out.contains("limit"));
        QCOMPARE(run("none", {"new-op", "Relu"}).exit, 2);
        QCOMPARE(run("none", {"new-op", "relu-2"}).exit, 2);
        QCOMPARE(run("none", {"new-op", "Bend"}).exit, 4); // the folder is not empty
    }

    void aNewOpThatCannotBeWrittenLeavesNoFolder() {
        const QString name = 'B' + QString(300, 'e'); // too long for a file
        const Ended ended = run("none", {"new-op", name, "-o", "outer/inner/bend"});
        QVERIFY2(ended.exit == 4, qPrintable(ended.err));
        QVERIFY(!m_twb.exists("outer"));
    }

    /// With nvcc, the plug-in has the kernel; without it, it is built without. Both run on a machine without
    /// CUDA.
    void aNewOpWithACudaKernelBuilds_data() {
        QTest::addColumn<bool>("hasNvcc");
        QTest::newRow("no nvcc") << false;
        if (!QStandardPaths::findExecutable("nvcc").isEmpty() || QFile::exists("/usr/local/cuda/bin/nvcc"))
            QTest::newRow("nvcc") << true;
    }
    void aNewOpWithACudaKernelBuilds() {
        QFETCH(bool, hasNvcc);
        const QString folder = hasNvcc ? "with" : "without";
        Ended ended = run("none", {"new-op", "Softbend", "--cuda", "-o", folder});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY(m_twb.read(folder + "/softbend.cu").contains("softbend_cuda"));
        for (const QStringList& call :
             {QStringList{"-S", folder, "-B", folder + "/build"}, {"--build", folder + "/build"}}) {
            QProcess cmake;
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            if (!hasNvcc) environment.insert("CUDACXX", "/nowhere/nvcc");
            cmake.setProcessEnvironment(environment);
            cmake.setWorkingDirectory(m_twb.file(""));
            cmake.start("cmake", call);
            const Ended built = Program::wait(cmake);
            QVERIFY2(built.exit == 0, qPrintable(built.err));
            if (call.front() == "-S")
                QCOMPARE(built.out.contains("plug-ins are built without their kernels for GPUs"), !hasNvcc);
        }
        const QString library = folder + "/build/softbend.so";
        ended = run(library, {"ops", "Softbend"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        QCOMPARE(m_twb.read(library).contains("softbend_cuda"), hasNvcc);
    }
};

TWB_TEST_MAIN(TestPlugins)
#include "test_plugins.moc"
