#include "profile/example_plan.h"
#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/window_hand.h"

#include <QWheelEvent>

using namespace twb;
using namespace twb::test;

namespace {

/// `iterations` iterations of the example plan, back to back: 2 steps on one stream and a copy on another.
std::vector<StepRecord> longRun(std::uint32_t iterations) {
    std::vector<StepRecord> out;
    for (std::uint32_t i = 0; i < iterations; ++i) {
        const std::int64_t t = std::int64_t(i) * 1000;
        const auto done = [&](std::uint32_t step, std::int64_t start, std::int64_t end) {
            out.push_back({step, i, StepState::done, t + start, t + end, 0, step == 1 ? 2560U : 0U});
        };
        done(1, 0, 400);
        done(2, 400, 700);
        done(3, 710, 990);
    }
    return out;
}

struct Shown {
    std::unique_ptr<MainWindow> window = makeWindow();
    TimelinePanel& timeline = *find<TimelinePanel>(*window, "timeline");

    Shown() {
        window->bottom().showPage(QStringLiteral("timeline"));
        QCoreApplication::processEvents();
    }
    /// False if the run did not end.
    bool runDigits(int iterations) {
        window->load(sourcePath(kDigits));
        window->runs().run(iterations);
        const bool ended = waitForRun(*window);
        QCoreApplication::processEvents();
        return ended;
    }
    void wheel(QPoint at, int delta) {
        QWheelEvent event(at, timeline.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&timeline, &event);
    }
    /// The latest record of the node.
    std::uint32_t record(const char* node) const {
        const NodeId id = window->document().graph().findByName(node)->id;
        const TimelineModel& model = timeline.model();
        for (auto i = std::uint32_t(model.records().size()); i-- > 0;)
            if (model.stepOf(i).node == id) return i;
        return kNone;
    }
};

} // namespace

