#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/delayed_backend.h"
#include "support/random_lanes.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

DeviceMap delayedMap(const DelayOfStep& delay) {
    DeviceMap map;
    map.set(Device::cpu(), makeDelayedCpu(delay), true);
    for (int i = 0; i < 3; ++i) map.set(Device::cuda(i), makeDelayedBackend(Device::cuda(i), delay), true);
    return map;
}

// A pipeline whose iterations differ: the first step counts, the last one keeps what it read.
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

/// cuda:0 → cpu → cuda:1 → cuda:2, an op on each, so that every step is on a stream of its own.
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

/// The order of streams that a plan sets up holds however late each of them is.
class TestDelays : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void randomDelaysChangeNothing() {
        for (unsigned seed = 0; seed < 30; ++seed) {
            std::mt19937 delays(seed);
            const DelayOfStep late = [&](std::uint32_t) {
                return delays() % 3 ? 0 : static_cast<int>(delays() % 400);
            };
            const auto resultOn = [&](const DeviceMap& map, bool onCpuOnly) {
                const auto [graph, last] = graphOnRandomLanes(seed, onCpuOnly);
                const auto plan = planOf(graph, map, {.policy = Policy::implicit, .keep = {{last, 0}}});
                return floats(runToEnd(plan, {.iterations = 4}), last, map);
            };
            const auto expected = resultOn(DeviceMap(), true);
            QVERIFY(!expected.empty());
            QVERIFY2(resultOn(delayedMap(late), false) == expected, qPrintable(QString::number(seed)));
        }
    }

    void aPipelineKeepsItsOrder() {
        std::mt19937 delays(1);
        const DelayOfStep late = [&](std::uint32_t) { return static_cast<int>(delays() % 1000); };
        const Pipeline pipeline(delayedMap(late));
        for (int i = 0; i < 10; ++i) QCOMPARE(pipeline.run(), kInOrder);
    }

    /// The tests above would notice: without any one of its waits the plan computes something else, once what
    /// is waited for is late.
    void everyMissingWaitShows() {
#if defined(__SANITIZE_THREAD__)
        QSKIP("what a missing wait leads to is a race, which the thread sanitizer would report");
#endif
        std::uint32_t slow = kNone;
        const DelayOfStep late = [&](std::uint32_t step) { return step == slow ? 4000 : 0; };
        const DeviceMap map = delayedMap(late);
        const Pipeline whole(map);
        int dropped = 0;
        for (std::size_t s = 0; s < whole.plan->steps.size(); ++s) {
            for (const auto list : {&Step::waits, &Step::carriedWaits}) {
                for (std::size_t w = 0; w < (whole.plan->steps[s].*list).size(); ++w) {
                    slow = (whole.plan->steps[s].*list)[w];
                    QCOMPARE(whole.run(), kInOrder);
                    Pipeline lame(map);
                    auto& waits = lame.plan->steps[s].*list;
                    waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(w));
                    QVERIFY2(lame.run() != kInOrder,
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
