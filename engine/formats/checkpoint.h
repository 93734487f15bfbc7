#pragma once

#include "training/training_session.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace twb {

/// Everything that a training run needs to continue as if it had not stopped.
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

/// An epoch in a checkpoint and in a report. A loss that is not a number becomes null.
nlohmann::ordered_json toJson(const EpochRecord& epoch);
/// The rows of a matrix that has classes.
nlohmann::ordered_json toJson(const ConfusionMatrix& matrix);

} // namespace twb
