#include "core/error.h"
#include "support/test_main.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/window_fixture.h"

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QCompleter>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenuBar>
#include <QMimeData>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>

using namespace twb;
using namespace twb::test;

class TestMainWindow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void everyActionHasAShortcutOfItsOwn();
    void paletteSearchAndEnterAddAnOp();
    void dropAddsAnOpOnItsLane();
    void compositesExpand();
    void typedAttributesReachTheGraphOrAreRefused();
    void undoAndRedoByKeys();
    void copyPasteDuplicateDelete();
    void actionsNeedWhatTheyApplyTo();
    void problemRowSelectsAndFixRepairs();
    void themeSwitches();
    void deviceChoiceChangesWhatStandsBehind();
    void quickFindSelectsANode();
    void quickFindNamesTheSubmenu();
    void everyControlHasAName();
};

void TestMainWindow::initTestCase() {
    isolateSettings();
    Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
}

void TestMainWindow::everyActionHasAShortcutOfItsOwn() {
    const auto window = makeWindow();
    std::map<QString, QString> owner;
    int actions = 0;
    for (QAction* a : window->findChildren<QAction*>()) {
        if (!a->property("findable").toBool()) continue;
        ++actions;
        QVERIFY2(!a->shortcut().isEmpty(), qPrintable(a->text()));
        const QString key = a->shortcut().toString();
        QVERIFY2(!owner.contains(key), qPrintable(key + QStringLiteral(": ") + owner[key] + a->text()));
        owner[key] = a->text();
    }
    QVERIFY(actions > 40);
}

void TestMainWindow::paletteSearchAndEnterAddAnOp() {
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::mouseClick(search, Qt::LeftButton);
    QTest::keyClicks(search, QStringLiteral("softm"));
    auto* list = find<QListView>(*window, "paletteList");
    QVERIFY(list->model()->rowCount() < 10); // ops that have the text in their name, best match first
    QTest::keyClick(search, Qt::Key_Return);
    QCOMPARE(window->document().graph().nodes().size(), std::size_t(1));
    const Node& node = *window->document().graph().nodes().begin();
    QCOMPARE(node.op, std::string("Softmax"));
    QVERIFY(window->document().selection().nodes.contains(node.id));
    QTest::keyClick(search, Qt::Key_Escape);
    QVERIFY(list->model()->rowCount() > 40);
    // A double click also adds the op.
    const QModelIndex relu = list->model()->match(list->model()->index(0, 0), Qt::DisplayRole,
                                                  QStringLiteral("Relu"), 1, Qt::MatchExactly)[0];
    list->scrollTo(relu);
    const QPoint at = list->visualRect(relu).center();
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(list->viewport(), Qt::LeftButton, {}, at);
    QVERIFY(window->document().graph().findByName("relu"));
}

void TestMainWindow::dropAddsAnOpOnItsLane() {
    const auto window = makeWindow();
    const LaneId gpu = window->document().graph().lanesInOrder()[1].id;
    QPoint point(window->canvas().width() / 2, 0);
    while (laneAt(window->canvas().scene(), window->canvas().view().toScene(point)) != gpu &&
           point.y() < window->canvas().height())
        point.ry() += 4;
    point.ry() += 12;
    QMimeData data;
    data.setData(QLatin1String(kOpMimeType), "Gemm");
    QDragEnterEvent enter(point, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window->canvas(), &enter);
    QVERIFY(enter.isAccepted());
    QDragMoveEvent move(point, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window->canvas(), &move);
    QDropEvent drop(point, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window->canvas(), &drop);
    const Node* node = window->document().graph().findByName("gemm");
    QVERIFY(node);
    QVERIFY(node->lane == gpu);
}

void TestMainWindow::compositesExpand() {
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("mlp"));
    QTest::keyClick(search, Qt::Key_Return);
    QCOMPARE(window->document().graph().frames().size(), std::size_t(3));
    QVERIFY(window->document().graph().findByName("fc2"));
    QCOMPARE(window->document().undoStack().count(), 1);
}

