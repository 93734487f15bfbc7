#include "support/test_main.h"
#include "widgets/run_batch.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

using namespace twb;

namespace {

std::vector<StepRecord> records(std::size_t count, std::uint32_t iteration = 0) {
    std::vector<StepRecord> out(count);
    for (StepRecord& record : out) record.iteration = iteration;
    return out;
}

/// Whether a thread of this process is sleeping.
bool isAsleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string id;
    std::string name; // in parentheses; a test's name has no spaces
    std::string state;
    file >> id >> name >> state;
    return state == "S";
}

} // namespace

class TestRunBatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takesEverythingOnce();
    void progressIsLatestWins();
    void aClosedBatchStaysClosed();
    void nothingIsLostWhenItIsFull();
    void closingReleasesTheExecutor();
};

void TestRunBatch::takesEverythingOnce() {
    RunBatch batch;
    batch.steps(1, records(3));
    batch.steps(1, records(2, 1));
    QCOMPARE(batch.take().records.size(), std::size_t(5));
    QCOMPARE(batch.take().records.size(), std::size_t(0));
    RunResult result;
    result.run = 1;
    batch.finished(result);
    QVERIFY(batch.take().end.has_value());
    QVERIFY(!batch.take().end.has_value());
}

void TestRunBatch::progressIsLatestWins() {
    RunBatch batch;
    batch.progress(1, 1, 10);
    batch.progress(1, 7, 10);
    QCOMPARE(batch.take().done, std::int64_t(7));
    QCOMPARE(batch.take().done, std::int64_t(7)); // reading it again does not reset it
}

/// A cancelled run may still report its end while another one starts with the same batch.
void TestRunBatch::aClosedBatchStaysClosed() {
    RunBatch batch;
    batch.steps(1, records(3));
    batch.close();
    batch.started(2, Plan(), 0);
    batch.steps(2, records(1));
    batch.progress(2, 9, 10);
    RunStop stop;
    stop.run = 2;
    QVERIFY(batch.stopped(stop) == AtStop::end);
    RunResult end;
    end.run = 2;
    batch.finished(end);
    const RunEvents events = batch.take();
    QCOMPARE(events.records.size(), std::size_t(0));
    QCOMPARE(events.done, std::int64_t(0));
    QVERIFY(!events.stop);
    QVERIFY(!events.end);
}

void TestRunBatch::nothingIsLostWhenItIsFull() {
    RunBatch batch;
    constexpr std::size_t kPiece = RunBatch::kCapacity / 4;
    std::thread executor([&] {
        for (int i = 0; i < 12; ++i) batch.steps(1, records(kPiece));
        RunResult result;
        result.run = 1;
        batch.finished(result);
    });
    std::size_t seen = 0;
    std::size_t most = 0;
    for (bool ended = false; !ended;) {
        const RunEvents events = batch.take();
        seen += events.records.size();
        most = std::max(most, events.records.size());
        ended = events.end.has_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    executor.join();
    QCOMPARE(seen, 12 * kPiece);
    QVERIFY(most <= RunBatch::kCapacity + kPiece);
}

void TestRunBatch::closingReleasesTheExecutor() {
    RunBatch batch;
    batch.steps(1, records(RunBatch::kCapacity));
    std::atomic<pid_t> id{0};
    std::thread executor([&] {
        const std::vector<StepRecord> one = records(1);
        id = ::gettid();
        batch.steps(1, one);
    });
    while (id == 0 || !isAsleep(id)) std::this_thread::yield();
    batch.close();
    executor.join(); // otherwise the test hangs
    QCOMPARE(batch.take().records.size(), std::size_t(0));
}

TWB_TEST_MAIN(TestRunBatch)
#include "test_run_batch.moc"
