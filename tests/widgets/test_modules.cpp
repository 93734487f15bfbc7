#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/add_op.h"
#include "widgets/canvas/note_text.h"
#include "widgets/dialog_answer.h"
#include "widgets/module_edits.h"
#include "widgets/palette/own_modules.h"
#include "widgets/scene_text.h"
#include "widgets/window_hand.h"

#include <QClipboard>
#include <QDir>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QTextDocument>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> [ relu -> neg ] -> out on cpu, a node on cuda:0.
struct Framed {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, relu, neg, out, there;
    FrameId block;

    Framed() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 200});
        block = builder.addFrame({FrameId::none, "block", FrameId::none});
        x = addNode(builder, cpu, "Ones", "x", 16, 40);
        relu = addNode(builder, cpu, "Relu", "relu", 260, 40);
        neg = addNode(builder, cpu, "Neg", "neg", 460, 40);
        out = addNode(builder, cpu, "Neg", "out", 720, 40);
        there = addNode(builder, cuda, "Ones", "there", 16, 16);
        for (const NodeId id : {relu, neg}) {
            Node node = *builder.graph().find(id);
            node.frame = block;
            builder.change(node);
        }
        builder.connect({{x, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {neg, 0}});
        builder.connect({{neg, 0}, {out, 0}});
        graph.apply(builder.take());
    }
};

QPoint titleOf(const WindowHand& hand, FrameId frame) {
    return hand.pixel(hand.canvas.scene().frames().find(frame)->titleRect.center());
}

/// Types one text into each input dialog that opens; an empty text presses Esc.
class Typist : public QObject {
public:
    explicit Typist(QStringList texts) : m_texts(std::move(texts)) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
            if (!dialog || m_texts.isEmpty()) return;
            said << dialog->labelText();
            auto* line = dialog->findChild<QLineEdit*>();
            const QString text = m_texts.takeFirst();
            line->selectAll();
            QTest::keyClicks(line, text);
            QTest::keyClick(line, text.isEmpty() ? Qt::Key_Escape : Qt::Key_Return);
        });
        m_timer.start(10);
    }
    QStringList said;

private:
    QStringList m_texts;
    QTimer m_timer;
};

} // namespace

