#include "backends/staging_ring.h"
#include "core/caching_allocator.h"
#include "support/test_main.h"

#include <QObject>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

using namespace twb;

namespace {

/// A device that completes each copy some time after it was queued.
class LateQueue final : public CopyQueue {
public:
    explicit LateQueue(std::size_t chunks) : m_marks(chunks, 0), m_thread([this] { work(); }) {}
    ~LateQueue() override {
        push(nullptr);
        m_thread.join();
    }

    void toDevice(void* target, const void* pinned, std::size_t bytes) override {
        push([=] { std::memcpy(target, pinned, bytes); });
    }
    void toHost(void* pinned, const void* source, std::size_t bytes) override {
        push([=] { std::memcpy(pinned, source, bytes); });
    }
    void mark(std::size_t chunk) override {
        const std::scoped_lock lock(m_mutex);
        m_marks[chunk] = m_queued;
    }
    void waitFor(std::size_t chunk) override {
        if (forgetsMarks) return;
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_done >= m_marks[chunk]; });
    }
    bool goesOn() override { return copiesLeft-- > 0; }

    void finish() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_done == m_queued; });
    }

    bool forgetsMarks = false; ///< the effect of a ring that reuses its chunks too early
    int copiesLeft = 1 << 30;

private:
    void push(std::function<void()> copy) {
        const std::scoped_lock lock(m_mutex);
        m_copies.push_back(std::move(copy));
        ++m_queued;
        m_changed.notify_all();
    }
    void work() {
        for (;;) {
            std::function<void()> copy;
            {
                std::unique_lock lock(m_mutex);
                m_changed.wait(lock, [&] { return !m_copies.empty(); });
                copy = std::move(m_copies.front());
                m_copies.pop_front();
            }
            if (!copy) return;
            std::this_thread::sleep_for(std::chrono::microseconds(m_random() % 300));
            copy();
            const std::scoped_lock lock(m_mutex);
            ++m_done;
            m_changed.notify_all();
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::function<void()>> m_copies;
    std::uint64_t m_queued = 0;
    std::uint64_t m_done = 0;
    std::vector<std::uint64_t> m_marks;
    std::mt19937 m_random{1};
    std::thread m_thread;
};

constexpr std::size_t kChunk = 256;
constexpr std::size_t kChunks = 3;

struct Fixture {
    std::vector<unsigned char> host;
    std::vector<unsigned char> device;
    CachingAllocator pinned{Device::cpu(), MemoryKind::pinned, 1 << 20};
    LateQueue queue{kChunks};

    explicit Fixture(std::size_t bytes) : host(bytes), device(bytes) {
        for (std::size_t i = 0; i < bytes; ++i) host[i] = static_cast<unsigned char>(i * 31 + i / 251);
    }
    bool arrives() {
        StagingRing ring(queue, pinned, kChunk, kChunks);
        ring.toDevice(device.data(), host.data(), host.size());
        queue.finish();
        return device == host;
    }
    bool comesBack() {
        std::vector<unsigned char> back(host.size());
        device = host;
        StagingRing ring(queue, pinned, kChunk, kChunks);
        ring.toHost(back.data(), device.data(), host.size());
        return back == host;
    }
};

} // namespace

class TestStagingRing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everySizeGoesThereAndBack() {
        for (const std::size_t bytes : {0, 1, 255, 256, 257, 511, 768, 769, 5000, 20'001}) {
            Fixture f(bytes);
            QVERIFY2(f.arrives(), qPrintable(QString::number(bytes)));
            QVERIFY2(f.comesBack(), qPrintable(QString::number(bytes)));
            QVERIFY(f.pinned.stats().peak <= kChunks * kChunk);
            QCOMPARE(f.pinned.stats().used, std::size_t{0});
        }
    }

    void onlyWhatIsNeededIsTaken() {
        Fixture f(100);
        StagingRing ring(f.queue, f.pinned, kChunk, kChunks);
        QCOMPARE(f.pinned.stats().used, std::size_t{0});
        ring.toDevice(f.device.data(), f.host.data(), 100);
        QCOMPARE(f.pinned.stats().used, kChunk);
    }

    void bothDirectionsShareTheChunks() {
        Fixture f(4000);
        std::vector<unsigned char> back(4000);
        StagingRing ring(f.queue, f.pinned, kChunk, kChunks);
        for (int i = 0; i < 10; ++i) {
            f.host[static_cast<std::size_t>(i)] ^= 0xff;
            ring.toDevice(f.device.data(), f.host.data(), f.host.size());
            ring.toHost(back.data(), f.device.data(), back.size());
            QVERIFY(back == f.host);
        }
    }

    /// A cancelled copy stops between two chunks.
    void stopsWhenToldTo() {
        Fixture f(kChunk * 20);
        f.queue.copiesLeft = 3;
        StagingRing ring(f.queue, f.pinned, kChunk, kChunks);
        ring.toDevice(f.device.data(), f.host.data(), f.host.size());
        f.queue.finish();
        QVERIFY(std::equal(f.device.begin(), f.device.begin() + 4 * kChunk, f.host.begin()));
        QCOMPARE(f.device[4 * kChunk], static_cast<unsigned char>(0));
    }

    /// Shows that the first test would detect a chunk refilled before its copy is done.
    void earlyReuseIsDetected() {
        Fixture there(20'000);
        there.queue.forgetsMarks = true;
        QVERIFY(!there.arrives());
        Fixture back(20'000);
        back.queue.forgetsMarks = true;
        QVERIFY(!back.comesBack());
    }
};

TWB_TEST_MAIN(TestStagingRing)
#include "test_staging_ring.moc"
