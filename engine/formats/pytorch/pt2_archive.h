#pragma once

#include "core/tensor.h"
#include "formats/zip_file.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace twb::pt2 {

/// The type, layout and place of a tensor in a .pt2 file ("TensorMeta").
struct TensorMeta {
    TensorType type;
    Device device;
    Strides strides;
    std::int64_t offset = 0; ///< of the first element, in elements
};

/// Reads a TensorMeta. `what` begins messages: "m.pt2: tensor \"x\"". Throws Error(badFile).
TensorMeta readMeta(const nlohmann::json& json, const std::string& what);
/// A device: {"type": "cuda", "index": 0}; a missing index is 0.
Device readDevice(const nlohmann::json& json, const std::string& what);
/// "float32"; empty for an unknown number.
std::string_view scalarTypeName(std::int64_t number) noexcept;

/// The entries of a .pt2 file. Entries are stored, not compressed. Throws Error(io) and Error(badFile).
class Archive {
public:
    explicit Archive(const std::filesystem::path& path);

    /// The exported program.
    const std::string& program() const noexcept { return m_program; }
    /// A weight or constant by its name in the program; nothing if only a pickle has it.
    std::optional<Tensor> tensor(const std::string& name);
    const std::string& origin() const noexcept { return m_origin; }

private:
    struct Raw {
        std::string entry; ///< empty: a pickle
        TensorMeta meta;
    };
    void index();
    void readConfig(const std::string& entry, const std::string& folder);
    std::string read(const std::string& entry, std::uint64_t most);
    std::vector<std::byte> bytesOf(const std::string& entry);
    [[noreturn]] void refuse(const std::string& problem) const;

    std::string m_origin;
    ZipFile m_zip;
    std::string m_program;
    std::map<std::string, std::uint64_t> m_entries; ///< by name, without the archive's folder
    std::map<std::string, std::uint64_t> m_sizes;
    std::map<std::string, Raw> m_tensors;
    std::uint64_t m_loaded = 0; ///< bytes of tensors so far
};

} // namespace twb::pt2
