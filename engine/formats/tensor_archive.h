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

/// A file with several tensors, open for reading: .npz, .safetensors, CSV or IDX. Thread-safe. Throws
/// Error(io), or Error(badFile) that names the file and the tensor.
class TensorArchive {
public:
    virtual ~TensorArchive() = default;
    /// Sorted.
    virtual std::vector<std::string> names() const = 0;
    /// Whether the file as a whole is a tensor too, of the name "".
    virtual bool isWhole() const noexcept { return false; }
    /// Throws Error(badFile) that lists the names if there is no such tensor.
    virtual TensorType typeOf(const std::string& name) const = 0;
    /// Reads into `out`, dense host memory of that type.
    virtual void read(const std::string& name, const TensorView& out) const = 0;
};

/// A parsed tensor path: "weights.npz#conv1" is tensor "conv1" of weights.npz, "a.npy" is a whole file.
struct TensorPath {
    std::string file;
    std::optional<std::string> tensor; ///< absent in "weights.npz", which must have only one tensor

    bool isInArchive() const;
};
TensorPath splitTensorPath(std::string_view path);
/// Throws Error(invalidArgument) for an archive without "#name", Error(io) for a file that is neither a .npy
/// file nor an archive.
void requireWritable(const TensorPath& path);

/// By the file name's extension.
std::shared_ptr<const TensorArchive> openTensorArchive(const std::filesystem::path& file,
                                                       const FileBounds& bounds = {});
/// The name of the only tensor. Throws Error(badFile) with the names if there are several, or none.
std::string onlyTensorOf(const TensorArchive& archive, const std::filesystem::path& file);

/// Writes a dense host tensor: to a .npy file, or, for "out.npz#name" and "out.safetensors#name", as one
/// tensor of the file; its other tensors stay. Atomic, and safe against concurrent calls for the same
/// archive. An archive is rewritten completely each time. Throws Error(io); Error(badFile) if the existing
/// file is not such an archive; as requireWritable does.
void writeTensor(const TensorPath& path, const TensorView& tensor, const FileBounds& bounds = {});

/// Reports that an archive has no tensor of that name.
[[noreturn]] void refuseMissingTensor(const std::filesystem::path& file, const std::string& name,
                                      const std::vector<std::string>& names);

} // namespace twb
