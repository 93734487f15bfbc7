#include "support/test_main.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/settings.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QLabel>

using namespace twb;
using namespace twb::test;

namespace {

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// A Python file, and an editor in the settings that writes the file and line to open into `seen`.
struct Script {
    explicit Script(const QByteArray& text = {}) {
        QDir().mkpath(QFileInfo(path).path());
        write(path, text);
        const QString editor = folder.filePath(QStringLiteral("editor"));
        write(editor, QStringLiteral("#!/bin/sh\nprintf '%s|%s' \"$1\" \"$2\" > %1.new && mv %1.new %1\n")
                          .replace(QLatin1String("%1"), seen)
                          .toUtf8());
        QFile::setPermissions(editor, QFile::ReadOwner | QFile::ExeOwner);
        settings::setEditor(editor + QStringLiteral(" %f %l"));
    }
    static void write(const QString& path, const QByteArray& text) {
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write(text) < 0) qCritical("cannot write the script");
    }

    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("a b/net.py"));
    const QString seen = folder.filePath(QStringLiteral("seen"));
};

} // namespace

class TestSourceLines : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// A capture's problem names its line; a click starts the editor of the settings with file and line.
    void aProblemsLineOpensInTheEditor() {
        const Script script;
        WindowHand hand(faulty(script.path));
        QPushButton* link = hand.window->findChild<QPushButton*>(QStringLiteral("sourceLine"));
        QVERIFY(link);
        QCOMPARE(link->text(), QStringLiteral("net.py:11 in forward"));
        QTest::mouseClick(link, Qt::LeftButton);
        QTRY_COMPARE(contentOf(script.seen), (script.path + QStringLiteral("|11")).toUtf8());
    }

    void aMissingFileIsSaid() {
        WindowHand hand(faulty(QStringLiteral("/nowhere/net.py")));
        BoxAnswer answer(QMessageBox::Ok);
        QTest::mouseClick(find<QPushButton>(*hand.window, "sourceLine"), Qt::LeftButton);
        QVERIFY(answer.answered());
        QVERIFY(answer.detail().contains(QStringLiteral("/nowhere/net.py does not exist")));
    }

    void tableAndInspectorNameTheLine() {
        WindowHand hand(faulty(QStringLiteral("/nowhere/net.py")));
        hand.window->showProblems();
        auto* table = find<QTableView>(*hand.window, "problemsTable");
        QVERIFY(table->model()->index(0, 3).data().toString().startsWith(
            QStringLiteral("net.py:11 in forward: ")));
        hand.document.select({{hand.node("add")->id}, {}, {}});
        QStringList texts;
        for (const QLabel* label : hand.window->findChildren<QLabel*>()) texts << label->text();
        QVERIFY(texts.contains(QStringLiteral("source")));
    }

    void aMismatchNamesItsFixInPython() {
        const Script script(
            "import torch\n\n\nx = torch.ones(4)\n\n\n\n\n\ndef forward(y):\n    return x + y\n");
        WindowHand hand(faulty(script.path));
        const QString advice =
            QStringLiteral("In Python: create the tensor on cuda:0: `torch.ones(4, device=");
        QStringList fixes;
        for (const QLabel* label : hand.window->findChildren<QLabel*>(QStringLiteral("pythonFix")))
            fixes << label->text();
        QVERIFY2(fixes.join(QLatin1Char('|')).contains(advice), qPrintable(fixes.join(QLatin1Char('|'))));
        hand.window->showProblems();
        const auto* model = find<QTableView>(*hand.window, "problemsTable")->model();
        const QString tip = model->index(0, 3).data(Qt::ToolTipRole).toString();
        QVERIFY2(tip.contains(advice), qPrintable(tip));
        // A fix of the graph ends the advice.
        hand.window->applyFix(hand.document.analysis().diagnostics.front().fixes.front());
        QVERIFY(hand.document.analysis().diagnostics.empty() ||
                hand.document.pythonFix(hand.document.analysis().diagnostics.front()).isEmpty());
    }

    /// Consequences are not counted, since the table does not list them, but they are fixed as well.
    void allFixesOfAKindIncludeConsequences() {
        const auto window = makeWindow();
        window->load(sourcePath("resources/examples/10-your-own-script.twb"));
        window->showProblems();
        QCoreApplication::processEvents();
        auto* all = find<QPushButton>(*window, "fixAlike");
        QCOMPARE(all->text(), QStringLiteral("Apply the first fix to all 4 problems of this kind"));
        const std::size_t before = window->document().graph().nodes().size();
        QTest::mouseClick(all, Qt::LeftButton);
        QCOMPARE(window->document().graph().nodes().size(), before + 4);      // consequences share a To
        QCOMPARE(window->document().analysis().errorCount(), std::size_t(1)); // numpy() of a CUDA tensor
    }

    void theLedgerOpensTheLineOfACopy() {
        const Script script;
        Graph graph = faulty(script.path);
        WindowHand hand(graph);
        const auto* ledger = find<QTableView>(*hand.window, "ledgerTable");
        QVERIFY(ledger->isColumnHidden(LedgerModel::SourceColumn)); // beside the plot
        QTest::mouseClick(find<QPushButton>(*hand.window, "wholeLedger"), Qt::LeftButton);
        QVERIFY(!ledger->isColumnHidden(LedgerModel::SourceColumn));
        const QModelIndex cell = ledger->model()->index(0, LedgerModel::SourceColumn);
        QCOMPARE(cell.data().toString(), QStringLiteral("net.py:11 in forward"));
        QTest::mouseClick(ledger->viewport(), Qt::LeftButton, {}, ledger->visualRect(cell).center());
        QTRY_COMPARE(contentOf(script.seen), (script.path + QStringLiteral("|11")).toUtf8());
        hand.window->load(sourcePath(kDigits));
        QVERIFY(ledger->isColumnHidden(LedgerModel::SourceColumn));
    }

private:
    static Graph faulty(const QString& script) {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
        Node ones;
        ones.op = "Ones";
        ones.name = "x";
        ones.lane = cpu;
        ones.attributes.set("shape", std::vector<std::int64_t>{4});
        ones.source = SourceLine{script.toStdString(), 4, "main"};
        const NodeId x = builder.addNode(ones);
        Node node;
        node.op = "Add";
        node.name = "add";
        node.lane = cuda;
        node.position = {300, 16};
        node.source = SourceLine{script.toStdString(), 11, "forward"};
        const NodeId add = builder.addNode(node);
        builder.connect({{x, 0}, {add, 0}});
        builder.connect({{addNode(builder, cuda, "Ones", "y", 16, 16, ones.attributes), 0}, {add, 1}});
        graph.apply(builder.take());
        return graph;
    }
};

TWB_GUI_TEST_MAIN(TestSourceLines)
#include "test_source_lines.moc"
