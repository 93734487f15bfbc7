#pragma once

#include "core/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace twb {

/// The JSON header of a .safetensors file. https://huggingface.co/docs/safetensors (format)
struct SafetensorsHeader {
    struct Entry {
        TensorType type;
        std::uint64_t begin = 0; ///< of its bytes, from the end of the header
        std::uint64_t end = 0;
    };
    std::map<std::string, Entry> tensors;
    std::map<std::string, std::string> metadata; ///< the file's metadata
};

/// Parses a header without building a document tree, so memory is bounded by the number of tensors. Throws
/// Error(badFile) with `origin` and the tensor: invalid JSON, an unknown dtype, a missing field, more than 64
/// axes, a size that overflows.
SafetensorsHeader parseSafetensorsHeader(std::string_view text, const std::string& origin);

/// The format's name of a dtype: "F32".
std::string_view safetensorsName(DType dtype) noexcept;

} // namespace twb
