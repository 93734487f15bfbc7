#pragma once

#include "formats/imported_model.h"

#include <filesystem>
#include <span>
#include <string_view>

namespace twb {

/// A format of other programs whose files become graphs. `twb import`, `twb check` and the window read the
/// formats from modelFormats().
struct ModelFormat {
    std::string_view extension; ///< ".onnx"
    std::string_view plural;    ///< "ONNX models"
    ImportedModel (*import)(const std::filesystem::path& path, const ImportOptions& options);
};

std::span<const ModelFormat> modelFormats();
/// The format of a file, by its extension in any case; null if there is none.
const ModelFormat* modelFormatOf(const std::filesystem::path& path);
/// Whether a file is a capture, by its extension.
bool isCapture(const std::filesystem::path& path);
/// Imports a file by its extension; one with an unknown extension as an ONNX model. Throws Error(io) and
/// Error(badFile) that name the file, and Error(cancelled).
ImportedModel importModel(const std::filesystem::path& path, const ImportOptions& options = {});

} // namespace twb
