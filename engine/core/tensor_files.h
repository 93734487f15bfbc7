#pragma once

#include "core/tensor.h"

#include <string>
#include <string_view>

namespace twb {

/// How `File` and `Save` reach tensors on disk. Paths are those of the graph; "a.safetensors#name" is one
/// tensor of a file of many. They are relative to the project's folder; a path that leaves the folder is
/// refused unless the implementation was told to allow it. Thread-safe. Errors: Error(io) when a file cannot
/// be read or written, Error(badFile) when it is not a tensor file, each with the path.
class TensorFiles {
public:
    virtual ~TensorFiles() = default;
    /// Dtype and shape from the header alone.
    virtual TensorType typeOf(std::string_view path) const = 0;
    /// Reads into `out`, dense host memory of exactly typeOf(path).
    virtual void read(std::string_view path, const TensorView& out) const = 0;
    /// Writes a dense host tensor, atomically.
    virtual void write(std::string_view path, const TensorView& tensor) const = 0;
    /// Changes when the file's content may have (size, time of change); "" when there is no such file.
    virtual std::string fingerprint(std::string_view path) const = 0;
};

} // namespace twb
