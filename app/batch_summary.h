#pragma once

#include "app/batch_plan.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// How one run of a batch went.
struct BatchRow {
    BatchMember member;
    std::string status; ///< "finished", "failed", "cancelled", "crashed"
    int exitCode = 0;
    bool skipped = false; ///< its report was there already
    std::string message;  ///< the last line that it wrote to stderr, or the signal that ended it
    std::int64_t iterations = 0;
    double wallMs = 0;
    double clockMs = 0;
    bool modelled = false; ///< clockMs and transferMs come from a profile
    std::uint64_t transferBytes = 0;
    double transferMs = 0;
    std::map<std::string, double> probes; ///< those of one element
};

/// Whether reports may be written into a folder: it is empty, or has a report or a summary of an earlier
/// batch.
bool mayHoldReports(const std::filesystem::path& folder);

/// Where a member's report lies, once its run is over.
std::filesystem::path reportPath(const std::filesystem::path& folder, const BatchMember& member);

/// The row of a finished run that `folder` has a complete and still true report of: same key, and the files
/// that it read have not changed since.
std::optional<BatchRow> findReport(const std::filesystem::path& folder, const BatchMember& member);

/// Reads the report at `written` by a run that ended, where there is one, notes in it what it was a run of,
/// and puts it into `folder`. A run that left none gets one that says how it ended. Throws Error(io).
BatchRow takeReport(const std::filesystem::path& folder, const std::filesystem::path& written,
                    const std::vector<SweepAxis>& axes, BatchRow row);

/// The summary as a table for people, and as summary.json and summary.csv in `folder`. Throws Error(io).
std::string toTable(const std::vector<SweepAxis>& axes, const std::vector<BatchRow>& rows);
void writeSummary(const std::filesystem::path& folder, const std::vector<SweepAxis>& axes,
                  const std::vector<BatchRow>& rows);

} // namespace twb
