// The largest views of a run, driven by mouse and keyboard in the real window: a timeline of 1,000,000 events
// and a ledger of 10,000 edges, during a run and after it. For each gesture, the CPU time of the window's
// thread until its changes are painted; the budget is 16.7 ms at the 95th percentile. `bench_views
// [timeline|ledger]…`; default: both.
#include "bench/watched_window.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "widgets/main_window.h"
#include "widgets/panels/ledger_view.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QWheelEvent>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace twb;
using namespace twb::bench;

namespace {

constexpr std::size_t kEvents = 1'000'000;
constexpr int kEdges = 10'000;

template <class Done> bool waitUntil(Done done, double seconds) {
    QElapsedTimer timer;
    timer.start();
    while (!done() && static_cast<double>(timer.elapsed()) < seconds * 1e3) settle();
    return done();
}

void wheel(QWidget& widget, QPointF at, int delta) {
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&widget, &event);
}

void press(QWidget& widget, int key, const QString& text = {}) {
    for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease}) {
        QKeyEvent event(type, key, Qt::NoModifier, text);
        QApplication::sendEvent(&widget, &event);
    }
}

/// A chain that goes to cuda:0 and back, so that all streams have events.
Graph chain() {
    test::GraphMaker g;
    NodeId last = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
    for (int i = 0; i < 100; ++i) {
        const bool isThere = i / 10 % 2 == 1;
        if (i % 10 == 0 && i > 0)
            last = g.node("To", fmt::format("to{}", i), isThere ? "cuda:0" : "cpu", {}, {last});
        last = g.node("Neg", fmt::format("n{}", i), isThere ? "cuda:0" : "cpu", {}, {last});
    }
    return g.graph();
}

/// In a row, each above the lane of its tensor's target.
Graph transfers() {
    test::GraphMaker g;
    for (int i = 0; i < kEdges; ++i) {
        const NodeId x =
            g.node("Ones", fmt::format("x{}", i), "cpu", {{"shape", std::vector<std::int64_t>{1 + i % 64}}});
        g.node("To", fmt::format("to_x{}", i), "cuda:0", {}, {x});
    }
    Graph graph = g.graph();
    DeltaBuilder builder(graph, "set");
    int placed = 0;
    for (const Node& node : g.graph().nodes()) {
        Node there = node;
        there.position = {16.0 + 200.0 * (placed / 2), 16.0};
        ++placed;
        builder.change(there);
    }
    graph.apply(builder.take());
    return graph;
}

bool benchTimeline(Watched& application, MainWindow& window) {
    window.bottom().showPage(QStringLiteral("log"));
    window.document().setGraph(chain(), {}, {});
    const std::size_t steps = 109;
    window.runs().run(std::int64_t(kEvents / steps + 100));
    if (!waitUntil([&] { return !window.runs().isRunning(); }, 300)) return false;
    auto& timeline = *window.findChild<TimelinePanel*>(QStringLiteral("timeline"));
    Frames first(application, "timeline, shown, laid out beside it");
    const auto isWhole = [&] { return timeline.model().records().size() + 2 * steps > kEvents; };
    first.take([&] { window.bottom().showPage(QStringLiteral("timeline")); });
    while (!isWhole()) first.take([] {});
    fmt::print("{} events of {} streams in the timeline\n", timeline.model().records().size(),
               timeline.model().streams().size());
    bool isWithin = first.report();
    const QPointF middle = QRectF(timeline.rect()).center();
    Frames in(application, "timeline, wheel from all to one step");
    Frames out(application, "timeline, wheel back to all");
    Frames pan(application, "timeline, drags at every depth");
    Frames hover(application, "timeline, pointer over it");
    Frames select(application, "timeline, a click that selects");
    timeline.setFocus();
    for (int place = 0; place < 3; ++place) {
        const QPointF at = middle + QPointF((place - 1) * 240, 0);
        press(timeline, Qt::Key_Home);
        int zooms = 0;
        while (timeline.to() - timeline.from() > 1000 && zooms < 200) {
            in.take([&] { wheel(timeline, at, 120); });
            if (++zooms % 8) continue;
            mouse(timeline, QEvent::MouseButtonPress, middle, Qt::LeftButton, Qt::LeftButton);
            for (int i = 1; i <= 12; ++i)
                pan.take([&] {
                    mouse(timeline, QEvent::MouseMove, middle + QPointF(20 * i, 0), Qt::NoButton,
                          Qt::LeftButton);
                });
            mouse(timeline, QEvent::MouseButtonRelease, middle + QPointF(240, 0), Qt::LeftButton,
                  Qt::NoButton);
            for (int i = 0; i < 8; ++i)
                hover.take([&] {
                    mouse(timeline, QEvent::MouseMove, middle + QPointF(9 * i, 3 * i), Qt::NoButton,
                          Qt::NoButton);
                });
            // The bar at that position, which shows one step or many.
            for (int i = 0; i < 4; ++i)
                select.take([&] { click(timeline, {300.0 + 131 * i, 26 + 20.0 + 36 * (i % 2)}); });
        }
        for (; zooms > 0; --zooms) out.take([&] { wheel(timeline, at, -120); });
    }
    for (Frames* frames : {&in, &out, &pan, &hover, &select}) isWithin = frames->report() && isWithin;
    return isWithin;
}

