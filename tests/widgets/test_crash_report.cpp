#include "support/test_main.h"
#include "widgets/crash_report.h"
#include "widgets/dialog_answer.h"
#include "widgets/window_hand.h"

#include <QClipboard>
#include <QDir>
#include <QPlainTextEdit>
#include <QTimer>

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twb;
using namespace twb::test;

namespace {

void overwriteNull() {
    volatile int* nowhere = nullptr;
    *nowhere = 1; // NOLINT(clang-analyzer-core.NullDereference): the crash
}

int overflow(int depth) { // NOLINT(misc-no-recursion): the crash
    volatile char large[4096] = {};
    large[0] = char(depth);
    return depth < 0 ? 0 : overflow(depth + 1) + large[0];
}

void throwText() { throw std::runtime_error("the exception's text"); }
void throwUncaught() noexcept { throwText(); } // NOLINT(bugprone-exception-escape): the crash

/// Runs `crash` in a child process with crash reports. Returns the signal that ended it.
int signalOf(const QString& folder, const std::function<void()>& crash) {
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        writeCrashReports(folder);
        for (int i = 0; i < 40; ++i) rememberAction(QStringLiteral("action %1;").arg(i));
        crash();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// A crash report that another process left.
QString leaveReport(const QString& folder, const QString& name) {
    QDir().mkpath(folder);
    QFile file(QDir(folder).filePath(name));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(
        "Signal: "
        "SIGSEGV\n\nBacktrace\n/usr/bin/tensor-workbench(_ZN3twb5Graph5applyERKNS_5DeltaE+0x12)[0x55]\n");
    return file.fileName();
}

} // namespace

class TestCrashReport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::light());
    }

    void aCrashLeavesAReport_data() {
        QTest::addColumn<std::function<void()>>("crash");
        QTest::addColumn<int>("signal");
        QTest::addColumn<QString>("text");
        QTest::addRow("invalid memory access")
            << std::function<void()>(overwriteNull) << SIGSEGV << QStringLiteral("Signal: SIGSEGV");
        QTest::addRow("full stack") << std::function<void()>([] { overflow(0); }) << SIGSEGV
                                    << QStringLiteral("Signal: SIGSEGV");
        QTest::addRow("uncaught exception") << std::function<void()>(throwUncaught) << SIGABRT
                                            << QStringLiteral("Uncaught exception: the exception's text");
        QTest::addRow("abort") << std::function<void()>([] { std::abort(); }) << SIGABRT
                               << QStringLiteral("Signal: SIGABRT");
    }

    void aCrashLeavesAReport() {
        QFETCH(std::function<void()>, crash);
        QFETCH(int, signal);
        QFETCH(QString, text);
        const QTemporaryDir data;
        const QString folder = data.filePath(QStringLiteral("recovery"));
        QCOMPARE(signalOf(folder, crash), signal); // ends as it would without a report
        const std::vector<CrashReport> reports = crashReports(folder);
        QCOMPARE(reports.size(), std::size_t{1});
        const QString report = textOf(reports.front());
        QVERIFY2(report.contains(text), qPrintable(report));
        QVERIFY2(report.startsWith(QStringLiteral("Tensor Workbench ")), qPrintable(report));
        QVERIFY2(report.contains(QStringLiteral("action 39;")) &&
                     report.contains(QStringLiteral("action 8;")) &&
                     !report.contains(QStringLiteral("action 7;")),
                 qPrintable(report));
        QVERIFY2(report.section(QStringLiteral("Backtrace\n"), 1).count(QLatin1Char('\n')) > 3,
                 qPrintable(report));
    }

    void anEndWithoutACrashLeavesNothing() {
        const QTemporaryDir data;
        QCOMPARE(signalOf(data.path(), [] {}), 0);
        QVERIFY(crashReports(data.path()).empty());
    }

    void onlyTheNewestReportsAreKept() {
        const QTemporaryDir data;
        for (int i = 0; i < 14; ++i) leaveReport(data.path(), QStringLiteral("crash-%1.txt").arg(i));
        QCOMPARE(crashReports(data.path()).size(), std::size_t{10});
        QCOMPARE(QDir(data.path()).entryList(QDir::Files).size(), qsizetype{10});
    }

    void theNextStartShowsTheReport() {
        const QTemporaryDir data;
        const QString path = leaveReport(data.path(), QStringLiteral("crash-1.txt"));
        const auto window = makeWindow();
        window->offerCrashReports(data.path());
        const auto button = [&](const char* text) -> QAbstractButton* {
            for (auto* found : window->findChildren<QAbstractButton*>())
                if (found->isVisible() && found->text().remove(QLatin1Char('&')) == QLatin1String(text))
                    return found;
            return nullptr;
        };
        QString shown;
        QTimer::singleShot(50, this, [&] {
            auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            shown = dialog->findChild<QPlainTextEdit*>()->toPlainText();
            dialog->reject();
        });
        QVERIFY(button("Show report"));
        QTest::mouseClick(button("Show report"), Qt::LeftButton);
        QVERIFY2(shown.contains(QStringLiteral("twb::Graph::apply(twb::Delta const&)")), qPrintable(shown));
        QVERIFY(QFile::exists(path));
        QTest::mouseClick(button("Delete report"), Qt::LeftButton);
        QVERIFY(!QFile::exists(path));
        QVERIFY(!button("Show report"));
        window->offerCrashReports(data.path()); // no reports, no question
        QVERIFY(!button("Show report"));
    }
};

TWB_GUI_TEST_MAIN(TestCrashReport)
#include "test_crash_report.moc"
