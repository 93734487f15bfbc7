#include "core/error.h"
#include "support/test_main.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/window_fixture.h"

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
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

namespace {

const char* const kDigits = "resources/examples/digits.twb";
const char* const kMismatch = "resources/examples/01-cpu-tensor-plus-cuda-tensor.twb";

void clickRow(QTableView& table, int row) {
    const QRect cell = table.visualRect(table.model()->index(row, 0));
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cell.center());
}

QAction* action(MainWindow& window, const QString& text) {
    for (QAction* a : window.findChildren<QAction*>())
        if (a->text().remove(QLatin1Char('&')) == text) return a;
    return nullptr;
}

} // namespace

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
    void problemRowSelectsAndFixRepairs();
    void graphWithErrorsDoesNotRun();
    void digitsNameThreeHundredTwentyEight();
    void continuousRunStops();
    void editingMarksResultsStale();
    void ledgerRowSelectsTheEdge();
    void saveAndOpenRoundTrip();
    void unsavedChangesAreAskedAbout();
    void brokenFileLeavesTheDocument();
    void themeSwitches();
    void deviceChoiceChangesWhatStandsBehind();
    void quickFindSelectsANode();
    void everyControlHasAName();
    void theWindowFollowsALongRunCheaply();
    void openingAnotherFileEndsTheRun();
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
    QCOMPARE(list->model()->rowCount(), 2); // its section and the op
    QTest::keyClick(search, Qt::Key_Return);
    QCOMPARE(window->document().graph().nodes().size(), std::size_t(1));
    const Node& node = *window->document().graph().nodes().begin();
    QCOMPARE(node.op, std::string("Softmax"));
    QVERIFY(window->document().selection().nodes.contains(node.id));
    QTest::keyClick(search, Qt::Key_Escape);
    QVERIFY(list->model()->rowCount() > 40);
    // A double click adds, too.
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
    while (window->canvas().laneAt(point) != gpu && point.y() < window->canvas().height()) point.ry() += 4;
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
    QCoreApplication::processEvents(); // the editors come into view
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
    // Which makes the shapes wrong, and the inspector says so at once.
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
    QCoreApplication::processEvents(); // the buttons come into view
    FixButton* fix = nullptr;
    for (FixButton* button : window->findChildren<FixButton*>())
        if (button->isVisible() && !fix) fix = button;
    QVERIFY(fix);
    QCOMPARE(fix->fix().kind, Fix::Kind::insertTo);
    QTest::mouseClick(fix, Qt::LeftButton);
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(0));
    action(*window, QStringLiteral("Undo ") + window->document().undoStack().undoText())->trigger();
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(1));
    action(*window, QStringLiteral("Apply first fix"))->trigger();
    QCOMPARE(window->document().analysis().errorCount(), std::size_t(0));
}

void TestMainWindow::graphWithErrorsDoesNotRun() {
    const auto window = makeWindow();
    window->load(sourcePath(kMismatch));
    QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
    QVERIFY(!window->runs().isRunning());
    QVERIFY(!window->runs().figures());
    QVERIFY(find<QLabel>(*window, "status")->text().contains(QLatin1String("1 problem")));
    QVERIFY(find<QTableView>(*window, "problemsTable")->isVisible());
}

void TestMainWindow::digitsNameThreeHundredTwentyEight() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    auto* iterations = find<QSpinBox>(*window, "iterations");
    iterations->selectAll();
    QTest::keyClicks(iterations, QStringLiteral("3"));
    QTest::keyClick(iterations, Qt::Key_Return);
    // Predicted before the run, from the profile.
    QVERIFY(!window->runs().state().edges.empty());
    for (const auto& [edge, run] : window->runs().state().edges) {
        QVERIFY(run.predicted);
        QVERIFY(run.ns > 0);
    }
    QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
    QVERIFY(window->runs().isRunning());
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::finished);
    QCOMPARE(window->runs().result()->iterations, std::int64_t(3));
    const auto& probes = window->runs().probes();
    const auto accuracy =
        std::find_if(probes.begin(), probes.end(), [](const auto& p) { return p.name == "accuracy"; });
    QVERIFY(accuracy != probes.end());
    QVERIFY(std::abs(accuracy->value - 328.0 / 360) < 1e-6);
    QVERIFY(find<QLabel>(*window, "status")->text().contains(QLatin1String("modelled")));
    // The probe's value is what the inspector shows of it.
    QVERIFY(window->selectNode(QStringLiteral("accuracy")));
    QCOMPARE(find<QLabel>(*window, "scalarValue")->text(), QStringLiteral("0.911111"));
    // Every transfer has been over its edge, and counts are exact.
    const Ledger& ledger = window->runs().figures()->ledger();
    for (std::size_t i = 0; i < ledger.rows().size(); ++i)
        QCOMPARE(ledger.rows()[i].count, ledger.plan()->transfers[i].setup ? 1u : 3u);
    for (const auto& [edge, run] : window->runs().state().edges) QVERIFY(!run.predicted);
    // A tensor can be looked at, although the measured run shared its memory.
    const std::optional<Tensor> logits =
        window->runs().tensor({window->document().graph().findByName("fc2")->id, 0});
    QVERIFY(logits);
    QCOMPARE(logits->shape(), (Shape{360, 10}));
}

