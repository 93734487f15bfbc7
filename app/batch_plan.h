#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace twb {

/// One `--set` of a batch: an attribute and its values.
struct SweepAxis {
    std::string target; ///< "fc1.alpha"
    std::vector<std::string> values;
};
/// "fc1.alpha=1,2,3"; commas within brackets do not split. Throws Error(invalidArgument).
SweepAxis parseSweepAxis(std::string_view text);

/// One run of a batch.
struct BatchMember {
    std::filesystem::path file;
    std::vector<std::string> values; ///< parallel to the axes
    std::string name;                ///< unique in the batch, and a valid file name on all systems
    std::string key;                 ///< equal for equal content, values and options
};

/// The given files, and the .twb files in the given folders and their subfolders, sorted by name and without
/// duplicates. Throws Error(io) for a missing file or folder and for a folder that cannot be read.
std::vector<std::filesystem::path> collectGraphs(const std::vector<std::string>& arguments);

/// Every file with every combination of values; the last axis changes fastest. `options` are other settings
/// that affect results; they are part of the keys. Calls `look` for each file that can be read; an Error that
/// it throws is ignored, since the runs of the file report it. Throws Error(invalidArgument) for more than
/// 100,000 runs.
std::vector<BatchMember>
planBatch(const std::vector<std::filesystem::path>& files, const std::vector<SweepAxis>& axes,
          const std::vector<std::string>& options,
          const std::function<void(const std::filesystem::path& file, const std::string& text)>& look);

} // namespace twb
