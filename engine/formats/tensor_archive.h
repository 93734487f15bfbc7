#pragma once

#include "core/tensor.h"
#include "formats/file_bounds.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A file of many tensors, open for reading: a .npz or a .safetensors. Thread-safe. Errors: Error(io), or
/// Error(badFile) naming the file and the tensor.
class TensorArchive {
public:
    virtual ~TensorArchive() = default;
    /// Sorted.
    virtual std::vector<std::string> names() const = 0;
    /// Throws Error(badFile) with the names there are when there is no such tensor.
    virtual TensorType typeOf(const std::string& name) const = 0;
    /// Reads into `out`, dense host memory of exactly that type.
    virtual void read(const std::string& name, const TensorView& out) const = 0;
};

/// Where a tensor lies: "weights.npz#conv1" is "conv1" of the archive weights.npz, "a.npy" a file by itself.
struct TensorPath {
    std::string file;
    std::optional<std::string> tensor; ///< also absent of "weights.npz", whose only tensor is meant then

    bool isInArchive() const;
};
TensorPath splitTensorPath(std::string_view path);

/// By its name's ending.
std::shared_ptr<const TensorArchive> openTensorArchive(const std::filesystem::path& file,
                                                       const FileBounds& bounds = {});
/// The name of the only tensor. Throws Error(badFile) with the names when there are several, or none.
std::string onlyTensorOf(const TensorArchive& archive, const std::filesystem::path& file);

/// Writes a dense host tensor: a .npy file of its own, or, for "out.npz#name" and "out.safetensors#name", one
/// of that file's tensors, which it replaces or joins; the others stay. Atomic, and nobody who adds to the
/// same archive meanwhile is lost. An archive is written anew each time. Throws Error(io); Error(badFile)
/// when there is a file of that name that is no such archive; Error(invalidArgument) for an archive without
/// "#name".
void writeTensor(const TensorPath& path, const TensorView& tensor, const FileBounds& bounds = {});

/// For an archive's readers: that it has no tensor of that name.
[[noreturn]] void refuseMissingTensor(const std::filesystem::path& file, const std::string& name,
                                      const std::vector<std::string>& names);

} // namespace twb
