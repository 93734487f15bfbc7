#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twb {

/// One `--set` of a batch: an attribute and the values that it takes.
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
    std::string name;                ///< unique in the batch, and a file name anywhere
    std::string key;                 ///< same content, values and options: same key
};

/// Files as given, and the .twb files of folders and their subfolders, in order of their names; each once.
/// Throws Error(io) for what is not there and for a folder that cannot be read.
std::vector<std::filesystem::path> collectGraphs(const std::vector<std::string>& arguments);

/// Every file with every combination of values, the last axis fastest. `options` is what else decides about a
/// result; it goes into the keys. Throws Error(invalidArgument) for more than 100,000 runs.
std::vector<BatchMember> planBatch(const std::vector<std::filesystem::path>& files,
                                   const std::vector<SweepAxis>& axes,
                                   const std::vector<std::string>& options);

} // namespace twb
