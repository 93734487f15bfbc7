#include "core/error.h"
#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// Tensor files in memory that count how often each is read.
class CountedFiles final : public TensorFiles {
public:
    TensorType typeOf(std::string_view path) const override { return m_files.typeOf(path); }
    void read(std::string_view path, const TensorView& out) const override {
        {
            const std::scoped_lock lock(m_mutex);
            ++m_reads[std::string(path)];
        }
        m_files.read(path, out);
    }
    void write(std::string_view path, const TensorView& tensor) const override {
        m_files.write(path, tensor);
    }
    std::string fingerprint(std::string_view path) const override { return m_files.fingerprint(path); }

    void put(const std::string& path, const Shape& shape) {
        Tensor tensor = Tensor::onHost({DType::f32, shape});
        float next = 0.25F;
        for (float& value : tensor.values<float>())
            value = next = next * 3.7F * (1 - next); // chaotic in 0 … 1
        m_files.put(path, tensor);
    }
    int reads(const std::string& path) const {
        const std::scoped_lock lock(m_mutex);
        return m_reads[path];
    }

private:
    MemoryFiles m_files;
    mutable std::mutex m_mutex;
    mutable std::map<std::string, int> m_reads;
};

/// Measures the host memory in use when the only iteration is done, and looks at tensors at stops.
class Watcher final : public RunObserver {
public:
    Executor* executor = nullptr;
    PortRef wanted;
    std::size_t used = 0;
    std::vector<std::optional<Tensor>> seen;
    RunResult result;

    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord>) override {}
    void progress(std::uint64_t, std::int64_t, std::int64_t) override { used = hostAllocator().stats().used; }
    AtStop stopped(const RunStop&) override {
        seen.push_back(executor->tensorAtStop(wanted));
        return AtStop::goOn;
    }
    void finished(RunResult r) noexcept override { result = std::move(r); }
};

/// x [2, 32, 12, 12] → Conv with a file → Relu → Conv with a file → y.
struct Network {
    GraphMaker g;
    std::shared_ptr<CountedFiles> files = std::make_shared<CountedFiles>();
    NodeId w, v, first, y;
    DeviceMap map = simulatedMap();

    /// `losesNumbers`: from the second iteration on, a column of x is NaN.
    explicit Network(bool losesNumbers = false) {
        files->put("w", {64, 32, 3, 3});
        files->put("v", {32, 64, 3, 3});
        const NodeId square =
            g.node("Parameter", "square", "cpu",
                   {{"shape", Ints{12}}, {"init", std::string("constant")}, {"value", 1.0}});
        std::vector<double> slopes(12, 0.0);
        if (losesNumbers) slopes[4] = 2;
        const NodeId slope = g.node("Constant", "slope", "cpu", {{"shape", Ints{12}}, {"value", slopes}});
        g.node("SGDUpdate", "sgd", "cpu", {{"lr", 1.0}}, {square, slope});
        const NodeId factor = g.node("Sqrt", "factor", "cpu", {}, {square});
        const NodeId normal = g.node("RandomNormal", "normal", "cpu",
                                     {{"shape", Ints{2, 32, 12, 12}}, {"seed", std::int64_t{1}}});
        const NodeId x = g.node("Mul", "x", "cpu", {}, {normal, factor});
        w = g.node("File", "w", "cpu", {{"path", std::string("w")}});
        v = g.node("File", "v", "cpu", {{"path", std::string("v")}});
        first = g.node("Conv", "first", "cpu", {}, {x, w});
        const NodeId relu = g.node("Relu", "relu", "cpu", {}, {first});
        y = g.node("Conv", "y", "cpu", {}, {relu, v});
    }
    std::shared_ptr<const Plan> plan(std::set<PortRef> keep = {}, bool fuse = true) const {
        keep.insert({y, 0});
        return planOf(g.graph(), map, {.fuse = fuse, .fuseOnCpu = true, .keep = std::move(keep)}, files);
    }
};

bool sameBytes(const Tensor* a, const Tensor* b) {
    return a && b && a->type() == b->type() &&
           std::memcmp(a->data(), b->data(), static_cast<std::size_t>(a->byteCount())) == 0;
}

std::size_t usedBy(const std::shared_ptr<const Plan>& plan) {
    Watcher watcher;
    if (runToEnd(plan, {}, &watcher).status != RunStatus::finished) qFatal("the run failed");
    return watcher.used;
}

} // namespace

