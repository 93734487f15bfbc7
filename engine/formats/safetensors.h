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

/// A .safetensors file, open for reading: a JSON header that names tensors, then their bytes.
/// https://huggingface.co/docs/safetensors (format). Errors: Error(io), or Error(badFile) naming the file and
/// the tensor: a header that is no JSON, a dtype that is none of ours, sizes that overflow, data that lies
/// outside of the file or that two tensors share.
class Safetensors final : public TensorArchive {
public:
    explicit Safetensors(const std::filesystem::path& path, const FileBounds& bounds = {});

    /// By name, sorted.
    const std::map<std::string, TensorType>& types() const noexcept { return m_types; }
    /// What the file says about itself: the entries of the field "__metadata__".
    const std::map<std::string, std::string>& metadata() const noexcept { return m_metadata; }
    std::vector<std::string> names() const override;
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;
    /// The bytes of a tensor from `offset` on, as they are in the file.
    void readBytes(const std::string& name, std::uint64_t offset, void* to, std::size_t count) const;

private:
    std::filesystem::path m_path;
    InputFile m_file;
    std::map<std::string, std::string> m_metadata;
    std::map<std::string, TensorType> m_types;
    std::map<std::string, std::uint64_t> m_offsets; ///< from the file's start
};

/// Writes dense host tensors, atomically, largest alignment first as the format asks. Throws Error(io), also
/// where a file that is to be kept has the name.
void writeSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorView>>& tensors,
                      AtomicFile::Existing existing = AtomicFile::Existing::replaced);
/// Writes the file anew, atomically: with this tensor, the others that it has, and its metadata. Two at once
/// lose one of theirs; writeTensor() sees to that.
void addToSafetensors(const std::filesystem::path& path, const std::string& name, const TensorView& tensor,
                      const FileBounds& bounds = {});

} // namespace twb
