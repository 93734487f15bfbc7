#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace twb {

/// A file that appears under its name only when commit() is called, whole: until then it is a temporary one
/// in the same folder, and it is gone if the writer fails, throws or is forgotten. Keeps the permissions of
/// the file that it replaces and follows a link to it. Errors: Error(io) with the path and the reason.
class AtomicFile {
public:
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(const void* bytes, std::size_t count);
    /// From here on write() goes on at `offset`; not of a device or a pipe.
    void seek(std::uint64_t offset);
    /// Flushes to the disk and renames: from here on, whatever happens, the new file is there.
    void commit();

private:
    [[noreturn]] void fail(int reason);
    void discard() noexcept;

    std::filesystem::path m_target;
    std::filesystem::path m_temporary;
    int m_file = -1;
    bool m_inPlace = false; ///< the target is no file but a device or a pipe
};

} // namespace twb