void TestMainWindow::typedAttributesReachTheGraphOrAreRefused() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QVERIFY(window->selectNode(QStringLiteral("fc1")));
    QCoreApplication::processEvents(); // scrolls the editors into view
    auto* alpha = find<QLineEdit>(*window, "attribute.alpha");
    QTest::mouseClick(alpha, Qt::LeftButton);
    alpha->selectAll();
    QTest::keyClicks(alpha, QStringLiteral("2.5"));
    QTest::keyClick(alpha, Qt::Key_Return);
    const auto value = [&] {
        const AttributeValue* v = window->document().graph().findByName("fc1")->attributes.find("alpha");
        return v ? std::get<double>(*v) : 1.0;
    };
    QCOMPARE(value(), 2.5);

    const std::uint64_t revision = window->document().revision();
    alpha->selectAll();
    QTest::keyClicks(alpha, QStringLiteral("a lot"));
    QTest::keyClick(alpha, Qt::Key_Return);
    QCOMPARE(window->document().revision(), revision);
    QCOMPARE(value(), 2.5);
    QVERIFY(alpha->property("invalid").toBool());
    bool said = false;
    for (QLabel* label : alpha->parentWidget()->findChildren<QLabel*>())
        said |= label->isVisible() && label->text().contains(QLatin1String("a lot"));
    QVERIFY(said);
    QTest::keyClick(alpha, Qt::Key_Escape);
    QCOMPARE(alpha->text(), QStringLiteral("2.5"));
    QVERIFY(!alpha->property("invalid").toBool());

    auto* transB = find<QCheckBox>(*window, "attribute.transB");
    QTest::mouseClick(transB, Qt::LeftButton, {}, QPoint(8, transB->height() / 2));
    QVERIFY(window->document().graph().findByName("fc1")->attributes.flag("transB"));
    // The shapes are now wrong, and the inspector shows it at once.
    QVERIFY(window->document().analysis().hasErrors());
    QVERIFY(window->findChild<FixButton*>() || window->findChild<ProblemCards*>()->isVisible());
}

void TestMainWindow::undoAndRedoByKeys() {
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("softm"));
    QTest::keyClick(search, Qt::Key_Return);
    window->canvas().setFocus();
    QVERIFY(window->windowTitle().contains(QLatin1String("[*]")));
    QVERIFY(window->isWindowModified());
    action(*window, QStringLiteral("Undo Add Softmax"))->trigger();
    QVERIFY(window->document().graph().nodes().empty());
    QVERIFY(!window->isWindowModified());
    action(*window, QStringLiteral("Redo Add Softmax"))->trigger();
    QCOMPARE(window->document().graph().nodes().size(), std::size_t(1));
}

void TestMainWindow::copyPasteDuplicateDelete() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    const std::size_t before = window->document().graph().nodes().size();
    QVERIFY(window->selectNode(QStringLiteral("relu")));
    action(*window, QStringLiteral("Copy"))->trigger();
    QVERIFY(QApplication::clipboard()->text().contains(QLatin1String("Relu")));
    action(*window, QStringLiteral("Paste"))->trigger();
    QCOMPARE(window->document().graph().nodes().size(), before + 1);
    QVERIFY(window->document().graph().findByName("relu 2"));
    action(*window, QStringLiteral("Duplicate"))->trigger();
    QCOMPARE(window->document().graph().nodes().size(), before + 2);
    action(*window, QStringLiteral("Delete"))->trigger();
    QCOMPARE(window->document().graph().nodes().size(), before + 1);
    QApplication::clipboard()->setText(QStringLiteral("no graph"));
    BoxAnswer answer(QMessageBox::Ok);
    action(*window, QStringLiteral("Paste"))->trigger();
    QVERIFY(answer.answered());
    QCOMPARE(window->document().graph().nodes().size(), before + 1);
}

