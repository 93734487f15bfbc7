#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/host_stream.h"
#include "backends/cpu/host_threads.h"
#include "backends/cpu/parallel.h"
#include "backends/simulated/simulated_backend.h"
#include "core/caching_allocator.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

std::atomic<int> counter{0};
void count(const KernelContext&) { ++counter; }
void fail(const KernelContext&) { throw Error(ErrorCode::failed, "planted"); }
std::atomic<bool> isHeld{false};
void held(const KernelContext&) {
    while (isHeld) std::this_thread::yield();
}
void slow(const KernelContext&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
void append(const KernelContext& c) {
    auto* list = c.outputs[0].as<std::int32_t>();
    list[++list[0]] = static_cast<std::int32_t>(c.attributes.integer("n"));
}

std::atomic<int> team{0}; ///< number of threads in a kernel at once
void countTeam(const KernelContext&) {
    std::set<std::thread::id> seen;
    std::mutex mutex;
    parallelRanges(1 << 10, std::int64_t{1} << 30, 1, [&](std::int64_t, std::int64_t) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
    });
    team = int(seen.size());
}

const Attributes kNoAttributes;

Launch launchOf(HostKernel kernel) {
    Launch launch;
    launch.op = "test";
    launch.kernel = kernel;
    launch.attributes = &kNoAttributes;
    return launch;
}

class Guard final : public LaunchGuard {
public:
    bool mayRun(std::uint32_t) noexcept override { return !stop; }
    void failed(std::uint32_t step, std::exception_ptr) noexcept override {
        failedSteps.push_back(step);
        alert = true;
    }
    std::atomic<bool> stop{false};
    std::vector<std::uint32_t> failedSteps;
};

} // namespace

class TestHostStream : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void worksInOrderBeyondItsRing();
    void waitsForTheRecordBeforeTheWait();
    void pingPong();
    void failuresGoToTheGuard();
    void kernelsAndCopiesHoldTheGuardsMutex();
    void kernelsUseTheRequestedThreads();
    void processorsHaveNoMarks();
    void virtualClockFollowsTheProfile();
    void waitingMovesTheVirtualClock();
    void aLaterRecordDoesNotDelayAWaiter();
    void timingsAreOrdered();
    void allocatorReusesAndRefuses();
    void allocatorIsSharedByThreads();
    void memorySpacesAreSeparate();
};

void TestHostStream::worksInOrderBeyondItsRing() {
    const MeasuredDurations durations;
    HostStream stream(durations);
    constexpr int launches = 20000; // several times the ring's capacity
    std::vector<std::int32_t> list(launches + 1, 0);
    std::vector<Attributes> attributes(launches);
    std::vector<Launch> all(launches, launchOf(append));
    const std::array<TensorView, 1> out{TensorView{list.data(), DType::i32, Shape{launches + 1}, {1}}};
    for (int i = 0; i < launches; ++i) {
        attributes[static_cast<std::size_t>(i)].set("n", std::int64_t{i});
        all[static_cast<std::size_t>(i)].attributes = &attributes[static_cast<std::size_t>(i)];
        all[static_cast<std::size_t>(i)].outputs = out;
        stream.launch(all[static_cast<std::size_t>(i)]);
    }
    stream.synchronize();
    QCOMPARE(list[0], launches);
    for (int i = 0; i < launches; ++i) QCOMPARE(list[static_cast<std::size_t>(i) + 1], i);
    QCOMPARE(stream.passed(), std::uint64_t{launches});
}

void TestHostStream::waitsForTheRecordBeforeTheWait() {
    const MeasuredDurations durations;
    HostStream a(durations);
    HostStream b(durations);
    HostEvent event;
    b.wait(event); // never recorded, so there is nothing to wait for
    counter = 0;
    isHeld = true;
    const Launch sleeping = launchOf(held);
    const Launch counting = launchOf(count);
    a.launch(sleeping);
    a.launch(counting);
    a.record(event);
    QVERIFY(!event.isDone());
    b.wait(event);
    int seen = -1;
    std::array<TensorView, 1> out{TensorView{&seen, DType::i32, Shape{}, {}}};
    Launch look = launchOf([](const KernelContext& c) { *c.outputs[0].as<std::int32_t>() = counter; });
    look.outputs = out;
    b.launch(look);
    isHeld = false;
    b.synchronize();
    QCOMPARE(seen, 1);
    QVERIFY(event.isDone());
    event.synchronize();
}

