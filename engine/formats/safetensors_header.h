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

/// How a header describes a tensor.
struct SafetensorsForm {
    std::string_view dtype; ///< "F32"
    Shape shape;
    std::map<std::string, std::string> metadata; ///< added to the file's
};
/// The form of a tensor with this name. The format has neither integers of less than 8 bits nor tensors that
/// end within a byte; their bytes are written as U8, and the metadata has their types.
SafetensorsForm safetensorsForm(const std::string& name, const TensorType& type);

} // namespace twb
