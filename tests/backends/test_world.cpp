#include "backends/launcher.h"
#include "backends/mpi_world.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twb;
using namespace twb::test;

namespace {

Collective callOf(CollectiveKind kind, const std::vector<double>& source, std::vector<double>& target,
                  std::int64_t count, Reduction reduction = Reduction::sum, int peer = 0) {
    return {kind, reduction, DType::f64, source.data(), target.data(), count, peer, "test"};
}

Launcher launcherOf(const std::map<std::string, std::string>& variables) {
    return launcherIn([&](const char* name) -> const char* {
        const auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
    });
}

/// A rank whose first messages come late, each one later than the one before.
class LateWorld final : public World {
public:
    LateWorld(std::shared_ptr<World> inner, int lateMessages)
        : World(inner->info()), m_inner(std::move(inner)), m_late(lateMessages) {}
    ~LateWorld() override { stopThread(); }
    using World::alignClocks;

    int messages = 0;

protected:
    void perform(const Collective& call) override {
        if (messages < m_late) std::this_thread::sleep_for(std::chrono::microseconds(5000 + 500 * messages));
        ++messages;
        m_inner->run(call);
    }
    void interrupt(int) noexcept override { m_inner->abort(abortSentence()); }

private:
    std::shared_ptr<World> m_inner;
    int m_late;
};

} // namespace

