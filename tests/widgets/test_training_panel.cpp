#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/file_answer.h"
#include "widgets/panels/loss_plot.h"
#include "widgets/status_line.h"
#include "widgets/text.h"
#include "widgets/training_hand.h"

#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>

#include <algorithm>
#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

/// By the arrow keys.
void chooseView(MainWindow& window, const char* name) {
    auto* views = find<QComboBox>(window, "trainingView");
    views->setFocus(); // else the keys belong to the canvas
    QTest::keyClick(views, Qt::Key_Home);
    for (int i = 1; i < views->count() && views->currentText() != QLatin1String(name); ++i)
        QTest::keyClick(views, Qt::Key_Down);
    QCOMPARE(views->currentText(), QString::fromLatin1(name));
}

} // namespace

class TestTrainingPanel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { isolateSettings(); }

    void aTrainingRunsToItsEnd() {
        const auto window = windowWith(kLearns);
        auto* panel = window->findChild<TrainingPanel*>();
        QVERIFY(factsOf(*window).contains(QStringLiteral("Choose Train to start training.")));
        find<QSpinBox>(*window, "epochs")->setValue(3);
        click(*window, "train");
        QTRY_COMPARE_WITH_TIMEOUT(buttonText(*window), QStringLiteral("Train"), 300'000);
        const QString facts = factsOf(*window);
        QVERIFY2(facts.contains(QStringLiteral("3 of 3")), qPrintable(facts));
        QVERIFY(facts.contains(QStringLiteral("Validation loss")) &&
                facts.contains(QStringLiteral("accuracy")) && facts.contains(QStringLiteral("Best epoch")));
        QVERIFY(facts.contains(QStringLiteral("Waiting for data")));
        const QByteArray csv = panel->csv();
        QCOMPARE(csv.count('\n'), 1 + 3 * 36); // 1,150 rows in batches of 32
        QVERIFY(csv.startsWith("run,step,loss,epoch,validation_loss,accuracy,lr\r\n1,1,"));
        const QTemporaryDir folder;
        QVERIFY(panel->savePicture(folder.filePath(QStringLiteral("loss.png"))));
        QVERIFY(QImage(folder.filePath(QStringLiteral("loss.png"))).width() > 400);
        QVERIFY(panel->savePicture(folder.filePath(QStringLiteral("loss.svg"))));
        QFile drawing(folder.filePath(QStringLiteral("loss.svg")));
        QVERIFY(drawing.open(QIODevice::ReadOnly));
        const QByteArray svg = drawing.readAll();
        QVERIFY(svg.startsWith("<?xml") && svg.contains("run 1 · adamw lr 0.002 · best "));
        QVERIFY(svg.contains("Training of 11-a-model-learns"));
        QVERIFY(!panel->savePicture(folder.filePath(QStringLiteral("none/loss.svg"))));
    }

    /// It was thrown away without a question.
    void closingAsksAboutATraining() {
        const auto window = windowWith(kLearns);
        find<QSpinBox>(*window, "epochs")->setValue(5000);
        click(*window, "train");
        const auto& training = window->training();
        QTRY_VERIFY(training.place().steps > 0);
        for (const char* button : {"", "train"}) { // running, then paused
            if (*button) click(*window, button);
            const BoxAnswer cancel(QMessageBox::Cancel);
            QVERIFY(!window->close());
            QVERIFY(cancel.answered());
            QCOMPARE(cancel.text(), QStringLiteral("Stop training run 1?"));
        }
        QVERIFY(training.state() == TrainingRun::State::paused);
        click(*window, "stopTraining");
        QTRY_VERIFY(training.hasParameters());
        {
            const BoxAnswer cancel(QMessageBox::Cancel);
            QVERIFY(!window->openFile(sourcePath(kLabels)));
            QVERIFY(cancel.answered());
            QCOMPARE(cancel.text(), QStringLiteral("Discard the weights of training run 1?"));
        }
        const QTemporaryDir folder;
        {
            const FileAnswer file(QString(), folder.filePath(QStringLiteral("w.safetensors")));
            action(*window, QStringLiteral("Export weights…"))->trigger();
            QVERIFY(QFile::exists(folder.filePath(QStringLiteral("w.safetensors"))));
        }
        QVERIFY(window->close()); // there is nothing to lose
    }

    /// The status line said "Not run yet".
    void theStatusLineTellsOfATraining() {
        const auto window = windowWith(kLearns);
        find<QSpinBox>(*window, "epochs")->setValue(5000);
        const auto saying = [&](const QString& part) {
            const auto labels = window->findChild<StatusLine*>()->findChildren<QLabel*>();
            return std::ranges::any_of(labels,
                                       [&](const QLabel* label) { return label->text().contains(part); });
        };
        click(*window, "train");
        QVERIFY(saying(QStringLiteral("Training run 1 is running")));
        QTRY_VERIFY(window->training().place().steps > 0);
        click(*window, "train");
        QTRY_VERIFY(saying(QStringLiteral("Training run 1 is paused")));
        click(*window, "stopTraining");
        QTRY_VERIFY(window->training().hasParameters());
        QVERIFY(saying(QStringLiteral("Training ended: run 1 · adamw lr 0.002")));
        QVERIFY(!saying(QStringLiteral("Not run yet")));
        click(*window, "train");
        click(*window, "stopTraining"); // perhaps before the first step
        QTRY_VERIFY(window->training().state() == TrainingRun::State::idle);
        QVERIFY(saying(QStringLiteral("Training run 2 was stopped before its first step")) ||
                saying(QStringLiteral("Training ended: run 2")));
    }

    /// Only the Training panel showed it.
    void aTrainingThatFailsIsSaidInTheStatusLineAndTheLog() {
        const QTemporaryDir folder;
        const QDir to(folder.path());
        QVERIFY(to.mkdir(QStringLiteral("digits")));
        for (const char* name : {"11-a-model-learns.twb", "digits/train_images.npy"})
            QVERIFY(QFile::copy(sourcePath("resources/examples/") + QLatin1String(name),
                                to.filePath(QLatin1String(name))));
        QFile labels(sourcePath("resources/examples/digits/train_labels.npy"));
        QVERIFY(labels.open(QIODevice::ReadOnly));
        QByteArray bytes = labels.readAll();
        constexpr qsizetype kHeader = 128; // of the file; then one 64-bit number per row
        for (qsizetype i = kHeader; i < bytes.size(); i += 8) bytes[i] = 99; // no class has this number
        QFile wrong(to.filePath(QStringLiteral("digits/train_labels.npy")));
        QVERIFY(wrong.open(QIODevice::WriteOnly));
        wrong.write(bytes);
        wrong.close();
        const auto window = makeWindow();
        window->load(to.filePath(QStringLiteral("11-a-model-learns.twb")));
        window->bottom().showPage(QStringLiteral("training"));
        click(*window, "train");
        window->bottom().showPage(QStringLiteral("log"));
        QTRY_COMPARE_WITH_TIMEOUT(window->training().state(), TrainingRun::State::failed, 300'000);
        const QString sentence = QStringLiteral("Training run 1 failed: ") + window->training().error();
        QVERIFY(!window->training().error().isEmpty());
        QCOMPARE(find<QLabel>(*window, "status")->text(), sentence);
        QVERIFY(find<QPlainTextEdit>(*window, "log")->toPlainText().contains(sentence));
    }

    void means() {
        // Constant values are their own means, in every bit.
        const std::vector<double> same(40, 0.1);
        for (std::size_t i = 0; i < same.size(); ++i) QVERIFY(smoothedAt(same, i, 7) == 0.1);
        // A line has no lag, and the first and the last value never move.
        std::vector<double> line;
        for (int i = 0; i < 40; ++i) line.push_back(3.0 * i);
        for (std::size_t i = 0; i < line.size(); ++i) QCOMPARE(smoothedAt(line, i, 7), line[i]);
        const std::vector<double> rough{8, 1, 9, 2, 5};
        QCOMPARE(smoothedAt(rough, 0, 2), 8.0);
        QCOMPARE(smoothedAt(rough, 1, 2), 6.0);
        QCOMPARE(smoothedAt(rough, 2, 2), 5.0);
        QCOMPARE(smoothedAt(rough, 4, 2), 5.0);
        // A loss that is not a number makes a gap and spoils no neighbour.
        const std::vector<double> broken{4, std::nan(""), 2, 3, HUGE_VAL, 6};
        QVERIFY(std::isnan(smoothedAt(broken, 1, 1)));
        QCOMPARE(smoothedAt(broken, 2, 1), 2.5);
        QCOMPARE(smoothedAt(broken, 4, 1), HUGE_VAL);
    }

    /// Off by default; the raw losses stay, and every step changes only the means near the end.
    void theLossCanBeSmoothed() {
        const auto window = windowWith(kLearns);
        train(*window, 1);
        train(*window, 2);
        const auto* panel = window->findChild<TrainingPanel*>();
        const auto& plot = *find<QCustomPlot>(*window, "lossPlot");
        const QCPGraph& raw = *plot.graph(0);
        const QCPGraph& mean = *plot.graph(1);
        auto* smoothing = find<QComboBox>(*window, "smoothing");
        QCOMPARE(smoothing->currentText(), QStringLiteral("Smoothing: off"));
        QVERIFY(raw.visible() && !mean.visible());
        const QByteArray csv = panel->csv();
        const QColor strong = raw.pen().color();
        smoothing->setFocus();
        QTest::keyClick(smoothing, Qt::Key_Down);
        QCOMPARE(smoothing->currentText(), QStringLiteral("Smoothing: 11 steps"));
        QCOMPARE(panel->csv(), csv);
        QVERIFY(raw.visible() && mean.visible() && plot.graph(4)->visible()); // also of the earlier run
        QCOMPARE(mean.pen().color(), strong);
        QVERIFY(raw.pen().color() != strong);
        train(*window, 3); // the means are made while the losses come
        const std::vector<double>& losses = window->training().course().losses;
        QCOMPARE(mean.dataCount(), int(losses.size()));
        for (std::size_t i = 0; i < losses.size(); ++i)
            QCOMPARE(mean.data()->at(int(i))->value, smoothedAt(losses, i, 5));
        QCOMPARE(mean.data()->at(int(losses.size()) - 1)->value, losses.back());
        const QTemporaryDir folder;
        QVERIFY(panel->savePicture(folder.filePath(QStringLiteral("loss.svg"))));
        QFile drawing(folder.filePath(QStringLiteral("loss.svg")));
        QVERIFY(drawing.open(QIODevice::ReadOnly));
        const QByteArray legend = drawing.readAll();
        QVERIFY(legend.contains("Moving average of 11 steps") && legend.contains("Loss of each step"));
        QTest::keyClick(smoothing, Qt::Key_Home);
        QVERIFY(raw.visible() && !mean.visible());
        QCOMPARE(raw.pen().color(), strong);
    }

    void gradientsAndUpdatesFillAHeatTable() {
        const auto window = windowWith(kLearns);
        chooseView(*window, "Parameters");
        QVERIFY(!find<QTableView>(*window, "parameterTable")->isVisible());
        train(*window, 3);
        auto& table = *find<QTableView>(*window, "parameterTable");
        QVERIFY(table.isVisible());
        const auto& epochs = window->training().course().record.epochs;
        QCOMPARE(table.model()->rowCount(), 2 * 4); // the gradient and the update of each parameter
        QCOMPARE(table.model()->columnCount(), 3);
        const auto header = [&](int row, int role) {
            return table.model()->headerData(row, Qt::Vertical, role).toString();
        };
        QCOMPARE(header(0, Qt::DisplayRole), QStringLiteral("fc1.weight"));
        QCOMPARE(header(1, Qt::DisplayRole), QString());
        QCOMPARE(header(0, Qt::AccessibleTextRole), QStringLiteral("fc1.weight, gradient norm"));
        QCOMPARE(header(1, Qt::AccessibleTextRole), QStringLiteral("fc1.weight, update-to-weight ratio"));
        // The exact values are in the tooltip, and beside the table for the pointer and the keyboard.
        const QModelIndex cell = table.model()->index(4, 1);
        const ParameterFigures& figures = epochs[1].figures[2];
        QCOMPARE(figures.name, std::string("fc2.weight"));
        const auto shortly = [](double value) { return QString::number(value, 'g', 2); };
        QCOMPARE(cell.data().toString(), shortly(figures.gradientNorm));
        QCOMPARE(table.model()->index(5, 1).data().toString(), shortly(*figures.updateRatio()));
        const QString exact = cell.data(Qt::ToolTipRole).toString();
        QVERIFY2(exact.startsWith(QStringLiteral("fc2.weight, epoch 2\n")), qPrintable(exact));
        QVERIFY(exact.contains(compact(figures.gradientNorm)) &&
                exact.contains(compact(*figures.updateRatio())));
        const auto* label = find<QLabel>(*window, "cell");
        QTest::mouseMove(table.viewport(), table.visualRect(cell).center());
        QTRY_COMPARE(label->text(), exact);
        QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(cell).center());
        QTest::keyClick(&table, Qt::Key_Right);
        QVERIFY2(label->text().startsWith(QStringLiteral("fc2.weight, epoch 3\n")),
                 qPrintable(label->text()));
        // The largest value of each quantity has the strongest shade.
        const auto shade = [&](int row, int column) {
            return table.model()->index(row, column).data(Qt::BackgroundRole).value<QColor>();
        };
        const auto isShaded = [&](int row, const auto& valueOf) {
            const auto [least, most] = std::ranges::minmax_element(epochs[2].figures, {}, valueOf);
            const int low = 2 * int(least - epochs[2].figures.begin()) + row;
            const int high = 2 * int(most - epochs[2].figures.begin()) + row;
            return shade(high, 2).hsvSaturation() > shade(low, 2).hsvSaturation();
        };
        QVERIFY(isShaded(0, &ParameterFigures::gradientNorm));
        QVERIFY(isShaded(1, [](const ParameterFigures& of) { return of.updateRatio().value(); }));
        QVERIFY(shade(0, 2).hsvHue() != shade(1, 2).hsvHue()); // each quantity has a scale of its own
        QVERIFY(window->findChild<TrainingPanel*>()->csv().startsWith(
            "epoch,parameter,gradient_norm,weight_norm,update_norm,update_ratio\r\n1,fc1.weight,"));
        // With many epochs, the last ones are shown.
        window->resize(900, 600);
        train(*window, 60);
        QCOMPARE(table.model()->columnCount(), 60);
        QVERIFY(table.horizontalScrollBar()->maximum() > 0);
        QVERIFY(table.viewport()->rect().contains(table.visualRect(table.model()->index(0, 59))));
    }

    void aConfusionMatrixCountsTheValidation() {
        const auto window = windowWith(kLearns);
        train(*window, 3);
        chooseView(*window, "Confusion");
        auto& table = *find<QTableView>(*window, "confusionTable");
        QVERIFY(table.isVisible());
        QCOMPARE(table.model()->rowCount(), 10);
        QCOMPARE(table.model()->columnCount(), 10);
        int rows = 0;
        int right = 0;
        for (int label = 0; label < 10; ++label)
            for (int predicted = 0; predicted < 10; ++predicted) {
                const int count = table.model()->index(label, predicted).data().toInt();
                rows += count;
                if (label == predicted) right += count;
            }
        const EpochRecord& last = window->training().course().record.epochs.back();
        QCOMPARE(rows, 287); // 1,437 − 1,150
        QVERIFY(std::abs(double(right) / rows - last.accuracy.value()) < 1e-6);
        const QModelIndex cell = table.model()->index(3, 3);
        QVERIFY(
            cell.data(Qt::ToolTipRole)
                .toString()
                .startsWith(QStringLiteral("The model predicts 3 for %1 of ").arg(cell.data().toString())));
        QVERIFY(factsOf(*window).contains(QStringLiteral("Validation after epoch 3.")));
        QCOMPARE(window->findChild<TrainingPanel*>()->csv().count('\n'), 101);
    }

    void runsAreCompared() {
        const auto window = windowWith(kLearns);
        auto* panel = window->findChild<TrainingPanel*>();
        auto& runs = *find<QListWidget>(*window, "runs");
        const auto& plot = *find<QCustomPlot>(*window, "lossPlot");
        const auto shownCurves = [&] {
            int shown = 0;
            for (int i = 0; i < plot.graphCount(); ++i)
                shown += plot.graph(i)->visible() && plot.graph(i)->dataCount() > 0 ? 1 : 0;
            return shown;
        };
        train(*window, 2);
        const std::vector<double> first = window->training().course().losses;
        QVERIFY(!runs.isVisible()); // there is nothing to compare with
        QCOMPARE(shownCurves(), 2);
        Document& document = window->document();
        DeltaBuilder builder(document.graph(), "Set lr");
        builder.setAttribute(nodeNamed(document.graph(), "learning rate"), "lr", 0.003);
        document.apply(builder.take());
        train(*window, 1);
        train(*window, 1);
        QCOMPARE(window->training().earlier().front().losses, first);
        QVERIFY(runs.isVisible());
        QCOMPARE(runs.count(), 3);
        QVERIFY(runs.item(0)->toolTip().startsWith(QStringLiteral("run 3 · adamw lr 0.003 · best ")));
        QVERIFY(runs.item(0)->font().bold() && !runs.item(1)->font().bold());
        const QString oldest = runs.item(2)->toolTip();
        QVERIFY2(oldest.startsWith(QStringLiteral("run 1 · adamw lr 0.002 · best ")) &&
                     oldest.contains(QStringLiteral(" % in epoch ")),
                 qPrintable(oldest));
        QCOMPARE(shownCurves(), 6);
        QVERIFY(plot.graph(0)->pen().widthF() > plot.graph(3)->pen().widthF());
        const QByteArray csv = panel->csv();
        QCOMPARE(csv.count('\n'), 1 + (2 + 1 + 1) * 36);
        QVERIFY(csv.contains("\n1,72,") && csv.contains("\n2,36,") && csv.contains("\n3,36,"));
        // A check box hides a run, until it is checked again.
        const QRect row = runs.visualItemRect(runs.item(2));
        const QPoint box(row.left() + 10, row.center().y());
        QTest::mouseClick(runs.viewport(), Qt::LeftButton, {}, box);
        QCOMPARE(runs.item(2)->checkState(), Qt::Unchecked);
        QCOMPARE(shownCurves(), 4);
        train(*window, 1);
        QCOMPARE(runs.count(), 4);
        QCOMPARE(runs.item(3)->checkState(), Qt::Unchecked);
        QCOMPARE(shownCurves(), 6);
        action(*window, QStringLiteral("Clear earlier runs"))->trigger();
        QVERIFY(!runs.isVisible());
        QCOMPARE(shownCurves(), 2);
        QCOMPARE(panel->csv().count('\n'), 37);
        train(*window, 1);
        QVERIFY2(runs.item(0)->toolTip().startsWith(QStringLiteral("run 5 ")),
                 qPrintable(runs.item(0)->toolTip()));
    }

    void aTrainingCanBePausedAndStopped() {
        const auto window = windowWith(kLearns);
        find<QSpinBox>(*window, "epochs")->setValue(1'000'000);
        click(*window, "train");
        QTRY_COMPARE(buttonText(*window), QStringLiteral("Pause"));
        QTRY_VERIFY(window->findChild<TrainingPanel*>()->csv().count('\n') > 10);
        click(*window, "train");
        QCOMPARE(buttonText(*window), QStringLiteral("Resume"));
        // The steps under way end.
        auto before = window->findChild<TrainingPanel*>()->csv().size();
        QVERIFY(QTest::qWaitFor(
            [&] {
                QTest::qWait(300);
                const auto now = window->findChild<TrainingPanel*>()->csv().size();
                return std::exchange(before, now) == now;
            },
            300'000));
        click(*window, "train");
        QTRY_VERIFY(window->findChild<TrainingPanel*>()->csv().size() > before);
        click(*window, "stopTraining");
        QCOMPARE(buttonText(*window), QStringLiteral("Train"));
        QVERIFY(!find<QPushButton>(*window, "stopTraining")->isEnabled());
    }

    /// Closing the window, or opening another graph, ends a training.
    void aTrainingEndsWithItsGraph() {
        const auto window = windowWith(kLearns);
        find<QSpinBox>(*window, "epochs")->setValue(1'000'000);
        click(*window, "train");
        QTRY_VERIFY(window->findChild<TrainingPanel*>()->csv().count('\n') > 1);
        window->load(sourcePath(kDigits));
        QCOMPARE(window->findChild<TrainingPanel*>()->csv().count('\n'), 1);
        QVERIFY(factsOf(*window).contains(QStringLiteral("Add a training module to train this graph.")));
        QVERIFY(!find<QPushButton>(*window, "train")->isEnabled());
        QVERIFY(window->training().earlier().empty());
    }
};

TWB_GUI_TEST_MAIN(TestTrainingPanel)
#include "test_training_panel.moc"
