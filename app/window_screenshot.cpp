#include "app/window_screenshot.h"

#include "core/error.h"
#include "widgets/main_window.h"
#include "widgets/text.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QLayout>
#include <QPixmap>
#include <QRegularExpression>

#include <cstdio>

namespace twb {
namespace {

constexpr int kLeast = 480;
constexpr int kMost = 8192;

QString tr(const char* text) { return QCoreApplication::translate("WindowScreenshot", text); }

void say(const QString& sentence) { std::fprintf(stderr, "tensor-workbench: %s\n", qPrintable(sentence)); }

/// Processes posted events: layouts, the canvas' first fit, queued replots.
void settle() {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 150) QApplication::processEvents(QEventLoop::AllEvents, 20);
}

} // namespace

void WindowScreenshot::addOptions(QCommandLineParser& parser) {
    parser.addOptions({
        {QStringLiteral("screenshot"),
         tr("Open FILE, or the start page, write a picture of the window, and exit."),
         QStringLiteral("OUT.png")},
        {QStringLiteral("size"), tr("Size of the picture."), QStringLiteral("WxH"),
         QStringLiteral("1600x1000")},
        {QStringLiteral("theme"), tr("Theme: dark or light."), QStringLiteral("THEME")},
        {QStringLiteral("run"), tr("Run this many iterations first."), QStringLiteral("N")},
        {QStringLiteral("select"), tr("Select this node."), QStringLiteral("NODE")},
        {QStringLiteral("tab"), tr("Show this panel: transfers, timeline, memory, problems, log or nodes."),
         QStringLiteral("TAB")},
    });
}

QString WindowScreenshot::read(const QCommandLineParser& parser) {
    m_out = parser.value(QStringLiteral("screenshot"));
    m_select = parser.value(QStringLiteral("select"));
    m_tab = parser.value(QStringLiteral("tab"));
    m_theme = parser.value(QStringLiteral("theme"));
    if (!m_theme.isEmpty() && m_theme != QLatin1String("dark") && m_theme != QLatin1String("light"))
        return tr("--theme must be dark or light, not %1").arg(m_theme);
    const QString size = parser.value(QStringLiteral("size"));
    const auto match = QRegularExpression(QStringLiteral("^(\\d{1,5})x(\\d{1,5})$")).match(size);
    m_size = {match.captured(1).toInt(), match.captured(2).toInt()};
    if (m_size.width() < kLeast || m_size.height() < kLeast || m_size.width() > kMost ||
        m_size.height() > kMost)
        return tr("--size must be a width and a height from %1 to %2, such as 1600x1000, not %3")
            .arg(kLeast)
            .arg(kMost)
            .arg(size);
    if (parser.isSet(QStringLiteral("run"))) {
        bool ok = false;
        m_iterations = parser.value(QStringLiteral("run")).toLongLong(&ok);
        if (!ok || *m_iterations < 1)
            return tr("--run must be a number of iterations, not %1")
                .arg(parser.value(QStringLiteral("run")));
    }
    return {};
}

ExitCode WindowScreenshot::run(MainWindow& window, const QString& file) const {
    QObject::connect(&window.runs(), &RunController::refused, &window,
                     [&](const QString& sentence) { say(file + QStringLiteral(": ") + sentence); });
    window.runs().run(*m_iterations);
    if (!window.runs().isRunning()) {
        for (const Diagnostic& problem : window.document().analysis().diagnostics)
            if (problem.severity == Severity::error) say(toQt(problem.message));
        return ExitCode::graphErrors;
    }
    QEventLoop loop;
    QObject::connect(&window.runs(), &RunController::finished, &loop, &QEventLoop::quit);
    loop.exec();
    if (!window.runs().result()) return ExitCode::runFailed; // it could not start
    for (const StepError& error : window.runs().result()->errors) say(toQt(error.message));
    return window.runs().result()->status == RunStatus::failed ? ExitCode::runFailed : ExitCode::fine;
}

bool WindowScreenshot::save(MainWindow& window) const {
    if (window.grab().save(m_out, "PNG")) return true;
    say(tr("%1 cannot be written").arg(m_out));
    return false;
}

ExitCode WindowScreenshot::take(MainWindow& window, const QString& file) const {
    // A picture has the requested size, even below the window's minimum.
    window.layout()->setSizeConstraint(QLayout::SetNoConstraint);
    window.resize(m_size);
    window.show();
    settle();
    if (file.isEmpty()) {
        window.showStartPage();
        settle();
        return save(window) ? ExitCode::fine : ExitCode::fileError;
    }
    try {
        for (const QString& remark : window.load(file)) say(remark);
    } catch (const Error& error) {
        say(toQt(error.what()));
        return exitCodeOf(error.code());
    }
    if (!m_tab.isEmpty() && !window.bottom().showPage(m_tab)) {
        say(tr("unknown panel %1; the panels are %2")
                .arg(m_tab, window.bottom().keys().join(QStringLiteral(", "))));
        return ExitCode::wrongUsage;
    }
    settle();
    ExitCode exit = ExitCode::fine;
    if (m_iterations) exit = run(window, file);
    if (!m_select.isEmpty() && !window.selectNode(m_select)) {
        say(tr("no node %1, or more than one").arg(m_select));
        return ExitCode::wrongUsage;
    }
    settle();
    return save(window) ? exit : ExitCode::fileError;
}

} // namespace twb
