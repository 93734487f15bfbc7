#pragma once

#include "formats/file_bounds.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace twb {

/// The file that a symbolic link at `path` leads to, through any number of links; `path` itself, made
/// absolute and with its folder's links followed, when it is no link. The file need not exist.
std::filesystem::path throughLinks(const std::filesystem::path& path);

/// A file that appears under its name only when commit() is called, whole: until then it is a temporary one
/// in the same folder, and it is gone if the writer fails, throws or is forgotten. Keeps the permissions of
/// the file that it replaces and follows a link to it. Errors: Error(io) with the path and the reason;
/// Error(badFile) for a file outside of the bounds.
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
        kept, ///< commit() throws Error(io) when there is a file of that name
    };
    /// Flushes to the disk and renames the file. After this, the new file survives any failure.
    void commit(Existing existing = Existing::replaced);

private:
    void open(const FileBounds& bounds);
    [[noreturn]] void fail(int reason);
    void discard() noexcept;

    std::filesystem::path m_path; ///< as it was given, for messages
    std::string m_name;           ///< in the folder, links followed
    std::string m_temporary;      ///< in the same folder
    int m_folder = -1;
    int m_file = -1;
    bool m_inPlace = false; ///< the target is a device or a pipe
};

} // namespace twb
