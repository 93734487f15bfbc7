#include "backends/mpi_world.h"
#include "profile/example_plan.h"
#include "profile/rank_pulse.h"
#include "support/rank_trace.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

class TestRankPulse : public QObject {
    Q_OBJECT

private:
    RankJob m_job;
    std::shared_ptr<const Plan> m_plan;

    /// Two ranks after so many iterations each.
    std::vector<LiveRank> after(std::uint32_t first, std::uint32_t second) const {
        std::vector<std::unique_ptr<RankPulse>> pulses;
        std::vector<const RankPulse*> all;
        for (int rank = 0; rank < 2; ++rank) {
            pulses.push_back(std::make_unique<RankPulse>());
            all.push_back(pulses.back().get());
            RankPulseWriter writer(*pulses.back(), *m_plan);
            writer.started(1'000'000);
            const std::uint32_t iterations = rank == 0 ? first : second;
            for (std::uint32_t i = 0; i < iterations; ++i) {
                writer.add(m_job.records(*m_plan, rank, i));
                writer.progress(i + 1);
            }
        }
        return liveRanks(all);
    }

private Q_SLOTS:
    void initTestCase() {
        const auto worlds = makeThreadWorlds(2);
        m_plan = m_job.plan(worlds[0]);
    }

    void theRankThatTheOthersWaitForIsTheSlowest_data() {
        QTest::addColumn<std::uint32_t>("first");
        QTest::addColumn<std::uint32_t>("second");
        QTest::newRow("one iteration") << 1U << 1U;
        QTest::newRow("several") << 20U << 20U;
        QTest::newRow("a rank is ahead") << 20U << 19U;
        QTest::newRow("more than are remembered") << 10'000U << 9'999U;
    }
    void theRankThatTheOthersWaitForIsTheSlowest() {
        QFETCH(const std::uint32_t, first);
        QFETCH(const std::uint32_t, second);
        const std::vector<LiveRank> ranks = after(first, second);
        QCOMPARE(ranks.size(), std::size_t(2));
        for (const LiveRank& rank : ranks) {
            QVERIFY(rank.isKnown && rank.hasWait && !rank.pace.isModelled);
            // The last iteration has no gap after it.
            const double count = std::min(rank.pace.iterations, 32.0);
            QVERIFY2(std::abs(rank.pace.iterationNs - 5000) <= 1000 / count + 1e-6,
                     qPrintable(QString::number(rank.pace.iterationNs)));
        }
        QCOMPARE(ranks[0].pace.iterations, double(first));
        QCOMPARE(ranks[1].pace.iterations, double(second));
        QCOMPARE(ranks[0].pace.waitNs, 2000.0);
        QCOMPARE(ranks[1].pace.waitNs, 0.0);
        QCOMPARE(slowestOf(ranks), 1);
    }

    void aRankThatHasNotStartedIsNotKnown() {
        const std::vector<LiveRank> ranks = after(3, 0);
        QVERIFY(ranks[0].isKnown && !ranks[1].isKnown);
        QVERIFY(!ranks[0].hasWait);
        QCOMPARE(slowestOf(ranks), -1);
    }

    void waitsForARankElsewhereAreNotKnown() {
        RankPulse own;
        RankPulseWriter writer(own, *m_plan);
        writer.started(0);
        writer.add(m_job.records(*m_plan, 0, 0));
        writer.progress(1);
        const RankPulse* ranks[] = {&own, nullptr};
        const std::vector<LiveRank> now = liveRanks(ranks);
        QCOMPARE(now.size(), std::size_t(2));
        QVERIFY(now[0].isKnown && !now[0].hasWait && !now[1].isKnown);
        QCOMPARE(slowestOf(now), -1);
    }

    /// It tells its figures, but its arrivals are on another clock.
    void aRankElsewhereHasAPaceAndNoWait() {
        RankPulse own;
        RankPulse there;
        for (RankPulse* pulse : {&own, &there}) {
            RankPulseWriter writer(*pulse, *m_plan);
            writer.started(0);
            writer.add(m_job.records(*m_plan, 0, 0));
            writer.progress(1);
        }
        const RankPulse* ranks[] = {&own, nullptr};
        std::vector<LiveRank> now = liveRanks(ranks);
        now[1] = liveRank("sum", there.figures());
        QVERIFY(now[1].isKnown && !now[0].hasWait && !now[1].hasWait);
        QCOMPARE(now[1].node, std::string("sum"));
        QCOMPARE(now[1].pace.iterations, 1.0);
        QCOMPARE(now[1].pace.iterationNs, now[0].pace.iterationNs);
        QVERIFY(now[1].pace.iterationNs > 0);
        QCOMPARE(slowestOf(now), -1);
        QVERIFY(!liveRank("", {}).isKnown);
    }

    /// Ranks wait in real time.
    void modelledTimesHaveNoWaits() {
        const std::shared_ptr<Plan> plan = examplePlan();
        RankPulse own;
        RankPulseWriter writer(own, *plan);
        writer.started(0);
        writer.add(std::vector{StepRecord{2, 0, StepState::done, 10, 50, {}, 0}});
        writer.progress(1);
        const RankPulse* ranks[] = {&own};
        const std::vector<LiveRank> now = liveRanks(ranks);
        QVERIFY(now[0].pace.isModelled && now[0].isKnown && !now[0].hasWait);
        QCOMPARE(now[0].pace.iterationNs, 40.0);
        QCOMPARE(slowestOf(now), -1);
    }

    void aLongNameIsCut() {
        RankPulse pulse;
        QCOMPARE(pulse.node(), std::string());
        pulse.setNode(std::string(1000, 'x'));
        QCOMPARE(pulse.node(), std::string(159, 'x'));
        pulse.setNode("sum");
        QCOMPARE(pulse.node(), std::string("sum"));
    }

    void endedRanksHaveTheirSlowest() {
        const std::vector<LiveRank> ranks = endedRanks({{5000, 3, 20, 2000}, {5000, 3, 20, 0}});
        QCOMPARE(slowestOf(ranks), 1);
        QCOMPARE(slowestOf(endedRanks({{5000, 3, 20, 0, true}, {5000, 3, 20, 0}})), -1);
        QCOMPARE(slowestOf({}), -1);
    }
};

TWB_TEST_MAIN(TestRankPulse)
#include "test_rank_pulse.moc"
