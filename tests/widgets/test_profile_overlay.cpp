#include "support/round_trip.h"
#include "support/test_main.h"
#include "widgets/busy_dialog.h"
#include "widgets/file_answer.h"
#include "widgets/notice_bar.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/review_dialog.h"
#include "widgets/window_fixture.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QLabel>
#include <QProgressBar>
#include <QProgressDialog>
#include <QTableWidget>
#include <QThread>

#include <atomic>

using namespace twb;
using namespace twb::test;

namespace {

const char* const kDigitsProfile = "tests/data/traces/digits-onnxruntime-1.32.json.gz";

/// A file with `iterations` of roundTrip().
QString traceIn(const QTemporaryDir& folder, int iterations) {
    KinetoTraceMaker trace;
    for (int i = 0; i < iterations; ++i) trace.iteration();
    const QString path = folder.filePath(QStringLiteral("t.json"));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(trace.text()) < 0) qCritical("cannot write the trace");
    return path;
}

void overlay(MainWindow& window, const QString& file) {
    FileAnswer answer(QStringLiteral("Profiles"), file);
    action(window, QStringLiteral("Overlay profile…"))->trigger();
    QVERIFY(answer.answered());
}

const NodeRun& runOf(MainWindow& window, const char* node) {
    return window.runs().state().nodes.at(window.document().graph().findByName(node)->id);
}

/// The edge into a To.
const EdgeRun& copyInto(MainWindow& window, const char* node) {
    const Graph& graph = window.document().graph();
    const PortRef input{graph.findByName(node)->id, 0};
    return window.runs().state().edges.at({*graph.sourceOf(input), input});
}

} // namespace

