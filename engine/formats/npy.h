#pragma once

#include "core/tensor.h"
#include "core/tensor_files.h"
#include "formats/file_bounds.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace twb {

/// What a .npy header says. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
struct NpyHeader {
    TensorType type;
    bool fortranOrder = false;
    bool bigEndian = false;
    std::uint64_t dataOffset = 0; ///< in bytes from the file's start
};

/// Throws Error(io) or Error(badFile) naming the file: not a .npy, truncated, object or structured dtype, a
/// shape that overflows or promises more bytes than the file has.
NpyHeader readNpyHeader(const std::filesystem::path& path, const FileBounds& bounds = {});
/// The tensor, dense and in row-major order whatever the file's order and byte order.
Tensor readNpy(const std::filesystem::path& path);
void readNpyInto(const std::filesystem::path& path, const TensorView& out, const FileBounds& bounds = {});
/// Version 1.0, atomically.
void writeNpy(const std::filesystem::path& path, const TensorView& tensor, const FileBounds& bounds = {});

/// .npy files, and tensors of .npz and .safetensors files ("weights.npz#name"), relative to a project's
/// folder. A path that leaves it, through ".." or a link, is refused with Error(badFile) unless
/// `allowOutside`.
std::shared_ptr<const TensorFiles> makeProjectFiles(std::filesystem::path folder, bool allowOutside = false);

} // namespace twb
