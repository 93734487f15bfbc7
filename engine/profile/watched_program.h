#pragma once

#include "backends/device_map.h"
#include "graph/delta.h"
#include "graph/source_line.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A running PyTorch program that reports its transfers, waits and steps (`tensor_workbench.watch()`), as a
/// graph and a run of it: each line of the program that copies is an Input and a To node on their lanes, each
/// line that waits is a step without a node, and each step of the program is an iteration.
///
/// A transfer has the time that the program measured. Without one (the devices are claimed, no GPU is used)
/// it has the modelled time from the profiles, and counts as modelled.
class WatchedProgram {
public:
    static constexpr std::size_t kMostSites = 2'000;       ///< lines of the program
    static constexpr std::size_t kMostRecords = 1'000'000; ///< kept for records()

    /// Reads one line of the program's socket (resources/schema/watch.schema.json). Throws Error(badFile) for
    /// a line that is not understood; the lines before it stay.
    void read(std::string_view line);

    bool hasStarted() const noexcept { return m_started; } ///< the header was read
    bool hasEnded() const noexcept { return m_ended; }     ///< by itself; a killed program only goes silent
    const std::string& script() const noexcept { return m_script; }
    std::int64_t process() const noexcept { return m_process; }
    /// Completed steps since the watch began.
    std::int64_t steps() const noexcept { return m_step - m_firstStep; }
    std::int64_t step() const noexcept { return m_step; } ///< by the program's own count, from 0
    /// Events that the program dropped because the window did not keep up, or that exceed kMostSites.
    std::uint64_t lost() const noexcept { return m_lost; }
    /// The time of the last event, in ns since the program called watch().
    std::int64_t clockNs() const noexcept { return m_clockNs; }

    /// Whether lines were met that `graph` does not have yet.
    bool hasGrown() const noexcept { return m_drawn < m_sites.size(); }
    /// The change that adds them; afterwards hasGrown() is false.
    Delta grow(const Graph& graph);
    /// The steps of all lines that grow() has added, with the profiles of `devices`, which must have all
    /// devices of the graph. A later plan starts with the same steps and transfers, so records of an earlier
    /// one stay valid.
    std::shared_ptr<const Plan> plan(const DeviceMap& devices);
    /// The records since the last call, without those of lines that the last plan does not have.
    std::vector<StepRecord> takeRecords();
    /// All records that were taken so far, except the oldest beyond kMostRecords.
    const std::vector<StepRecord>& records() const noexcept { return m_records; }

private:
    struct Site {
        std::int64_t id = 0;
        std::string cause;
        Device from;
        std::optional<Device> to; ///< none: the line waits for `from`
        bool pinned = false;
        bool nonBlocking = false;
        std::optional<SourceLine> source;
        std::uint64_t bytes = 0; ///< of its first copy
        bool modelled = false;   ///< its first copy had no measured time
        NodeId tensor = NodeId::none;
        NodeId node = NodeId::none; ///< the To
    };
    void readHeader(const std::string& line);
    std::string titleOf(const Site& site) const;

    DeviceMap m_devices;
    std::vector<Site> m_sites;
    std::map<std::int64_t, std::uint32_t> m_indices; ///< of sites, by their id
    std::size_t m_drawn = 0;                         ///< sites that the graph has
    std::size_t m_planned = 0;                       ///< sites that the last plan has
    std::vector<StepRecord> m_records;
    std::vector<StepRecord> m_new;
    std::string m_script;
    std::int64_t m_process = 0;
    std::int64_t m_step = 0;
    std::int64_t m_firstStep = 0;
    std::int64_t m_clockNs = 0;
    std::uint64_t m_lost = 0;
    bool m_started = false;
    bool m_ended = false;
};

} // namespace twb
