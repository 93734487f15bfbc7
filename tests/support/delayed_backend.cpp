#include "support/delayed_backend.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "support/graphs.h"

#include <chrono>
#include <thread>

namespace twb::test {
namespace {

void sleepAsTold(const KernelContext& context) {
    std::this_thread::sleep_for(std::chrono::microseconds(context.attributes.integer("us")));
}

/// Another backend's stream with sleep in it.
class DelayedStream final : public Stream {
public:
    DelayedStream(std::unique_ptr<Stream> stream, const DelayOfStep& delay)
        : m_delay(delay), m_stream(std::move(stream)) {}

    void launch(const Launch& launch) override {
        holdBack(launch.step);
        m_stream->launch(launch);
    }
    void copy(const Copy& copy) override {
        holdBack(copy.step);
        m_stream->copy(copy);
    }
    void record(Event& event) override { m_stream->record(event); }
    void wait(Event& event) override { m_stream->wait(event); }
    void flush() override { m_stream->flush(); }
    void synchronize() override { m_stream->synchronize(); }
    std::uint64_t passed() const override { return m_stream->passed(); }
    std::int64_t clock() const override { return m_stream->clock(); }
    void resetClock(std::int64_t virtualNow) override { m_stream->resetClock(virtualNow); }

private:
    struct Sleep {
        Attributes attributes;
        Launch launch;
    };

    void holdBack(std::uint32_t step) {
        const int us = m_delay(step);
        if (us <= 0) return;
        Sleep& sleep = m_sleeps.emplace_back();
        sleep.attributes.set("us", std::int64_t{us});
        sleep.launch.op = "sleep";
        sleep.launch.kernel = sleepAsTold;
        sleep.launch.attributes = &sleep.attributes;
        m_stream->launch(sleep.launch);
    }

    const DelayOfStep& m_delay;
    std::deque<Sleep> m_sleeps; ///< until the stream ends: after all of them
    std::unique_ptr<Stream> m_stream;
};

class DelayedBackend final : public Backend {
public:
    DelayedBackend(std::shared_ptr<Backend> backend, DelayOfStep delay)
        : m_backend(std::move(backend)), m_delay(std::move(delay)) {}

    const DeviceInfo& info() const override { return m_backend->info(); }
    const DeviceProfile& profile() const override { return m_backend->profile(); }
    Allocator& memory() override { return m_backend->memory(); }
    std::size_t freeBytes() override { return m_backend->freeBytes(); }
    Allocator& pinnedMemory() override { return m_backend->pinnedMemory(); }
    std::unique_ptr<Stream> createStream(QueueKind kind) override {
        return std::make_unique<DelayedStream>(m_backend->createStream(kind), m_delay);
    }
    std::unique_ptr<Event> createEvent() override { return m_backend->createEvent(); }
    bool supports(const char* op, HostKernel host, std::span<const DType> inputs) const override {
        return m_backend->supports(op, host, inputs);
    }
    bool canCopyTo(const Backend& other) const override { return m_backend->canCopyTo(other); }
    void collect(std::span<LaunchTiming> timings) override { m_backend->collect(timings); }

private:
    const std::shared_ptr<Backend> m_backend;
    const DelayOfStep m_delay;
};

} // namespace

std::shared_ptr<Backend> makeDelayedBackend(Device device, DelayOfStep delay) {
    return std::make_shared<DelayedBackend>(makeSimulatedBackend(device, roundProfile()), std::move(delay));
}

std::shared_ptr<Backend> makeDelayedCpu(DelayOfStep delay) {
    return std::make_shared<DelayedBackend>(cpuBackend(), std::move(delay));
}

} // namespace twb::test
