#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A time in two reports. A measured and a modelled time cannot be compared.
struct TimePair {
    double before = 0; ///< median, ms
    double after = 0;
    double spread = 0; ///< noise of a measured time: the larger distance between median and p95, ms
    bool once = false; ///< fewer than 3 timings in one report: too few to compare measured times
    bool beforeModelled = false;
    bool afterModelled = false;

    bool isComparable() const noexcept { return beforeModelled == afterModelled; }
    /// Whether the times differ by more than the noise of measured times, or the rounding of modelled ones.
    bool isChanged() const noexcept;
    bool isWithinNoise() const noexcept {
        return isComparable() && !beforeModelled && before != after && !isChanged();
    }
};

/// The change of one transfer or step.
struct ReportChange {
    enum class Kind : std::uint8_t { same, changed, added, removed };
    Kind kind = Kind::same;
    std::string label;
    /// The device of a step, or both devices of a transfer: `from` in the first report ("" if added), `to` in
    /// the second ("" if removed).
    std::string from;
    std::string to;
    std::uint64_t bytesBefore = 0; ///< of a transfer: per iteration, or once if it is part of the setup
    std::uint64_t bytesAfter = 0;
    std::optional<TimePair> time; ///< if both ran
    bool setup = false;
};
std::string_view name(ReportChange::Kind kind) noexcept;

/// Two runs, compared. Bytes and times are those of one iteration, so runs of different lengths compare.
struct ReportDiff {
    std::string before, after;        ///< the files
    std::vector<std::string> devices; ///< sentences about device names with different hardware
    std::vector<std::string> remarks; ///< sentences about limits of the comparison
    std::uint64_t bytesBefore = 0, bytesAfter = 0;
    std::uint64_t setupBytesBefore = 0, setupBytesAfter = 0;
    std::optional<TimePair> iteration;
    std::vector<ReportChange> transfers;
    std::vector<ReportChange> steps; ///< compute steps
};

/// Compares two reports. Transfers are matched by the ports at their ends, steps by their nodes. Throws
/// Error(badFile) that names the file that is not a report.
ReportDiff compareReports(std::string_view before, const std::string& beforeName, std::string_view after,
                          const std::string& afterName);

/// Allowed growth of a figure, in percent.
struct GrowthLimits {
    std::optional<double> transferBytes;
    std::optional<double> time;
};
/// One sentence for each limit that is exceeded or cannot be checked.
std::vector<std::string> exceeded(const ReportDiff& diff, const GrowthLimits& limits);

std::string toText(const ReportDiff& diff);
/// One JSON object; resources/schema/compare.schema.json describes its keys.
std::string toJson(const ReportDiff& diff, const std::vector<std::string>& exceeded);

} // namespace twb
