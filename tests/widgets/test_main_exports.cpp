#include "profile/saved_report.h"
#include "support/test_main.h"
#include "widgets/file_answer.h"

using namespace twb;
using namespace twb::test;

namespace {

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void press(MainWindow& window, Qt::Key key) {
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTest::keyClick(&window, key, Qt::ControlModifier | Qt::AltModifier);
}

/// Works once, as soon as the file dialog is open.
void whileAFileIsChosen(std::function<void()> work) {
    if (qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) return work();
    QTimer::singleShot(10, qApp, [work = std::move(work)] { whileAFileIsChosen(work); });
}

} // namespace

class TestMainExports : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aModuleForPyTorch() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        FileAnswer answer(QStringLiteral("Python"), folder.filePath(QStringLiteral("digits")));
        press(*window, Qt::Key_T);
        QVERIFY(answer.answered());
        const QByteArray text = contentOf(folder.filePath(QStringLiteral("digits.py")));
        QVERIFY(text.contains("import torch"));
        QVERIFY(text.contains(".to("));
    }

    void whatCannotBeExportedSaysWhy() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->load(sourcePath(kMismatch));
        FileAnswer answer(QStringLiteral("Python"), folder.filePath(QStringLiteral("broken.py")));
        BoxAnswer box(QMessageBox::Ok);
        press(*window, Qt::Key_T);
        QVERIFY(box.answered());
        QVERIFY(box.detail().contains(QStringLiteral("device")));
        QVERIFY(!QFile::exists(folder.filePath(QStringLiteral("broken.py"))));
    }

    void anOnnxModel() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        FileAnswer answer(QStringLiteral("ONNX"), folder.filePath(QStringLiteral("digits")));
        press(*window, Qt::Key_O);
        QVERIFY(answer.answered());
        QVERIFY(contentOf(folder.filePath(QStringLiteral("digits.onnx"))).contains("Gemm"));
    }

    void theReportOfARunAsAPageAndForPrograms() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        {
            BoxAnswer box(QMessageBox::Ok);
            press(*window, Qt::Key_R);
            QVERIFY(box.answered());
            QVERIFY(box.detail().contains(QStringLiteral("Run the graph first")));
        }
        window->runs().run(7);
        QVERIFY(waitForRun(*window));
        {
            FileAnswer answer(QStringLiteral("HTML"), folder.filePath(QStringLiteral("page")));
            press(*window, Qt::Key_R);
        }
        const QByteArray page = contentOf(folder.filePath(QStringLiteral("page.html")));
        QVERIFY(page.startsWith("<!DOCTYPE html>"));
        for (const char* word : {"images → cuda:0", "modelled", "accuracy", "<svg"})
            QVERIFY2(page.contains(word), word);
        {
            FileAnswer answer(QStringLiteral("JSON"), folder.filePath(QStringLiteral("r.json")));
            press(*window, Qt::Key_R);
        }
        const auto json =
            parseReport(contentOf(folder.filePath(QStringLiteral("r.json"))).toStdString(), "r");
        QCOMPARE(json.at("iterations").get<int>(), 7);
        QCOMPARE(json.at("status").get<std::string>(), std::string("finished"));
        QCOMPARE(json.at("inputs").size(), std::size_t(7));
        QCOMPARE(json.at("probes").size(), std::size_t(2));
        QVERIFY(!json.at("timeline").at("slices").empty());
        for (const auto& transfer : json.at("transfers"))
            QCOMPARE(transfer.at("count").get<int>(), transfer.at("setup").get<bool>() ? 1 : 7);
    }

    /// The report referred to figures that a run had replaced while the file dialog was open.
    void theReportOfARunThatEndedWhileItsFileWasChosen() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("r.json"));
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->runs().run(7);
        QVERIFY(waitForRun(*window));
        std::unique_ptr<FileAnswer> answer;
        whileAFileIsChosen([&] {
            window->runs().run(3);
            QVERIFY(waitForRun(*window));
            answer = std::make_unique<FileAnswer>(QStringLiteral("JSON"), path);
        });
        press(*window, Qt::Key_R);
        QVERIFY(answer && answer->answered());
        const auto json = parseReport(contentOf(path).toStdString(), "r");
        QCOMPARE(json.at("iterations").get<int>(), 3);
        for (const auto& transfer : json.at("transfers"))
            QCOMPARE(transfer.at("count").get<int>(), transfer.at("setup").get<bool>() ? 1 : 3);
        // While a run is in progress, there is no report.
        answer.reset();
        whileAFileIsChosen([&] {
            window->runs().runContinuously();
            QTRY_VERIFY(window->runs().done() > 0);
            answer = std::make_unique<FileAnswer>(QStringLiteral("JSON"),
                                                  folder.filePath(QStringLiteral("none.json")));
        });
        const BoxAnswer box(QMessageBox::Ok);
        press(*window, Qt::Key_R);
        QVERIFY(box.answered());
        QVERIFY(!QFile::exists(folder.filePath(QStringLiteral("none.json"))));
        window->runs().stop();
        QVERIFY(waitForRun(*window));
    }
};

TWB_GUI_TEST_MAIN(TestMainExports)
#include "test_main_exports.moc"
