#include "support/test_main.h"

#include <QLocale>

#include <atomic>
#include <cstdio>

namespace twb::test {
namespace {

std::atomic<int> warnings{0};
QtMessageHandler testlibHandler = nullptr;

/// Installed behind Qt Test's handler, which passes on all messages that ignoreMessage() did not match.
void countWarnings(QtMsgType type, const QMessageLogContext& context, const QString& text) {
    // Limitations of the offscreen platform, which a window cannot avoid.
    const bool ofPlatform = text.startsWith(QLatin1String("This plugin does not support "));
    if ((type == QtWarningMsg || type == QtCriticalMsg) && !ofPlatform) ++warnings;
    if (testlibHandler)
        testlibHandler(type, context, text);
    else
        std::fprintf(stderr, "%s\n", qPrintable(text));
}

} // namespace

int run(QObject& suite, int argc, char** argv) {
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); // the same on every machine
    testlibHandler = qInstallMessageHandler(countWarnings);
    const int failed = QTest::qExec(&suite, argc, argv);
    if (failed == 0 && warnings > 0) {
        std::fprintf(stderr, "FAIL: %d Qt warnings\n", warnings.load());
        return 1;
    }
    return failed;
}

} // namespace twb::test
