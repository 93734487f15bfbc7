#pragma once

#include "formats/file_bounds.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace twb {

/// The file to which a symbolic link at `path` leads, through any number of links. Without a link, `path`
/// itself, made absolute and with its folder's links followed. The file need not exist.
std::filesystem::path throughLinks(const std::filesystem::path& path);

/// A file that gets its name only at commit(), complete. Until then it is a temporary file in the same
/// folder, which is removed if the writer fails, throws or does not commit. Keeps the permissions of the file
/// that it replaces and follows a link to it. Errors: Error(io) with the path and the reason; Error(badFile)
/// for a file outside the bounds.
class AtomicFile {
public:
    explicit AtomicFile(const std::filesystem::path& path, const FileBounds& bounds = {});
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(const void* bytes, std::size_t count);
    /// The next write() continues at `offset`. Not for devices and pipes.
    void seek(std::uint64_t offset);
    enum class Existing : std::uint8_t {
        replaced,
        kept, ///< commit() throws Error(io) if a file of that name exists
    };
    /// Flushes to the disk and renames the file. After this, the new file survives any failure.
    void commit(Existing existing = Existing::replaced);

private:
    void open(const FileBounds& bounds);
    [[noreturn]] void fail(int reason);
    void discard() noexcept;

    std::filesystem::path m_path; ///< as given, for messages
    std::string m_name;           ///< in the folder, links followed
    std::string m_temporary;      ///< in the same folder
    int m_folder = -1;
    int m_file = -1;
    bool m_inPlace = false; ///< the target is a device or a pipe
};

} // namespace twb
