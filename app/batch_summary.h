#pragma once

#include "app/batch_plan.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// The result of one run of a batch.
struct BatchRow {
    BatchMember member;
    std::string status; ///< "finished", "failed", "cancelled", "crashed"
    int exitCode = 0;
    bool skipped = false; ///< its report existed already
    std::string message;  ///< the last line of its stderr, or the signal that ended it
    std::int64_t iterations = 0;
    double wallMs = 0;
    double clockMs = 0;
    bool modelled = false; ///< clockMs and transferMs come from a profile
    std::uint64_t transferBytes = 0;
    double transferMs = 0;
    std::map<std::string, double> probes; ///< with one element
};

/// Whether reports may be written into a folder: it is empty, or has a report or a summary of an earlier
/// batch.
bool mayHoldReports(const std::filesystem::path& folder);

/// The path of a member's report after its run.
std::filesystem::path reportPath(const std::filesystem::path& folder, const BatchMember& member);

/// The row of a run that has finished with exit code 0 and whose complete report in `folder` is still valid:
/// same key, and its input files have not changed. Also that of a failed run of the job with this name
/// (BatchClaims), unless it is empty.
std::optional<BatchRow> findReport(const std::filesystem::path& folder, const BatchMember& member,
                                   const std::string& job = {});

/// Reads the report at `written` of an ended run, adds the member to it, and moves it to `folder`. A run
/// without a report gets one that says how it ended. Throws Error(io).
BatchRow takeReport(const std::filesystem::path& folder, const std::filesystem::path& written,
                    const std::vector<SweepAxis>& axes, BatchRow row, const std::string& job = {});

/// The summary as a text table, and as summary.json and summary.csv in `folder`. Throws Error(io).
std::string toTable(const std::vector<SweepAxis>& axes, const std::vector<BatchRow>& rows);
void writeSummary(const std::filesystem::path& folder, const std::vector<SweepAxis>& axes,
                  const std::vector<BatchRow>& rows);

} // namespace twb
