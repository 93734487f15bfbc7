#pragma once

#include "formats/imported_model.h"

#include <filesystem>

namespace twb {

/// Imports a program that torch.export saved (.pt2, schema major 8: torch 2.6 and later) into a graph with
/// one lane per device: its calls by the table of aten ops (aten.h), weights as Constants and Files, inputs
/// as Input nodes, outputs as Probes, modules as frames. Only the archive's JSON and raw tensors are read;
/// weights that are only in a pickle become Input nodes, with a remark. Throws Error(io) and Error(badFile)
/// that name the file, the call or tensor, and the problem; Error(cancelled).
ImportedModel importPt2(const std::filesystem::path& path, const ImportOptions& options = {});

} // namespace twb
