#include "formats/model_formats.h"

#include "formats/onnx/onnx_model.h"
#include "formats/pytorch/capture.h"
#include "formats/pytorch/pt2.h"

#include <algorithm>
#include <array>

namespace twb {
namespace {

constexpr std::array<ModelFormat, 3> kFormats{{
    {".onnx", "ONNX models", importOnnx},
    {".pt2", "PyTorch programs", importPt2},
    {".twbcap", "captures of PyTorch programs", importCapture},
}};

} // namespace

std::span<const ModelFormat> modelFormats() { return kFormats; }

const ModelFormat* modelFormatOf(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto at = std::find_if(kFormats.begin(), kFormats.end(),
                                 [&](const ModelFormat& format) { return format.extension == extension; });
    return at == kFormats.end() ? nullptr : &*at;
}

bool isCapture(const std::filesystem::path& path) {
    const ModelFormat* format = modelFormatOf(path);
    return format && format->extension == ".twbcap";
}

ImportedModel importModel(const std::filesystem::path& path, const ImportOptions& options) {
    const ModelFormat* format = modelFormatOf(path);
    return (format ? *format : kFormats.front()).import(path, options);
}

} // namespace twb
