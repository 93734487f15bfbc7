#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace twb {

/// A regular file that is open for reading; a pipe, a device or a folder is refused rather than waited for.
/// Errors: Error(io) with the path and the reason.
class InputFile {
public:
    explicit InputFile(const std::filesystem::path& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::uint64_t size() const noexcept { return m_size; }
    /// Reads up to `count` bytes from `offset` on; fewer only at the file's end. Thread-safe.
    std::size_t readAt(std::uint64_t offset, void* to, std::size_t count) const;
    /// The same through a mapping of the file, for what is large.
    std::size_t readMapped(std::uint64_t offset, void* to, std::size_t count) const;

private:
    [[noreturn]] void fail(const char* reason) const;

    std::filesystem::path m_path;
    int m_file = -1;
    std::uint64_t m_size = 0;
};

} // namespace twb
