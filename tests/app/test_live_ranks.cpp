#include "app/ranks.h"
#include "profile/run_events.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

/// What a run on several ranks tells of them while it goes on.
class TestLiveRanks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theEventsTellOfAllRanksDuringTheRun_data() {
        QTest::addColumn<int>("launcher");
        const std::vector<MpiLauncher> all = mpiLaunchers();
        for (std::size_t i = 0; i < all.size(); ++i) QTest::newRow(qPrintable(all[i].id)) << int(i);
        if (all.empty()) QTest::newRow("none") << -1;
    }
    void theEventsTellOfAllRanksDuringTheRun() {
        QFETCH(const int, launcher);
        if (launcher < 0) QSKIP("no launcher of MPI, or no plugin for it");
        const MpiLauncher mpi = mpiLaunchers()[std::size_t(launcher)];
        const Program twb;
        GraphMaker maker = longGraph();
        maker.node("AllReduce", "sum", "cpu", {}, {maker.graph().findByName("b")->id});
        twb.save("g.twb", maker);
        Job job(twb, mpi, 2, {"run", "g.twb", "--iterations", "1000000", "--events", "events"});
        StreamedRun run;
        QByteArray rest;
        qint64 at = 0;
        const auto isShown = [&] {
            QFile file(twb.file("events"));
            if (!file.open(QIODevice::ReadOnly) || !file.seek(at)) return false;
            rest += file.readAll();
            at = file.pos();
            for (qsizetype end = 0; (end = rest.indexOf('\n')) >= 0; rest.remove(0, end + 1))
                run.read(std::string_view(rest.constData(), std::size_t(end)));
            const std::vector<LiveRank>& ranks = run.liveRanks();
            return ranks.size() == 2 && slowestOf(ranks) >= 0 && !ranks[0].node.empty() &&
                   !ranks[1].node.empty();
        };
        QTRY_VERIFY2_WITH_TIMEOUT(isShown() || !job.isRunning(), "not shown", 120'000);
        if (!job.isRunning()) QFAIL(qPrintable(job.wait().err));
        for (const LiveRank& rank : run.liveRanks())
            QVERIFY(rank.pace.iterationNs > 0 && rank.pace.iterations > 0 && rank.pace.waitNs >= 0);
        // A later line has later figures.
        const double before = run.liveRanks()[0].pace.iterations;
        QTRY_VERIFY2_WITH_TIMEOUT((isShown(), run.liveRanks()[0].pace.iterations > before), "not followed",
                                  120'000);
    } // ends the job
};

TWB_TEST_MAIN(TestLiveRanks)
#include "test_live_ranks.moc"
