#include "support/hooked_backend.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "support/graphs.h"

#include <deque>

namespace twb::test {
namespace {

/// A hook and its step, as passed to a launch.
struct Call {
    const std::function<void(std::uint32_t)>* hook = nullptr;
    std::uint32_t step = 0;
    Attributes attributes{};
    Launch launch{};
};

void runHook(const KernelContext& context) {
    const auto* call = reinterpret_cast<const Call*>(context.attributes.integer("call"));
    (*call->hook)(call->step);
}

/// Wraps another backend's stream and calls the hooks.
class HookedStream final : public Stream {
public:
    HookedStream(std::unique_ptr<Stream> stream, const StepHooks& hooks)
        : m_hooks(hooks), m_stream(std::move(stream)) {}

    void launch(const Launch& launch) override {
        call(m_hooks.before, launch.step);
        m_stream->launch(launch);
        call(m_hooks.after, launch.step);
    }
    void copy(const Copy& copy) override {
        call(m_hooks.before, copy.step);
        m_stream->copy(copy);
        call(m_hooks.after, copy.step);
    }
    void record(Event& event) override { m_stream->record(event); }
    void wait(Event& event) override { m_stream->wait(event); }
    void flush() override { m_stream->flush(); }
    void synchronize() override { m_stream->synchronize(); }
    std::uint64_t passed() const override { return m_stream->passed(); }
    std::int64_t clock() const override { return m_stream->clock(); }
    void resetClock(std::int64_t virtualNow) override { m_stream->resetClock(virtualNow); }

private:
    void call(const std::function<void(std::uint32_t)>& hook, std::uint32_t step) {
        if (!hook) return;
        Call& call = m_calls.emplace_back(Call{&hook, step});
        call.attributes.set("call", reinterpret_cast<std::int64_t>(&call));
        call.launch.op = "hook";
        call.launch.kernel = runHook;
        call.launch.attributes = &call.attributes;
        m_stream->launch(call.launch);
    }

    const StepHooks& m_hooks;
    std::deque<Call> m_calls; ///< destroyed after the stream's last command
    std::unique_ptr<Stream> m_stream;
};

class HookedBackend final : public Backend {
public:
    HookedBackend(std::shared_ptr<Backend> backend, StepHooks hooks)
        : m_backend(std::move(backend)), m_hooks(std::move(hooks)) {}

    const DeviceInfo& info() const override { return m_backend->info(); }
    const DeviceProfile& profile() const override { return m_backend->profile(); }
    Allocator& memory() override { return m_backend->memory(); }
    std::size_t freeBytes() override { return m_backend->freeBytes(); }
    Allocator& pinnedMemory() override { return m_backend->pinnedMemory(); }
    std::unique_ptr<Stream> createStream(QueueKind kind) override {
        return std::make_unique<HookedStream>(m_backend->createStream(kind), m_hooks);
    }
    std::unique_ptr<Event> createEvent() override { return m_backend->createEvent(); }
    bool supports(const char* op, HostKernel host, std::span<const DType> dtypes) const override {
        return (!m_hooks.supports || m_hooks.supports(op)) && m_backend->supports(op, host, dtypes);
    }
    bool canCopyTo(const Backend& other) const override { return m_backend->canCopyTo(other); }
    void collect(std::span<LaunchTiming> timings) override { m_backend->collect(timings); }

private:
    const std::shared_ptr<Backend> m_backend;
    const StepHooks m_hooks;
};

} // namespace

std::shared_ptr<Backend> makeHookedBackend(Device device, StepHooks hooks) {
    return std::make_shared<HookedBackend>(
        device.isCpu() ? cpuBackend() : makeSimulatedBackend(device, roundProfile()), std::move(hooks));
}

} // namespace twb::test
