#include "app/window_screenshot.h"

#include "core/error.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "profile/run_trace.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/thumbnail.h"
#include "widgets/main_window.h"
#include "widgets/project_card.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QBuffer>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QLayout>
#include <QPainter>
#include <QPixmap>
#include <QRegularExpression>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace twb {
namespace {

constexpr int kLeast = 480;
constexpr int kLeastGraph = 16;
const QSize kWindow(1600, 1000); ///< around a graph that is drawn alone
constexpr int kMost = 8192;
constexpr int kLargestThumbnail = 512; ///< of file managers

/// English in every language: scripts read it.
void say(const QString& sentence) { std::fprintf(stderr, "tensor-workbench: %s\n", qPrintable(sentence)); }

/// Processes posted events: layouts, the canvas' first fit, queued replots.
void settle() {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 150) QApplication::processEvents(QEventLoop::AllEvents, 20);
    // On a busy machine, the last events are delivered late, and the layouts that they cause post more
    // events.
    constexpr int kRounds = 10;
    for (int i = 0; i < kRounds; ++i) QApplication::processEvents(QEventLoop::AllEvents, 20);
}

} // namespace

WindowScreenshot::WindowScreenshot(WindowOptions options) : m_options(std::move(options)) {
    static const QRegularExpression size(QStringLiteral("^(\\d{1,5})x(\\d{1,5})$"));
    const auto match = size.match(toQt(m_options.size));
    m_size = {match.captured(1).toInt(), match.captured(2).toInt()};
    const int least = m_options.onlyGraph ? kLeastGraph : kLeast;
    if (m_size.width() < least || m_size.height() < least || m_size.width() > kMost ||
        m_size.height() > kMost)
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("--size must be a width and a height from {} to {}, such as 1600x1000, not {}", least,
                        kMost, m_options.size));
    if (m_options.onlyGraph && m_options.files.empty())
        throw Error(ErrorCode::invalidArgument, "--only-graph needs a FILE");
    if (isWanted() && m_options.files.size() > 1)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--screenshot takes one file, but got {}", m_options.files.size()));
}

void WindowScreenshot::claimPicture(MainWindow& window, const QString& file) const {
    FileClaims claims;
    if (!file.isEmpty()) {
        claims.read(file.toStdString(), "FILE");
        claims.readGraph(window.document().graph(), window.document().folder().toStdString());
    }
    if (!m_options.trace.empty()) claims.read(m_options.trace, "--trace");
    claims.write(m_options.screenshot, "--screenshot");
}

ExitCode WindowScreenshot::run(MainWindow& window, const QString& file) const {
    QObject::connect(&window.runs(), &RunController::refused, &window,
                     [&](const QString& sentence) { say(file + QStringLiteral(": ") + sentence); });
    window.runs().run(*m_options.iterations);
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

ExitCode WindowScreenshot::showTrace(MainWindow& window) const {
    try {
        if (window.runs().show(readRunTrace(m_options.trace), toQt(m_options.trace)).isEmpty())
            return ExitCode::fine;
        say(toQt(m_options.trace) + QStringLiteral(" was recorded from another graph"));
        return ExitCode::fileError;
    } catch (const Error& error) {
        say(toQt(error.what()));
        return exitCodeOf(error.code());
    }
}

ExitCode WindowScreenshot::train(MainWindow& window) const {
    TrainingRun& training = window.training();
    SessionOptions options;
    options.epochs = *m_options.epochs;
    QEventLoop loop;
    QObject::connect(&training, &TrainingRun::stateChanged, &loop, [&] {
        if (training.state() != TrainingRun::State::running) loop.quit();
    });
    try {
        training.start(options);
    } catch (const Error& error) {
        say(toQt(error.what()));
        return exitCodeOf(error.code());
    }
    loop.exec();
    if (training.state() != TrainingRun::State::failed) return ExitCode::fine;
    say(training.error());
    return ExitCode::runFailed;
}

QImage WindowScreenshot::picture(MainWindow& window) const {
    if (!m_options.onlyGraph) return window.grab().toImage();
    Document& document = window.document();
    // A run needs the data, and its times are in the window's own picture.
    std::optional<Thumbnail> plain;
    if (!m_options.iterations)
        plain.emplace(document.graph(), document.analysis(), document.devices(),
                      headerWidthFor(kWindow.width()));
    const CanvasPicture graph = plain ? plain->picture() : window.canvas().picture();
    const QSizeF whole = graph.size();
    // As a whole, headers of the lanes included: CanvasPicture::image() keeps them readable, hence large. At
    // most 100 %, at which small graphs look best.
    const QSizeF most(std::min<double>(m_size.width(), whole.width()),
                      std::min<double>(m_size.height(), whole.height()));
    const QSize size = whole.scaled(most, Qt::KeepAspectRatio).toSize().expandedTo({1, 1});
    const bool isThumbnail = std::max(m_size.width(), m_size.height()) <= kLargestThumbnail;
    if (plain && isThumbnail && size.width() < kReadableZoom * whole.width()) return plain->small(m_size, 1);
    QImage image(size, QImage::Format_ARGB32_Premultiplied);
    image.fill(Theme::current().canvas);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    graph.paint(painter, image.rect());
    return image;
}

bool WindowScreenshot::save(MainWindow& window) const {
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    if (!picture(window).save(&buffer, "PNG")) {
        say(QStringLiteral("%1 cannot be written: there is not enough memory for a picture of this size")
                .arg(toQt(m_options.screenshot)));
        return false;
    }
    try {
        writeFileAtomically(m_options.screenshot, std::string_view(png.constData(), std::size_t(png.size())));
    } catch (const Error& error) {
        say(toQt(error.what()));
        return false;
    }
    return true;
}

ExitCode WindowScreenshot::take(MainWindow& window, const QString& file) const {
    // A picture has the requested size, even below the window's minimum.
    window.layout()->setSizeConstraint(QLayout::SetNoConstraint);
    window.resize(m_options.onlyGraph ? kWindow : m_size);
    window.show();
    settle();
    try {
        if (!file.isEmpty())
            for (const QString& remark : window.load(file)) say(remark);
        claimPicture(window, file);
    } catch (const Error& error) {
        say(toQt(error.what()));
        return exitCodeOf(error.code());
    }
    if (file.isEmpty()) {
        window.showStartPage();
        const QList<ProjectCard*> cards = window.findChildren<ProjectCard*>();
        do settle();
        while (std::any_of(cards.begin(), cards.end(),
                           [](const ProjectCard* card) { return !card->isDrawn(); }));
        return save(window) ? ExitCode::fine : ExitCode::fileError;
    }
    ExitCode exit = ExitCode::fine;
    if (!m_options.trace.empty()) exit = showTrace(window);
    if (!m_options.tab.empty() && !window.bottom().showPage(toQt(m_options.tab))) {
        say(QStringLiteral("unknown panel %1; the panels are %2")
                .arg(toQt(m_options.tab), window.bottom().keys().join(QStringLiteral(", "))));
        return ExitCode::wrongUsage;
    }
    settle();
    if (m_options.iterations && exit == ExitCode::fine) exit = run(window, file);
    if (m_options.epochs && exit == ExitCode::fine) exit = train(window);
    if (!m_options.select.empty() && !window.selectNode(toQt(m_options.select))) {
        say(QStringLiteral("%1 must be the name of exactly one node").arg(toQt(m_options.select)));
        return ExitCode::wrongUsage;
    }
    settle();
    return save(window) ? exit : ExitCode::fileError;
}

} // namespace twb
