#pragma once

#include "training/trainer.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// One completed epoch of a training.
struct EpochRecord {
    std::int64_t epoch = 0; ///< from 1
    std::int64_t steps = 0; ///< in all, at its end
    double loss = 0;        ///< mean over the rows
    std::optional<double> validationLoss;
    std::optional<double> accuracy;
    std::optional<double> rate; ///< learning rate of its last step
    std::int64_t rows = 0;
    double seconds = 0;
};

/// The course of a training so far.
struct TrainingRecord {
    std::vector<EpochRecord> epochs;
    // Of the epoch that is not complete.
    std::int64_t rows = 0;
    double rowLoss = 0; ///< sum over the rows
    double seconds = 0;
    double rateFactor = 1; ///< of the schedule "plateau"
};

/// All that a training needs to go on as if it had not stopped.
struct Checkpoint {
    TrainingPlace place;
    TrainingRecord record;
    std::map<std::string, Tensor> state;
};

/// Writes the state to "step-N.safetensors" in the folder, and then "checkpoint.json", which names it. Each
/// is written atomically, so that the folder always has a complete checkpoint. Keeps the last `keep` states.
/// Throws Error(io).
void saveCheckpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint, int keep);
/// Throws Error(io) if there is none, Error(badFile) that names the file if it is damaged.
Checkpoint loadCheckpoint(const std::filesystem::path& folder);
bool hasCheckpoint(const std::filesystem::path& folder);

} // namespace twb
