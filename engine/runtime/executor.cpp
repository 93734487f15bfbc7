#include "runtime/executor.h"

#include "backends/kept_failure.h"
#include "runtime/run_context.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace twb {

std::string_view name(StepState state) noexcept {
    switch (state) {
    case StepState::pending:
        return "pending";
    case StepState::running:
        return "running";
    case StepState::done:
        return "done";
    case StepState::cached:
        return "cached";
    case StepState::failed:
        return "failed";
    case StepState::skipped:
        return "skipped";
    case StepState::poisoned:
        return "poisoned";
    case StepState::cancelled:
        return "cancelled";
    }
    return {};
}

const Tensor* RunResult::tensor(PortRef output) const noexcept {
    const auto at = std::lower_bound(tensors.begin(), tensors.end(), output,
                                     [](const auto& item, PortRef wanted) { return item.first < wanted; });
    return at != tensors.end() && at->first == output ? &at->second : nullptr;
}

AtStop RunObserver::stopped(const RunStop&) { return AtStop::goOn; }

void RunObserver::looked(std::uint64_t, std::vector<std::pair<PortRef, Tensor>>) {}

namespace {

/// The result of a run whose full result could not be built, for example without memory.
RunResult failedRun(std::uint64_t run, const std::exception_ptr& error) noexcept {
    RunResult result;
    result.run = run;
    result.status = RunStatus::failed;
    const auto add = [&](ErrorCode code, const char* sentence) noexcept {
        try {
            result.errors.push_back({kNone, NodeId::none, code, sentence});
        } catch (const std::bad_alloc&) { // no memory for the sentence either; the status remains
        }
    };
    try {
        std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        add(ErrorCode::outOfMemory,
            "the host is out of memory, so the run was stopped; use smaller tensors or close other programs");
    } catch (const std::exception& e) {
        add(ErrorCode::failed, e.what());
    }
    return result;
}

} // namespace

class Executor::Impl {
public:
    Impl() : m_thread([this] { work(); }) {}

    ~Impl() {
        {
            const std::scoped_lock lock(m_mutex);
            m_stop = true;
            if (m_context) m_context->cancel();
        }
        m_changed.notify_all();
        m_thread.join();
    }

    std::uint64_t start(std::shared_ptr<const Plan> plan, const RunOptions& options, RunObserver& observer) {
        if (options.iterations < 1)
            throw Error(ErrorCode::invalidArgument, "a run needs at least one iteration");
        std::unique_lock lock(m_mutex);
        if (m_context && !m_ended)
            throw Error(ErrorCode::invalidArgument, "a run is in progress; stop it first");
        m_changed.wait(lock, [this] { return !m_context; });
        m_ended = false;
        const std::uint64_t run = ++m_runs;
        m_context = std::make_unique<RunContext>(run, std::move(plan), options, &observer, &m_cache);
        m_observer = &observer;
        m_changed.notify_all();
        return run;
    }

    void cancel() {
        const std::scoped_lock lock(m_mutex);
        if (m_context) m_context->cancel();
    }

    bool isRunning() const {
        const std::scoped_lock lock(m_mutex);
        return m_context && !m_ended;
    }

    void setBreakpoints(const std::map<NodeId, Breakpoints>& breakpoints) {
        const std::scoped_lock lock(m_mutex);
        if (m_context) m_context->stops().set(breakpoints);
    }

    void goOn(bool step) {
        const std::scoped_lock lock(m_mutex);
        if (m_context) m_context->stops().goOn(step);
    }

    std::optional<Tensor> tensorAtStop(PortRef output) const {
        const std::scoped_lock lock(m_mutex);
        return m_context ? m_context->tensorAtStop(output) : std::nullopt;
    }

    std::vector<std::uint32_t> runningSteps() const {
        const std::scoped_lock lock(m_mutex);
        return m_context ? m_context->runningSteps() : std::vector<std::uint32_t>{};
    }

    void wait() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return !m_context; });
    }

    void clearCache() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return !m_context; });
        m_cache.clear();
    }

