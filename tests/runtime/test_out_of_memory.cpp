#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <atomic>
#include <cstdlib>
#include <new>

using namespace twb;
using namespace twb::test;

namespace {

/// The number of allocations until the first failure; negative: none fails.
std::atomic<std::int64_t> allocationsLeft{-1};
std::atomic<bool> allFail{false};

void* allocate(std::size_t bytes, std::size_t alignment) {
    std::int64_t left = allocationsLeft.load(std::memory_order_relaxed);
    if (left >= 0) {
        left = allocationsLeft.fetch_sub(1, std::memory_order_relaxed);
        if (left == 0 || (left < 0 && allFail)) {
            if (allFail) allocationsLeft.store(0, std::memory_order_relaxed);
            throw std::bad_alloc();
        }
    }
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    if (void* block = std::aligned_alloc(alignment, size)) return block;
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace {

/// From now on, allocation number `first` fails, or this one and all later ones.
class FailingAllocations {
public:
    FailingAllocations(std::int64_t first, bool all) {
        allFail = all;
        allocationsLeft = first;
    }
    ~FailingAllocations() { allocationsLeft = -1; }
    FailingAllocations(const FailingAllocations&) = delete;
    FailingAllocations& operator=(const FailingAllocations&) = delete;
};

/// Keeps only the final result.
class EndOnly final : public RunObserver {
public:
    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord>) override {}
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    void finished(RunResult r) noexcept override {
        result = std::move(r);
        ++ends;
    }
    RunResult result;
    int ends = 0;
};

} // namespace

class TestOutOfMemory : public QObject {
    Q_OBJECT

    GraphMaker m_maker;
    std::shared_ptr<const Plan> m_plan;

private Q_SLOTS:
    /// A loop, a branch, sizes known only at run time, copies and two devices.
    void initTestCase() {
        GraphMaker& g = m_maker;
        const auto full = [](double value) { return Attributes{{"value", value}, {"shape", Ints{4}}}; };
        const NodeId initial = g.node("Full", "initial", "cuda:0", full(1));
        const NodeId x = g.node("Carried", "x", "cuda:0", {{"varies", true}}, {initial});
        const NodeId sum = g.node("Add", "sum", "cuda:0", {}, {x, initial});
        const NodeId next = g.node("Neg", "next", "cuda:0", {}, {sum});
        const NodeId loop =
            g.node("Loop", "loop", "cuda:0",
                   {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}});
        g.connect(next, loop, 3);
        g.connect(sum, loop, 4);
        g.body(loop, "body", {x, sum, next});
        const NodeId back = g.node("To", "back", "cpu", {}, {loop});
        const NodeId some = g.node("Unique", "some", "cpu", {}, {back});
        g.node("Exp", "after", "cpu", {}, {some});
        const NodeId m = g.node("Ones", "m", "cpu", {{"shape", Ints{8, 8}}});
        g.node("MatMul", "product", "cpu", {}, {m, m});
        m_plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
        QCOMPARE(runToEnd(m_plan, {.iterations = 2}).status, RunStatus::finished);
    }

    void aRunSurvivesAnyAllocationThatFails_data() {
        QTest::addColumn<bool>("all");
        QTest::newRow("one") << false;
        QTest::newRow("all from one on") << true;
    }

    void aRunSurvivesAnyAllocationThatFails() {
        QFETCH(bool, all);
        int failed = 0;
        int refused = 0;
        for (std::int64_t n = 0; n < 1000; ++n) {
            EndOnly observer;
            Executor executor;
            bool started = false;
            {
                const FailingAllocations failing(n, all);
                try {
                    executor.start(m_plan, {.iterations = 2}, observer);
                    started = true;
                } catch (const std::bad_alloc&) {
                    ++refused;
                }
                executor.wait();
            }
            QCOMPARE(observer.ends, started ? 1 : 0);
            if (!started || observer.result.status == RunStatus::finished) continue;
            ++failed;
            QCOMPARE(observer.result.status, RunStatus::failed);
            if (all) continue; // there may be no memory for the message
            QVERIFY2(!observer.result.errors.empty(), qPrintable(QString::number(n)));
            const QString message = QString::fromStdString(observer.result.errors[0].message);
            QVERIFY2(message.contains(QStringLiteral("out of memory")), qPrintable(message));
        }
        QVERIFY2(failed > 100 && refused > 10, qPrintable(QStringLiteral("%1 %2").arg(failed).arg(refused)));
        QCOMPARE(runToEnd(m_plan, {.iterations = 2}).status, RunStatus::finished);
    }
};

TWB_TEST_MAIN(TestOutOfMemory)
#include "test_out_of_memory.moc"
