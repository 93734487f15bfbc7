#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/button_answer.h"
#include "widgets/file_answer.h"
#include "widgets/window_hand.h"

#include <QLineEdit>
#include <QListView>

using namespace twb;
using namespace twb::test;

class TestMainFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void saveAndOpenRoundTrip();
    void unsavedChangesAreAskedAbout();
    void brokenFileLeavesTheDocument();
    void aFileWithoutPositionsIsArranged();
    void exportsWhatTheDialogOffers_data();
    void exportsWhatTheDialogOffers();
    void anEndingThatIsNoPictureIsRefused();
    void noFileOfTheGraphIsReplaced_data();
    void noFileOfTheGraphIsReplaced();
    void savedEditsStayWhenTheirFileIsOpenedAgain();
    void theDataSetsOfATrainingGraphAreCopied();
    void resultsStayUpToDateInAnotherFolder();
};

namespace {

Graph onesGraph() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 200});
    const NodeId ones = addNode(builder, cpu, "Ones", "ones", 16, 16);
    builder.connect({{ones, 0}, {addNode(builder, cpu, "Relu", "relu", 240, 16), 0}});
    graph.apply(builder.take());
    return graph;
}

} // namespace

void TestMainFiles::initTestCase() {
    isolateSettings();
    Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
}

void TestMainFiles::saveAndOpenRoundTrip() {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.twb"));
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("linear"));
    QTest::keyClick(search, Qt::Key_Down);
    window->document().save(path);
    QTest::keyClick(find<QListView>(*window, "paletteList"), Qt::Key_Return);
    QVERIFY(window->document().isModified());
    action(*window, QStringLiteral("Save"))->trigger();
    QVERIFY(!window->document().isModified());
    const auto other = makeWindow();
    QVERIFY(other->openFile(path));
    QVERIFY(other->document().graph() == window->document().graph());
    QCOMPARE(QSettings().value(QStringLiteral("recent")).toStringList().first(), path);
}

void TestMainFiles::unsavedChangesAreAskedAbout() {
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("softm"));
    QTest::keyClick(search, Qt::Key_Return);
    {
        BoxAnswer answer(QMessageBox::Cancel);
        QVERIFY(!window->close());
        QVERIFY(answer.answered());
        QVERIFY(answer.text().contains(QLatin1String("Save")));
    }
    {
        BoxAnswer answer(QMessageBox::Cancel);
        QVERIFY(!window->openFile(sourcePath(kDigits)));
        QCOMPARE(window->document().graph().nodes().size(), std::size_t(1));
    }
    {
        BoxAnswer answer(QMessageBox::Discard);
        QVERIFY(window->openFile(sourcePath(kDigits)));
        QVERIFY(window->document().graph().nodes().size() > 10);
    }
    QVERIFY(window->close()); // there are no unsaved changes
}

/// All cards once lay on top of each other.
void TestMainFiles::aFileWithoutPositionsIsArranged() {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("written.twb"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"format": "tensor-workbench", "version": 1,
"lanes": [{"id": 1, "device": "cpu"}, {"id": 2, "device": "cuda:0"}],
"nodes": [
{"id": 1, "op": "Ones", "name": "x", "lane": 1, "attributes": {"shape": [4]}},
{"id": 2, "op": "Neg", "name": "neg", "lane": 1},
{"id": 3, "op": "To", "name": "to", "lane": 2},
{"id": 4, "op": "Abs", "name": "abs", "lane": 2}
],
"edges": [{"from": [1, 0], "to": [2, 0]}, {"from": [2, 0], "to": [3, 0]}, {"from": [3, 0], "to": [4, 0]}]})");
    file.close();
    const auto window = makeWindow();
    QVERIFY(window->openFile(path));
    const Document& document = window->document();
    const auto at = [&](const char* name) { return document.graph().findByName(name)->position; };
    QVERIFY(at("x").x + 100 < at("neg").x);
    QVERIFY(at("neg").x < at("abs").x);
    QVERIFY(at("to").x + 100 < at("abs").x);
    QVERIFY(!document.isModified());
}

