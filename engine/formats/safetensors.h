#pragma once

#include "core/tensor.h"
#include "formats/input_file.h"

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
class Safetensors {
public:
    explicit Safetensors(const std::filesystem::path& path);

    /// By name, sorted.
    const std::map<std::string, TensorType>& types() const noexcept { return m_types; }
    /// Throws Error(badFile) with the names there are when there is no such tensor.
    const TensorType& typeOf(const std::string& name) const;
    /// Reads into `out`, dense host memory of exactly that type.
    void read(const std::string& name, const TensorView& out) const;

private:
    std::filesystem::path m_path;
    InputFile m_file;
    std::map<std::string, TensorType> m_types;
    std::map<std::string, std::uint64_t> m_offsets; ///< from the file's start
};

/// Writes dense host tensors, atomically, largest alignment first as the format asks. Throws Error(io).
void writeSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorView>>& tensors);

} // namespace twb
