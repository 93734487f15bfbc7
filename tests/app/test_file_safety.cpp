#include "app/program.h"
#include "support/onnx_models.h"
#include "support/test_main.h"

#include <QDirIterator>
#include <QHash>

#include <filesystem>
#include <sys/stat.h>

using namespace twb;
using namespace twb::test;

namespace {

/// y = Relu(x + w), with w too large for a Constant.
onnx::ModelProto largeModel(float value) {
    onnx::ModelProto model = smallModel();
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    constexpr int kElements = 5000;
    weight.set_dims(0, kElements);
    weight.clear_float_data();
    for (int i = 0; i < kElements; ++i) weight.add_float_data(value);
    model.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(1)
        ->set_dim_value(kElements);
    return model;
}

QByteArray bytesOf(const onnx::ModelProto& model) {
    return QByteArray::fromStdString(model.SerializeAsString());
}

/// Every file of the folder with its content; links are followed.
QHash<QString, QByteArray> snapshot(const Program& twb) {
    QHash<QString, QByteArray> out;
    QDirIterator entry(twb.file(QString()), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (entry.hasNext()) {
        const QString path = entry.next();
        QFile file(path);
        if (file.open(QIODevice::ReadOnly)) out.insert(path, file.readAll());
    }
    return out;
}

/// A project that reads a tensor, a model, a report, a profile, another program's file, and links to them.
void prepare(const Program& twb) {
    twb.write("A.onnx", bytesOf(largeModel(1)));
    twb.write("notes.txt", "somebody's notes");
    twb.saveTensor<float>("w.npy", Shape{2}, {1, 2});
    GraphMaker maker;
    const NodeId file = maker.node("File", "w", "cpu", {{"path", "w.npy"}});
    const NodeId twice = maker.node("Add", "twice", "cpu", {}, {file, file});
    maker.node("Probe", "seen", "cpu", {}, {twice});
    maker.node("Save", "kept", "cpu", {{"path", "kept.npy"}}, {twice});
    twb.save("e.twb", maker);
    twb.save("other.twb", smallGraph());
    twb.save("crossing.twb", crossingGraph());
    const Ended ran = twb.run({"run", "e.twb", "--quiet", "--report", "r.json"});
    QVERIFY2(ran.exit == 0, qPrintable(ran.err));
    QVERIFY(QFile::copy(QStringLiteral(TWB_SOURCE_DIR "/resources/devices/t4.json"), twb.file("t4.json")));
    std::filesystem::create_symlink("e.twb", twb.fsPath("soft.twb"));
    std::filesystem::create_hard_link(twb.fsPath("e.twb"), twb.fsPath("hard.twb"));
    QDir(twb.file(QString())).mkdir("folder");
}

} // namespace

/// No command replaces a file unless its command line says so.
class TestFileSafety : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void noCommandReplacesAnUnnamedFile_data() {
        QTest::addColumn<QStringList>("arguments");
        const auto row = [](const char* line) { QTest::newRow(line) << QString(line).split(' '); };
        row("import A.onnx -o A.onnx");
        row("import A.onnx -o ./folder/../A.onnx");
        row("import A.onnx -o A.safetensors");
        row("import A.onnx -o new.npy");
        row("import A.onnx -o notes.txt");
        row("import A.onnx -o folder");
        row("import A.onnx -o none/p.twb");
        row("export e.twb --to onnx -o e.twb");
        row("export e.twb --to onnx -o soft.twb");
        row("export e.twb --to onnx -o hard.twb");
        row("export soft.twb --to pytorch -o e.twb");
        row("export e.twb --to dot -o w.npy");
        row("export e.twb --to dot -o other.twb");
        row("export e.twb --to dot -o folder");
        row("fix e.twb -o e.twb");
        row("fix e.twb -o soft.twb");
        row("fix e.twb -o notes.txt");
        row("fix e.twb -o folder/e.twb"); // the name that w.npy would get
        row("place e.twb -o hard.twb");
        row("place e.twb -o r.json");
        row("place e.twb -o folder/e.twb");
        row("report r.json -o r.json");
        row("report r.json -o e.twb");
        row("check e.twb --junit e.twb");
        row("check e.twb other.twb --junit other.twb");
        row("check e.twb --junit soft.twb");
        row("compare r.json r.json --junit r.json");
        row("calibrate -o e.twb");
        row("run e.twb --report e.twb");
        row("run e.twb --report w.npy");
        row("run e.twb --report kept.npy");
        row("run e.twb --trace hard.twb");
        row("run e.twb --report x.json --trace ./x.json");
        row("run e.twb --report x.json --junit folder/../x.json");
        row("run e.twb --output seen=w.npy");
        row("run e.twb --output seen=kept.npy");
        row("run e.twb --input w=w.npy --output seen=w.npy");
        row("run e.twb --output seen=x.npz#a --output twice=x.npz#a");
        row("run e.twb --report other.twb");
        row("run crossing.twb --device-map cuda:0=simulated:t4.json --report t4.json");
        row("batch e.twb --junit e.twb");
        row("batch e.twb --report . --quiet");
        row("batch crossing.twb --device-map cuda:0=simulated:t4.json --junit t4.json");
    }

