#pragma once

#include "formats/npy.h"
#include "formats/tensor_archive.h"
#include "formats/zip_file.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace twb {

struct NpyStream;

/// A .npz file as written by np.savez and np.savez_compressed: a zip archive whose entry "name.npy" is the
/// tensor "name"; other entries are ignored. Nothing is unpacked to the disk, so entry names are never used
/// as paths. Refused: two entries with one name; encrypted entries; compression other than deflate; entries
/// whose declared or actual size differs from their header. Deflate expands at most 1,032 times, so an entry
/// that declares more is refused before memory is allocated.
class Npz final : public TensorArchive {
public:
    explicit Npz(const std::filesystem::path& path, const FileBounds& bounds = {});

    std::vector<std::string> names() const override;
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;

private:
    /// Opens the entry and passes its bytes and its header on. The mutex must be held.
    void visit(const std::string& name,
               const std::function<void(const NpyStream&, const NpyHeader&)>& visitor) const;

    std::filesystem::path m_path;
    mutable std::mutex m_mutex; ///< libzip's handles must not be used by two threads at a time
    ZipFile m_zip;
    std::map<std::string, std::uint64_t> m_entries;
    mutable std::map<std::string, TensorType> m_types; ///< cache of types
};

/// Rewrites the file atomically with this tensor, uncompressed like np.savez, and its other tensors.
/// Concurrent calls would lose changes; writeTensor() prevents that.
void addToNpz(const std::filesystem::path& path, const std::string& name, const TensorView& tensor,
              const FileBounds& bounds = {});

} // namespace twb
