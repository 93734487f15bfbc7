#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/hooked_backend.h"
#include "support/random_lanes.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

DeviceMap hookedMap(const StepHooks& hooks) {
    DeviceMap map;
    for (const Device device : {Device::cpu(), Device::cuda(0), Device::cuda(1), Device::cuda(2)})
        map.set(device, makeHookedBackend(device, hooks), true);
    return map;
}

/// Delays each step by up to `mostUs`, and some steps not at all.
class RandomDelays {
public:
    RandomDelays(unsigned seed, int mostUs) : m_random(seed), m_mostUs(mostUs) {}
    StepHooks hooks() {
        return {[this](std::uint32_t) { std::this_thread::sleep_for(next()); }, {}};
    }

private:
    std::chrono::microseconds next() {
        const std::lock_guard lock(m_mutex);
        return std::chrono::microseconds(m_random() % 3 == 0 ? m_random() % m_mostUs : 0);
    }
    std::mutex m_mutex;
    std::mt19937 m_random;
    unsigned m_mostUs;
};

/// Delays one step until another one has run, which a plan's wait should prevent.
class Overtaking {
public:
    /// In its first iteration, `slow` waits until `quick` has run `times` times.
    void set(std::uint32_t slow, std::uint32_t quick, int times) {
        m_slow = slow;
        m_quick = quick;
        m_times = times;
        m_slowRuns = m_quickRuns = 0;
        m_isOvertaken = false;
    }
    /// Whether `quick` ran that often first.
    bool isOvertaken() const { return m_isOvertaken; }

    StepHooks hooks() {
        return {[this](std::uint32_t step) { before(step); }, [this](std::uint32_t step) { after(step); }};
    }

private:
    void before(std::uint32_t step) {
        std::unique_lock lock(m_mutex);
        if (step != m_slow || m_slowRuns++ > 0) return;
        // If the plan enforces the order by other means, this waits for the timeout; otherwise it returns at
        // once.
        m_isOvertaken =
            m_ran.wait_for(lock, std::chrono::seconds(60), [&] { return m_quickRuns >= m_times; });
    }
    void after(std::uint32_t step) {
        const std::lock_guard lock(m_mutex);
        if (step == m_quick) ++m_quickRuns;
        m_ran.notify_all();
    }

    std::mutex m_mutex;
    std::condition_variable m_ran;
    std::uint32_t m_slow = kNone, m_quick = kNone;
    int m_times = 0, m_slowRuns = 0, m_quickRuns = 0;
    bool m_isOvertaken = false;
};

// A pipeline whose iterations differ: the first step counts, the last one keeps its input.
std::int32_t counted = 0;
std::vector<float> seen;

void countUp(const KernelContext& context) {
    ++counted;
    for (std::int64_t i = 0; i < context.outputs[0].elementCount(); ++i)
        context.outputs[0].as<float>()[i] = static_cast<float>(counted);
}
void keepSeen(const KernelContext& context) {
    const auto* in = context.inputs[0].as<float>();
    const float all =
        std::all_of(in, in + context.inputs[0].elementCount(), [&](float value) { return value == in[0]; })
            ? in[0]
            : -1.0F;
    seen.push_back(all);
    std::copy_n(in, context.inputs[0].elementCount(), context.outputs[0].as<float>());
}

