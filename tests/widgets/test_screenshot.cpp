#include "support/test_main.h"
#include "widgets/window_fixture.h"

#include <QImage>
#include <QProcess>

using namespace twb;
using namespace twb::test;

namespace {

struct Outcome {
    int exit = -1;
    QString error;
};

Outcome run(const QStringList& arguments, const QStringList& without = {}) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const QString& name : without) environment.remove(name);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench"), arguments);
    if (!process.waitForFinished(60'000)) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
}

} // namespace

class TestScreenshot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesThePictureAfterTheRun();
    void withoutAFileItShowsTheStartPage();
    void saysWhatIsWrong();
    void saysWhyAGraphWasNotRun();
    void needsNoDisplay();

private:
    QTemporaryDir m_folder;
};

void TestScreenshot::writesThePictureAfterTheRun() {
    const QString out = m_folder.filePath(QStringLiteral("a.png"));
    const Outcome outcome =
        run({QStringLiteral("--screenshot"), out, QStringLiteral("--size"), QStringLiteral("1100x700"),
             QStringLiteral("--theme"), QStringLiteral("light"), QStringLiteral("--run"), QStringLiteral("2"),
             sourcePath("resources/examples/digits.twb")});
    QVERIFY2(outcome.exit == 0, qPrintable(outcome.error));
    QCOMPARE(outcome.error, QString()); // no warnings, not even from Qt's platform
    const QImage image(out);
    QCOMPARE(image.size(), QSize(1100, 700));
    QVERIFY(image.pixelColor(4, 300).lightness() > 200);
}

void TestScreenshot::withoutAFileItShowsTheStartPage() {
    const QString out = m_folder.filePath(QStringLiteral("start.png"));
    const Outcome outcome =
        run({QStringLiteral("--screenshot"), out, QStringLiteral("--size"), QStringLiteral("1280x800"),
             QStringLiteral("--theme"), QStringLiteral("dark")});
    QCOMPARE(outcome.exit, 0);
    QCOMPARE(outcome.error, QString());
    QCOMPARE(QImage(out).size(), QSize(1280, 800));
}

void TestScreenshot::saysWhatIsWrong() {
    const QString out = m_folder.filePath(QStringLiteral("b.png"));
    const Outcome missing = run({QStringLiteral("--screenshot"), out, QStringLiteral("/no/such/file.twb")});
    QCOMPARE(run({QStringLiteral("--no-such-option")}).exit, 2);
    QCOMPARE(run({QStringLiteral("--version")}).exit, 0);
    QCOMPARE(missing.exit, 4);
    QVERIFY2(missing.error.contains(QLatin1String("/no/such/file.twb")), qPrintable(missing.error));
    QVERIFY(!QFile::exists(out));
    const QString digits = sourcePath("resources/examples/digits.twb");
    QCOMPARE(run({QStringLiteral("--screenshot"), out, digits, digits}).exit, 2); // two graphs
    QCOMPARE(
        run({QStringLiteral("--screenshot"), out, QStringLiteral("--size"), QStringLiteral("big"), digits})
            .exit,
        2);
    QCOMPARE(
        run({QStringLiteral("--screenshot"), out, QStringLiteral("--tab"), QStringLiteral("x"), digits}).exit,
        2);
    QCOMPARE(run({QStringLiteral("--screenshot"), out, QStringLiteral("--run"), QStringLiteral("1"),
                  sourcePath("resources/examples/01-cpu-tensor-plus-cuda-tensor.twb")})
                 .exit,
             3);
    QVERIFY(QFile::exists(out)); // shows the errors
}

/// Once, the program exited with 3 and printed nothing.
void TestScreenshot::saysWhyAGraphWasNotRun() {
    const QString out = m_folder.filePath(QStringLiteral("c.png"));
    const QString wrong = sourcePath("resources/examples/01-cpu-tensor-plus-cuda-tensor.twb");
    const Outcome shown = run({QStringLiteral("--screenshot"), out, wrong});
    QCOMPARE(shown.exit, 0);
    QCOMPARE(shown.error, QString());
    QVERIFY(QFile::exists(out));
    const Outcome asked =
        run({QStringLiteral("--screenshot"), out, QStringLiteral("--run"), QStringLiteral("1"), wrong});
    QCOMPARE(asked.exit, 3);
    QVERIFY2(asked.error.contains(QLatin1String("The graph has 1 problem. Fix it to run the graph.")) &&
                 asked.error.contains(QLatin1String("Expected all tensors to be on the same device")),
             qPrintable(asked.error));
}

/// Once, Qt called abort().
void TestScreenshot::needsNoDisplay() {
    const QStringList display{QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("DISPLAY"),
                              QStringLiteral("WAYLAND_DISPLAY"), QStringLiteral("XDG_RUNTIME_DIR")};
    for (const char* option : {"--help", "-h", "--version", "-v"}) {
        const Outcome outcome = run({QString::fromLatin1(option)}, display);
        QCOMPARE(outcome.exit, 0);
        QCOMPARE(outcome.error, QString());
    }
    const QString out = m_folder.filePath(QStringLiteral("d.png"));
    const Outcome picture =
        run({QStringLiteral("--screenshot"), out, sourcePath("resources/examples/digits.twb")}, display);
    QCOMPARE(picture.exit, 0);
    QCOMPARE(picture.error, QString()); // no warning about the missing runtime folder, either
    const Outcome window = run({}, display);
    QCOMPARE(window.exit, 1);
    QVERIFY2(window.error.startsWith(QLatin1String("tensor-workbench: no display found")) &&
                 window.error.count(QLatin1Char('\n')) == 1,
             qPrintable(window.error));
}

TWB_GUI_TEST_MAIN(TestScreenshot)
#include "test_screenshot.moc"
