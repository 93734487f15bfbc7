// Gestures on a graph of 100,000 nodes in the real window: opening a file, dragging one node and 1,000 nodes,
// watching a run that updates 1,000 nodes per frame, and hit tests. A frame's time is the CPU time of the
// window's thread from the event until its changes are painted. The budgets are 16.7 ms per frame at the 95th
// percentile, 20 µs per hit test, and 2 s for the file. `bench_gestures [NODES]`.
#include "bench/watched_window.h"
#include "formats/project.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/main_window.h"
#include "widgets/theme.h"

#include <QTemporaryDir>

#include <cstdlib>
#include <random>

using namespace twb;
using namespace twb::bench;

namespace {

constexpr double kOpenBudgetMs = 2000;
constexpr double kHitBudgetUs = 20;
constexpr int kFrames = 60;
constexpr std::size_t kMany = 1000;

class Gestures {
public:
    Gestures(Watched& application, MainWindow& window)
        : m_application(application), m_window(window), m_canvas(window.canvas()) {}

    /// Drags into the view and back. `nodes` are selected and dragged by the first of them.
    bool drag(const std::string& what, const std::vector<NodeId>& nodes) {
        Selection selection;
        selection.nodes.insert(nodes.begin(), nodes.end());
        m_window.document().select(selection);
        settle();
        const QPointF start =
            m_canvas.view().toPixel(m_canvas.scene().nodes().find(nodes.front())->rect.center());
        mouse(m_canvas, QEvent::MouseButtonPress, start, Qt::LeftButton, Qt::LeftButton);
        mouse(m_canvas, QEvent::MouseMove, start + QPointF(20, 0), Qt::NoButton, Qt::LeftButton);
        Frames frames(m_application, what);
        for (int i = 0; i < kFrames; ++i)
            frames.take([&] {
                const QPointF at = start + QPointF(20 + i % 7 * 3, i % 11 * 2);
                mouse(m_canvas, QEvent::MouseMove, at, Qt::NoButton, Qt::LeftButton);
            });
        const bool isWithin = frames.report();
        Frames end(m_application, what + ", let go");
        end.take([&] {
            mouse(m_canvas, QEvent::MouseButtonRelease, start + QPointF(20, 10), Qt::LeftButton,
                  Qt::NoButton);
        });
        end.report();
        if (m_window.document().undoStack().undoText().isEmpty()) {
            fmt::print("nothing was moved\n");
            return false;
        }
        m_window.document().undoStack().undo();
        m_window.document().select({});
        return isWithin;
    }

    /// In each frame, `nodes` change their states and times.
    bool update(const std::string& what, const std::vector<NodeId>& nodes) {
        RunState run;
        for (const Node& node : m_window.document().graph().nodes())
            run.nodes.emplace(node.id, NodeRun{StepState::done, 1e6, true, false, {}});
        m_canvas.setRunState(&run);
        Frames frames(m_application, what);
        for (int i = 0; i < kFrames; ++i)
            frames.take([&] {
                for (const NodeId id : nodes) {
                    NodeRun& node = run.nodes[id];
                    node.state = i % 2 ? StepState::done : StepState::running;
                    node.ns = 1e6 + 1e3 * i;
                }
                m_canvas.setRunState(&run);
            });
        m_canvas.setRunState(nullptr);
        return frames.report();
    }

    bool hit(const std::string& what) {
        std::mt19937 random(1);
        const QRectF view = m_canvas.view().viewport();
        std::vector<QPointF> points;
        for (int i = 0; i < 10'000; ++i)
            points.emplace_back(view.left() + view.width() * double(random() % 10'000) / 1e4,
                                view.top() + view.height() * double(random() % 10'000) / 1e4);
        std::size_t found = 0;
        const double start = cpuMs();
        for (const QPointF point : points)
            found +=
                hitTest(m_canvas.scene(), point, m_canvas.view().zoom()).kind != Hit::Kind::nothing ? 1 : 0;
        const double us = (cpuMs() - start) * 1e3 / double(points.size());
        fmt::print("{:<36} {:>5} points  mean   {:>7.2f} µs, {:.0f} % hit something{}\n", what, points.size(),
                   us, 100 * double(found) / double(points.size()), us > kHitBudgetUs ? "  OVER" : "");
        return us <= kHitBudgetUs;
    }

    /// The nodes in the middle of the view or, if there are fewer, those around it, too.
    std::vector<NodeId> middle(std::size_t count) const {
        const QPointF center = m_canvas.view().viewport().center();
        std::vector<std::pair<double, NodeId>> byDistance;
        for (const NodeShape& shape : m_canvas.scene().nodes().shapes()) {
            const QPointF away = shape.rect.center() - center;
            byDistance.emplace_back(away.x() * away.x() + away.y() * away.y(), shape.id);
        }
        std::sort(byDistance.begin(), byDistance.end());
        std::vector<NodeId> out;
        for (std::size_t i = 0; i < std::min(count, byDistance.size()); ++i)
            out.push_back(byDistance[i].second);
        return out;
    }

private:
    Watched& m_application;
    MainWindow& m_window;
    CanvasWidget& m_canvas;
};

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    Watched application(argc, argv);
    const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
    Theme::apply(application, Theme::dark());
    MainWindow window(std::make_shared<const ProfileLibrary>(TWB_SOURCE_DIR "/resources/devices"));
    window.resize(1600, 1000);
    window.show();
    settle();

    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("large.twb"));
    saveProject(test::cardRows(count), path.toStdString());
    QElapsedTimer clock;
    clock.start();
    window.load(path);
    window.grab(); // as the first frame would do
    const double openMs = double(clock.nsecsElapsed()) / 1e6;
    fmt::print("{} nodes, {} edges\n", count, window.document().graph().edgeCount());
    fmt::print("{:<36} {:>35.1f} ms of the clock{}\n", "file opened, to the first frame", openMs,
               openMs > kOpenBudgetMs ? "  OVER" : "");

    bool isWithin = openMs <= kOpenBudgetMs;
    Gestures gestures(application, window);
    for (const bool all : {true, false}) {
        if (all)
            window.canvas().navigator().zoomToFit();
        else
            window.canvas().navigator().zoom100();
        settle(100);
        const std::string where = all ? "all in view" : "100 %";
        isWithin = gestures.hit(where + ", under a point") && isWithin;
        isWithin = gestures.drag(where + ", a node dragged", gestures.middle(1)) && isWithin;
        isWithin = gestures.drag(where + ", 1,000 nodes dragged", gestures.middle(kMany)) && isWithin;
        isWithin = gestures.update(where + ", a run updates 1,000", gestures.middle(kMany)) && isWithin;
    }
    fmt::print("{}\n", isWithin ? "within all budgets" : "OVER a budget");
    return isWithin ? 0 : 1;
}