void TestHostStream::pingPong() {
    // Two streams pass a value back and forth: each reads the other's result, thousands of times.
    const MeasuredDurations durations;
    HostStream a(durations);
    HostStream b(durations);
    HostEvent fromA;
    HostEvent fromB;
    std::int64_t value = 0;
    std::array<TensorView, 1> out{TensorView{&value, DType::i64, Shape{}, {}}};
    Launch increment = launchOf([](const KernelContext& c) { ++*c.outputs[0].as<std::int64_t>(); });
    increment.outputs = out;
    constexpr int rounds = 3000;
    for (int i = 0; i < rounds; ++i) {
        a.wait(fromB);
        a.launch(increment);
        a.record(fromA);
        b.wait(fromA);
        b.launch(increment);
        b.record(fromB);
    }
    a.synchronize();
    b.synchronize();
    QCOMPARE(value, std::int64_t{2 * rounds});
}

void TestHostStream::failuresGoToTheGuard() {
    const MeasuredDurations durations;
    HostStream stream(durations);
    Guard guard;
    counter = 0;
    Launch bad = launchOf(fail);
    bad.guard = &guard;
    bad.step = 7;
    Launch good = launchOf(count);
    good.guard = &guard;
    stream.launch(bad);
    stream.launch(good);
    stream.synchronize();
    QCOMPARE(guard.failedSteps, (std::vector<std::uint32_t>{7}));
    QCOMPARE(counter.load(), 1);
    guard.stop = true;
    stream.launch(good);
    stream.synchronize();
    QCOMPARE(counter.load(), 1);
}