/// During a run, the CPU time of all events of the window's thread from one frame to the next.
Frames framesOfRun(Watched& application, MainWindow& window, const std::string& what) {
    Frames frames(application, what);
    window.runContinuously();
    waitUntil([&] { return window.runs().done() > 2; }, 120);
    application.takeMs();
    const auto connection = QObject::connect(&window.runs(), &RunController::frame, &window,
                                             [&] { frames.add(application.takeMs()); });
    settle(5'000);
    QObject::disconnect(connection);
    window.runs().stop();
    waitUntil([&] { return !window.runs().isRunning(); }, 120);
    return frames;
}

bool benchLedger(Watched& application, MainWindow& window) {
    window.bottom().showPage(QStringLiteral("transfers"));
    window.document().setGraph(transfers(), {}, {});
    settle(500);
    window.canvas().navigator().zoom100(); // bench_canvas covers the canvas at low zoom
    settle(200);
    auto& whole = *window.findChild<QPushButton*>(QStringLiteral("wholeLedger"));
    auto& table = *window.findChild<LedgerView*>(QStringLiteral("ledgerTable"));
    auto& filter = *window.findChild<QLineEdit*>(QStringLiteral("ledgerFilter"));
    bool isWithin = framesOfRun(application, window, "ledger beside the plot, during a run").report();
    click(whole, QRectF(whole.rect()).center());
    settle(200);
    isWithin = framesOfRun(application, window, "whole ledger, during a run").report() && isWithin;
    fmt::print("{} rows in the ledger\n", table.model()->rowCount());
    Frames scroll(application, "whole ledger, wheel");
    Frames jump(application, "whole ledger, to another place");
    Frames sort(application, "whole ledger, a click on a column's head");
    Frames type(application, "whole ledger, a letter in the filter");
    Frames select(application, "whole ledger, a click on a row");
    QWidget& cells = *table.viewport();
    for (int i = 0; i < 100; ++i) scroll.take([&] { wheel(cells, {200, 60}, -240); });
    for (int i = 0; i < 40; ++i)
        jump.take([&] {
            table.verticalScrollBar()->setValue(table.verticalScrollBar()->maximum() * (i * 7 % 40) / 40);
        });
    for (int i = 0; i < 20; ++i) select.take([&] { click(cells, {300.0, 20.0 + 24 * (i % 4)}); });
    QHeaderView& head = *table.horizontalHeader();
    for (const int column : {0, 1, 3, 7, 9, 10})
        for (int i = 0; i < 3; ++i)
            sort.take([&] {
                click(*head.viewport(), {head.sectionViewportPosition(column) + 12.0, head.height() / 2.0});
            });
    filter.setFocus();
    for (const char letter : std::string("x12 explicit")) {
        const QString text = QString(QLatin1Char(letter));
        type.take([&] { press(filter, 0, text); });
    }
    for (int i = 0; i < 12; ++i) type.take([&] { press(filter, Qt::Key_Backspace); });
    for (Frames* frames : {&scroll, &jump, &select, &sort, &type}) isWithin = frames->report() && isWithin;
    return isWithin;
}

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    Watched application(argc, argv);
    Theme::apply(application, Theme::dark());
    MainWindow window(std::make_shared<const ProfileLibrary>(TWB_SOURCE_DIR "/resources/devices"));
    window.resize(1600, 1000);
    window.show();
    const std::vector<std::string> wanted(argv + 1, argv + argc);
    const auto wants = [&](const char* what) {
        return wanted.empty() || std::find(wanted.begin(), wanted.end(), what) != wanted.end();
    };
    bool isWithin = true;
    if (wants("timeline")) isWithin = benchTimeline(application, window) && isWithin;
    if (wants("ledger")) isWithin = benchLedger(application, window) && isWithin;
    fmt::print("{}\n", isWithin ? "within 16.7 ms" : "OVER 16.7 ms");
    return isWithin ? 0 : 1;
}
