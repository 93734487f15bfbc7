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

/// A .npz file, as np.savez and np.savez_compressed write it: a zip archive whose entry "name.npy" is the
/// tensor "name". Entries of other names are no tensors. Nothing is unpacked to the disk, so what an entry's
/// name would mean as a path does not matter. Refused: two entries of one name; an encrypted entry; one
/// packed otherwise than by deflate; one whose header promises more or less than it holds, by its claim or in
/// truth. Deflate makes bytes at most 1,032 times as many, and an entry that claims more is refused before
/// anybody makes room for it.
class Npz final : public TensorArchive {
public:
    explicit Npz(const std::filesystem::path& path, const FileBounds& bounds = {});

    std::vector<std::string> names() const override;
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;

private:
    /// Opens the entry and hands over its bytes and its header; to be called under the mutex.
    void visit(const std::string& name,
               const std::function<void(const NpyStream&, const NpyHeader&)>& visitor) const;

    std::filesystem::path m_path;
    mutable std::mutex m_mutex; ///< libzip's handles belong to one thread at a time
    ZipFile m_zip;
    std::map<std::string, std::uint64_t> m_entries;
    mutable std::map<std::string, TensorType> m_types; ///< those that were asked for
};

/// Writes the file anew, atomically: with this tensor, not packed, as np.savez does it, and what else is in
/// it. Two at once lose one of theirs; writeTensor() sees to that.
void addToNpz(const std::filesystem::path& path, const std::string& name, const TensorView& tensor,
              const FileBounds& bounds = {});

} // namespace twb
