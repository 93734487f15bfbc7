#include "formats/project.h"
#include "support/graphs.h"
#include "support/rank_trace.h"
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
    QString output;
};

Outcome run(const QStringList& arguments, const QStringList& without = {}) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const QString& name : without) environment.remove(name);
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench"), arguments);
    if (!process.waitForFinished(60'000)) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardError()),
            QString::fromUtf8(process.readAllStandardOutput())};
}

} // namespace

class TestScreenshot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesThePictureAfterTheRun();
    void aThumbnailShowsNoErrorOfMissingData();
    void withoutAFileItShowsTheStartPage();
    void saysWhatIsWrong();
    void saysWhyThePictureIsNotWritten();
    void explainsItsOptions();
    void neverReplacesAFileOfTheGraph();
    void saysWhyAGraphWasNotRun();
    void trainsBeforeThePicture();
    void showsATraceBeforeThePicture();
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

/// A file manager shows a project that was copied without its data, but its other errors count.
void TestScreenshot::aThumbnailShowsNoErrorOfMissingData() {
    const auto errorPixels = [&](const QString& project) {
        const QString out = m_folder.filePath(QStringLiteral("thumbnail.png"));
        const Outcome outcome = run({QStringLiteral("--screenshot"), out, QStringLiteral("--only-graph"),
                                     QStringLiteral("--size"), QStringLiteral("2000x2000"),
                                     QStringLiteral("--theme"), QStringLiteral("light"), project});
        if (outcome.exit != 0) qFatal("%s", qPrintable(outcome.error));
        const QImage image = QImage(out).convertToFormat(QImage::Format_RGB32);
        int count = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                count += image.pixelColor(x, y) == Theme::light().error ? 1 : 0;
        return count;
    };
    const QString copy = m_folder.filePath(QStringLiteral("digits.twb"));
    QVERIFY(QFile::copy(sourcePath("resources/examples/digits.twb"), copy));
    QCOMPARE(errorPixels(copy), 0);
    QVERIFY(errorPixels(sourcePath("resources/examples/01-cpu-tensor-plus-cuda-tensor.twb")) > 0);
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

/// It printed a line of libpng, and no reason of its own.
void TestScreenshot::saysWhyThePictureIsNotWritten() {
    const Outcome outcome = run({QStringLiteral("--screenshot"), QStringLiteral("/dev/full"),
                                 sourcePath("resources/examples/digits.twb")});
    QCOMPARE(outcome.exit, 4);
    QCOMPARE(outcome.error,
             QStringLiteral("tensor-workbench: /dev/full cannot be written: No space left on device\n"));
}

void TestScreenshot::explainsItsOptions() {
    const Outcome help = run({QStringLiteral("--help")});
    QCOMPARE(help.exit, 0);
    QCOMPARE(help.error, QString());
    for (const char* word : {"FILE", "--screenshot OUT.png", "--size WxH", "=1600x1000", "--theme", "--tab"})
        QVERIFY2(help.output.contains(QLatin1String(word)), word);
    const QString all =
        QLatin1Char('{') + makeWindow()->bottom().keys().join(QLatin1Char(',')) + QLatin1Char('}');
    QVERIFY2(help.output.simplified().contains(all), qPrintable(all));
    QVERIFY(run({QStringLiteral("--version")}).output.startsWith(QLatin1String("tensor-workbench ")));
    const auto sentence = [](const QStringList& arguments) {
        const Outcome outcome = run(arguments);
        return QString::number(outcome.exit) + QLatin1Char(' ') + outcome.error.trimmed();
    };
    QCOMPARE(
        sentence({QStringLiteral("--screnshot=a.png")}),
        QStringLiteral("2 tensor-workbench: unknown option --screnshot; did you mean \"--screenshot\"?"));
    QCOMPARE(sentence({QStringLiteral("--nothing-like-this")}),
             QStringLiteral("2 tensor-workbench: unknown option --nothing-like-this; "
                            "see `tensor-workbench --help`"));
    for (const QStringList& wrong : {QStringList{QStringLiteral("--run"), QStringLiteral("0")},
                                     QStringList{QStringLiteral("--theme"), QStringLiteral("blue")},
                                     QStringList{QStringLiteral("--size"), QStringLiteral("9x9")},
                                     QStringList{QStringLiteral("--screenshot")}})
        QVERIFY2(sentence(wrong).startsWith(QStringLiteral("2 tensor-workbench: ") + wrong.first()),
                 qPrintable(sentence(wrong)));
}

void TestScreenshot::neverReplacesAFileOfTheGraph() {
    const QString project = m_folder.filePath(QStringLiteral("graph.twb"));
    const QString tensor = m_folder.filePath(QStringLiteral("x.npy"));
    QFile file(project);
    QVERIFY(file.open(QIODevice::WriteOnly));
    GraphMaker maker;
    maker.node("File", "x", "cpu", {{"path", std::string("x.npy")}});
    file.write(QByteArray::fromStdString(toProjectText(maker.graph())));
    file.close();
    QFile numbers(tensor);
    QVERIFY(numbers.open(QIODevice::WriteOnly));
    numbers.write("numbers");
    numbers.close();
    for (const QString& path : {project, tensor}) {
        const qint64 size = QFileInfo(path).size();
        const Outcome outcome = run({QStringLiteral("--screenshot"), path, project});
        QVERIFY2(outcome.exit == 2 && outcome.error.startsWith(QLatin1String("tensor-workbench: ")),
                 qPrintable(outcome.error));
        QCOMPARE(QFileInfo(path).size(), size);
    }
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

void TestScreenshot::showsATraceBeforeThePicture() {
    const RankJob job;
    const QString project = m_folder.filePath(QStringLiteral("ranks.twb"));
    saveProject(job.maker.graph(), project.toStdString());
    const QString trace = m_folder.filePath(QStringLiteral("trace.json"));
    job.writeTrace(trace, 3);
    const QString out = m_folder.filePath(QStringLiteral("ranks.png"));
    const auto shoot = [&](const QString& file, const QString& of) {
        return run({QStringLiteral("--screenshot"), out, QStringLiteral("--size"), QStringLiteral("1100x700"),
                    QStringLiteral("--theme"), QStringLiteral("light"), QStringLiteral("--trace"), of,
                    QStringLiteral("--tab"), QStringLiteral("ranks"), file});
    };
    const Outcome outcome = shoot(project, trace);
    QVERIFY2(outcome.exit == 0 && outcome.error.isEmpty(), qPrintable(outcome.error));
    // The bar of the slowest rank has this colour.
    const QImage image = QImage(out).convertToFormat(QImage::Format_RGB32);
    int bar = 0;
    for (int y = image.height() / 2; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) bar += image.pixelColor(x, y) == Theme::light().error ? 1 : 0;
    QVERIFY2(bar > 500, qPrintable(QString::number(bar)));
    const Outcome missing = shoot(project, QStringLiteral("/no/such/trace.json"));
    QCOMPARE(missing.exit, 4);
    QVERIFY2(missing.error.contains(QLatin1String("/no/such/trace.json")), qPrintable(missing.error));
    const Outcome other = shoot(sourcePath("resources/examples/digits.twb"), trace);
    QCOMPARE(other.exit, 4);
    QVERIFY2(other.error.contains(QLatin1String("was recorded from another graph")), qPrintable(other.error));
}

void TestScreenshot::trainsBeforeThePicture() {
    const auto picture = [&](const QString& name, const QStringList& more) {
        const QString out = m_folder.filePath(name);
        const Outcome outcome = run(QStringList{QStringLiteral("--screenshot"), out, QStringLiteral("--tab"),
                                                QStringLiteral("training")} +
                                    more);
        return std::tuple(outcome.exit, outcome.error, QImage(out));
    };
    const QString learns = sourcePath("resources/examples/11-a-model-learns.twb");
    const auto [before, nothing, untrained] = picture(QStringLiteral("d.png"), {learns});
    QCOMPARE(before, 0);
    const auto [exit, error, trained] =
        picture(QStringLiteral("e.png"), {QStringLiteral("--train"), QStringLiteral("1"), learns});
    QVERIFY2(exit == 0 && error.isEmpty(), qPrintable(error));
    QVERIFY(trained != untrained);
    const auto [refused, reason, same] =
        picture(QStringLiteral("f.png"), {QStringLiteral("--train"), QStringLiteral("1"),
                                          sourcePath("resources/examples/digits.twb")});
    QVERIFY2(refused == 3 && reason.contains(QStringLiteral("Graph ▸ Training ▸ Add training")),
             qPrintable(QString::number(refused) + reason));
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
    qputenv("DISPLAY", ":nowhere");
    const Outcome named = run({}, {QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("WAYLAND_DISPLAY")});
    qunsetenv("DISPLAY");
    QCOMPARE(named.exit, 1);
    QCOMPARE(named.error,
             QStringLiteral("tensor-workbench: cannot open the display \":nowhere\"; check DISPLAY, or "
                            "run the graph with twb\n"));
}

TWB_GUI_TEST_MAIN(TestScreenshot)
#include "test_screenshot.moc"