class TestTimeline : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// For any number of events, the number of bars is bounded by the view's width, and the bars cover the
    /// busy time.
    void aMillionEventsAreNoMoreThanPixels() {
        const TimelineModel model(test::examplePlan(), longRun(333'334));
        QVERIFY(model.records().size() >= 1'000'000);
        constexpr double kPixels = 1000;
        for (const double share : {1.0, 0.1, 0.001, 0.00001}) {
            const double span = model.length() * share;
            const double from = model.length() * 0.4 * (1 - share);
            for (const TimelineModel::Layer& layer : model.layers()) {
                const auto shown = model.shown(layer, from, from + span, 4 * span / kPixels);
                QVERIFY2(shown.size() <= std::size_t(kPixels / 2 + 2),
                         qPrintable(QString::number(shown.size())));
                double covered = 0;
                double last = -1;
                for (const auto& bar : shown) {
                    QVERIFY(bar.start >= last); // bars do not overlap
                    last = bar.end;
                    covered += std::min(bar.end, from + span) - std::max(bar.start, from);
                }
                // Lower bounds of busy time: 40 % of the copies' stream, 58 % of the other.
                QVERIFY2(covered >= span * 0.38, qPrintable(QString::number(covered / span)));
            }
        }
        // At a high zoom, each step has its own bar.
        std::size_t single = 0;
        for (const TimelineModel::Layer& layer : model.layers())
            for (const auto& bar : model.shown(layer, 5'000'000, 5'002'000, 8)) single += bar.count;
        QVERIFY2(single >= 6 && single <= 9, qPrintable(QString::number(single)));
        QCOMPARE(model.stepOf(model.at(1, 5'000'500, 1)).index, 2U);
        QCOMPARE(model.at(1, 5'000'200, 1), kNone);
    }

    void criticalPathIsShownAndAddsUp() {
        Shown shown;
        QVERIFY(shown.runDigits(20));
        const QString text = shown.timeline.accessibleDescription();
        QVERIFY2(text.contains(QStringLiteral("modelled")), qPrintable(text));
        int sum = 0;
        const QStringList words = text.split(QLatin1Char(' '));
        for (int i = 1; i < words.size(); ++i)
            if (words[i].startsWith(QLatin1Char('%'))) sum += words[i - 1].toInt();
        QVERIFY2(sum >= 98 && sum <= 102, qPrintable(text));
        QVERIFY(shown.timeline.model().isCritical(shown.record("accuracy")) ||
                shown.timeline.model().isCritical(shown.record("logits_error")) ||
                shown.timeline.model().isCritical(shown.record("largest")) ||
                shown.timeline.model().isCritical(shown.record("share")));
    }

    void theWheelZoomsToSingleStepsAndHomeShowsAll() {
        Shown shown;
        QVERIFY(shown.runDigits(50));
        TimelinePanel& timeline = shown.timeline;
        QVERIFY(timeline.from() > 0); // the last of the recorded iterations
        const std::uint32_t fc2 = shown.record("fc2");
        QVERIFY(fc2 != kNone);
        const QPoint at = timeline.rectOf(fc2).center().toPoint();
        for (int i = 0; i < 40; ++i) shown.wheel(at, 120);
        timeline.grab();
        QVERIFY(timeline.rectOf(fc2).width() > timeline.width() / 3.0);
        QVERIFY2(timeline.tipAt(at).startsWith(QStringLiteral("fc2 on cuda:0 compute: 0.003 ms modelled")),
                 qPrintable(timeline.tipAt(at)));
        QTest::mouseClick(&timeline, Qt::LeftButton, {}, at);
        QCOMPARE(shown.window->document().selection().nodes,
                 (std::set{shown.window->document().graph().findByName("fc2")->id}));
        const double from = timeline.from();
        timeline.setFocus();
        QTest::keyClick(&timeline, Qt::Key_Right);
        QVERIFY(timeline.from() > from);
        QTest::keyClick(&timeline, Qt::Key_Home);
        QCOMPARE(timeline.from(), 0.0);
        QCOMPARE(timeline.to(), timeline.model().length());
        QCOMPARE(timeline.model().records().front().iteration, 0U); // the whole run
    }

    void aDragMovesTheView() {
        Shown shown;
        QVERIFY(shown.runDigits(50));
        TimelinePanel& timeline = shown.timeline;
        const double from = timeline.from();
        const QPoint middle = timeline.rect().center();
        QTest::mousePress(&timeline, Qt::LeftButton, {}, middle);
        for (int x = 20; x <= 100; x += 20) {
            QMouseEvent move(QEvent::MouseMove, middle + QPoint(x, 0),
                             timeline.mapToGlobal(middle + QPoint(x, 0)), Qt::NoButton, Qt::LeftButton, {});
            QApplication::sendEvent(&timeline, &move);
        }
        QTest::mouseRelease(&timeline, Qt::LeftButton, {}, middle + QPoint(100, 0));
        QVERIFY(timeline.from() < from); // shows earlier iterations
    }

    /// After the run, another thread prepares the timeline while the window stays responsive.
    void aLongRunIsLaidOutWhileTheWindowLives() {
        Shown shown;
        GraphMaker g;
        NodeId last = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{1}}});
        for (int i = 0; i < 100; ++i) last = g.node("Neg", "n" + std::to_string(i), "cpu", {}, {last});
        shown.window->document().setGraph(g.graph(), {}, {});
        shown.window->runs().setTimesEachOp(true);
        shown.window->runs().run(4000);
        QVERIFY(waitForRun(*shown.window));
        const std::shared_ptr<const RunFigures> figures = shown.window->runs().sharedFigures();
        QVERIFY2(figures->remembered() >= 400'000, qPrintable(QString::number(figures->remembered())));
        const auto isWhole = [&] { return shown.timeline.model().records().size() >= 400'000; };
        QVERIFY(!isWhole());
        QVERIFY(QTest::qWaitFor(isWhole, 60'000));
        const TimelineModel again(figures->sharedPlan(), figures->recent(RunFigures::kMostRecords));
        QCOMPARE(again.records().size(), shown.timeline.model().records().size());
        // An edit does not rebuild the timeline.
        const StepRecord* records = shown.timeline.model().records().data();
        const auto owners = figures.use_count(); // building another model would add an owner
        Node node = *shown.window->document().graph().findByName("n5");
        node.name = "other";
        DeltaBuilder builder(shown.window->document().graph(), "rename");
        builder.change(node);
        shown.window->document().apply(builder.take());
        QCOMPARE(figures.use_count(), owners);
        QCoreApplication::processEvents();
        QCOMPARE(figures.use_count(), owners);
        QCOMPARE(shown.timeline.model().records().data(), records);
    }

    void userViewStaysDuringTheRun() {
        Shown shown;
        shown.window->load(sourcePath(kDigits));
        shown.window->runContinuously();
        QTRY_VERIFY(!shown.timeline.model().empty());
        shown.wheel(shown.timeline.rect().center(), 240);
        const auto records = shown.timeline.model().records().front().iteration;
        const double to = shown.timeline.to();
        const std::int64_t done = shown.window->runs().done();
        QTRY_VERIFY(shown.window->runs().done() > done + 50);
        QCOMPARE(shown.timeline.model().records().front().iteration, records);
        QCOMPARE(shown.timeline.to(), to);
        shown.window->runs().stop();
        QVERIFY(waitForRun(*shown.window));
    }
};

TWB_GUI_TEST_MAIN(TestTimeline)
#include "test_timeline.moc"
