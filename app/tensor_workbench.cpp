#include "app/exit_code.h"
#include "app/short_waits.h"
#include "app/usage_error.h"
#include "app/window_options.h"
#include "app/window_screenshot.h"
#include "backends/cpu/host_threads.h"
#include "core/error.h"
#include "ops/op_table.h"
#include "ops/plugins/plugins.h"
#include "profile/resource_path.h"
#include "widgets/crash_report.h"
#include "widgets/language.h"
#include "widgets/main_window.h"
#include "widgets/session.h"
#include "widgets/settings.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QStandardPaths>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace twb;

/// Whether no window is shown: for a picture, the help, or the version.
bool needsNoDisplay(int argc, char** argv) {
    constexpr std::array<std::string_view, 4> kSilent{"-h", "--help", "-v", "--version"};
    return std::any_of(argv + 1, argv + argc, [&](std::string_view argument) {
        return argument.starts_with("--screenshot") ||
               std::find(kSilent.begin(), kSilent.end(), argument) != kSilent.end();
    });
}

/// Qt's messages while it looks for a display. Without a display it would call abort().
void whileStarting(QtMsgType type, const QMessageLogContext&, const QString&) {
    if (type != QtFatalMsg) return;
    const char* display = std::getenv("DISPLAY");
    if (display != nullptr && *display != '\0')
        std::fprintf(stderr,
                     "tensor-workbench: cannot open the display \"%s\"; check DISPLAY, or run the graph with "
                     "twb\n",
                     display);
    else
        std::fputs(
            "tensor-workbench: no display found; set DISPLAY or WAYLAND_DISPLAY, or run the graph with "
            "twb\n",
            stderr);
    std::_Exit(int(ExitCode::runFailed));
}

/// Adds the fonts that a relocatable installation carries, for systems without them.
void addFonts() {
    const QDir fonts(toQt((resourceFolder() / "fonts").string()));
    for (const QString& font : fonts.entryList(QDir::Files))
        QFontDatabase::addApplicationFont(fonts.filePath(font));
}

int fail(ExitCode code, const char* sentence) {
    std::fprintf(stderr, "tensor-workbench: %s\n", sentence);
    return int(code);
}

} // namespace

int main(int argc, char** argv) {
    waitBriefly(argv);
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

    CLI::App parser;
    WindowOptions options;
    options.addTo(parser);
    std::optional<WindowScreenshot> shot;
    try {
        std::vector<std::string> arguments; // last first, as CLI11 takes them; without Qt's own options
        for (const QString& argument : app.arguments().mid(1))
            arguments.insert(arguments.begin(), argument.toStdString());
        parser.parse(arguments);
        shot.emplace(options);
    } catch (const CLI::Success& asked) {
        std::ostringstream text; // the help or the version
        parser.exit(asked, text, text);
        std::fputs(text.str().c_str(), stdout);
        return std::fflush(stdout) == 0 ? int(ExitCode::fine)
                                        : fail(ExitCode::fileError, "cannot write to stdout");
    } catch (const CLI::ParseError& error) {
        return fail(ExitCode::wrongUsage, usageSentence(parser, error).c_str());
    } catch (const Error& error) {
        return fail(exitCodeOf(error.code()), error.what());
    }
    QStringList files;
    for (const std::string& name : options.files) files << toQt(name);

    std::shared_ptr<const ProfileLibrary> profiles;
    try {
        profiles = std::make_shared<ProfileLibrary>(resourceFolder() / "devices");
        addFonts();
    } catch (const Error& error) {
        return fail(ExitCode::fileError, error.what());
    }
    setHostThreads(settings::threads()); // before the first backend is made
    if (options.noPlugins) disablePlugins();
    opTable(); // loads the plug-ins
    for (const PluginProblem& problem : pluginProblems())
        std::fprintf(stderr, "tensor-workbench: the plug-in %s is left out: %s\n", problem.file.c_str(),
                     problem.sentence.c_str());
    useLanguage(settings::language());
    if (shot->isWanted()) {
        Theme::apply(app, Theme::named(toQt(options.theme)));
        MainWindow window(profiles);
        return int(shot->take(window, files.value(0)));
    }
    Theme::apply(app, Theme::named(settings::theme()));
    const QDir data(QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation));
    const QString recovery = data.filePath(QStringLiteral("recovery"));
    writeCrashReports(recovery);
    Session session(profiles, recovery);
    session.begin(files);
    return QApplication::exec();
}
