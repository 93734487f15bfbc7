#pragma once

#include "formats/file_bounds.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace twb {

/// A regular file that is open for reading. A pipe, a device or a folder is refused instead of waiting for
/// it. Errors: Error(io) with the path and the reason; Error(badFile) for a file outside the bounds.
class InputFile {
public:
    explicit InputFile(const std::filesystem::path& path, const FileBounds& bounds = {});
    ~InputFile();
    InputFile(InputFile&& other) noexcept;
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::uint64_t size() const noexcept { return m_size; }
    /// Changes if the content may have changed: the file's inode, size and modification time.
    std::string fingerprint() const;
    /// Reads up to `count` bytes from `offset`; fewer only at the end of the file. Thread-safe.
    std::size_t readAt(std::uint64_t offset, void* to, std::size_t count) const;

private:
    void open(const FileBounds& bounds);
    [[noreturn]] void fail(const char* reason) const;

    std::filesystem::path m_path;
    int m_file = -1;
    std::uint64_t m_size = 0;
};

} // namespace twb
