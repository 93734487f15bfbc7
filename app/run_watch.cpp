#include "app/run_watch.h"

#include <fmt/format.h>

#include <cstdio>

namespace twb {

RunWatch::RunWatch(const std::shared_ptr<const Plan>& plan, bool trace, Interrupts& interrupts)
    : m_ledger(plan), m_times(plan), m_interrupts(interrupts) {
    if (trace) m_trace.emplace(plan);
}

void RunWatch::started(std::uint64_t, const Plan&) {}

void RunWatch::steps(std::uint64_t, std::span<const StepRecord> records) {
    m_ledger.add(records);
    m_times.add(records);
    if (m_trace) m_trace->add(records);
}

void RunWatch::progress(std::uint64_t, std::int64_t done, std::int64_t) { m_done = done; }

void RunWatch::finished(const RunResult& result) {
    m_result = result;
    m_finished = true;
    m_interrupts.post();
}

void runWatched(const std::shared_ptr<const Plan>& plan, const RunOptions& options, bool showProgress,
                Interrupts& interrupts, RunWatch& watch) {
    constexpr int kFrameMs = 200;
    bool shown = false;
    Executor executor;
    executor.start(plan, options, watch);
    while (!watch.isFinished()) {
        const auto event = interrupts.wait(showProgress ? kFrameMs : -1);
        if (event == Interrupts::Event::interrupted) executor.cancel();
        if (event == Interrupts::Event::timeout) {
            fmt::print(stderr, "\r\x1b[Kiteration {} of {}", watch.done(), options.iterations);
            std::fflush(stderr);
            shown = true;
        }
    }
    executor.wait();
    if (shown) fmt::print(stderr, "\r\x1b[K");
}

} // namespace twb
