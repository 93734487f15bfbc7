#include "formats/project.h"
#include "support/onnx_function_models.h"
#include "support/open_count.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/module_edits.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/palette/own_modules.h"
#include "widgets/panels/log_panel.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>
#include <QTreeWidget>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> [ leaky -> sum ], x -> sum: two nodes of the module read x.
struct Block {
    Graph graph;
    LaneId cpu;
    NodeId x, leaky, sum;
    FrameId block;

    Block() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 400});
        block = builder.addFrame({FrameId::none, "block", FrameId::none});
        x = addNode(builder, cpu, "Ones", "x", 16, 40);
        leaky = addNode(builder, cpu, "LeakyRelu", "leaky", 260, 40);
        sum = addNode(builder, cpu, "Add", "sum", 460, 40);
        for (const NodeId id : {leaky, sum}) {
            Node node = *builder.graph().find(id);
            node.frame = block;
            builder.change(node);
        }
        builder.connect({{x, 0}, {leaky, 0}});
        builder.connect({{leaky, 0}, {sum, 0}});
        builder.connect({{x, 0}, {sum, 1}});
        graph.apply(builder.take());
    }
};

Graph oneLane() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    builder.addLane({LaneId::none, Device::cpu(), "", 0, 400});
    graph.apply(builder.take());
    return graph;
}

void select(WindowHand& hand, FrameId module) {
    Selection selection;
    for (const NodeId id : nodesOfModule(hand.graph(), module)) selection.nodes.insert(id);
    hand.document.select(selection);
    hand.canvas.setFocus();
}

/// The module of the graph that was made from the op.
FrameId madeFrom(const Graph& graph, const char* op) {
    for (const Frame& frame : graph.frames())
        if (const auto ref = twb::madeFrom(frame); ref && ref->name == op) return frame.id;
    return FrameId::none;
}

/// Saves the module to the palette by keys: with a name, and with the slope as an attribute.
void saveByKeys(WindowHand& hand, FrameId module, const QString& name) {
    select(hand, module);
    const DialogAnswer answer("saveModule", QDialogButtonBox::Save, [&](QDialog& dialog) {
        // Without it, an editor in the list would lose the focus at once.
        dialog.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&dialog));
        auto* line = find<QLineEdit>(dialog, "moduleName");
        QVERIFY(line->hasFocus());
        QTest::keyClicks(line, name);
        QTest::keyClick(line, Qt::Key_Tab);
        QTest::keyClicks(dialog.focusWidget(), QStringLiteral("Leaks and adds"));
        QTest::keyClick(dialog.focusWidget(), Qt::Key_Tab);
        auto* values = find<QTreeWidget>(dialog, "moduleValues");
        QVERIFY(values->hasFocus());
        QTest::keyClick(values, Qt::Key_Home);
        while (values->currentItem()->text(0) != QStringLiteral("leaky · alpha") &&
               values->itemBelow(values->currentItem()))
            QTest::keyClick(values, Qt::Key_Down);
        QCOMPARE(values->currentItem()->text(0), QStringLiteral("leaky · alpha"));
        if (values->currentItem()->checkState(0) == Qt::Unchecked) QTest::keyClick(values, Qt::Key_Space);
        QTest::keyClick(values, Qt::Key_F2);
        QTest::keyClicks(dialog.focusWidget(), QStringLiteral("slope"));
        QTest::keyClick(dialog.focusWidget(), Qt::Key_Return);
        QTRY_COMPARE(values->currentItem()->text(1), QStringLiteral("slope"));
    });
    hand.key(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
    QVERIFY(answer.answered());
    // The offscreen platform does not reactivate a window when its dialog closes.
    hand.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
}

/// The palette has it only if a search lists it.
void addFromPalette(WindowHand& hand, const QString& name) {
    auto* search = find<QLineEdit>(*hand.window, "paletteSearch");
    search->setFocus();
    search->selectAll();
    QTest::keyClicks(search, name);
    QTest::keyClick(search, Qt::Key_Return);
}

QString logOf(const WindowHand& hand) {
    return hand.window->findChild<LogPanel*>()->findChild<QPlainTextEdit*>()->toPlainText();
}

} // namespace