class TestProfileOverlay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void measuredTimesStandBesideModelledOnes() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        overlay(*window, sourcePath(kDigitsProfile));
        RunController& runs = window->runs();
        QVERIFY(runs.overlaid() && !runs.isRunning());
        QCOMPARE(runs.result()->iterations, std::int64_t(5));
        const NodeRun& fc1 = runOf(*window, "fc1");
        QVERIFY(fc1.ns > 0 && !fc1.modelled && fc1.modelledNs > 0);
        // Relu ran as a part of fc1: only its modelled time is known.
        const NodeRun& relu = runOf(*window, "relu");
        QVERIFY(relu.ns > 0 && relu.modelled);
        QCOMPARE(relu.modelledNs, 0.0);
        const QString status = window->findChild<QLabel*>(QStringLiteral("status"))->text();
        QVERIFY2(status.contains(QStringLiteral("match ops of ONNX Runtime")), qPrintable(status));
        QVERIFY(window->findChild<NoticeBar*>()->isVisible());
        QVERIFY(
            toJson(runs.overlaid()->overlay, "t", runs.report()).find("\"measured_by\": \"ONNX Runtime\"") !=
            std::string::npos);
    }

    void copiesAreMeasuredInLedgerPlotAndTimeline() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        const double modelledNs = copyInto(*window, "there").ns;
        overlay(*window, traceIn(folder, 3));
        const RunController& runs = window->runs();
        QVERIFY(runs.overlaid());
        const EdgeRun& copy = copyInto(*window, "there");
        QVERIFY(!copy.modelled && !copy.predicted);
        QCOMPARE(copy.ns, 9000.0);
        QCOMPARE(copy.modelledNs, modelledNs);
        LedgerModel ledger(window->document(), runs);
        ledger.refresh();
        QCOMPARE(ledger.rows()[0].figures.count, std::uint64_t(3));
        QCOMPARE(ledger.index(0, LedgerModel::TimesColumn).data().toString(), QStringLiteral("measured"));
        QVERIFY(ledger.rows()[0].figures.predictedNs > 0 && ledger.rows()[0].figures.errorPercent);
        QVERIFY(!ledger.rows()[0].figures.ofPeakPercent); // not the link of the profile's machine
        // Kernels start on the GPU, 20 µs after the op began on the CPU.
        const std::vector<StepRecord>& last = runs.figures()->timeline().last();
        QCOMPARE(last.size(), std::size_t(5));
        QCOMPARE(last[1].startNs - last[0].startNs, std::int64_t(400'000)); // zeros lies between them
        QVERIFY(!isModelled(runs.figures()->plan(), runs.figures()->plan().steps[last[1].step]));
    }

    void aRunReplacesTheOverlay() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        overlay(*window, traceIn(folder, 1));
        QVERIFY(window->findChild<NoticeBar*>()->isVisible());
        window->run();
        QVERIFY(waitForRun(*window));
        QVERIFY(!window->runs().overlaid());
        QVERIFY(copyInto(*window, "there").modelled);
        QCOMPARE(copyInto(*window, "there").modelledNs, 0.0);
        QVERIFY(!window->findChild<NoticeBar*>()->isVisible());
        QVERIFY(!action(*window, QStringLiteral("Remove overlay"))->isEnabled());
    }

    void removingItShowsPredictionsAgain() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        window->run();
        QVERIFY(waitForRun(*window));
        overlay(*window, traceIn(folder, 1));
        QVERIFY(!window->runs().isRunning());
        action(*window, QStringLiteral("Remove overlay"))->trigger();
        QVERIFY(!window->runs().overlaid() && !window->runs().figures());
        QVERIFY(copyInto(*window, "there").predicted);
        QVERIFY(!window->findChild<NoticeBar*>()->isVisible());
        QCOMPARE(window->findChild<QLabel*>(QStringLiteral("status"))->text(), QStringLiteral("Not run yet"));
    }

    void unmatchedPartsAreListedAndCopied() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        overlay(*window, traceIn(folder, 1));
        bool isSeen = false;
        QTimer::singleShot(0, qApp, [&] {
            auto* dialog = QApplication::activeModalWidget();
            auto* table = dialog->findChild<QTableWidget*>(QStringLiteral("reviewTable"));
            QStringList names;
            for (int row = 0; row < table->rowCount(); ++row) names << table->item(row, 0)->text();
            QCOMPARE(names, (QStringList{QStringLiteral("z"), QStringLiteral("aten::sigmoid"),
                                         QStringLiteral("aten::zeros")}));
            auto* buttons = dialog->findChild<QDialogButtonBox*>();
            for (QAbstractButton* button : buttons->buttons())
                if (buttons->buttonRole(button) == QDialogButtonBox::ActionRole) button->click();
            isSeen = true;
            buttons->button(QDialogButtonBox::Close)->click();
        });
        action(*window, QStringLiteral("Unmatched in overlay…"))->trigger();
        QVERIFY(isSeen);
        const QString copied = QApplication::clipboard()->text();
        QVERIFY2(copied.startsWith(QStringLiteral("name\tsource\t")), qPrintable(copied));
        QCOMPARE(copied.count(QLatin1Char('\n')), 4);
    }

    void aProfileOfAnotherModelIsRefusedWithItsShare() {
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        BoxAnswer answer(QMessageBox::Ok);
        overlay(*window, sourcePath("tests/data/traces/h100-bert-small-inference.json.gz"));
        QVERIFY(answer.answered());
        QCOMPARE(answer.text(), QStringLiteral("The profile belongs to another graph"));
        QVERIFY2(answer.detail().contains(QStringLiteral("0 of 4 steps and 0 of 2 transfers")),
                 qPrintable(answer.detail()));
        QVERIFY(!window->runs().overlaid() && !window->runs().figures());
    }

    void aFaultyFileIsNamed() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(roundTrip().graph(), {}, {});
        const QString path = folder.filePath(QStringLiteral("bad.json"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("{\"traceEvents\": [{\"ph\": ") > 0);
        file.close();
        BoxAnswer answer(QMessageBox::Ok);
        overlay(*window, path);
        QVERIFY(answer.answered());
        QVERIFY2(answer.detail().contains(QStringLiteral("bad.json")), qPrintable(answer.detail()));
        QVERIFY(!window->runs().overlaid());
    }

    void aGraphThatCannotRunIsRefused() {
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{2, 3}}});
        maker.node("MatMul", "y", "cpu", {}, {x, x});
        const auto window = makeWindow();
        window->document().setGraph(maker.graph(), {}, {});
        BoxAnswer answer(QMessageBox::Ok);
        overlay(*window, sourcePath(kDigitsProfile));
        QVERIFY2(answer.detail().contains(QStringLiteral("The graph has problems")),
                 qPrintable(answer.detail()));
        QVERIFY(!window->runs().overlaid());
    }

    void wrongOperandsCountAsCopied() {
        const QTemporaryDir folder;
        GraphMaker maker;
        const NodeId x = maker.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{32, 16}}});
        const NodeId y = maker.node("Ones", "y", "cuda:0", {{"shape", std::vector<std::int64_t>{32, 16}}});
        const NodeId z = maker.node("Mul", "z", "cuda:0", {}, {x, y});
        const auto window = makeWindow();
        window->document().setGraph(maker.graph(), {}, {});
        KinetoTraceMaker trace;
        trace.op("aten::mul", "[[32,16],[32,16]]", "kernel", "mul", 7);
        QFile file(folder.filePath(QStringLiteral("t.json")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(trace.text()) > 0);
        file.close();
        overlay(*window, file.fileName());
        QVERIFY(window->runs().overlaid());
        QCOMPARE(window->runs().state().nodes.at(z).ns, 7000.0);
        QVERIFY(window->runs().sentence().endsWith(
            QStringLiteral("operands on the wrong device are treated as copied")));
    }

    void aLongListScrolls() {
        ReviewDialog::Content content;
        content.columns = {QStringLiteral("name")};
        for (int i = 0; i < 500; ++i) content.rows.push_back({QString::number(i)});
        QVERIFY(ReviewDialog(content).height() < 800);
    }

    void readingShowsItsProgressAndEndsByCancel() {
        const auto window = makeWindow();
        QTimer look;
        connect(&look, &QTimer::timeout, this, [] {
            auto* dialog = qobject_cast<QProgressDialog*>(QApplication::activeModalWidget());
            if (!dialog || dialog->findChild<QProgressBar*>()->value() != 250) return;
            QTest::mouseClick(dialog->findChild<QPushButton*>(), Qt::LeftButton);
        });
        look.start(10);
        const bool isWhole = workReporting(QStringLiteral("Reading"), window.get(),
                                           [](const std::function<void(double)>& report) {
                                               for (;;) report(0.25);
                                           });
        QVERIFY(!isWhole);
    }

    /// A bar without a length moves from side to side, also for users who reduce motion.
    void workOfUnknownLengthTellsTheSeconds() {
        const auto window = makeWindow();
        std::atomic<bool> mayEnd = false;
        QString said;
        bool hasBar = false;
        QTimer look;
        connect(&look, &QTimer::timeout, this, [&] {
            auto* dialog = qobject_cast<QProgressDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            hasBar = hasBar || dialog->findChild<QProgressBar*>()->isVisible();
            said = dialog->labelText();
            mayEnd = hasBar || said.endsWith(QLatin1String(" s"));
        });
        look.start(10);
        workWaiting(QStringLiteral("Reading"), window.get(), [&] {
            while (!mayEnd) QThread::msleep(5);
        });
        QVERIFY(!hasBar);
        QVERIFY2(said.startsWith(QLatin1String("Reading  ")), qPrintable(said));
    }
};

TWB_GUI_TEST_MAIN(TestProfileOverlay)
#include "test_profile_overlay.moc"