/// Weights from files whose readers pack them.
class TestPackedWeights : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theirMemoryIsFreed_data() {
        QTest::addColumn<bool>("fuse");
        QTest::newRow("fused") << true;
        QTest::newRow("one by one") << false;
    }
    void theirMemoryIsFreed() {
        QFETCH(bool, fuse);
        const Network n;
        const std::size_t all = usedBy(n.plan({{n.w, 0}, {n.v, 0}}, fuse));
        const std::size_t one = usedBy(n.plan({{n.w, 0}}, fuse));
        const std::size_t none = usedBy(n.plan({}, fuse));
        QCOMPARE(all - one, std::size_t(32 * 64 * 9 * 4));
        QCOMPARE(one - none, std::size_t(64 * 32 * 9 * 4));
    }

    void productsFreeThem() {
        for (const bool isGemm : {false, true}) {
            GraphMaker g;
            const auto files = std::make_shared<CountedFiles>();
            files->put("w", {96, 96});
            const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", Ints{64, 96}}});
            const NodeId w = g.node("File", "w", "cpu", {{"path", std::string("w")}});
            // Both read the same weights.
            const Attributes attributes = isGemm ? Attributes{{"transB", std::int64_t{1}}} : Attributes{};
            const char* const op = isGemm ? "Gemm" : "MatMul";
            const NodeId y = g.node(op, "y", "cpu", attributes, {x, w});
            const NodeId z = g.node(op, "z", "cpu", attributes, {y, w});
            const DeviceMap map = simulatedMap();
            const auto used = [&](const std::set<PortRef>& keep) {
                return usedBy(planOf(g.graph(), map, {.fuseOnCpu = true, .keep = keep}, files));
            };
            QCOMPARE(used({{z, 0}, {w, 0}}) - used({{z, 0}}), std::size_t(96 * 96 * 4));
        }
    }

    void anotherReaderKeepsThem() {
        Network n;
        const NodeId other = n.g.node("Neg", "other", "cpu", {}, {n.w});
        const std::size_t kept = usedBy(n.plan({{other, 0}, {n.w, 0}}));
        const std::size_t read = usedBy(n.plan({{other, 0}}));
        QCOMPARE(kept, read);
    }

    /// oneDNN's Relu loses NaN, so the convolution alone runs, for which the weights are packed otherwise.
    void theyAreLoadedAgainForNaN() {
        const Network n(true);
        const RunResult freed = runToEnd(n.plan(), {.iterations = 3});
        QCOMPARE(freed.status, RunStatus::finished);
        QCOMPARE(n.files->reads("w"), 2);
        QCOMPARE(n.files->reads("v"), 1);
        const RunResult kept = runToEnd(n.plan({{n.w, 0}, {n.v, 0}}), {.iterations = 3});
        QVERIFY(sameBytes(freed.tensor({n.y, 0}), kept.tensor({n.y, 0})));
        QVERIFY(std::isnan(freed.tensor({n.y, 0})->at(2)));
    }

    void aFileThatChangedIsAnError() {
        const Network n(true);
        const auto plan = n.plan();
        class Late final : public RunObserver {
        public:
            explicit Late(CountedFiles& files) : m_files(files) {}
            void started(std::uint64_t, const Plan&, std::int64_t) override {}
            void steps(std::uint64_t, std::span<const StepRecord>) override {}
            void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
            AtStop stopped(const RunStop&) override {
                if (!m_isChanged) m_files.put("w", {64, 32, 3, 3});
                m_isChanged = true;
                return AtStop::goOn;
            }
            void finished(RunResult) noexcept override {}

        private:
            CountedFiles& m_files;
            bool m_isChanged = false;
        } late(*n.files);
        const RunResult failed =
            runToEnd(plan, {.iterations = 2, .breakpoints = {{n.first, *parseBreakpoints("before")}}}, &late);
        QCOMPARE(failed.status, RunStatus::failed);
        QVERIFY(QString::fromStdString(failed.errors.front().message)
                    .contains("has changed since the run began"));
    }

    void aStopShowsThem() {
        const Network n;
        Executor executor;
        Watcher watcher;
        watcher.executor = &executor;
        watcher.wanted = {n.v, 0};
        executor.start(n.plan(), {.iterations = 2, .breakpoints = {{n.y, *parseBreakpoints("before")}}},
                       watcher);
        executor.wait();
        QCOMPARE(watcher.result.status, RunStatus::finished);
        QCOMPARE(watcher.seen.size(), std::size_t{2});
        for (const std::optional<Tensor>& seen : watcher.seen) {
            QVERIFY(seen.has_value());
            Tensor expected = Tensor::onHost({DType::f32, {32, 64, 3, 3}});
            n.files->read("v", expected.view());
            QVERIFY(sameBytes(&*seen, &expected));
        }
    }
};

TWB_TEST_MAIN(TestPackedWeights)
#include "test_packed_weights.moc"
