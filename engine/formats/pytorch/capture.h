#pragma once

#include "formats/imported_model.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace twb {

/// Imports a capture of a PyTorch program (.twbcap): one lane per claimed device, each op at its source line.
/// Equal iterations of a training loop become one, and GraphInfo::iterations their number. Frames that run
/// once contain what happens once: "Set-up", steps that differ, "After the loop". "Forward", "Backward" and
/// "Optimizer" are the iteration; inside them, frames follow the modules. A value that an earlier iteration
/// made in place is read from set-up, so the graph has no cycle. Transfers of the program are To nodes. The
/// remarks tell where the capture ends early. Throws Error(io) and Error(badFile) that name the line, and
/// Error(cancelled).
ImportedModel importCapture(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same for the bytes of a capture; `path` is for messages and the title.
ImportedModel parseCapture(std::string_view bytes, const std::filesystem::path& path,
                           const ImportOptions& options = {});

} // namespace twb
