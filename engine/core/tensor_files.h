#pragma once

#include "core/tensor.h"

#include <string>
#include <string_view>

namespace twb {

/// Access to tensors on disk for `File` and `Save`. Paths are those of the graph, relative to the project's
/// folder; "a.safetensors#name" is one tensor of a file with several. A path that leaves the folder is
/// refused unless the implementation allows it. Thread-safe. Throws Error(io) if a file cannot be read or
/// written and Error(badFile) if it is not a tensor file; both name the path.
class TensorFiles {
public:
    virtual ~TensorFiles() = default;
    /// The dtype and shape, from the header alone.
    virtual TensorType typeOf(std::string_view path) const = 0;
    /// Reads into `out`: dense host memory of type typeOf(path).
    virtual void read(std::string_view path, const TensorView& out) const = 0;
    /// Throws if write() would refuse this path; touches no file.
    virtual void checkTarget(std::string_view path) const { (void)path; }
    /// Writes a dense host tensor, atomically.
    virtual void write(std::string_view path, const TensorView& tensor) const = 0;
    /// A text that changes when the file's content may have changed (size, modification time); "" if there is
    /// no such file.
    virtual std::string fingerprint(std::string_view path) const = 0;
};

} // namespace twb