/// Cut deleted a selected wire and copied nothing; the others did nothing.
void TestMainWindow::actionsNeedWhatTheyApplyTo() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    Document& document = window->document();
    const char* const ofNodes[] = {"Connect to an input…",
                                   "Same op",
                                   "Left",
                                   "Distribute horizontally",
                                   "Make module from selection",
                                   "Pause after the node",
                                   "Pause before the node",
                                   "Pause on NaN or inf",
                                   "Pause on a condition…",
                                   "Help for the selected op"};
    const char* const ofCopies[] = {"Cut", "Copy", "Duplicate", "Duplicate with inputs"};
    const auto isOn = [&](const char* text) {
        const QAction* found = action(*window, QString::fromUtf8(text));
        if (!found) qCritical("no action %s", text);
        return found && found->isEnabled();
    };
    const auto areOn = [&](const auto& texts) { return int(std::ranges::count_if(texts, isOn)); };
    const Edge wire = document.graph().edges().front();
    QApplication::clipboard()->setText(QStringLiteral("kept"));
    document.select({{}, {}, wire});
    QCOMPARE(areOn(ofNodes), 0);
    QCOMPARE(areOn(ofCopies), 0);
    QVERIFY(isOn("Delete") && isOn("Disconnect") && isOn("Upstream"));
    QVERIFY(!isOn("Rename") && !isOn("Delete and reconnect") && !isOn("All on lane"));
    window->canvas().setFocus();
    QTest::keyClick(&window->canvas(), Qt::Key_X, Qt::ControlModifier);
    QVERIFY(document.graph().sourceOf(wire.to) == wire.from);
    QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("kept"));
    document.select({{}, {document.graph().notes().begin()->id}, std::nullopt});
    QCOMPARE(areOn(ofNodes), 0);
    QCOMPARE(areOn(ofCopies), 4);
    QVERIFY(isOn("Delete") && isOn("All on lane") && !isOn("Disconnect") && !isOn("Upstream"));
    document.select({{wire.from.node}, {}, std::nullopt});
    QCOMPARE(areOn(ofNodes), 10);
    QCOMPARE(areOn(ofCopies), 4);
    QVERIFY(isOn("Rename") && isOn("Delete and reconnect"));
    document.select({{wire.from.node, wire.to.node}, {}, std::nullopt});
    QVERIFY(!isOn("Rename"));
    document.select({});
    QVERIFY(!isOn("Delete"));
    QCOMPARE(areOn(ofCopies), 0);
}

void TestMainWindow::problemRowSelectsAndFixRepairs() {
    const auto window = makeWindow();
    window->load(sourcePath(kMismatch));
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(1));
    window->showProblems();
    QCoreApplication::processEvents();
    auto* table = find<QTableView>(*window, "problemsTable");
    clickRow(*table, 0);
    const NodeId faulty = window->document().analysis().diagnostics[0].node;
    QVERIFY(window->document().selection().nodes.contains(faulty));
    QCoreApplication::processEvents(); // scrolls the buttons into view
    FixButton* fix = nullptr;
    for (FixButton* button : window->findChildren<FixButton*>())
        if (button->isVisible() && !fix) fix = button;
    QVERIFY(fix);
    // The cheapest fix comes first.
    QCOMPARE(fix->fix().kind, window->document().analysis().diagnostics[0].fixes.front().kind);
    QTest::mouseClick(fix, Qt::LeftButton);
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(0));
    action(*window, QStringLiteral("Undo ") + window->document().undoStack().undoText())->trigger();
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(1));
    action(*window, QStringLiteral("Apply first fix"))->trigger();
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(0));
}

void TestMainWindow::themeSwitches() {
    const auto window = makeWindow();
    const QColor dark = window->grab().toImage().pixelColor(4, window->height() / 2);
    window->findChild<QAction*>(QStringLiteral("theme.light"))->trigger();
    QCoreApplication::processEvents();
    QVERIFY(!Theme::current().isDark);
    const QColor light = window->grab().toImage().pixelColor(4, window->height() / 2);
    QVERIFY(light.lightness() > dark.lightness() + 100);
    QCOMPARE(light, Theme::light().panel);
    window->findChild<QAction*>(QStringLiteral("theme.dark"))->trigger();
    QVERIFY(Theme::current().isDark);
    // All windows have the new theme, and its check mark.
    const auto other = makeWindow();
    window->findChild<QAction*>(QStringLiteral("theme.light"))->trigger();
    for (const auto* one : {window.get(), other.get()}) {
        QVERIFY(one->findChild<QAction*>(QStringLiteral("theme.light"))->isChecked());
        QVERIFY(!one->findChild<QAction*>(QStringLiteral("theme.dark"))->isChecked());
    }
    other->findChild<QAction*>(QStringLiteral("theme.dark"))->trigger();
    QVERIFY(window->findChild<QAction*>(QStringLiteral("theme.dark"))->isChecked());
}