    void noCommandReplacesAnUnnamedFile() {
        QFETCH(QStringList, arguments);
        const Program twb;
        prepare(twb);
        const auto before = snapshot(twb);
        const Ended ended = twb.run(arguments);
        QVERIFY2(ended.exit == 2 || ended.exit == 4, qPrintable(QString::number(ended.exit) + ended.err));
        QVERIFY2(ended.err.startsWith("twb: "), qPrintable(ended.err));
        QCOMPARE(ended.err.count('\n'), 1);
        QVERIFY(snapshot(twb) == before);
    }

    void requestedFilesAreReplaced_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("written");
        const auto row = [](const char* line, const char* written) {
            QTest::newRow(line) << QString(line).split(' ') << QString(written);
        };
        row("import A.onnx -o other.twb", "other.twb");
        row("export e.twb --to dot -o notes.txt", "notes.txt");
        row("fix crossing.twb -o crossing.twb --force", "");
        row("place e.twb -o soft.twb --force", "");
        row("report r.json -o notes.txt", "notes.txt");
        row("run e.twb --quiet --report r.json", "r.json");
        row("run e.twb --quiet --output seen=x.npz#a --output twice=x.npz#b", "x.npz");
        row("run e.twb --quiet --report /dev/null --trace /dev/null", "");
    }
    void requestedFilesAreReplaced() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, written);
        const Program twb;
        prepare(twb);
        const auto before = snapshot(twb);
        const Ended ended = twb.run(arguments);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        if (!written.isEmpty())
            QVERIFY(snapshot(twb).value(twb.file(written)) != before.value(twb.file(written)));
        QVERIFY(QFileInfo(twb.file("soft.twb")).isSymLink());
    }

    /// The command line does not name the file beside the project, so an existing one is never replaced.
    void importTakesAFreeNameForItsTensors() {
        const Program twb;
        twb.write("A.onnx", bytesOf(largeModel(1)));
        twb.write("p.safetensors", "somebody's tensors");
        const Ended first = twb.run({"import", "A.onnx", "-o", "p.twb"});
        QCOMPARE(first.exit, 0);
        QVERIFY2(first.out.endsWith(" in p-2.safetensors\n"), qPrintable(first.out));
        QCOMPARE(twb.read("p.safetensors"), "somebody's tensors");
        QCOMPARE(twb.run({"run", "p.twb", "--quiet", "--output", "w=before.npy"}).exit, 0);

        // Importing the same model again finds its tensors in place.
        const auto before = snapshot(twb);
        QCOMPARE(twb.run({"import", "A.onnx", "-o", "p.twb"}).exit, 0);
        QVERIFY(snapshot(twb) == before);

        // Importing another model leaves the tensors of a project that shares them.
        twb.write("q.twb", twb.read("p.twb"));
        twb.write("A.onnx", bytesOf(largeModel(2)));
        const Ended other = twb.run({"import", "A.onnx", "-o", "p.twb"});
        QVERIFY2(other.out.endsWith(" in p-3.safetensors\n"), qPrintable(other.out));
        QCOMPARE(twb.run({"run", "p.twb", "--quiet", "--output", "w=p.npy"}).exit, 0);
        QCOMPARE(twb.tensor("p.npy")[0], 2.0);
        QCOMPARE(twb.run({"run", "q.twb", "--quiet", "--output", "w=q.npy"}).exit, 0);
        QCOMPARE(twb.tensor("q.npy"), twb.tensor("before.npy"));
    }

    /// A file size limit stands in for a full disk: 16 KiB for 20 kB of tensors, and 40 KiB, enough for the
    /// tensors but not for the project.
    void aFailedImportLeavesEverythingAsItWas_data() {
        QTest::addColumn<int>("limitKiB");
        QTest::newRow("tensors") << 16;
        QTest::newRow("project") << 40;
    }
    void aFailedImportLeavesEverythingAsItWas() {
        QFETCH(int, limitKiB);
        const Program twb;
        twb.write("A.onnx", bytesOf(largeModel(1)));
        QCOMPARE(twb.run({"import", "A.onnx", "-o", "p.twb"}).exit, 0);
        onnx::ModelProto model = largeModel(2);
        model.mutable_graph()->mutable_node(0)->set_name(std::string(100'000, 'n'));
        twb.write("A.onnx", bytesOf(model));
        const auto before = snapshot(twb);
        QProcess process;
        process.setWorkingDirectory(twb.file(QString()));
        process.start(
            "bash",
            {"-c",
             QStringLiteral("trap '' XFSZ; ulimit -f %1; exec \"$0\" import A.onnx -o p.twb").arg(limitKiB),
             Program::path()});
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("cannot be written: "), qPrintable(ended.err));
        QVERIFY(snapshot(twb) == before);
    }

    /// The same command would refuse a folder that is not empty.
    void aFailedPluginLeavesNoFolder() {
        const Program twb;
        QProcess process;
        process.setWorkingDirectory(twb.file(QString()));
        process.start("bash",
                      {"-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" new-op Bend -o bend", Program::path()});
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("cannot be written: "), qPrintable(ended.err));
        QVERIFY(!twb.exists("bend"));
        QCOMPARE(twb.run({"new-op", "Bend", "-o", "bend"}).exit, 0);
    }

    void invalidProjectNameIsRefused() {
        const Program twb;
        twb.write("A.onnx", bytesOf(largeModel(1)));
        QProcess process; // QProcess would encode the name
        process.setWorkingDirectory(twb.file(QString()));
        process.start("bash", {"-c", "exec \"$0\" import A.onnx -o $'p\\xff.twb'", Program::path()});
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.contains("is not UTF-8"), qPrintable(ended.err));
        QCOMPARE(snapshot(twb).size(), 1);
    }

    /// A batch that was killed is recognised as incomplete.
    void aBatchKnowsItsOwnFolder() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        twb.write("out/notes.txt", "somebody's notes");
        const Ended refused = twb.run({"batch", "a.twb", "--report", "out"});
        QCOMPARE(refused.exit, 2);
        QVERIFY2(refused.err.contains("this folder holds files that no earlier batch wrote"),
                 qPrintable(refused.err));
        QVERIFY(QFile::remove(twb.file("out/notes.txt")));
        QCOMPARE(twb.run({"batch", "a.twb", "--report", "out"}).exit, 0);
        QVERIFY(QFile::remove(twb.file("out/a.json")));
        QVERIFY(twb.exists("out/summary.json"));
        twb.write("out/notes.txt", "somebody's notes");
        QCOMPARE(twb.run({"batch", "a.twb", "--report", "out"}).exit, 0);
        QCOMPARE(twb.read("out/notes.txt"), "somebody's notes");
    }

    void aBatchWithoutATemporaryFolderSaysSo() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        QProcess process;
        process.setWorkingDirectory(twb.file(QString()));
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("TMPDIR", twb.file("none"));
        process.setProcessEnvironment(environment);
        process.start(Program::path(), {"batch", "a.twb"});
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("for the reports: No such file or directory; name another one with "
                                    "--report or in TMPDIR"),
                 qPrintable(ended.err));
    }

    void aProjectThatWouldNotFindItsDataIsNotWritten_data() {
        QTest::addColumn<QString>("op");
        QTest::newRow("tensor") << "File";
        QTest::newRow("training data") << "Batches";
    }
    void aProjectThatWouldNotFindItsDataIsNotWritten() {
        QFETCH(QString, op);
        const Program twb;
        twb.saveTensor<float>("w.npy", Shape{2}, {1, 2});
        GraphMaker maker;
        Attributes attributes{{"path", "w.npy"}};
        if (op == "Batches") attributes.set("batch_size", std::int64_t{1});
        const NodeId source = maker.node(op.toStdString(), "w", "cpu", attributes);
        maker.node("Probe", "seen", "cpu", {}, {source});
        twb.save("e.twb", maker);
        QDir(twb.file(QString())).mkdir("elsewhere");
        const QStringList place = {"place", "e.twb", "-o"};
        const Ended refused = twb.run(QStringList(place) << "elsewhere/p.twb");
        QCOMPARE(refused.exit, 4);
        QVERIFY2(refused.err.contains(op + " \"w\" would not find w.npy"), qPrintable(refused.err));
        QVERIFY(!QFile::exists(twb.file("elsewhere/p.twb")));
        QVERIFY(QFile::copy(twb.file("w.npy"), twb.file("elsewhere/w.npy")));
        const Ended written = twb.run(QStringList(place) << "elsewhere/p.twb");
        QVERIFY2(written.exit == 0, qPrintable(written.err));
    }

    void resultsThatCannotBeWrittenAreAnError_data() {
        QTest::addColumn<QStringList>("arguments");
        for (const char* line : {"--version", "--help", "run --help", "check e.twb", "check e.twb --json",
                                 "run e.twb", "batch e.twb", "predict e.twb", "fix e.twb", "place e.twb",
                                 "report r.json -o x.html", "compare r.json r.json", "import A.onnx -o x.twb",
                                 "export e.twb --to dot -o x.dot", "devices", "ops", "ops --json"})
            QTest::newRow(line) << QString(line).split(' ');
    }
    void resultsThatCannotBeWrittenAreAnError() {
        QFETCH(QStringList, arguments);
        if (!QFile::exists("/dev/full")) QSKIP("no /dev/full here");
        const Program twb;
        prepare(twb);
        QProcess process;
        process.setWorkingDirectory(twb.file(QString()));
        process.setStandardOutputFile("/dev/full");
        process.start(Program::path(), arguments);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("cannot write the results to stdout: No space left on device"),
                 qPrintable(ended.err));
    }

    void savePathOutsideTheFolderFailsBeforeTheRun() {
        const Program twb;
        GraphMaker maker;
        const NodeId full = maker.node("Full", "full", "cpu", {{"shape", Integers{2}}});
        maker.node("Save", "out", "cpu", {{"path", "../out.npy"}}, {full});
        twb.save("a.twb", maker);
        const Ended checked = twb.run({"check", "a.twb"});
        QCOMPARE(checked.exit, 3);
        QVERIFY2(checked.out.contains("is outside the project's folder"), qPrintable(checked.out));
        QCOMPARE(twb.run({"run", "a.twb", "--quiet"}).exit, 3);
        QCOMPARE(twb.run({"check", "a.twb", "--allow-outside"}).exit, 0);
    }

    void aSavePathWithoutATensorFormatIsFoundBeforeTheRun_data() {
        QTest::addColumn<QString>("path");
        for (const char* path : {"out.txt", "out", "out.npz", "out.safetensors#"})
            QTest::newRow(path) << path;
    }
    void aSavePathWithoutATensorFormatIsFoundBeforeTheRun() {
        QFETCH(QString, path);
        const Program twb;
        GraphMaker maker;
        const NodeId full = maker.node("Full", "full", "cpu", {{"shape", Integers{2}}});
        maker.node("Save", "out", "cpu", {{"path", path.toStdString()}}, {full});
        twb.save("a.twb", maker);
        const Ended checked = twb.run({"check", "a.twb"});
        QCOMPARE(checked.exit, 3);
        const bool isArchive = path.contains(".npz") || path.contains(".safetensors");
        QVERIFY2(checked.out.contains(isArchive ? "name the tensor to write: "
                                                : "cannot be written: name a .npy file"),
                 qPrintable(checked.out));
    }
};

TWB_TEST_MAIN(TestFileSafety)
#include "test_file_safety.moc"
