#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace twb {

/// The rows of a tensor on disk: its slices along the first axis. Thread-safe.
class TensorRows {
public:
    virtual ~TensorRows() = default;
    virtual const TensorType& type() const = 0;
    /// Copies these rows, which must exist, one after the other. Throws Error(io).
    virtual void read(std::span<const std::int64_t> rows, void* to) const = 0;
};
/// Bytes of one row. Throws Error(badFile) for a 0-dimensional tensor.
std::size_t rowBytesOf(const TensorType& type);

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
    /// Loads the tensor, or keeps its file open.
    virtual std::shared_ptr<const TensorRows> rows(std::string_view path) const;
    /// Throws if write() would refuse this path; touches no file.
    virtual void checkTarget(std::string_view path) const { (void)path; }
    /// Writes a dense host tensor, atomically.
    virtual void write(std::string_view path, const TensorView& tensor) const = 0;
    /// A text that changes when the file's content may have changed (size, modification time); "" if there is
    /// no such file.
    virtual std::string fingerprint(std::string_view path) const = 0;
};

} // namespace twb
