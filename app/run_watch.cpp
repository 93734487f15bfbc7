#include "app/run_watch.h"

#include "app/terminal.h"
#include "backends/cpu/host_stream.h"
#include "backends/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace twb {

RunWatch::RunWatch(const std::shared_ptr<const Plan>& plan, bool trace, Interrupts& interrupts)
    : m_plan(plan), m_ledger(plan), m_times(plan), m_timeline(plan), m_interrupts(interrupts) {
    if (trace) m_trace.emplace(plan);
}

void RunWatch::started(std::uint64_t, const Plan&, std::int64_t startNs) {
    m_startedNs = startNs;
    if (m_pulse) m_pulse->started(m_startedNs);
}

void RunWatch::steps(std::uint64_t, std::span<const StepRecord> records) {
    m_ledger.add(records);
    m_times.add(records);
    m_timeline.add(records);
    if (m_trace) m_trace->add(records);
    if (m_events) m_events->add(records);
    if (m_pulse) m_pulse->add(records);
}

void RunWatch::progress(std::uint64_t, std::int64_t done, std::int64_t) {
    m_done = done;
    if (m_events) m_events->progress(done);
    if (m_pulse) m_pulse->progress(done);
}

AtStop RunWatch::stopped(const RunStop& stop) {
    m_found = stop;
    World& world = m_plan->devices.world();
    // The run ends as if it were cancelled, which is all that the other ranks would learn.
    if (world.size() > 1 && !world.info().simulated)
        world.abort(fmt::format("rank {} failed: {}", world.rank(), foundSentence()));
    return AtStop::end;
}

std::string RunWatch::foundSentence() const {
    const Step& step = m_plan->steps[m_found->step];
    return fmt::format("{} \"{}\": its output has {} {}", step.op ? step.op->name : "copy", step.label,
                       m_found->found,
                       step.setup ? std::string("before the iterations")
                                  : fmt::format("in iteration {}", m_found->iteration + 1));
}

void RunWatch::finished(RunResult result) noexcept {
    m_result = std::move(result);
    m_finished = true;
    m_interrupts.post();
}

namespace {

/// The steps for which a cancelled run waits. A stream's current step may itself wait for another stream.
std::vector<std::string> unfinished(const Plan& plan, const std::vector<std::uint32_t>& running) {
    const auto waits = [&](const Step& step) {
        return std::any_of(step.waits.begin(), step.waits.end(), [&](std::uint32_t before) {
            const std::uint32_t at = running[plan.steps[before].stream];
            return at != kNone && at <= before; // a stream runs its steps in order
        });
    };
    std::vector<std::string> out;
    for (const std::uint32_t at : running)
        if (at != kNone && !waits(plan.steps[at])) out.push_back('"' + plan.steps[at].label + '"');
    return out;
}

void sayCancelling(const Plan& plan, const Executor& executor) {
    const std::vector<std::string> steps = unfinished(plan, executor.runningSteps());
    printMessage(fmt::format("cancelling{}; press Ctrl-C again to stop immediately",
                             steps.empty()
                                 ? ""
                                 : fmt::format(", waiting for the step{} {} to end",
                                               steps.size() > 1 ? "s" : "", fmt::join(steps, " and "))));
}

} // namespace

void runWatched(const std::shared_ptr<const Plan>& plan, const RunOptions& options, bool showProgress,
                Interrupts& interrupts, RunWatch& watch) {
    constexpr int kFrameMs = 200;
    bool shown = false;
    bool cancelling = false;
    Executor executor;
    executor.start(plan, options, watch);
    while (!watch.isFinished()) {
        const auto event = interrupts.wait(showProgress ? kFrameMs : -1);
        if (event == Interrupts::Event::interrupted) {
            executor.cancel();
            if (shown) fmt::print(stderr, "\r\x1b[K");
            shown = false;
            cancelling = true;
            sayCancelling(*plan, executor);
        }
        if (event == Interrupts::Event::timeout && !cancelling) {
            fmt::print(stderr, "\r\x1b[Kiteration {} of {}", watch.done(), options.iterations);
            std::fflush(stderr);
            shown = true;
        }
    }
    executor.wait();
    watch.settle();
    if (shown) fmt::print(stderr, "\r\x1b[K");
}

} // namespace twb