/// Ops that are written as modules or as ONNX functions.
class TestModuleOps : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }
    void cleanup() {
        for (const QString& file : QDir(ownModulesFolder()).entryList(QDir::Files))
            QFile::remove(QDir(ownModulesFolder()).filePath(file));
        removeOwnModule({}); // the folder is read again
    }

    void aSavedModuleHasAttributesAndAVersion() {
        const Block g;
        WindowHand hand(g.graph);
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        const ModuleOp* op = ownModule(QStringLiteral("Swoosh"));
        QVERIFY(op);
        QCOMPARE(op->version, std::int64_t(1));
        QCOMPARE(op->doc, std::string("Leaks and adds"));
        QCOMPARE(op->inputs.size(), std::size_t(1)); // both nodes read x
        QCOMPARE(op->inputs[0].name, std::string("x"));
        QCOMPARE(op->attributes.size(), std::size_t(1));

        hand.document.setGraph(oneLane(), {}, QString());
        addFromPalette(hand, QStringLiteral("Swoosh"));
        const FrameId made = madeFrom(hand.graph(), "Swoosh");
        QVERIFY(made != FrameId::none);
        select(hand, made);
        const auto editors = hand.window->findChildren<AttributeEditor*>();
        QCOMPARE(editors.size(), 1);
        QCOMPARE(editors[0]->spec().name, std::string("slope"));
        auto* line = editors[0]->findChild<QLineEdit*>();
        QCOMPARE(line->text(), QStringLiteral("0.01"));
        line->setFocus();
        line->selectAll();
        QTest::keyClicks(line, QStringLiteral("0.5"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(hand.node("leaky")->attributes.number("alpha"), 0.5);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Set slope of block"));
        hand.document.undoStack().undo();
        QVERIFY(!hand.node("leaky")->attributes.has("alpha"));
        // Its help.
        hand.canvas.setFocus();
        hand.key(Qt::Key_F1, Qt::AltModifier);
        const QString help = find<QLabel>(*hand.window, "opHelpText")->text();
        for (const char* part : {"module, version 1, of 3 nodes", "<b>x</b>", "<b>slope</b>", "= 0.01"})
            QVERIFY2(help.contains(QLatin1String(part)), qPrintable(help));
    }

    void aChangedModuleGetsTheNextVersionAndProjectsAreTold() {
        const Block g;
        WindowHand hand(g.graph);
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        hand.document.setGraph(oneLane(), {}, QString());
        addFromPalette(hand, QStringLiteral("Swoosh"));
        const QString path = m_folder.filePath(QStringLiteral("uses.twb"));
        saveProject(hand.graph(), path.toStdString());
        hand.document.setGraph(oneLane(), {}, QString()); // nothing to save
        QVERIFY(hand.window->openFile(path));
        QVERIFY2(!logOf(hand).contains(QLatin1String("Changed op")), qPrintable(logOf(hand)));

        // The same content keeps its version; its attributes are ticked already.
        hand.document.setGraph(g.graph, {}, QString());
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->version, std::int64_t(1));
        Block other;
        DeltaBuilder builder(other.graph, "change");
        Node leaky = *other.graph.find(other.leaky);
        leaky.attributes.set("alpha", 0.3);
        builder.change(leaky);
        other.graph.apply(builder.take());
        hand.document.setGraph(other.graph, {}, QString());
        saveByKeys(hand, other.block, QStringLiteral("Swoosh"));
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->version, std::int64_t(2));
        QVERIFY(hand.window->openFile(path));
        QVERIFY2(
            logOf(hand).contains(QLatin1String("made from Swoosh version 1, but version 2 is installed")),
            qPrintable(logOf(hand)));
        // The module of another version is a module like any other.
        select(hand, madeFrom(hand.graph(), "Swoosh"));
        QVERIFY(!find<QToolButton>(*hand.window, "opHelpToggle")->isVisible());
    }

    void aModuleMadeFromAnOpKeepsItsAttributesWhenItIsSavedAgain() {
        const Block g;
        WindowHand hand(g.graph);
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        hand.document.setGraph(oneLane(), {}, QString());
        addFromPalette(hand, QStringLiteral("Swoosh"));
        select(hand, madeFrom(hand.graph(), "Swoosh"));
        const DialogAnswer answer("saveModule", QDialogButtonBox::Save, [](QDialog& dialog) {
            QCOMPARE(find<QLineEdit>(dialog, "moduleName")->text(), QStringLiteral("Swoosh"));
            QCOMPARE(find<QLineEdit>(dialog, "moduleDoc")->text(), QStringLiteral("Leaks and adds"));
            auto* values = find<QTreeWidget>(dialog, "moduleValues");
            QStringList ticked;
            for (int i = 0; i < values->topLevelItemCount(); ++i)
                if (values->topLevelItem(i)->checkState(0) == Qt::Checked)
                    ticked << values->topLevelItem(i)->text(1);
            QCOMPARE(ticked, QStringList{QStringLiteral("slope")});
        });
        hand.key(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(answer.answered());
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->attributes.size(), std::size_t(1));
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->version, std::int64_t(1));
    }

    /// Neither the ids, the names and the places of a second use nor its source make a new version.
    void aModuleThatIsSavedUnchangedKeepsItsVersion() {
        const Block g;
        WindowHand hand(g.graph);
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        DeltaBuilder builder(hand.graph(), "add a source");
        const NodeId other = addNode(builder, g.cpu, "Zeros", "other source", 16, 240);
        hand.document.apply(builder.take());
        addFromPalette(hand, QStringLiteral("Swoosh"));
        const FrameId second = madeFrom(hand.graph(), "Swoosh");
        DeltaBuilder edit(hand.graph(), "connect and move");
        for (const NodeId id : nodesOfModule(hand.graph(), second)) {
            Node node = *edit.graph().find(id);
            node.position.x += 16;
            edit.change(node);
            if (node.op == "Identity") edit.connect({{other, 0}, {id, 0}});
        }
        hand.document.apply(edit.take());
        select(hand, second);
        const auto saveAgain = [&] {
            const DialogAnswer answer("saveModule", QDialogButtonBox::Save, [](QDialog&) {});
            hand.key(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(answer.answered());
            hand.window->activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
        };
        saveAgain();
        const ModuleOp* op = ownModule(QStringLiteral("Swoosh"));
        QCOMPARE(op->version, std::int64_t(1));
        QCOMPARE(op->inputs.at(0).name, std::string("x"));
        QVERIFY(!nodesMadeFrom(hand.graph(), second, *op).empty());
        hand.document.apply([&] {
            DeltaBuilder change(hand.graph(), "change");
            for (const NodeId id : nodesOfModule(hand.graph(), second))
                if (hand.graph().find(id)->op == "LeakyRelu") change.setAttribute(id, "alpha", 0.7);
            return change.take();
        }());
        saveAgain();
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->version, std::int64_t(2));
    }

    /// By keys: from the notice, and from the menu.
    void aModuleIsUpdatedToItsNewestVersion() {
        const Block g;
        WindowHand hand(g.graph);
        saveByKeys(hand, g.block, QStringLiteral("Swoosh"));
        Graph uses = oneLane();
        hand.document.setGraph(uses, {}, QString());
        addFromPalette(hand, QStringLiteral("Swoosh"));
        DeltaBuilder builder(hand.graph(), "connect");
        const NodeId x = addNode(builder, hand.graph().lanes().begin()->id, "Ones", "x", 16, 200);
        for (const Node& node : hand.graph().nodes())
            if (node.op == "Identity") builder.connect({{x, 0}, {node.id, 0}});
        hand.document.apply(builder.take());
        uses = hand.graph();
        QAction* update = nullptr;
        for (QAction* action : hand.window->findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(QStringLiteral("Ctrl+Alt+Shift+U"))) update = action;
        QVERIFY(update);
        select(hand, madeFrom(hand.graph(), "Swoosh"));
        QVERIFY(!update->isEnabled());

        Block other;
        DeltaBuilder change(other.graph, "change");
        change.setAttribute(other.leaky, "alpha", 0.3);
        other.graph.apply(change.take());
        hand.document.setGraph(other.graph, {}, QString());
        saveByKeys(hand, other.block, QStringLiteral("Swoosh"));
        QCOMPARE(ownModule(QStringLiteral("Swoosh"))->version, std::int64_t(2));

        hand.document.setGraph(uses, {}, QString());
        auto* notice = hand.window->findChild<QWidget*>(QStringLiteral("notice"));
        QVERIFY(notice->isVisible());
        QCOMPARE(notice->accessibleName(),
                 QStringLiteral("Module block was made from version 1 of Swoosh. Version 2 is installed."));
        const auto buttons = notice->findChildren<QPushButton*>();
        const auto button =
            std::ranges::find(buttons, QStringLiteral("Update"), [](const auto* one) { return one->text(); });
        QVERIFY(button != buttons.end());
        (*button)->setFocus(Qt::TabFocusReason);
        QTest::keyClick(*button, Qt::Key_Space);
        QVERIFY(!notice->isVisible());
        const auto isNew = [&] {
            const Node* leaky = hand.node("leaky");
            return leaky && leaky->attributes.find("alpha") && leaky->attributes.number("alpha") == 0.3;
        };
        QVERIFY(isNew());
        const FrameId made = madeFrom(hand.graph(), "Swoosh");
        QCOMPARE(hand.graph().find(made)->body, std::string("Swoosh@2"));
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Update module block"));
        QVERIFY(hand.graph().sourceOf({nodesOfModule(hand.graph(), made).back(), 0}));
        QVERIFY2(logOf(hand).contains(QLatin1String("alpha of \"leaky\" is 0.3 now; it was 0.01")),
                 qPrintable(logOf(hand)));
        QVERIFY(!update->isEnabled());
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == uses);
        QVERIFY(!isNew());

        select(hand, madeFrom(hand.graph(), "Swoosh"));
        QVERIFY(update->isEnabled());
        hand.key(Qt::Key_U, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(isNew());
        QCOMPARE(hand.document.selection().nodes.size(), std::size_t(3));
        // The attributes of the new version are those of the module now.
        QTRY_COMPARE(hand.window->findChildren<AttributeEditor*>().size(),
                     1); // those of version 1 are deleted
        const auto* editor = hand.window->findChild<AttributeEditor*>();
        QCOMPARE(editor->findChild<QLineEdit*>()->text(), QStringLiteral("0.3"));
    }

    void openingAProjectReadsItsModulesOnce() {
        const Block g;
        const WindowHand hand(oneLane());
        const QString folder = m_folder.filePath(QStringLiteral("once/ops"));
        QVERIFY(QDir().mkpath(folder));
        ModuleOp op;
        op.name = "Once";
        op.fragment.lanes = {*g.graph.find(g.cpu)};
        op.fragment.nodes = {*g.graph.find(g.leaky)};
        op.fragment.nodes[0].frame = FrameId::none;
        portsFromEdges(op);
        frameFragment(op);
        const QString file = folder + QStringLiteral("/Once.twbmodule");
        writeFileAtomically(file.toStdString(), toModuleText(op));
        // With a module of an op, whose version is compared with that of the file.
        Graph graph = g.graph;
        DeltaBuilder builder(graph, "make");
        Frame frame = *graph.find(g.block);
        frame.body = "Once@2";
        builder.change(frame);
        graph.apply(builder.take());
        const QString path = m_folder.filePath(QStringLiteral("once/uses.twb"));
        saveProject(graph, path.toStdString());
        const OpenCount opened(file);
        QVERIFY(hand.window->openFile(path));
        QCOMPARE(opened.take(), 1);
        QVERIFY2(logOf(hand).contains(QStringLiteral("Changed op: ")), qPrintable(logOf(hand)));
        QVERIFY(ownModule(QStringLiteral("Once")));
        QVERIFY(hand.window->openFile(path));
        QCOMPARE(opened.take(), 0);
        // Another version of the file is read.
        op.version = 2;
        frameFragment(op);
        writeFileAtomically(file.toStdString(), toModuleText(op));
        QVERIFY(hand.window->openFile(path));
        QCOMPARE(ownModule(QStringLiteral("Once"))->version, std::int64_t(2));
    }

    /// Functions are data: nobody is asked.
    void functionsBesideAProjectComeIntoThePalette() {
        const Block g;
        WindowHand hand(oneLane());
        QVERIFY(QDir(m_folder.path()).mkpath(QStringLiteral("mine/ops")));
        onnx::ModelProto model = modelWithFunctions();
        addSwish(model, 2);
        writeFileAtomically(m_folder.filePath(QStringLiteral("mine/ops/ours.onnx")).toStdString(),
                            model.SerializeAsString());
        const QString path = m_folder.filePath(QStringLiteral("mine/uses.twb"));
        saveProject(g.graph, path.toStdString());
        const auto isListed = [&] {
            for (const auto* list : hand.window->findChildren<OpListModel*>())
                for (int row = 0; row < list->rowCount(); ++row)
                    if (list->op(list->index(row)) == QLatin1String("ours.Swish")) return true;
            return false;
        };
        QVERIFY(!isListed());
        QVERIFY(hand.window->openFile(path));
        QVERIFY(isListed());
        addFromPalette(hand, QStringLiteral("ours.Swish"));
        const FrameId made = madeFrom(hand.graph(), "ours.Swish");
        QVERIFY(made != FrameId::none);
        select(hand, made);
        const auto editors = hand.window->findChildren<AttributeEditor*>();
        QCOMPARE(editors.size(), 1);
        QCOMPARE(editors[0]->spec().name, std::string("beta"));
        // It is not a saved one, so it cannot be removed or replaced.
        auto* list = find<QListView>(*hand.window, "paletteList");
        list->setFocus();
        list->setCurrentIndex(list->model()->index(1, 0));
        QTest::keyClick(list, Qt::Key_Delete);
        QVERIFY(ownModule(QStringLiteral("ours.Swish")));
        QVERIFY(refusalOfName(QStringLiteral("ours.Swish")).contains(QLatin1String("ours.onnx")));
    }
};

TWB_GUI_TEST_MAIN(TestModuleOps)
#include "test_module_ops.moc"
