#pragma once

#include "core/tensor.h"
#include "core/tensor_files.h"
#include "formats/file_bounds.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace twb {

/// The contents of a .npy header. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
struct NpyHeader {
    TensorType type;
    bool fortranOrder = false;
    bool bigEndian = false;
    std::uint64_t dataOffset = 0; ///< in bytes from the start of the file
};

/// Throws Error(io) if the file cannot be read, and Error(badFile) if it is not a .npy file, is truncated,
/// has an object or structured dtype, or a shape that overflows or exceeds the file. The message names the
/// file.
NpyHeader readNpyHeader(const std::filesystem::path& path, const FileBounds& bounds = {});
/// The tensor, dense and row-major, whatever the order and byte order of the file.
Tensor readNpy(const std::filesystem::path& path);
void readNpyInto(const std::filesystem::path& path, const TensorView& out, const FileBounds& bounds = {});
/// Writes version 1.0, atomically.
void writeNpy(const std::filesystem::path& path, const TensorView& tensor, const FileBounds& bounds = {});

/// .npy files, and tensors of .npz and .safetensors files ("weights.npz#name"), relative to a project's
/// folder. A path outside the folder (by ".." or a link) is refused with Error(badFile) unless
/// `allowOutside`.
std::shared_ptr<const TensorFiles> makeProjectFiles(std::filesystem::path folder, bool allowOutside = false);

} // namespace twb
