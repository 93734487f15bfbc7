#include "backends/cpu/channels_last_convolution.h"
#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

struct Variant {
    const char* activation = "Swish"; ///< after the first two convolutions; null: none
    bool expands = true;
    bool excites = true;
    bool adds = true;
    bool isChannelsLast = true; ///< x comes from a convolution
    std::int64_t size = 13;
    std::int64_t stride = 1;
    std::int64_t kernel = 3;
    std::int64_t channels = 48;
    const char* padding = nullptr; ///< auto_pad of the filter
};

/// Conv 1 × 1 → activation → Conv with one channel per group → activation → squeeze-and-excitation → Conv
/// 1 × 1 → Add, with the parts of the variant.
struct Network {
    GraphMaker g;
    NodeId x, expansion, filter, pool, scaled, projection, last;
    NodeId expandingWeights, taps, projectingWeights;
    std::vector<NodeId> members;
    DeviceMap map = simulatedMap();
    std::shared_ptr<MemoryFiles> files = std::make_shared<MemoryFiles>();

    explicit Network(const Variant& v) {
        const std::int64_t in = v.expands ? 16 : v.channels;
        x = v.isChannelsLast ? g.node("Conv", "before", "cpu", {},
                                      {random("image", {2, 8, v.size, v.size}), random("u", {in, 8, 1, 1})})
                             : random("x", {2, in, v.size, v.size});
        NodeId at = x;
        if (v.expands) {
            expansion = at =
                take("Conv", "expand", {},
                     {at, expandingWeights = weights("a", {v.channels, in, 1, 1}), bias("ab", v.channels)});
            if (v.activation) at = take(v.activation, "act1", {}, {at});
        }
        Attributes sliding{{"group", v.channels}, {"strides", Ints{v.stride, v.stride}}};
        if (v.padding)
            sliding.set("auto_pad", std::string(v.padding));
        else
            sliding.set("pads", Ints(4, v.kernel / 2));
        filter = at =
            take("Conv", "filter", sliding,
                 {at, taps = weights("f", {v.channels, 1, v.kernel, v.kernel}), bias("fb", v.channels)});
        if (v.activation) at = take(v.activation, "act2", {}, {at});
        if (v.excites) {
            pool = take("GlobalAveragePool", "pool", {}, {at});
            const NodeId first = take("Conv", "first", {}, {pool, random("w", {6, v.channels, 1, 1})});
            const NodeId act = take("Swish", "act3", {}, {first});
            const NodeId second = take("Conv", "second", {}, {act, random("v", {v.channels, 6, 1, 1})});
            const NodeId gate = take("Sigmoid", "gate", {}, {second});
            scaled = at = take("Mul", "scaled", {}, {gate, at});
        }
        const std::int64_t out = v.adds && v.stride == 1 ? in : 20;
        projection = at =
            take("Conv", "project", {}, {at, projectingWeights = weights("p", {out, v.channels, 1, 1})});
        if (out == in) at = take("Add", "add", {}, {at, x});
        last = g.node("Conv", "after", "cpu", {}, {at, random("t", {4, out, 1, 1})});
    }
    NodeId random(const std::string& name, const Ints& shape) {
        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", m_seed++}, {"scale", 0.3}});
    }
    std::shared_ptr<const Plan> plan(CompileOptions options, std::set<PortRef> keep = {}) const {
        keep.insert({last, 0});
        options.keep = std::move(keep);
        return planOf(g.graph(), map, options, files);
    }

private:
    NodeId take(const std::string& op, const std::string& name, Attributes attributes,
                const std::vector<NodeId>& inputs) {
        members.push_back(g.node(op, name, "cpu", std::move(attributes), inputs));
        return members.back();
    }
    /// From a file, so that its memory is freed when it is packed.
    NodeId weights(const std::string& name, const Ints& sizes) {
        Tensor tensor = Tensor::onHost({DType::f32, Shape(sizes)});
        float next = 0.25F;
        for (float& element : tensor.values<float>()) {
            next = next * 3.7F * (1 - next); // chaotic in 0 … 1
            element = (next - 0.6F) / 2;
        }
        files->put(name, tensor);
        return g.node("File", name, "cpu", {{"path", name}});
    }
    NodeId bias(const std::string& name, std::int64_t size) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < size; ++i) values.push_back(0.1 * static_cast<double>(i % 7) - 0.3);
        return g.node("Constant", name, "cpu", {{"shape", Ints{size}}, {"value", values}});
    }
    std::int64_t m_seed = 1;
};

/// Measures the host memory in use when the iteration is done.
class MemoryWatcher final : public RunObserver {
public:
    std::size_t used = 0;
    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord>) override {}
    void progress(std::uint64_t, std::int64_t, std::int64_t) override { used = hostAllocator().stats().used; }
    void finished(RunResult) noexcept override {}
};

const Step* stepOf(const Plan& plan, NodeId node) {
    for (const Step& step : plan.steps)
        if (step.node == node || std::ranges::count(step.members, node) > 0) return &step;
    return nullptr;
}

/// Whether one step computes all ops of the bottleneck.
bool isFused(const Plan& plan, const Network& n) { return stepOf(plan, n.projection)->members == n.members; }

} // namespace

