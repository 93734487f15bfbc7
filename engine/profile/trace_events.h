#pragma once

#include "profile/gzip_input.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twb {

/// One event of a trace that another program wrote, in Chrome's trace event format.
struct TraceEvent {
    std::uint64_t index = 0; ///< in the file's list of events, from 0
    std::string phase;       ///< "X": a span of time
    std::string category;
    std::string name;
    std::string process;
    std::string thread;
    /// Absent if the field is missing or is not a time: a span of at most one day, within 130 years of 0.
    std::optional<std::int64_t> startNs;
    std::optional<std::int64_t> durationNs;

    /// A scalar argument as text, or an array or object as JSON without spaces; empty if there is none. Of
    /// several equal keys, the last one counts.
    std::string_view argument(std::string_view key) const noexcept;
    /// An argument as wholeNumber() reads it.
    std::optional<std::uint64_t> number(std::string_view key) const noexcept;

    /// The first `argumentCount` are valid; the others keep their memory for the next event.
    std::vector<std::pair<std::string, std::string>> arguments;
    std::size_t argumentCount = 0;
};

/// A whole number of at least 0. Nothing above 2^46 is a figure of a real trace.
std::optional<std::uint64_t> wholeNumber(std::string_view text) noexcept;

/// A time in microseconds, written in decimals, in whole nanoseconds: further digits are cut off.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds) noexcept;

/// A graphics card that a Kineto trace describes.
struct TraceDevice {
    std::int64_t id = 0;
    std::string name;              ///< "NVIDIA H100 80GB HBM3"
    std::uint64_t memoryBytes = 0; ///< 0 if unknown
};

/// The parts of a trace file beside its events.
struct TraceFileFacts {
    std::uint64_t events = 0;
    std::vector<TraceDevice> devices;
};

/// Reads a trace of any size in constant memory: JSON, compressed with gzip or not. Calls `take` for each
/// event in the file's order; the event is valid during the call. Throws Error(io), or Error(badFile) that
/// names the file and the index of the event.
TraceFileFacts readTraceEvents(const std::filesystem::path& path,
                               const std::function<void(const TraceEvent&)>& take,
                               const ReadProgress& progress = {});
/// The same from memory; `origin` is for messages.
TraceFileFacts parseTraceEvents(std::string_view json, const std::string& origin,
                                const std::function<void(const TraceEvent&)>& take);

} // namespace twb
