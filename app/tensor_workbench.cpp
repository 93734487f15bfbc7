#include "app/exit_code.h"
#include "app/window_screenshot.h"
#include "backends/cpu/host_threads.h"
#include "core/error.h"
#include "profile/resource_path.h"
#include "widgets/main_window.h"
#include "widgets/session.h"
#include "widgets/settings.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QStandardPaths>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace twb;

/// Whether no window is shown: for a picture, the help, or the version.
bool needsNoDisplay(int argc, char** argv) {
    constexpr std::array<std::string_view, 5> kSilent{"-h", "--help", "--help-all", "-v", "--version"};
    return std::any_of(argv + 1, argv + argc, [&](std::string_view argument) {
        return argument.starts_with("--screenshot") ||
               std::find(kSilent.begin(), kSilent.end(), argument) != kSilent.end();
    });
}

/// Qt's messages while it looks for a display. Without a display it would call abort().
void whileStarting(QtMsgType type, const QMessageLogContext&, const QString&) {
    if (type != QtFatalMsg) return;
    std::fputs(
        "tensor-workbench: no display found; set DISPLAY or WAYLAND_DISPLAY, or run the graph with twb\n",
        stderr);
    std::_Exit(int(ExitCode::runFailed));
}

const Theme& themeNamed(const QString& name) {
    if (name == QLatin1String("dark")) return Theme::dark();
    if (name == QLatin1String("light")) return Theme::light();
    return Theme::ofSystem();
}

int fail(ExitCode code, const QString& sentence) {
    std::fprintf(stderr, "tensor-workbench: %s\n", qPrintable(sentence));
    return int(code);
}

} // namespace

int main(int argc, char** argv) {
    // A picture is rendered off screen, so that nothing flashes up and it is the same without a display.
    if (needsNoDisplay(argc, argv)) qputenv("QT_QPA_PLATFORM", "offscreen");

    qInstallMessageHandler(whileStarting);
    QApplication app(argc, argv);
    qInstallMessageHandler(nullptr);
    QApplication::setOrganizationName(QStringLiteral("tensor-workbench"));
    QApplication::setApplicationName(QStringLiteral("tensor-workbench"));
    QApplication::setApplicationDisplayName(QStringLiteral("Tensor Workbench"));
    QApplication::setApplicationVersion(QStringLiteral(TWB_VERSION));

    QGuiApplication::setDesktopFileName(
        QStringLiteral("tensor-workbench")); // desktops find the icon by this name

    QCommandLineParser parser;
    parser.setApplicationDescription(QCoreApplication::translate("main",
                                                                 "Shows where tensors live and what it costs "
                                                                 "to move them."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        QStringLiteral("file"),
        QCoreApplication::translate("main",
                                    ".twb projects and .onnx models to open, each in its own window."),
        QStringLiteral("[FILE…]"));
    WindowScreenshot::addOptions(parser);
    if (!parser.parse(app.arguments())) return fail(ExitCode::wrongUsage, parser.errorText());
    if (parser.isSet(QStringLiteral("help"))) parser.showHelp();
    if (parser.isSet(QStringLiteral("version"))) parser.showVersion();
    const QStringList files = parser.positionalArguments();
    const bool picture = parser.isSet(QStringLiteral("screenshot"));
    if (picture && files.size() > 1)
        return fail(
            ExitCode::wrongUsage,
            QCoreApplication::translate("main", "--screenshot takes one file, but got %1").arg(files.size()));
    WindowScreenshot shot;
    if (const QString refusal = shot.read(parser); !refusal.isEmpty())
        return fail(ExitCode::wrongUsage, refusal);

    std::shared_ptr<const ProfileLibrary> profiles;
    try {
        profiles = std::make_shared<ProfileLibrary>(resourceFolder() / "devices");
    } catch (const Error& error) {
        return fail(ExitCode::fileError, toQt(error.what()));
    }
    setHostThreads(settings::threads()); // before the first backend is made
    if (picture) {
        Theme::apply(app, themeNamed(shot.theme().isEmpty() ? QStringLiteral("dark") : shot.theme()));
        MainWindow window(profiles);
        return int(shot.take(window, files.value(0)));
    }
    Theme::apply(app, themeNamed(settings::theme()));
    const QDir data(QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation));
    Session session(profiles, data.filePath(QStringLiteral("recovery")));
    session.begin(files);
    return QApplication::exec();
}