void TestHostStream::virtualClockFollowsTheProfile() {
    const auto backend = makeSimulatedBackend(Device::cuda(0), roundProfile());
    const auto compute = backend->createStream(QueueKind::compute);
    LaunchTiming timing;
    Launch launch = launchOf(slow);
    launch.cost = {5e6, 1e3,
                   DType::f32}; // 5 µs of arithmetic after 2 µs of launch, independent of the host's speed
    launch.timing = &timing;
    compute->launch(launch);
    compute->synchronize();
    QCOMPARE(timing.virtualEnd - timing.virtualStart, std::int64_t{7000});
    QVERIFY(timing.end - timing.start >= 20'000'000);

    const auto copies = backend->createStream(QueueKind::hostToDevice);
    std::vector<char> from(1000, 'x');
    std::vector<char> to(1000, ' ');
    Copy copy;
    copy.source = from.data();
    copy.target = to.data();
    copy.bytes = 1000;
    copy.hostMemory = MemoryKind::pinned;
    copy.timing = &timing;
    copies->copy(copy);
    copies->synchronize();
    QCOMPARE(timing.virtualEnd - timing.virtualStart, std::int64_t{10'000 + 100});
    QVERIFY(from == to);
}

void TestHostStream::waitingMovesTheVirtualClock() {
    const auto backend = makeSimulatedBackend(Device::cuda(0), roundProfile());
    const auto a = backend->createStream(QueueKind::hostToDevice);
    const auto b = backend->createStream(QueueKind::compute);
    const auto event = backend->createEvent();
    Launch launch = launchOf(count);
    launch.cost = {98e6, 0, DType::f32}; // 100 µs including the launch
    LaunchTiming first;
    LaunchTiming second;
    launch.timing = &first;
    Launch after = launch;
    after.timing = &second;
    a->launch(launch);
    a->record(*event);
    b->wait(*event);
    b->launch(after);
    b->synchronize();
    QCOMPARE(first.virtualEnd, std::int64_t{100'000});
    QCOMPARE(second.virtualStart, std::int64_t{100'000});
    QCOMPARE(b->clock(), std::int64_t{200'000});
    b->resetClock(5);
    QCOMPARE(b->clock(), std::int64_t{5});
}

void TestHostStream::aLaterRecordDoesNotDelayAWaiter() {
    const auto backend = makeSimulatedBackend(Device::cuda(0), roundProfile());
    const auto a = backend->createStream(QueueKind::hostToDevice);
    const auto b = backend->createStream(QueueKind::compute);
    const auto event = backend->createEvent();
    Launch launch = launchOf(count);
    launch.cost = {98e6, 0, DType::f32}; // 100 µs including the launch
    LaunchTiming first;
    Launch after = launch;
    after.timing = &first;
    isHeld = true;
    const Launch holding = launchOf(held);
    b->launch(holding);
    b->flush();
    a->launch(launch);
    a->record(*event);
    b->wait(*event);
    b->launch(after);
    a->launch(launch);
    a->record(*event);
    a->synchronize(); // both records have passed before `b` waits for the first one
    isHeld = false;
    b->synchronize();
    QCOMPARE(first.virtualStart, std::int64_t{100'000});
}

void TestHostStream::timingsAreOrdered() {
    const auto stream = cpuBackend()->createStream(QueueKind::compute);
    std::vector<LaunchTiming> timings(500);
    std::vector<Launch> launches(500, launchOf(count));
    for (std::size_t i = 0; i < 500; ++i) {
        launches[i].timing = &timings[i];
        stream->launch(launches[i]);
    }
    stream->synchronize();
    for (std::size_t i = 0; i < 500; ++i) {
        QVERIFY(timings[i].start <= timings[i].end);
        QCOMPARE(timings[i].virtualEnd - timings[i].virtualStart, timings[i].end - timings[i].start);
        if (i) QVERIFY(timings[i - 1].end <= timings[i].start);
    }
}

void TestHostStream::allocatorReusesAndRefuses() {
    CachingAllocator allocator(Device::cuda(0), MemoryKind::device, 16 << 20);
    BufferPtr a = allocator.allocate(3 << 20, MemoryKind::device);
    QCOMPARE(reinterpret_cast<std::uintptr_t>(a->data()) % kAlignment, std::uintptr_t{0});
    QCOMPARE(a->kind(), MemoryKind::device);
    QVERIFY(a->device() == Device::cuda(0));
    const void* where = a->data();
    a.reset();
    QCOMPARE(allocator.stats().used, std::size_t{0});
    QVERIFY(allocator.stats().cached > 0);
    a = allocator.allocate(3 << 20, MemoryKind::device);
    QCOMPARE(a->data(), where);
    QCOMPARE(allocator.stats().peak, std::size_t{3 << 20});
    try {
        const BufferPtr tooMuch = allocator.allocate(14 << 20, MemoryKind::device);
        QFAIL("a request beyond the budget was served");
    } catch (const Error& e) {
        QCOMPARE(e.code(), ErrorCode::outOfMemory);
        QVERIFY2(QString::fromUtf8(e.what()).contains(
                     QStringLiteral("14.7 MB requested, 13.6 MB of 16.8 MB free")),
                 e.what());
    }
    QVERIFY_EXCEPTION_THROWN(allocator.allocate(SIZE_MAX, MemoryKind::device), Error);
    // Simulated memory is host memory and counts even before it is written.
    CachingAllocator roomy(Device::cuda(1), MemoryKind::device, std::size_t{1} << 50);
    std::vector<BufferPtr> held;
    try {
        while (held.size() < 9) held.push_back(roomy.allocate(systemMemoryBytes() / 8, MemoryKind::device));
        QFAIL("more was given out than the machine has");
    } catch (const Error& e) {
        QCOMPARE(e.code(), ErrorCode::outOfMemory);
        QVERIFY2(QString::fromUtf8(e.what()).contains(QStringLiteral("in the host's memory")), e.what());
    }
    // A buffer may outlive its allocator.
    BufferPtr orphan;
    {
        CachingAllocator shortLived(Device::cpu(), MemoryKind::pageable, 1 << 20);
        orphan = shortLived.allocate(100, MemoryKind::pageable);
    }
    std::memset(orphan->data(), 1, 100);
}

void TestHostStream::allocatorIsSharedByThreads() {
    CachingAllocator allocator(Device::cpu(), MemoryKind::pageable, std::size_t{1} << 30);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&allocator, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<BufferPtr> held;
            for (int i = 0; i < 2000; ++i) {
                const std::size_t bytes = random() % 100'000 + 1;
                held.push_back(allocator.allocate(bytes, MemoryKind::pageable));
                std::memset(held.back()->data(), t, bytes);
                if (held.size() > 20)
                    held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
            }
        });
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(allocator.stats().used, std::size_t{0});
}

void TestHostStream::memorySpacesAreSeparate() {
    const auto backend = makeSimulatedBackend(Device::cuda(0), roundProfile());
    const BufferPtr buffer = backend->memory().allocate(100, MemoryKind::device);
    const Tensor tensor(buffer, {DType::f32, {25}});
    QVERIFY_EXCEPTION_THROWN((void)tensor.values<float>(),
                             Error); // device memory is not accessible as host memory
    QCOMPARE(backend->memory().stats().used, std::size_t{128});
    QCOMPARE(cpuBackend()->info().simulated, false);
    QCOMPARE(backend->info().simulated, true);
}

/// A kernel holds the mutex while it runs; a copy waits for it.
void TestHostStream::kernelsAndCopiesHoldTheGuardsMutex() {
    const MeasuredDurations durations;
    HostStream stream(durations);
    std::mutex turn;
    Guard guard;
    guard.turn = &turn;
    std::array<std::mutex*, 1> shown{&turn};
    int isFree = -1;
    const std::array<TensorView, 1> in{TensorView{static_cast<void*>(shown.data()), DType::i64, Shape{}, {}}};
    const std::array<TensorView, 1> out{TensorView{&isFree, DType::i32, Shape{}, {}}};
    Launch look = launchOf([](const KernelContext& c) {
        std::thread([&] { // a thread must not call try_lock on a mutex that it holds
            std::mutex& held = **c.inputs[0].as<std::mutex*>();
            *c.outputs[0].as<std::int32_t>() = held.try_lock() ? 1 : 0;
        })
            .join();
    });
    look.inputs = in;
    look.outputs = out;
    look.guard = &guard;
    stream.launch(look);
    stream.synchronize();
    QCOMPARE(isFree, 0);
    int from = 7;
    int to = 0;
    LaunchTiming timing;
    Copy copy;
    copy.source = &from;
    copy.target = &to;
    copy.bytes = sizeof to;
    copy.guard = &guard;
    copy.timing = &timing;
    std::unique_lock held(turn);
    stream.copy(copy);
    stream.flush();
    const std::int64_t before = steadyNs();
    held.unlock();
    stream.synchronize();
    QCOMPARE(to, 7);
    QVERIFY(timing.start >= before); // the wait does not count as the step's time
}

void TestHostStream::kernelsUseTheRequestedThreads() {
    const MeasuredDurations durations;
    for (const int count : {1, 2}) {
        setHostThreads(count);
        QCOMPARE(hostThreads(), count);
        HostStream stream(durations);
        const Launch launch = launchOf(countTeam);
        stream.launch(launch);
        stream.synchronize();
        QVERIFY2(team >= 1 && team <= count, qPrintable(QString::number(team)));
    }
    setHostThreads(0);
    QVERIFY(hostThreads() >= 1);
}

TWB_TEST_MAIN(TestHostStream)
void TestHostStream::processorsHaveNoMarks() {
    QCOMPARE(withoutMarks("Intel(R) Xeon(R) Gold 6338"), std::string("Intel Xeon Gold 6338"));
    QCOMPARE(withoutMarks("Intel(R) Core(TM) i7"), std::string("Intel Core i7"));
    QCOMPARE(withoutMarks("AMD EPYC 7B13"), std::string("AMD EPYC 7B13"));
    QVERIFY(cpuBackend()->info().name.find("(R)") == std::string::npos);
}

#include "test_host_stream.moc"
