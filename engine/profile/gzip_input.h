#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <streambuf>
#include <string>
#include <vector>

struct gzFile_s;

namespace twb {

/// Called with the share of a file that was read, 0 to 1, at most once per 4 MB of content. May throw to end
/// the reading.
using ReadProgress = std::function<void(double share)>;

/// A stream over a regular file, compressed with gzip or not, in constant memory.
class GzipInput : public std::streambuf {
public:
    /// Throws Error(io) or Error(badFile) that names the file.
    explicit GzipInput(const std::filesystem::path& path, ReadProgress progress = {});
    ~GzipInput() override;
    GzipInput(const GzipInput&) = delete;
    GzipInput& operator=(const GzipInput&) = delete;

    /// Marks the end of a token. A token of more than 64 MB is an Error(badFile), so that it cannot fill the
    /// memory of a parser.
    void mark() noexcept { m_marked = m_count; }

protected:
    int_type underflow() override;

private:
    std::string m_path;
    ReadProgress m_progress;
    gzFile_s* m_file = nullptr;
    std::uint64_t m_size = 0;  ///< of the file
    std::uint64_t m_count = 0; ///< bytes of content given out
    std::uint64_t m_marked = 0;
    std::uint64_t m_reported = 0;
    std::vector<char> m_buffer;
};

} // namespace twb