void TestMainWindow::continuousRunStops() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QSignalSpy frames(&window->runs(), &RunController::frame);
    QTest::mouseClick(find<QPushButton>(*window, "runContinuously"), Qt::LeftButton);
    QVERIFY(window->runs().isContinuous());
    QVERIFY(QTest::qWaitFor([&] { return window->runs().done() >= 2; }, 30'000));
    QVERIFY(window->runs().isRunning());
    QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::cancelled);
    QVERIFY(window->runs().result()->iterations >= 2);
    QVERIFY(frames.count() >= 1);
    QVERIFY(find<QPushButton>(*window, "run")->isEnabled());
}

void TestMainWindow::editingMarksResultsStale() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runs().run(1);
    QVERIFY(waitForRun(*window));
    QVERIFY(!window->runs().state().stale);
    Document& document = window->document();
    Node moved = *document.graph().findByName("relu");
    moved.position.x += 8;
    DeltaBuilder move(document.graph(), "Move");
    move.change(moved);
    document.apply(move.take());
    QVERIFY(!window->runs().state().stale); // a card elsewhere computes the same
    Node changed = *document.graph().findByName("fc1");
    changed.attributes.set("alpha", 2.0);
    DeltaBuilder change(document.graph(), "Set alpha");
    change.change(changed);
    document.apply(change.take());
    QVERIFY(window->runs().state().stale);
    QVERIFY(find<QLabel>(*window, "fresh")->text().contains(QLatin1String("stale")));
}

void TestMainWindow::ledgerRowSelectsTheEdge() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runs().run(2);
    QVERIFY(waitForRun(*window));
    QCoreApplication::processEvents();
    auto* ledger = find<QTableView>(*window, "ledgerTable");
    QVERIFY(ledger->model()->rowCount() >= 2);
    QVERIFY(ledger->model()->index(0, 0).data().toString().contains(QLatin1String("images")));
    clickRow(*ledger, 0);
    const std::optional<Edge> edge = window->document().selection().edge;
    QVERIFY(edge);
    QCOMPARE(window->document().graph().find(edge->from.node)->name, std::string("images"));
    QCOMPARE(window->document().graph().sourceOf(edge->to), std::optional(edge->from));
}

void TestMainWindow::saveAndOpenRoundTrip() {
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

void TestMainWindow::unsavedChangesAreAskedAbout() {
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
    QVERIFY(window->close()); // nothing to ask about
}

void TestMainWindow::brokenFileLeavesTheDocument() {
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
    QVERIFY(find<QPushButton>(*window, "device.cuda:0")->text().contains(QLatin1String("T4")) ||
            QTest::qWaitFor([&] {
                return find<QPushButton>(*window, "device.cuda:0")->text().contains(QLatin1String("T4"));
            }));
    QVERIFY(window->runs().state().edges.begin()->second.ns > before); // an older link
}

void TestMainWindow::quickFindSelectsANode() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    auto* field = find<QLineEdit>(*window, "quickFind");
    QApplication::setActiveWindow(window.get());
    field->setFocus(Qt::ShortcutFocusReason);
    QTest::keyClicks(field, QStringLiteral("fc2.wei"));
    QTest::keyClick(field, Qt::Key_Return);
    const NodeId wanted = window->document().graph().findByName("fc2.weight")->id;
    QVERIFY(QTest::qWaitFor([&] { return window->document().selection().nodes.contains(wanted); }, 2000));
    QVERIFY(field->text().isEmpty());
}

/// A screen reader has a word for everything that takes the focus.
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

/// At most one frame in 16 ms or so, however many iterations pass; and none after the end.
void TestMainWindow::theWindowFollowsALongRunCheaply() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    QSignalSpy frames(&window->runs(), &RunController::frame);
    QElapsedTimer timer;
    timer.start();
    window->runs().run(200);
    QVERIFY(waitForRun(*window));
    QVERIFY(frames.count() >= 1);
    QVERIFY2(frames.count() <= timer.elapsed() / 14 + 2, qPrintable(QString::number(frames.count())));
    const qsizetype before = frames.count();
    QTest::qWait(60);
    QCOMPARE(frames.count(), before);
    for (const LedgerRow& row : window->runs().figures()->ledger().rows())
        QVERIFY(row.count == 200 || row.count == 1);
}

void TestMainWindow::openingAnotherFileEndsTheRun() {
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    window->runContinuously();
    QVERIFY(QTest::qWaitFor([&] { return window->runs().done() >= 1; }, 30'000));
    window->load(sourcePath(kMismatch));
    QVERIFY(!window->runs().isRunning());
    QVERIFY(!window->runs().figures());
    QVERIFY(find<QPushButton>(*window, "run")->isEnabled());
    QTest::qWait(40);
    QVERIFY(!window->runs().result()); // nothing of the old run arrives
    window->load(sourcePath(kDigits));
    window->runs().run(1);
    QVERIFY(waitForRun(*window));
    QVERIFY(window->runs().result()->status == RunStatus::finished);
}

TWB_GUI_TEST_MAIN(TestMainWindow)
#include "test_main_window.moc"
