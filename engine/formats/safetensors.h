#pragma once

#include "core/tensor.h"
#include "formats/atomic_file.h"
#include "formats/input_file.h"
#include "formats/tensor_archive.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace twb {

/// A .safetensors file, open for reading: a JSON header with the tensors' names and types, then their bytes.
/// https://huggingface.co/docs/safetensors (format). Throws Error(io), or Error(badFile) that names the file
/// and the tensor: an invalid header, an unsupported dtype, sizes that overflow, data outside the file, or
/// overlapping tensors.
class Safetensors final : public TensorArchive {
public:
    explicit Safetensors(const std::filesystem::path& path, const FileBounds& bounds = {});

    /// Sorted by name.
    const std::map<std::string, TensorType>& types() const noexcept { return m_types; }
    /// The file's metadata: the entries of the field "__metadata__".
    const std::map<std::string, std::string>& metadata() const noexcept { return m_metadata; }
    std::vector<std::string> names() const override;
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;
    /// Where the bytes of a tensor start in the file.
    std::uint64_t offsetOf(const std::string& name) const;
    /// The bytes of a tensor from `offset` on, as in the file.
    void readBytes(const std::string& name, std::uint64_t offset, void* to, std::size_t count) const;

private:
    std::filesystem::path m_path;
    InputFile m_file;
    std::map<std::string, std::string> m_metadata;
    std::map<std::string, TensorType> m_types;
    std::map<std::string, std::uint64_t> m_offsets; ///< from the start of the file
};

/// Writes dense host tensors atomically, in the order of decreasing alignment, as the format requires. Throws
/// Error(io), also if the file must not be replaced and exists.
void writeSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorView>>& tensors,
                      AtomicFile::Existing existing = AtomicFile::Existing::replaced);
/// Rewrites the file atomically with this tensor, its other tensors and its metadata. Concurrent calls would
/// lose changes; writeTensor() prevents that.
void addToSafetensors(const std::filesystem::path& path, const std::string& name, const TensorView& tensor,
                      const FileBounds& bounds = {});

} // namespace twb