class TestWorld : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// The ranks of a process have one clock, so the offset is the error.
    void theErrorOfTheClocksIsBounded_data() {
        QTest::addColumn<int>("late");
        for (const int late : {0, 20, 1000}) QTest::newRow(qPrintable(QString::number(late))) << late;
    }
    void theErrorOfTheClocksIsBounded() {
        QFETCH(const int, late);
        std::array<std::int64_t, 3> offsets{};
        std::array<std::int64_t, 3> errors{};
        std::array<int, 3> messages{};
        const auto failures = onRanks(3, [&](const std::shared_ptr<World>& inner) {
            LateWorld world(inner, inner->rank() == 0 ? late : 0);
            world.alignClocks();
            const auto r = static_cast<std::size_t>(world.rank());
            offsets[r] = world.clockOffsetNs();
            errors[r] = world.clockErrorNs();
            messages[r] = world.messages;
            world.run({});
        });
        QCOMPARE(failures, std::vector<std::string>(3));
        QCOMPARE(errors[0], 0);
        QCOMPARE(messages[0], messages[1] + messages[2]); // no message is left over
        for (const std::size_t r : {std::size_t{1}, std::size_t{2}}) {
            QVERIFY2(errors[r] > 0 && std::abs(offsets[r]) <= errors[r],
                     qPrintable(QStringLiteral("%1 > %2").arg(offsets[r]).arg(errors[r])));
            QVERIFY(messages[r] >= 2 * 8 && messages[r] <= 2 * 64);
        }
        // The first exchanges are late, so more are made than the least number.
        if (late > 0) QVERIFY(messages[1] > 2 * 8);
        // None of the later exchanges of a slow link is shorter than the first, so few are made.
        if (late == 1000) QVERIFY(messages[1] < 2 * 64 && messages[2] < 2 * 64);
    }

    void everyCallGivesItsResult_data() {
        QTest::addColumn<int>("ranks");
        for (int n = 1; n <= 4; ++n) QTest::newRow(qPrintable(QString::number(n))) << n;
    }
    void everyCallGivesItsResult() {
        QFETCH(const int, ranks);
        const auto n = static_cast<std::size_t>(ranks);
        std::vector<std::map<std::string, std::vector<double>>> results(n);
        const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
            const int r = world->rank();
            auto& mine = results[static_cast<std::size_t>(r)];
            const std::vector<double> own{1.0 + r, 10.0 * r};
            std::vector<double> wide(2 * n);
            std::iota(wide.begin(), wide.end(), 100.0 * r);
            const auto run = [&](const char* name, CollectiveKind kind, const std::vector<double>& source,
                                 std::size_t results, std::int64_t count, Reduction how = Reduction::sum,
                                 int peer = 0) {
                mine[name].assign(results, -1);
                world->run(callOf(kind, source, mine[name], count, how, peer));
            };
            run("sum", CollectiveKind::allReduce, own, 2, 2);
            run("mean", CollectiveKind::allReduce, own, 2, 2, Reduction::mean);
            run("max", CollectiveKind::allReduce, own, 2, 2, Reduction::max);
            run("last's", CollectiveKind::broadcast, own, 2, 2, Reduction::sum, ranks - 1);
            run("at last", CollectiveKind::reduce, own, 2, 2, Reduction::sum, ranks - 1);
            run("all", CollectiveKind::allGather, own, 2 * n, 2);
            run("part", CollectiveKind::reduceScatter, wide, 2, 2);
            world->run({});
            if (ranks > 1 && r == 0) run("sent", CollectiveKind::send, own, 2, 2, Reduction::sum, 1);
            if (ranks > 1 && r == 1) run("received", CollectiveKind::receive, own, 2, 2, Reduction::sum, 0);
        });
        QCOMPARE(errors, std::vector<std::string>(n));
        const double last = ranks - 1;
        const double sum0 = ranks * (ranks + 1) / 2.0;
        const double sum1 = 10 * ranks * last / 2;
        using Values = std::vector<double>;
        for (std::size_t r = 0; r < n; ++r) {
            QCOMPARE(results[r]["sum"], (Values{sum0, sum1}));
            QCOMPARE(results[r]["mean"], (Values{sum0 / ranks, sum1 / ranks}));
            QCOMPARE(results[r]["max"], (Values{1 + last, 10 * last}));
            QCOMPARE(results[r]["last's"], (Values{1 + last, 10 * last}));
            const bool isRoot = r + 1 == n;
            QCOMPARE(results[r]["at last"], isRoot ? (Values{sum0, sum1}) : (Values{-1, -1}));
            Values all;
            for (std::size_t other = 0; other < n; ++other) {
                all.push_back(1 + static_cast<double>(other));
                all.push_back(10 * static_cast<double>(other));
            }
            QCOMPARE(results[r]["all"], all);
            const double base = 100 * ranks * last / 2 + ranks * 2 * static_cast<double>(r);
            QCOMPARE(results[r]["part"], (Values{base, base + ranks}));
        }
        if (ranks > 1) QCOMPARE(results[1]["received"], (Values{1, 0}));
    }

    /// 16-bit floats are added in f32: 1 and four times a half of the last place of 1 give more than 1.
    void halvesAreAddedInF32() {
        std::vector<float> results(4);
        onRanks(4, [&](const std::shared_ptr<World>& world) {
            const Half own(world->rank() == 0 ? 1.0F : 0x1p-11F);
            Half sum;
            world->run({CollectiveKind::allReduce, Reduction::sum, DType::f16, &own, &sum, 1, 0, "half"});
            results[static_cast<std::size_t>(world->rank())] = static_cast<float>(sum);
        });
        QCOMPARE(results, std::vector<float>(4, 1 + 0x1p-9F)); // 3 · 2⁻¹¹ rounds up
    }

    /// Three codes of four bits are two bytes, so the part of each rank begins at a byte of its own.
    void narrowDTypesAreMovedAsBytes() {
        using Bytes = std::vector<std::uint8_t>;
        std::vector<Bytes> gathered(2);
        std::vector<Bytes> sent(2);
        std::vector<std::vector<CollectiveLog>> logs(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto r = static_cast<std::size_t>(world->rank());
            const Bytes own = r == 0 ? Bytes{0x21, 0x03} : Bytes{0x54, 0x06};
            gathered[r].assign(4, 0xff);
            world->run({CollectiveKind::allGather, Reduction::sum, DType::i4, own.data(), gathered[r].data(),
                        3, 0, "all"});
            sent[r].assign(2, 0xff);
            world->run({CollectiveKind::broadcast, Reduction::sum, DType::u4, own.data(), sent[r].data(), 3,
                        1, "rank 1's"});
            logs[r] = world->log();
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        for (std::size_t r = 0; r < 2; ++r) {
            QCOMPARE(gathered[r], (Bytes{0x21, 0x03, 0x54, 0x06}));
            QCOMPARE(sent[r], (Bytes{0x54, 0x06}));
            QCOMPARE(logs[r].at(0).bytes, 4U);
            QCOMPARE(logs[r].at(1).bytes, 2U);
        }
    }

    void onlyNumbersAreReduced() {
        for (const DType dtype : kAllDTypes) {
            const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
                const std::array<std::uint64_t, 2> own{};
                std::array<std::uint64_t, 2> sum{};
                world->run(
                    {CollectiveKind::allReduce, Reduction::sum, dtype, own.data(), sum.data(), 2, 0, "sum"});
            });
            const std::string wanted =
                isFloating(dtype) || isInteger(dtype)
                    ? std::string()
                    : std::string(name(dtype)) + " cannot be reduced over ranks; cast it to a number first";
            QCOMPARE(errors, std::vector<std::string>(2, wanted));
        }
    }

    void textsAreGatheredAtTheFirstRank() {
        std::string large; // more than one message
        large.resize(40'000'000, 'x');
        std::vector<std::vector<std::string>> texts(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            const auto r = static_cast<std::size_t>(world->rank());
            texts[r] = gatherTexts(*world, r == 2 ? large : r == 1 ? "" : "zero", "texts");
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        QVERIFY(texts[0] == (std::vector<std::string>{"zero", "", large}));
        QVERIFY(texts[1].empty() && texts[2].empty());
        // The other ranks of a simulated world do not exist.
        QCOMPARE(gatherTexts(*makeSimulatedWorld("4:pcie"), "own", "texts"), std::vector<std::string>{"own"});
    }

    void allRanksGetTheTextsOfAll() {
        std::vector<std::vector<std::string>> texts(3);
        std::vector<std::vector<std::string>> none(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            const auto r = static_cast<std::size_t>(world->rank());
            texts[r] = shareTexts(*world, r == 2 ? "the longest" : r == 1 ? "" : "zero", "texts");
            none[r] = shareTexts(*world, "", "nothing");
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        for (std::size_t r = 0; r < 3; ++r) {
            QVERIFY(texts[r] == (std::vector<std::string>{"zero", "", "the longest"}));
            QVERIFY(none[r] == std::vector<std::string>(3));
        }
        QCOMPARE(shareTexts(*makeSimulatedWorld("4:pcie"), "own", "texts"), std::vector<std::string>{"own"});
    }

    void callsAreKnownByTheirOps() {
        QCOMPARE(collectiveKindOf("AllGather"), CollectiveKind::allGather);
        QCOMPARE(collectiveKindOf("SendReceive"), CollectiveKind::send);
        QVERIFY(!collectiveKindOf("Send") && !collectiveKindOf("Add"));
    }

    void callsGoOnWhileOthersAreQueued() {
        std::vector<double> sums(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const double one = 1;
            std::vector<double> results(100);
            std::vector<std::uint64_t> tickets;
            for (double& result : results)
                tickets.push_back(world->start(
                    {CollectiveKind::allReduce, Reduction::sum, DType::f64, &one, &result, 1, 0, "queued"}));
            for (const std::uint64_t ticket : tickets) world->wait(ticket);
            sums[static_cast<std::size_t>(world->rank())] =
                std::accumulate(results.begin(), results.end(), 0.0);
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(sums, (std::vector<double>{200, 200}));
    }

    void differentCallsAreAnErrorOfAllRanks() {
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            const std::vector<double> own{1, 2};
            std::vector<double> out(2);
            world->run(callOf(CollectiveKind::allReduce, own, out, world->rank() == 2 ? 1 : 2));
        });
        for (const std::string& error : errors)
            QCOMPARE(error,
                     std::string(
                         "rank 0 calls AllReduce of 2 elements in \"test\", but rank 2 calls AllReduce of 1 "
                         "in \"test\"; all ranks must run the same graph"));
    }

    void anAbortEndsAllWaits() {
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            if (world->rank() == 1) {
                world->abort("rank 1 failed: no disk");
                throw Error(ErrorCode::failed, "no disk");
            }
            world->run({});
        });
        QCOMPARE(errors,
                 (std::vector<std::string>{"rank 1 failed: no disk", "no disk", "rank 1 failed: no disk"}));
    }

    void aRankThatLeavesEndsTheWaitsOfTheOthers() {
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            if (world->rank() == 0) throw Error(ErrorCode::failed, "gone");
            world->run({});
        });
        QCOMPARE(errors[1], std::string("rank 0 has left the run"));
    }

    void theLogCountsCallsAndBytes() {
        std::vector<CollectiveLog> log;
        std::vector<CollectiveWait> waits;
        onRanks(4, [&](const std::shared_ptr<World>& world) {
            const std::vector<double> own(8, 1);
            std::vector<double> out(32);
            for (int i = 0; i < 3; ++i) {
                if (world->rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
                world->run(callOf(CollectiveKind::allReduce, own, out, 8));
            }
            world->run(callOf(CollectiveKind::allGather, own, out, 8));
            std::vector<CollectiveLog> rows = world->log();
            const std::vector<CollectiveWait> found = findWaits(*world, rows);
            if (world->rank() != 0) return;
            log = rows;
            waits = found;
        });
        QCOMPARE(log.size(), 2U);
        QCOMPARE(log[0].calls, 3U);
        QCOMPARE(log[0].bytes, 3U * 64);
        QCOMPARE(log[1].bytes, 256U);
        QCOMPARE(wireBytes(CollectiveKind::allReduce, 64, 4), 96U);
        QCOMPARE(wireBytes(CollectiveKind::allGather, 256, 4), 192U);
        QCOMPARE(wireBytes(CollectiveKind::allReduce, 64, 1), 0U);
        QCOMPARE(waits[0].rank, 2);
        QCOMPARE(waits[0].counted, 3U);
        QVERIFY(waits[0].ownNs >= 300'000'000);
    }

    /// The times of a link, by hand.
    void aLinkTakesTheTimesOfItsModel() {
        LinkProfile link{"test", "Test", 1000, 2, LinkProfile::Algorithm::ring, ""};
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8000, 4), 6 * 1000 + 1.5 * 4000);
        link.algorithm = LinkProfile::Algorithm::tree;
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8000, 4), 4 * (1000 + 4000.0));
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8000, 5), 6 * (1000 + 4000.0));
        link.algorithm = LinkProfile::Algorithm::best;
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8, 4), 4 * (1000 + 4.0));
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8000000, 4), 6 * 1000 + 1.5 * 4000000);
        QCOMPARE(link.timeNs(CollectiveKind::allGather, 8000, 4), 3 * 1000 + 0.75 * 4000);
        QCOMPARE(link.timeNs(CollectiveKind::barrier, 0, 4), 4000.0);
        QCOMPARE(link.timeNs(CollectiveKind::allReduce, 8000, 1), 0.0);
    }

    void aSimulatedWorldIsNamedByItsText() {
        const auto world = makeSimulatedWorld("4:nvlink");
        QCOMPARE(world->info().name, std::string("simulated NVLink 4"));
        QCOMPARE(world->size(), 4);
        QCOMPARE(world->predictNs(CollectiveKind::allReduce, 450'000'000), 6 * 3000 + 1.5e6);
        const std::vector<double> own{1, 2};
        std::vector<double> out(8);
        world->run(callOf(CollectiveKind::allReduce, own, out, 2));
        QCOMPARE(out[1], 8.0);
        world->run(callOf(CollectiveKind::allReduce, own, out, 2, Reduction::mean));
        QCOMPARE(out[1], 2.0);
        // The user's own link.
        const auto mine = makeSimulatedWorld("4:30us,2.5GB/s:ring");
        QCOMPARE(mine->info().name, std::string("simulated link of 30 µs and 2.5 GB/s"));
        QCOMPARE(mine->predictNs(CollectiveKind::allReduce, 1000), 6 * 30000 + 1.5 * 400);
        for (const char* bad :
             {"", "4", "1:nvlink", "4:wifi", "x:pcie", "4:pcie:star", "-4:pcie", "4:30us", "4:30us,0GB/s",
              "4:-1us,2GB/s", "4:30us,2GB/s,", "4:30ms,2GB/s", "4:infus,2GB/s", "4:30us,nanGB/s"})
            QVERIFY2(refusal([&] { makeSimulatedWorld(bad); }).contains("write simulated:RANKS:LINK"), bad);
    }

    void aLauncherIsKnownByItsVariables() {
        QCOMPARE(launcherOf({}).name, std::string());
        QCOMPARE(launcherOf({}).size, 1);
        const Launcher open = launcherOf({{"OMPI_COMM_WORLD_SIZE", "4"},
                                          {"OMPI_COMM_WORLD_RANK", "3"},
                                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
        QCOMPARE(open.mpi, std::string("openmpi"));
        QCOMPARE((std::array{open.rank, open.size, open.localRank, open.localSize}),
                 (std::array{3, 4, 1, 2}));
        const Launcher mpich = launcherOf({{"PMI_SIZE", "3"}, {"PMI_RANK", "2"}, {"MPI_LOCALNRANKS", "3"}});
        QCOMPARE(mpich.mpi, std::string("mpich"));
        QCOMPARE((std::array{mpich.rank, mpich.size, mpich.localSize}), (std::array{2, 3, 3}));
        const Launcher slurm = launcherOf({{"SLURM_STEP_NUM_TASKS", "11"},
                                           {"SLURM_PROCID", "9"},
                                           {"SLURM_LOCALID", "1"},
                                           {"SLURM_NODEID", "2"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}});
        QCOMPARE(slurm.name, std::string("srun"));
        QCOMPARE((std::array{slurm.rank, slurm.size, slurm.localRank, slurm.localSize}),
                 (std::array{9, 11, 1, 3}));
        // A batch script outside of srun is one process.
        QCOMPARE(launcherOf({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).size, 1);
        QCOMPARE(launcherOf({{"OMPI_COMM_WORLD_SIZE", "four"}}).size, 1);
    }

    /// Open MPI 4 binds few ranks to a core each, unless the user has said how to bind them.
    void aBindingThatNobodyAskedForIsKnown() {
        using Variables = std::map<std::string, std::string>;
        const auto binds = [](Variables more) {
            more.insert({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}});
            return launcherOf(more).bindsUnasked;
        };
        const auto bound = std::pair("OMPI_MCA_orte_bound_at_launch", "1");
        QVERIFY(!binds({}));
        QVERIFY(binds({bound}));
        QVERIFY(binds({bound, {"OMPI_MCA_rmaps_base_mapping_policy", "node"}}));
        QVERIFY(!binds({bound, {"OMPI_MCA_rmaps_base_mapping_policy", "slot:PE=2"}}));
        QVERIFY(!binds({bound, {"OMPI_MCA_hwloc_base_binding_policy", "core"}}));
        QVERIFY(!binds({bound, {"OMPI_MCA_hwloc_base_cpu_list", "0,1"}}));
        QVERIFY(!launcherOf({{"PMI_SIZE", "2"}, bound}).bindsUnasked);
    }

    /// Also of one whose number of threads the user has chosen.
    void aRankThatIsBoundUnaskedGetsTheCoresOfItsLauncher_data() {
        QTest::addColumn<QByteArray>("threads");
        QTest::newRow("no number") << QByteArray();
        QTest::newRow("OMP_NUM_THREADS") << QByteArray("2");
    }
    void aRankThatIsBoundUnaskedGetsTheCoresOfItsLauncher() {
        QFETCH(QByteArray, threads);
        cpu_set_t all;
        QCOMPARE(::sched_getaffinity(0, sizeof all, &all), 0);
        if (CPU_COUNT(&all) < 2) QSKIP("needs two cores");
        const pid_t rank = ::fork();
        QVERIFY(rank >= 0);
        if (rank == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            for (int core = 0; CPU_COUNT(&one) == 0; ++core)
                if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
            ::sched_setaffinity(0, sizeof one, &one);
            if (threads.isEmpty())
                qunsetenv("OMP_NUM_THREADS");
            else
                qputenv("OMP_NUM_THREADS", threads);
            shareMachine({"mpirun of Open MPI", "openmpi", 0, 2, 0, 1, true});
            cpu_set_t own;
            CPU_ZERO(&own);
            ::sched_getaffinity(0, sizeof own, &own);
            ::_exit(CPU_EQUAL(&own, &all) ? 0 : 1);
        }
        int status = -1;
        QCOMPARE(::waitpid(rank, &status, 0), rank);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }

    void eachLocalRankHasItsOwnGpuFirst() {
        QCOMPARE(visibleGpus(0, 4), std::string("0,1,2,3"));
        QCOMPARE(visibleGpus(2, 4), std::string("2,3,0,1"));
        QCOMPARE(visibleGpus(5, 2), std::string("1,0"));
    }

    void theTimeOfAStallIsANumber() {
        QCOMPARE(stallSecondsOf(nullptr), 60.0);
        QCOMPARE(stallSecondsOf("2.5"), 2.5);
        QCOMPARE(stallSecondsOf("0"), 0.0);
        for (const char* bad : {"soon", "-1", "5s", "nan"})
            QVERIFY2(refusal([&] { stallSecondsOf(bad); }).contains("TWB_STALL_SECONDS"), bad);
    }

    /// A rank on a machine that is too busy is late each time that it listens to the others.
    void silentRanksAreNamedByALateOne() {
        const Launcher launcher{"mpirun of Open MPI", "openmpi", 0, 3, 0, 3};
        MpiOptions options;
        options.stallSeconds = 0.1;
        qputenv("TWB_MPI", TWB_BINARY_DIR "/lib/libtwb_test_late_mpi.so");
        const std::shared_ptr<World> world = openMpiWorld(launcher, options);
        qunsetenv("TWB_MPI");
        Collective barrier;
        barrier.kind = CollectiveKind::barrier;
        const QString lost = refusal([&] { world->run(barrier); });
        QVERIFY2(lost.startsWith("rank 1 has not answered for 0.1 s: "), qPrintable(lost));
        QVERIFY2(lost.contains("; rank 2 has been silent for 0."), qPrintable(lost));
    }

    void missingLibrariesAreNamed() {
        const Launcher launcher{"mpirun of Open MPI", "openmpi", 0, 4, 0, 4};
        const auto refusalWith = [&](const char* choice) {
            qputenv("TWB_MPI", choice);
            QString out = refusal([&] { openMpiWorld(launcher, {}); });
            qunsetenv("TWB_MPI");
            return out;
        };
        QCOMPARE(refusalWith("none"),
                 QString("TWB_MPI=none disables MPI, but mpirun of Open MPI has started 4 ranks"));
        QVERIFY(refusalWith("lam").contains("there is no libtwb_mpi_lam.so in "));
        QVERIFY(refusalWith("/tmp/no.so").contains("MPI plugin not found: /tmp/no.so"));
        QVERIFY(refusalWith(TWB_BINARY_DIR "/lib/libtwb_test_no_plugin.so").contains("is not an MPI plugin"));
        QVERIFY(
            refusalWith(TWB_BINARY_DIR "/lib/libtwb_test_needy.so").contains("which is not on this machine"));
    }
};

TWB_TEST_MAIN(TestWorld)
#include "test_world.moc"