private:
    void work() {
        std::unique_lock lock(m_mutex);
        for (;;) {
            m_changed.wait(lock, [this] { return m_context || m_stop; });
            if (!m_context) return;
            RunContext& context = *m_context;
            RunObserver& observer = *m_observer;
            lock.unlock();
            RunResult result;
            try {
                result = context.execute();
            } catch (...) {
                result = failedRun(context.number(), std::current_exception());
            }
            lock.lock();
            m_ended = true;
            lock.unlock();
            observer.finished(std::move(result));
            lock.lock();
            // Joins the streams' threads: the run has ended only after they have.
            m_context.reset();
            m_changed.notify_all();
        }
    }

    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::unique_ptr<RunContext> m_context;
    RunObserver* m_observer = nullptr;
    ResultCache m_cache;
    std::uint64_t m_runs = 0;
    bool m_ended = false; ///< the context's run has ended; its threads are being joined
    bool m_stop = false;
    std::thread m_thread;
};

Executor::Executor() : m_impl(std::make_unique<Impl>()) {}
Executor::~Executor() = default;

std::uint64_t Executor::start(std::shared_ptr<const Plan> plan, const RunOptions& options,
                              RunObserver& observer) {
    return m_impl->start(std::move(plan), options, observer);
}
void Executor::cancel() { m_impl->cancel(); }
bool Executor::isRunning() const { return m_impl->isRunning(); }
void Executor::setBreakpoints(const std::map<NodeId, Breakpoints>& b) { m_impl->setBreakpoints(b); }
void Executor::proceed() { m_impl->goOn(false); }
void Executor::step() { m_impl->goOn(true); }
std::optional<Tensor> Executor::tensorAtStop(PortRef output) const { return m_impl->tensorAtStop(output); }
std::vector<std::uint32_t> Executor::runningSteps() const { return m_impl->runningSteps(); }
void Executor::wait() { m_impl->wait(); }
void Executor::clearCache() { m_impl->clearCache(); }

RunResult runToEnd(std::shared_ptr<const Plan> plan, const RunOptions& options, RunObserver* observer) {
    RunContext context(1, std::move(plan), options, observer, nullptr);
    RunResult result = context.execute();
    if (observer) observer->finished(result);
    return result;
}

Tensor toHost(const Tensor& tensor, const DeviceMap& devices) {
    if (!tensor || tensor.memoryKind() != MemoryKind::device) return tensor;
    Tensor host = Tensor::onHost(tensor.type());
    Backend& backend = devices.at(tensor.device());
    const auto stream = backend.createStream(QueueKind::deviceToHost);
    KeptFailure failure;
    Copy copy;
    copy.target = host.data();
    copy.source = tensor.data();
    copy.bytes = static_cast<std::size_t>(tensor.byteCount());
    copy.direction = CopyDirection::deviceToHost;
    copy.guard = &failure;
    stream->copy(copy);
    stream->synchronize();
    backend.collect({}); // some devices report failures late
    failure.rethrow();
    return host;
}

Tensor toDevice(const Tensor& host, Device device, const DeviceMap& devices) {
    const MemoryKind kind = device.isCpu() ? MemoryKind::pageable : MemoryKind::device;
    const auto bytes = static_cast<std::size_t>(host.byteCount());
    BufferPtr buffer = devices.memoryFor(device, kind).allocate(std::max<std::size_t>(bytes, 1), kind);
    if (device.isCpu()) {
        std::memcpy(buffer->data(), host.data(), bytes);
        return {std::move(buffer), host.type()};
    }
    Backend& backend = devices.at(device);
    const auto stream = backend.createStream(QueueKind::hostToDevice);
    KeptFailure failure;
    Copy copy;
    copy.target = buffer->data();
    copy.source = host.data();
    copy.bytes = bytes;
    copy.guard = &failure;
    stream->copy(copy);
    stream->synchronize();
    backend.collect({}); // some devices report failures late
    failure.rethrow();
    return {std::move(buffer), host.type()};
}

} // namespace twb
