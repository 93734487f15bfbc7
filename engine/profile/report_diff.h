#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A time in two reports. One that was measured and one that was modelled have nothing to say to each other.
struct TimePair {
    double before = 0; ///< median, ms
    double after = 0;
    double spread =
        0; ///< how far a measured time strays by itself: the larger distance of median and p95, ms
    bool once = false; ///< one of them was timed a few times only: of measured times that says nothing
    bool beforeModelled = false;
    bool afterModelled = false;

    bool isComparable() const noexcept { return beforeModelled == afterModelled; }
    /// Further apart than measured times stray, or than modelled ones round.
    bool isChanged() const noexcept;
    bool isWithinNoise() const noexcept {
        return isComparable() && !beforeModelled && before != after && !isChanged();
    }
};

/// What became of one transfer or step.
struct ReportChange {
    enum class Kind : std::uint8_t { same, changed, added, removed };
    Kind kind = Kind::same;
    std::string label;
    std::string from; ///< of a transfer its two devices, of a step where it stood; "" when it was added
    std::string to;
    std::uint64_t bytesBefore = 0; ///< of a transfer: in one iteration, or once when it is part of the setup
    std::uint64_t bytesAfter = 0;
    std::optional<TimePair> time; ///< when both ran
    bool setup = false;
};
std::string_view name(ReportChange::Kind kind) noexcept;

/// Two runs, side by side. Bytes and times are those of one iteration, so runs of different lengths compare.
struct ReportDiff {
    std::string before, after;        ///< the files
    std::vector<std::string> devices; ///< sentences: what stands behind a name in one and not in the other
    std::vector<std::string> remarks; ///< sentences: what makes the comparison weaker than it looks
    std::uint64_t bytesBefore = 0, bytesAfter = 0;
    std::uint64_t setupBytesBefore = 0, setupBytesAfter = 0;
    std::optional<TimePair> iteration;
    std::vector<ReportChange> transfers;
    std::vector<ReportChange> steps; ///< those that compute
};

/// Compares two reports, matching transfers by the ports that they join and steps by their nodes. Throws
/// Error(badFile) naming the file that is no report.
ReportDiff compareReports(std::string_view before, const std::string& beforeName, std::string_view after,
                          const std::string& afterName);

/// How much a figure may grow, in percent.
struct GrowthLimits {
    std::optional<double> transferBytes;
    std::optional<double> time;
};
/// A sentence for each limit that is passed, or of which it cannot be told.
std::vector<std::string> exceeded(const ReportDiff& diff, const GrowthLimits& limits);

std::string toText(const ReportDiff& diff);
/// {schema, before, after, devices, remarks, bytes: {before, after}, setup_bytes: {before, after},
/// iteration_ms, transfers: [{change, label, from, to, setup, bytes: {before, after}, ms}], steps: [the same
/// without bytes], exceeded}; ms and iteration_ms are {before, after, before_modelled, after_modelled,
/// comparable, changed, within_noise} or null.
std::string toJson(const ReportDiff& diff, const std::vector<std::string>& exceeded);

} // namespace twb
