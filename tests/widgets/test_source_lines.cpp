#include "support/test_main.h"
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
        const QTemporaryDir folder;
        const QString script = folder.filePath(QStringLiteral("a b/net.py"));
        QDir().mkpath(QFileInfo(script).path());
        QVERIFY(QFile(script).open(QIODevice::WriteOnly));
        const QString seen = folder.filePath(QStringLiteral("seen"));
        const QString editor = folder.filePath(QStringLiteral("editor"));
        QFile program(editor);
        QVERIFY(program.open(QIODevice::WriteOnly));
        program.write(QStringLiteral("#!/bin/sh\nprintf '%s|%s' \"$1\" \"$2\" > %1.new && mv %1.new %1\n")
                          .replace(QLatin1String("%1"), seen)
                          .toUtf8());
        program.close();
        program.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
        settings::setEditor(editor + QStringLiteral(" %f %l"));
        WindowHand hand(faulty(script));
        QPushButton* link = hand.window->findChild<QPushButton*>(QStringLiteral("sourceLine"));
        QVERIFY(link);
        QCOMPARE(link->text(), QStringLiteral("net.py:11 in forward"));
        QTest::mouseClick(link, Qt::LeftButton);
        QTRY_COMPARE(contentOf(seen), (script + QStringLiteral("|11")).toUtf8());
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

private:
    static Graph faulty(const QString& script) {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
        const NodeId x = addNode(builder, cpu, "Ones", "x", 16, 16);
        Node node;
        node.op = "Add";
        node.name = "add";
        node.lane = cuda;
        node.position = {300, 16};
        node.source = SourceLine{script.toStdString(), 11, "forward"};
        const NodeId add = builder.addNode(node);
        builder.connect({{x, 0}, {add, 0}});
        builder.connect({{addNode(builder, cuda, "Ones", "y", 16, 16), 0}, {add, 1}});
        graph.apply(builder.take());
        return graph;
    }
};

TWB_GUI_TEST_MAIN(TestSourceLines)
#include "test_source_lines.moc"