/// Inverted bottlenecks, which a plan computes in one step (CompileOptions::fuseOnCpu).
class TestBottlenecks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (!channelsLastKernels()) QSKIP("this CPU has no AVX2");
    }

    void theyGiveTheSameNumbers_data() {
        QTest::addColumn<int>("number");
        for (int i = 0; i < static_cast<int>(variants().size()); ++i) QTest::addRow("variant %d", i) << i;
    }
    void theyGiveTheSameNumbers() {
        QFETCH(int, number);
        const Network n(variants()[static_cast<std::size_t>(number)]);
        const auto fused = n.plan({.fuseOnCpu = true});
        QVERIFY(isFused(*fused, n));
        const Step& step = *stepOf(*fused, n.projection);
        QCOMPARE(std::ranges::count(step.op->name, '+'), static_cast<std::ptrdiff_t>(n.members.size()) - 1);
        // The filter's result exists for the excitation only.
        QCOMPARE(step.outputs.size(),
                 std::size_t{variants()[static_cast<std::size_t>(number)].excites ? 2U : 1U});
        const auto single = n.plan({.fuse = false});
        QVERIFY(!isFused(*single, n));
        const RunResult a = runToEnd(fused, {.iterations = 3});
        QCOMPARE(a.status, RunStatus::finished);
        const std::vector<float> got = floats(a, n.last, n.map);
        const std::vector<float> expected = floats(runToEnd(single, {.iterations = 3}), n.last, n.map);
        QVERIFY(!got.empty());
        QCOMPARE(got.size(), expected.size());
        float largest = 0;
        for (const float element : expected) largest = std::max(largest, std::abs(element));
        QVERIFY(largest > 0.01F);
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY(std::abs(got[i] - expected[i]) <= 1e-5F * largest);
    }

    void otherStepsStayAlone() {
        const Network n(Variant{});
        QVERIFY(isFused(*n.plan({.fuseOnCpu = true}), n));
        QVERIFY(!isFused(*n.plan({.fuseOnCpu = false}), n));
        for (const NodeId kept : {n.expansion, n.filter, n.pool, n.scaled})
            QVERIFY(!isFused(*n.plan({.fuseOnCpu = true}, {{kept, 0}}), n));
        for (const Variant& variant : {Variant{.activation = "Tanh"}, Variant{.channels = 40},
                                       Variant{.expands = false, .excites = false}}) {
            const Network other(variant);
            QVERIFY(!isFused(*other.plan({.fuseOnCpu = true}), other));
        }
        for (const bool isScaled : {false, true}) { // read by another step, too
            Network read(Variant{});
            read.g.node("Neg", "neg", "cpu", {}, {isScaled ? read.scaled : read.filter});
            QVERIFY(!isFused(*read.plan({.fuseOnCpu = true}), read));
        }
    }

    /// Their packed form replaces weights from files.
    void theirWeightsAreFreed() {
        const Network n({.kernel = 5, .channels = 512});
        const auto usedWith = [&](std::set<PortRef> keep) {
            MemoryWatcher watcher;
            if (runToEnd(n.plan({.fuseOnCpu = true}, std::move(keep)), {}, &watcher).status !=
                RunStatus::finished)
                qFatal("the run failed");
            return watcher.used;
        };
        const std::size_t none = usedWith({});
        QVERIFY(none > 0);
        QCOMPARE(usedWith({{n.taps, 0}}) - none, std::size_t(512 * 25 * 4));
        QCOMPARE(usedWith({{n.expandingWeights, 0}, {n.projectingWeights, 0}}) - none,
                 std::size_t(2 * 512 * 16 * 4));
    }

    /// A tensor that another step reads, or that is kept, is not overwritten.
    void theirInputsStay() {
        const Network n(Variant{});
        const auto plan = n.plan({.fuseOnCpu = true}, {{n.x, 0}});
        QVERIFY(isFused(*plan, n));
        const std::vector<float> got = floats(runToEnd(plan, {.iterations = 2}), n.x, n.map);
        const std::vector<float> expected =
            floats(runToEnd(n.plan({.fuse = false}, {{n.x, 0}}), {.iterations = 2}), n.x, n.map);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(std::abs(got[i] - expected[i]) <= 1e-5F);
    }

private:
    static std::vector<Variant> variants() {
        std::vector<Variant> out{
            {},
            {.excites = false},
            {.adds = false},
            {.isChannelsLast = false},
            {.expands = false},
            {.expands = false, .isChannelsLast = false, .size = 1},
            {.size = 1},
            {.size = 40, .stride = 2, .kernel = 5},
            {.activation = "Relu", .excites = false, .size = 31, .stride = 2},
            {.activation = "HardSwish", .kernel = 5, .channels = 176},
            {.activation = nullptr, .excites = false},
            {.size = 14, .stride = 2, .padding = "SAME_UPPER"},
            {.size = 9, .kernel = 4, .channels = 16, .padding = "SAME_LOWER"},
        };
        return out;
    }
};

TWB_TEST_MAIN(TestBottlenecks)
#include "test_bottlenecks.moc"