void TestMainWindow::deviceChoiceChangesWhatStandsBehind() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    const double before = window->runs().state().edges.begin()->second.ns;
    auto* button = find<QPushButton>(*window, "device.cuda:0");
    QVERIFY(button->text().contains(QLatin1String("H200")));
    QAction* t4 = nullptr;
    for (QAction* a : button->menu()->actions())
        if (a->text().contains(QLatin1String("T4"))) t4 = a;
    QVERIFY(t4);
    t4->trigger();
    QTRY_VERIFY(find<QPushButton>(*window, "device.cuda:0")->text().contains(QLatin1String("T4")));
    QVERIFY(window->runs().state().edges.begin()->second.ns > before); // the T4 has a slower link
}

void TestMainWindow::quickFindSelectsANode() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    auto* field = find<QLineEdit>(*window, "quickFind");
    QApplication::setActiveWindow(window.get());
    // The completer looks at all rows for each change, so a row at a time is quadratic.
    const QSignalSpy rows(field->completer()->model(), &QAbstractItemModel::rowsInserted);
    const QSignalSpy resets(field->completer()->model(), &QAbstractItemModel::modelReset);
    field->setFocus(Qt::ShortcutFocusReason);
    QCOMPARE(rows.count(), 0);
    QCOMPARE(resets.count(), 1);
    QTest::keyClicks(field, QStringLiteral("fc2.wei"));
    QTest::keyClick(field, Qt::Key_Return);
    const NodeId wanted = window->document().graph().findByName("fc2.weight")->id;
    QTRY_VERIFY(window->document().selection().nodes.contains(wanted));
    QVERIFY(field->text().isEmpty());
    // Undo and redo are among the actions.
    action(*window, QStringLiteral("Duplicate"))->trigger();
    QVERIFY(window->document().isModified());
    QApplication::setActiveWindow(window.get());
    QTest::keyClick(&window->canvas(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(field->hasFocus());
    QTest::keyClicks(field, QStringLiteral("undo dup"));
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_VERIFY(!window->document().isModified());
}

/// "By time" alone does not say what it does.
void TestMainWindow::quickFindNamesTheSubmenu() {
    const auto window = makeWindow();
    auto* field = find<QLineEdit>(*window, "quickFind");
    QApplication::setActiveWindow(window.get());
    field->setFocus(Qt::ShortcutFocusReason);
    QTest::keyClicks(field, QStringLiteral("by time"));
    QCOMPARE(field->completer()->currentCompletion(), QStringLiteral("Heat ▸ By time"));
    field->clear();
    QTest::keyClicks(field, QStringLiteral("zoom to fit")); // an entry of the View menu itself
    QVERIFY2(!field->completer()->currentCompletion().contains(QStringLiteral("▸")),
             qPrintable(field->completer()->currentCompletion()));
}

/// Every widget that takes the focus has an accessible name.
void TestMainWindow::everyControlHasAName() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QVERIFY(window->selectNode(QStringLiteral("fc1")));
    QCoreApplication::processEvents();
    int controls = 0;
    for (QWidget* widget : window->findChildren<QWidget*>()) {
        if (!widget->isVisible() || !(widget->focusPolicy() & Qt::TabFocus)) continue;
        if (widget->focusProxy() || widget->objectName().startsWith(QLatin1String("qt_"))) continue;
        const auto* button = qobject_cast<QAbstractButton*>(widget);
        const auto* bar = qobject_cast<QMenuBar*>(widget);
        const QString name = button && !button->text().isEmpty() ? button->text() : widget->accessibleName();
        QVERIFY2(bar || !name.isEmpty(),
                 qPrintable(QStringLiteral("%1 in %2")
                                .arg(QLatin1String(widget->metaObject()->className()),
                                     QLatin1String(widget->parentWidget()->metaObject()->className()))));
        ++controls;
    }
    QVERIFY(controls > 15);
}

TWB_GUI_TEST_MAIN(TestMainWindow)
#include "test_main_window.moc"