/// cuda:0 → cpu → cuda:1 → cuda:2, with one op on each, so that every step is on its own stream.
struct Pipeline {
    explicit Pipeline(const DeviceMap& map) {
        GraphMaker g;
        const std::vector<std::int64_t> size{512};
        const NodeId zeros = g.node("Zeros", "zeros", "cuda:0", {{"shape", std::vector<std::int64_t>{512}}});
        const NodeId count = g.node("Identity", "count", "cuda:0", {}, {zeros});
        const NodeId down = g.node("To", "down", "cpu", {{"non_blocking", true}}, {count});
        const NodeId first = g.node("Relu", "first", "cpu", {}, {down});
        const NodeId up = g.node("To", "up", "cuda:1", {{"non_blocking", true}}, {first});
        const NodeId second = g.node("Relu", "second", "cuda:1", {}, {up});
        const NodeId across = g.node("To", "across", "cuda:2", {{"non_blocking", true}}, {second});
        g.node("Identity", "keep", "cuda:2", {}, {across});
        plan = std::make_shared<Plan>(*planOf(g.graph(), map));
        counting = keeping = *findOp("Identity");
        counting.kernel = countUp;
        keeping.kernel = keepSeen;
        for (Step& step : plan->steps) {
            if (step.label == "count") step.op = &counting;
            if (step.label == "keep") step.op = &keeping;
        }
    }
    std::vector<float> run() const {
        counted = 0;
        seen.clear();
        runToEnd(plan, {.iterations = 6});
        return seen;
    }

    Op counting;
    Op keeping;
    std::shared_ptr<Plan> plan;
};

const std::vector<float> kInOrder{1, 2, 3, 4, 5, 6};

} // namespace

/// The plan's order across streams holds for any delays of the streams.
class TestDelays : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void randomDelaysChangeNothing() {
        for (unsigned seed = 0; seed < 30; ++seed) {
            RandomDelays delays(seed, 400);
            const auto resultOn = [&](const DeviceMap& map, bool onCpuOnly) {
                const auto [graph, last] = graphOnRandomLanes(seed, onCpuOnly);
                const auto plan = planOf(graph, map, {.policy = Policy::implicit, .keep = {{last, 0}}});
                return floats(runToEnd(plan, {.iterations = 4}), last, map);
            };
            const auto expected = resultOn(DeviceMap(), true);
            QVERIFY(!expected.empty());
            QVERIFY2(resultOn(hookedMap(delays.hooks()), false) == expected,
                     qPrintable(QString::number(seed)));
        }
    }

    void aPipelineKeepsItsOrder() {
        RandomDelays delays(1, 1000);
        const Pipeline pipeline(hookedMap(delays.hooks()));
        for (int i = 0; i < 10; ++i) QCOMPARE(pipeline.run(), kInOrder);
    }

    /// Shows that the tests above would detect a missing wait: without any one of its waits, the plan
    /// computes another result if the waiting step overtakes the other.
    void everyMissingWaitIsDetected() {
#if defined(__SANITIZE_THREAD__)
        QSKIP("a missing wait leads to a race, which the thread sanitizer would report");
#endif
        Overtaking overtaking;
        const DeviceMap map = hookedMap(overtaking.hooks());
        const Pipeline whole(map);
        QCOMPARE(whole.run(), kInOrder);
        int dropped = 0;
        for (std::size_t s = 0; s < whole.plan->steps.size(); ++s) {
            for (const auto list : {&Step::waits, &Step::carriedWaits}) {
                for (std::size_t w = 0; w < (whole.plan->steps[s].*list).size(); ++w) {
                    const std::uint32_t slow = (whole.plan->steps[s].*list)[w];
                    Pipeline lame(map);
                    auto& waits = lame.plan->steps[s].*list;
                    waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(w));
                    overtaking.set(slow, static_cast<std::uint32_t>(s), list == &Step::waits ? 1 : 2);
                    const std::vector<float> got = lame.run();
                    QVERIFY2(overtaking.isOvertaken() && got != kInOrder,
                             qPrintable(QStringLiteral("\"%1\" does not wait for \"%2\"%3, and nothing shows")
                                            .arg(QString::fromStdString(lame.plan->steps[s].label),
                                                 QString::fromStdString(lame.plan->steps[slow].label),
                                                 list == &Step::waits
                                                     ? QString()
                                                     : QStringLiteral(" of the iteration before"))));
                    ++dropped;
                }
            }
        }
        QVERIFY2(dropped >= 8, qPrintable(QString::number(dropped)));
    }
};

TWB_TEST_MAIN(TestDelays)
#include "test_delays.moc"