void TestMainFiles::brokenFileLeavesTheDocument() {
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("broken.twb")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{ \"format\": \"tensor-workbench\", ");
    file.close();
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    const Graph before = window->document().graph();
    BoxAnswer answer(QMessageBox::Ok);
    QVERIFY(!window->openFile(file.fileName()));
    QVERIFY(answer.answered());
    QVERIFY2(answer.detail().contains(QLatin1String("broken.twb")), qPrintable(answer.detail()));
    QVERIFY(window->document().graph() == before);
    QVERIFY(window->document().path().endsWith(QLatin1String("digits.twb")));
}

void TestMainFiles::exportsWhatTheDialogOffers_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QByteArray>("start");
    QTest::addRow("png") << QStringLiteral("PNG") << QByteArray("\x89PNG");
    QTest::addRow("svg") << QStringLiteral("SVG") << QByteArray("<?xml");
    QTest::addRow("pdf") << QStringLiteral("PDF") << QByteArray("%PDF");
}

void TestMainFiles::exportsWhatTheDialogOffers() {
    QFETCH(QString, type);
    QFETCH(QByteArray, start);
    const QTemporaryDir folder;
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    // Without an extension, the chosen type's extension is added.
    FileAnswer answer(type, folder.filePath(QStringLiteral("picture")));
    action(*window, QStringLiteral("Export image…"))->trigger();
    QVERIFY(answer.answered());
    QFile file(folder.filePath(QStringLiteral("picture.") + type.toLower()));
    QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(file.fileName()));
    const QByteArray content = file.readAll();
    QVERIFY(content.startsWith(start));
    QVERIFY(content.size() > 8000); // more than an empty page
}

void TestMainFiles::noFileOfTheGraphIsReplaced_data() {
    QTest::addColumn<QString>("menu");
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("target");
    QTest::addColumn<QString>("sentence");
    const auto row = [](const char* name, const char* menu, const char* type, const char* target,
                        const char* sentence) {
        QTest::newRow(name) << QString::fromUtf8(menu) << QString::fromUtf8(type) << QString::fromUtf8(target)
                            << QString::fromUtf8(sentence);
    };
    const char* same = "are the same file";
    row("a project over the tensor", "Save as…", "All files", "x.npy", same);
    row("a project over a link to the tensor", "Save as…", "All files", "link.twb", same);
    row("a project over another file", "Save as…", "All files", "notes.twb",
        "is not a project and is not overwritten with one");
    row("a project named as a model", "Save as…", "All files", "new.onnx",
        "must not be named as a .onnx file");
    row("an image over the project", "Export image…", "PNG", "graph.twb", same);
    row("an image over the tensor", "Export image…", "PNG", "x.npy", same);
}