class TestModules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aModuleIsRenamedColouredAndDissolved() {
        const Framed g;
        WindowHand hand(g.graph);
        hand.click(titleOf(hand, g.block));
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.relu, g.neg}));
        {
            const Typist types({QStringLiteral("encoder")});
            hand.key(Qt::Key_F2, Qt::ShiftModifier);
            QCOMPARE(types.said.size(), 1);
        }
        // The offscreen platform does not reactivate a window when its dialog closes.
        hand.window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(hand.window.get()));
        hand.canvas.setFocus();
        QCOMPARE(hand.graph().find(g.block)->title, std::string("encoder"));
        QAction* teal = nullptr;
        for (QMenu* menu : hand.window->findChildren<QMenu*>())
            for (QAction* action : menu->actions())
                if (action->text() == QLatin1String("Teal")) teal = action;
        QVERIFY(teal);
        teal->trigger();
        QCOMPARE(hand.graph().find(g.block)->color, FrameColor::teal);
        QVERIFY(parseProject(toProjectText(hand.graph()), "a test") == hand.graph());
        // Its outline has that colour.
        hand.document.select({});
        const QRectF frame = hand.canvas.scene().frames().find(g.block)->rect;
        const QPoint edge = hand.pixel({frame.left(), frame.center().y()});
        const QImage image = hand.canvas.grab().toImage();
        bool isTeal = false;
        for (int dx = -2; dx <= 2; ++dx) {
            const QColor color = image.pixelColor(edge.x() + dx, edge.y());
            isTeal = isTeal || (color.green() > color.red() + 40 && color.blue() > color.red() + 20);
        }
        QVERIFY(isTeal);
        hand.click(titleOf(hand, g.block));
        hand.key(Qt::Key_G, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(hand.graph().frames().empty());
        QCOMPARE(hand.node(g.relu).frame, FrameId::none);
        QCOMPARE(hand.undoSteps(), 3);
        for (int i = 0; i < 3; ++i) hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void selectionDeterminesTheModule() {
        Framed g;
        DeltaBuilder builder(g.graph, "nest");
        const FrameId outer = builder.addFrame({FrameId::none, "outer", FrameId::none});
        Frame block = *g.graph.find(g.block);
        block.parent = outer;
        builder.change(block);
        Node x = *g.graph.find(g.x);
        x.frame = outer;
        builder.change(x);
        g.graph.apply(builder.take());
        QCOMPARE(moduleOf(g.graph, {{g.relu}, {}, {}}), g.block);
        QCOMPARE(moduleOf(g.graph, {{g.relu, g.neg}, {}, {}}), g.block);
        QCOMPARE(moduleOf(g.graph, {{g.relu, g.x}, {}, {}}), outer);
        QCOMPARE(moduleOf(g.graph, {{g.relu, g.neg, g.x}, {}, {}}), outer);
        QCOMPARE(moduleOf(g.graph, {{g.out}, {}, {}}), FrameId::none);
        // Nodes and frames inside it move to the enclosing module.
        Graph dissolved = g.graph;
        dissolved.apply(dissolveModule(g.graph, g.block));
        QCOMPARE(dissolved.find(g.relu)->frame, outer);
        dissolved.apply(dissolveModule(dissolved, outer));
        QCOMPARE(dissolved.find(g.relu)->frame, FrameId::none);
    }

    void aModuleCollapsesToOneCard() {
        const Framed g;
        WindowHand hand(g.graph);
        const auto& scene = hand.canvas.scene();
        hand.click(titleOf(hand, g.block));
        hand.key(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(hand.graph().find(g.block)->collapsed);
        const NodeShape* card = scene.modules().cardOf(g.block);
        QVERIFY(card && card->kind == NodeShape::Kind::module);
        QCOMPARE(card->inputs, std::uint16_t(1));
        QCOMPARE(card->outputs, std::uint16_t(1));
        QVERIFY(scene.frames().find(g.block)->rect.isEmpty());
        QVERIFY(scene.wires().find({{g.relu, 0}, {g.neg, 0}})->hidden);
        const WireShape& in = *scene.wires().find({{g.x, 0}, {g.relu, 0}});
        const WireShape& out = *scene.wires().find({{g.neg, 0}, {g.out, 0}});
        QCOMPARE(in.end.x(), card->rect.left());
        QCOMPARE(out.start.x(), card->rect.right());
        // A click on it selects all its nodes.
        const QPoint middle = hand.pixel(card->rect.center());
        hand.click(hand.middle(g.x));
        hand.click(middle);
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.relu, g.neg}));
        hand.click(hand.middle(g.x), Qt::ShiftModifier);
        hand.click(middle, Qt::ShiftModifier);
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.x}));
        // A drag moves all its nodes.
        hand.drag(middle, middle + QPoint(0, int(64 * hand.canvas.view().zoom())));
        QCOMPARE(hand.undoSteps(), 2);
        QVERIFY(hand.node(g.relu).position.y > 80);
        QCOMPARE(hand.node(g.relu).position.y, hand.node(g.neg).position.y);
        QCOMPARE(hand.node(g.relu).frame, g.block);
        QVERIFY(parseProject(toProjectText(hand.graph()), "a test") == hand.graph());
        // It can be expanded again.
        hand.click(hand.pixel(scene.modules().cardOf(g.block)->rect.center()));
        hand.key(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(!hand.graph().find(g.block)->collapsed);
        QVERIFY(!scene.modules().cardOf(g.block));
        QVERIFY(!scene.frames().find(g.block)->rect.isEmpty());
        QVERIFY(hand.shape(g.neg).rect.left() > hand.shape(g.relu).rect.right());
        while (hand.document.undoStack().canUndo()) hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    /// The keys selected one hidden node of the module, and the next edit applied to this node alone.
    void arrowsSelectACollapsedModuleAsAWhole() {
        Framed g;
        DeltaBuilder builder(g.graph, "collapse");
        Frame block = *g.graph.find(g.block);
        block.collapsed = true;
        builder.change(block);
        builder.setDots({g.out, 0}, {{g.cpu, {640, 200}}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto selected = [&] { return hand.document.selection().nodes; };
        const std::set<NodeId> module{g.relu, g.neg};
        hand.click(hand.middle(g.x));
        hand.key(Qt::Key_Right);
        QCOMPARE(selected(), module);
        hand.key(Qt::Key_Right);
        QCOMPARE(selected(), std::set{g.out});
        hand.key(Qt::Key_Left);
        QCOMPARE(selected(), module);
        hand.key(Qt::Key_Left);
        QCOMPARE(selected(), std::set{g.x});
        hand.click(hand.middle(g.there));
        hand.key(Qt::Key_Up);
        QCOMPARE(selected(), std::set{g.x});
        // From the wire's dot, and from a wire.
        hand.click(hand.pixel(hand.canvas.scene().wires().dot({{g.out, 0}, 0})->at));
        QCOMPARE(hand.document.selection().dots.size(), 1U);
        hand.key(Qt::Key_Left);
        QCOMPARE(selected(), module);
        hand.click(hand.onWire({{g.x, 0}, {g.relu, 0}}));
        hand.key(Qt::Key_Right);
        QCOMPARE(selected(), module);
        hand.key(Qt::Key_Delete);
        QVERIFY(!hand.node("relu") && !hand.node("neg") && hand.node("x"));
    }

    void wiresAreDrawnToTheCardOfAModule() {
        Framed g;
        DeltaBuilder builder(g.graph, "cut");
        builder.disconnect({{g.x, 0}, {g.relu, 0}});
        Frame block = *g.graph.find(g.block);
        block.collapsed = true;
        builder.change(block);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto& scene = hand.canvas.scene();
        QCOMPARE(scene.modules().cardOf(g.block)->inputs, std::uint16_t(1)); // the input is not connected
        QVERIFY(scene.modules().cardOf(g.block)->hasError);
        hand.drag(hand.output(g.x), hand.pixel(scene.modules().portAt({g.relu, 0}, PortSide::input)));
        QVERIFY(hand.graph().sourceOf({g.relu, 0}) == std::optional<PortRef>({g.x, 0}));
        QVERIFY(!scene.modules().cardOf(g.block)->hasError);
        // Dragging the wire off disconnects it.
        hand.drag(hand.pixel(scene.modules().portAt({g.relu, 0}, PortSide::input)),
                  hand.pixel(scene.modules().portAt({g.relu, 0}, PortSide::input)) + QPoint(-40, 150));
        hand.key(Qt::Key_Escape);
        QVERIFY(!hand.graph().sourceOf({g.relu, 0}));
    }

    /// x and y each feed two inputs of the module: four wires in two bundles, with their numbers.
    void wiresToAModuleFromOneCardFormABundle() {
        Framed g;
        DeltaBuilder builder(g.graph, "feed");
        const NodeId y = addNode(builder, g.cpu, "Ones", "y", 16, 160);
        std::vector<NodeId> sums;
        for (int i = 0; i < 2; ++i) {
            const NodeId sum = addNode(builder, g.cpu, "Add", "sum", 260, 140 + 100 * i);
            Node node = *builder.graph().find(sum);
            node.frame = g.block;
            builder.change(node);
            builder.connect({{i == 0 ? g.x : y, 0}, {sum, 0}});
            builder.connect({{y, 0}, {sum, 1}});
            sums.push_back(sum);
        }
        Frame block = *g.graph.find(g.block);
        block.collapsed = true;
        builder.change(block);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto& scene = hand.canvas.scene();
        const NodeShape* card = scene.modules().cardOf(g.block);
        QCOMPARE(card->inputs, std::uint16_t(2));
        const auto at = [&](NodeId node, int port) {
            return scene.modules().portAt({node, port}, PortSide::input);
        };
        QCOMPARE(at(g.relu, 0), at(sums[0], 0)); // both read x
        QCOMPARE(at(sums[0], 1), at(sums[1], 0));
        QVERIFY(at(g.relu, 0) != at(sums[1], 0));
        // Each wire of a bundle can still be selected, and the number of wires is drawn on it.
        const WireShape* wire = scene.wires().into({g.relu, 0});
        const QPointF middle = scene.wires().path(*wire).at(0.5);
        const QColor number = hand.canvas.grab().toImage().pixelColor(hand.pixel(middle) + QPoint(0, 7));
        QVERIFY2(number != Theme::current().canvas, qPrintable(number.name()));
        hand.click(hand.pixel(scene.wires().path(*wire).at(0.25)));
        QVERIFY(hand.document.selection().edge);
        QCOMPARE(hand.document.selection().edge->from.node, g.x);
    }

    void levelsExpandAndCollapseByKeysAndButtons() {
        Framed g;
        DeltaBuilder builder(g.graph, "nest");
        Frame inner{FrameId::none, "inner", g.block};
        inner.collapsed = true;
        const FrameId in = builder.addFrame(inner);
        Node neg = *g.graph.find(g.neg);
        neg.frame = in;
        builder.change(neg);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        auto* levels = hand.window->findChild<QLabel*>(QStringLiteral("levels"));
        auto* more = hand.window->findChild<QPushButton*>(QStringLiteral("levels.more"));
        auto* fewer = hand.window->findChild<QPushButton*>(QStringLiteral("levels.fewer"));
        QVERIFY(levels->isVisible());
        QCOMPARE(levels->text(), QStringLiteral("Levels expanded: 1 of 2"));
        hand.key(Qt::Key_BracketLeft, Qt::ControlModifier);
        QVERIFY(hand.graph().find(g.block)->collapsed);
        QCOMPARE(levels->text(), QStringLiteral("Levels expanded: 0 of 2"));
        QVERIFY(!fewer->isEnabled());
        QTest::mouseClick(more, Qt::LeftButton);
        QTest::mouseClick(more, Qt::LeftButton);
        QVERIFY(!hand.graph().find(g.block)->collapsed && !hand.graph().find(in)->collapsed);
        QVERIFY(!levels->isVisible()); // there is nothing to expand
        QVERIFY(hand.canvas.hasFocus());
        hand.key(Qt::Key_BracketRight, Qt::ControlModifier); // does nothing
        QCOMPARE(hand.undoSteps(), 3);
        while (hand.document.undoStack().canUndo()) hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void allCardsAreArranged() {
        Framed g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_A, Qt::AltModifier | Qt::ShiftModifier);
        QCOMPARE(hand.undoSteps(), 1);
        double before = -1;
        for (const NodeId id : {g.x, g.relu, g.neg, g.out}) {
            QVERIFY(hand.node(id).position.x > before);
            before = hand.node(id).position.x;
        }
        QVERIFY(hand.canvas.navigator().isFitted());
    }

    void aDistantCardOfAModuleHasATitle() {
        Framed g;
        DeltaBuilder builder(g.graph, "collapse");
        Frame block = *g.graph.find(g.block);
        block.collapsed = true;
        builder.change(block);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto& scene = hand.canvas.scene();
        const auto title = [&] { return scene.frames().find(g.block)->titleRect; };
        while (hand.canvas.view().zoom() < 0.6) hand.canvas.navigator().zoomIn();
        hand.canvas.grab();
        QVERIFY(title().isEmpty()); // the card has it
        while (hand.canvas.view().zoom() > 0.26) hand.canvas.navigator().zoomOut();
        hand.canvas.grab();
        QVERIFY(title().height() * hand.canvas.view().zoom() >= 17);
        for (const NodeId id : {g.x, g.relu, g.out, g.there})
            QVERIFY(!scene.nodes().drawn(id)->rect.intersects(title()));
        hand.click(hand.pixel(scene.modules().cardOf(g.block)->rect.center()));
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.relu, g.neg}));
    }

    /// A module with forty consumers, which are connected in the opposite order.
    void aCardWithManyPortsStaysSmallAndItsWiresDoNotCross() {
        constexpr int kWires = 40;
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const auto collapsed = [&](const char* title) {
            Frame frame{FrameId::none, title, FrameId::none};
            frame.collapsed = true;
            return builder.addFrame(frame);
        };
        const FrameId from = collapsed("from");
        const auto add = [&](const char* op, FrameId frame, double x, double y) {
            const NodeId id = addNode(builder, cpu, op, op, x, y);
            Node node = *builder.graph().find(id);
            node.frame = frame;
            builder.change(node);
            return id;
        };
        std::vector<NodeId> sources;
        for (int i = 0; i < kWires; ++i) sources.push_back(add("Ones", from, 16, 40));
        for (int i = 0; i < kWires; ++i)
            builder.connect({{sources[static_cast<std::size_t>(kWires - 1 - i)], 0},
                             {add("Neg", FrameId::none, 600, 40 + 100 * i), 0}});
        graph.apply(builder.take());
        WindowHand hand(graph);
        const auto& scene = hand.canvas.scene();
        QVERIFY(scene.modules().cardOf(from)->rect.height() < 300);
        std::vector<std::pair<double, double>> ends;
        for (const WireShape& wire : scene.wires().shapes()) ends.emplace_back(wire.start.y(), wire.end.y());
        std::sort(ends.begin(), ends.end());
        QCOMPARE(ends.size(), std::size_t{kWires});
        for (std::size_t i = 1; i < ends.size(); ++i)
            QVERIFY(ends[i - 1].first < ends[i].first && ends[i - 1].second < ends[i].second);
    }

    void theCardFollowsThePortsThatLeadOut() {
        Framed g;
        DeltaBuilder builder(g.graph, "collapse");
        Frame block = *g.graph.find(g.block);
        block.collapsed = true;
        builder.change(block);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto start = [&] { return hand.canvas.scene().wires().find({{g.neg, 0}, {g.out, 0}})->start; };
        const QPointF before = start();
        DeltaBuilder more(hand.graph(), "another way out");
        const NodeId second = addNode(more, g.cpu, "Neg", "second", 720, 200);
        more.connect({{g.relu, 0}, {second, 0}});
        hand.document.apply(more.take());
        QVERIFY(start() != before); // two ports share the card's side
        Scene fresh;
        fresh.rebuild({hand.graph(), hand.document.analysis(), hand.document.devices()});
        QCOMPARE(textOf(hand.canvas.scene(), hand.graph()), textOf(fresh, hand.graph()));
    }

    void aModuleGoesIntoThePaletteAndIntoAnotherGraph() {
        const Framed g;
        WindowHand hand(g.graph);
        hand.click(titleOf(hand, g.block));
        {
            const DialogAnswer answer("saveModule", QDialogButtonBox::Save, [](QDialog& dialog) {
                auto* name = find<QLineEdit>(dialog, "moduleName");
                QCOMPARE(name->text(), QStringLiteral("block"));
                name->selectAll();
                QTest::keyClicks(name, QStringLiteral("Relu"));
                QTest::keyClick(name, Qt::Key_Return);
                auto* problem = find<QLabel>(dialog, "moduleProblem"); // an op already has this name
                QVERIFY2(problem->text().contains(QStringLiteral("already has")),
                         qPrintable(problem->text()));
                name->selectAll();
                QTest::keyClicks(name, QStringLiteral("my block"));
            });
            hand.key(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(answer.answered());
        }
        QCOMPARE(ownModules().size(), std::size_t(1));
        hand.document.setGraph(Framed().graph, {}, QString());
        auto* search = find<QLineEdit>(*hand.window, "paletteSearch");
        auto* list = find<QListView>(*hand.window, "paletteList");
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("my block"));
        QCOMPARE(list->model()->rowCount(), 2); // and its section heading
        QCOMPARE(list->model()->index(0, 0).data().toString(), QStringLiteral("Your modules"));
        QTest::keyClick(search, Qt::Key_Return);
        const Graph& now = hand.graph();
        QCOMPARE(now.nodes().size(), g.graph.nodes().size() + 2);
        QCOMPARE(now.frames().size(), std::size_t(2));
        const Node* relu = now.findByName("relu 2");
        const Node* neg = now.findByName("neg 2");
        QVERIFY(relu && neg && relu->frame == neg->frame && relu->frame != g.block);
        QVERIFY(now.sourceOf({neg->id, 0}) == std::optional<PortRef>({relu->id, 0}));
        QVERIFY(!now.sourceOf({relu->id, 0}));
        QCOMPARE(neg->position.x - relu->position.x, 200.0);
        QCOMPARE(hand.undoSteps(), 1);
        // Also by Tab; Delete removes it from the palette, and no node.
        QVERIFY(!hand.document.selection().empty());
        list->setFocus();
        list->setCurrentIndex(list->model()->index(1, 0));
        QTest::keyClick(list, Qt::Key_Delete);
        QCOMPARE(hand.graph().nodes().size(), g.graph.nodes().size() + 2);
        QVERIFY(ownModules().empty());
        QCOMPARE(list->model()->rowCount(), 0);
    }

    /// Like an op: it has an input and an output, so it is found for a wire and goes into one.
    void aSavedModuleHasPortsOfItsOwn() {
        const Framed g;
        WindowHand hand(g.graph);
        const QString name = QStringLiteral("my block");
        ModuleOp op = moduleOpOf(g.graph, g.block);
        op.name = name.toStdString();
        QCOMPARE(op.inputs.at(0).name, std::string("x"));
        QCOMPARE(op.outputs.at(0).name, std::string("neg"));
        saveOwnModule(op);
        QCOMPARE(inputOfEntry(name, DTypeSet(DType::f32)), std::optional(EntryPort{0, 0})); // of Relu
        QCOMPARE(outputOfEntry(name, allTypes()), std::optional(EntryPort{1, 0}));          // of Neg
        QVERIFY(!inputOfEntry(name, DTypeSet(DType::boolean)));
        const Analysis& analysis = hand.document.analysis();
        QVERIFY(fits(name, analysis, {PortSide::output, {g.x, 0}}));
        QVERIFY(fits(name, analysis, {PortSide::input, {g.out, 0}}));
        const std::optional<Splice> splice = spliceOf(analysis, {{g.neg, 0}, {g.out, 0}}, name);
        QVERIFY(splice.has_value());
        std::vector<NodeId> added;
        hand.document.apply(
            addOpInto(hand.graph(), {name, g.cpu, {600, 160}, FrameId::none}, *splice, &added));
        QCOMPARE(added.size(), std::size_t(2));
        QVERIFY(hand.graph().sourceOf({added[0], 0}) == std::optional<PortRef>({g.neg, 0}));
        QVERIFY(hand.graph().sourceOf({g.out, 0}) == std::optional<PortRef>({added[1], 0}));
        QVERIFY(!hand.document.analysis().hasErrors());
        removeOwnModule(name);
        QVERIFY(!inputOfEntry(name, allTypes()));
    }

    void aFileThatIsNoModuleIsLeftOut() {
        QVERIFY(QDir().mkpath(ownModulesFolder()));
        QFile file(ownModulesFolder() + QStringLiteral("/broken.twbmodule"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{");
        file.close();
        QVERIFY(ownModules().empty());
        QVERIFY(!ownModule(QStringLiteral("broken")));
        QVERIFY(file.remove());
    }

    void pastedNodesGoToTheirDevices() {
        const Framed g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.there));
        hand.click(hand.middle(g.x), Qt::ShiftModifier);
        hand.key(Qt::Key_C, Qt::ControlModifier);
        // In the other graph lane 1 is cuda:0 and lane 2 is cpu.
        Graph other;
        DeltaBuilder builder(other, "make");
        const LaneId gpu = builder.addLane({LaneId::none, Device::cuda(0), "", 0, 200});
        const LaneId host = builder.addLane({LaneId::none, Device::cpu(), "", 1, 200});
        other.apply(builder.take());
        QVERIFY(gpu == g.cpu && host == g.cuda);
        WindowHand second(other);
        second.key(Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(second.graph().nodes().size(), std::size_t(2));
        QCOMPARE(second.node("there")->lane, gpu);
        QCOMPARE(second.node("x")->lane, host);
        QVERIFY(QApplication::clipboard()->text().contains(QStringLiteral("\"tensor-workbench-fragment\"")));
    }

    void notesAreMarkdown() {
        const auto text = makeNoteText("# Title\nfirst\nsecond **bold**\n\n- one\n- two", 300);
        QCOMPARE(text->toPlainText(), QStringLiteral("Title\nfirst\nsecond bold\none\ntwo"));
        const auto plain = makeNoteText("first\nsecond", 300);
        QVERIFY(text->size().height() > 2 * plain->size().height());
        const auto narrow = makeNoteText("some words that need more than one line of this width", 80);
        QVERIFY(narrow->size().height() > 2 * makeNoteText("one", 80)->size().height());
        // Text from another program is not interpreted as markup.
        QCOMPARE(makeNoteText("a <b>b</b> & c", 300)->toPlainText(), QStringLiteral("a <b>b</b> & c"));
    }
};

TWB_GUI_TEST_MAIN(TestModules)
#include "test_modules.moc"