void TestMainFiles::noFileOfTheGraphIsReplaced() {
    QFETCH(QString, menu);
    QFETCH(QString, type);
    QFETCH(QString, target);
    QFETCH(QString, sentence);
    const QTemporaryDir folder;
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    addNode(builder, cpu, "File", "x", 16, 16, {{"path", std::string("x.npy")}});
    graph.apply(builder.take());
    const auto pathOf = [&](const char* name) { return folder.filePath(QString::fromLatin1(name)); };
    saveProject(graph, pathOf("graph.twb").toStdString());
    for (const char* name : {"x.npy", "notes.twb"}) {
        QFile file(pathOf(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("numbers or notes");
    }
    QVERIFY(QFile::link(pathOf("x.npy"), pathOf("link.twb")));
    const auto window = makeWindow();
    window->load(pathOf("graph.twb"));
    const auto content = [&](const QString& name) {
        QFile file(folder.filePath(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    const QByteArray before = content(target);
    // Qt asks first whether the file may be replaced.
    QTimer replace;
    connect(&replace, &QTimer::timeout, this, [] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box && box->button(QMessageBox::Yes))
            QTest::mouseClick(box->button(QMessageBox::Yes), Qt::LeftButton);
    });
    replace.start(10);
    const FileAnswer name(type, folder.filePath(target));
    QString said;
    QTimer refused;
    connect(&refused, &QTimer::timeout, this, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (!box || !box->button(QMessageBox::Ok)) return;
        said = box->informativeText();
        QTest::mouseClick(box->button(QMessageBox::Ok), Qt::LeftButton);
    });
    refused.start(10);
    action(*window, menu)->trigger();
    QVERIFY(name.answered());
    QVERIFY2(said.contains(sentence), qPrintable(said));
    QCOMPARE(content(target), before);
    QCOMPARE(window->document().path(), pathOf("graph.twb"));
}

void TestMainFiles::anEndingThatIsNoPictureIsRefused() {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("picture.gif"));
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    FileAnswer file(QStringLiteral("PNG"), path);
    BoxAnswer box(QMessageBox::Ok);
    action(*window, QStringLiteral("Export image…"))->trigger();
    QVERIFY(box.answered());
    QVERIFY(box.detail().contains(QLatin1String(".svg")));
    QVERIFY(!QFile::exists(path));
}

void TestMainFiles::savedEditsStayWhenTheirFileIsOpenedAgain() {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.twb"));
    const QString link = folder.filePath(QStringLiteral("link.twb"));
    saveProject(onesGraph(), path.toStdString());
    QVERIFY(QFile::link(path, link));
    const auto window = makeWindow();
    QVERIFY(window->openFile(path));
    std::size_t nodes = 2;
    for (const QString& again : {path, link}) {
        action(*window, QStringLiteral("Select all"))->trigger();
        action(*window, QStringLiteral("Duplicate"))->trigger();
        nodes *= 2;
        QCOMPARE(window->document().graph().nodes().size(), nodes);
        const BoxAnswer save(QMessageBox::Save);
        QVERIFY(window->openFile(again));
        QVERIFY(save.answered());
        QCOMPARE(window->document().graph().nodes().size(), nodes);
        QVERIFY(!window->document().isModified());
        QCOMPARE(loadProject(path.toStdString()).nodes().size(), nodes);
    }
}

/// Only the files of File nodes were copied.
void TestMainFiles::theDataSetsOfATrainingGraphAreCopied() {
    const QTemporaryDir folder;
    const QTemporaryDir other;
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    addNode(builder, cpu, "Batches", "rows", 16, 16,
            {{"path", std::string("x.npy")}, {"labels", std::string("set/y.npy")}});
    addNode(builder, cpu, "Save", "out", 240, 16, {{"path", std::string("out.npy")}});
    graph.apply(builder.take());
    saveProject(graph, folder.filePath(QStringLiteral("graph.twb")).toStdString());
    QVERIFY(QDir(folder.path()).mkdir(QStringLiteral("set")));
    for (const char* name : {"x.npy", "set/y.npy", "out.npy"}) {
        QFile file(folder.filePath(QLatin1String(name)));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(name);
    }
    const auto window = makeWindow();
    window->load(folder.filePath(QStringLiteral("graph.twb")));
    const FileAnswer name(QStringLiteral("*.twb"), other.filePath(QStringLiteral("graph.twb")));
    const ButtonAnswer copy(QStringLiteral("Copy"));
    action(*window, QStringLiteral("Save as…"))->trigger();
    QCOMPARE(window->document().path(), other.filePath(QStringLiteral("graph.twb")));
    QCOMPARE(copy.text, QStringLiteral("The graph reads 2 tensor files that are not in the new folder."));
    for (const char* read : {"x.npy", "set/y.npy"}) {
        QFile file(other.filePath(QLatin1String(read)));
        QVERIFY2(file.open(QIODevice::ReadOnly), read);
        QCOMPARE(file.readAll(), QByteArray(read));
    }
    QVERIFY(!QFile::exists(other.filePath(QStringLiteral("out.npy")))); // the graph writes it
}

/// Save as marked fresh results as out of date.
void TestMainFiles::resultsStayUpToDateInAnotherFolder() {
    const QTemporaryDir folder;
    WindowHand hand(onesGraph(), QDir::tempPath());
    hand.window->runs().run(1);
    QVERIFY(waitForRun(*hand.window));
    hand.document.save(folder.filePath(QStringLiteral("graph.twb")));
    QCOMPARE(hand.document.folder(), folder.path());
    QVERIFY(!hand.window->runs().state().stale);
}

TWB_GUI_TEST_MAIN(TestMainFiles)
#include "test_main_files.moc"
