#include "formats/input_file.h"

#include "core/error.h"
#include "formats/mapped_copy.h"
#include "formats/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace twb {

InputFile::InputFile(const std::filesystem::path& path) : m_path(path) {
    m_file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (m_file < 0) fail(std::strerror(errno));
    struct stat status {};
    const bool known = ::fstat(m_file, &status) == 0;
    if (known && S_ISREG(status.st_mode)) {
        m_size = static_cast<std::uint64_t>(status.st_size);
        return;
    }
    const char* reason = known ? "it is not a file" : std::strerror(errno);
    ::close(m_file);
    fail(reason);
}

InputFile::~InputFile() { ::close(m_file); }

std::size_t InputFile::readAt(std::uint64_t offset, void* to, std::size_t count) const {
    constexpr std::size_t kSlice = std::size_t(1) << 30; // the kernel reads no more than 2 GiB at once
    std::size_t filled = 0;
    while (filled < count) {
        const ssize_t got = ::pread(m_file, static_cast<char*>(to) + filled, std::min(count - filled, kSlice),
                                    static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(std::strerror(errno));
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

std::size_t InputFile::readMapped(std::uint64_t offset, void* to, std::size_t count) const {
    const std::ptrdiff_t got = copyMapped(m_file, offset, to, count);
    // Some file systems map nothing.
    return got < 0 ? readAt(offset, to, count) : static_cast<std::size_t>(got);
}

void InputFile::fail(const char* reason) const {
    throw Error(ErrorCode::io, fmt::format("{} cannot be read: {}", m_path.string(), reason));
}

std::string readFile(const std::filesystem::path& path, std::uint64_t limit) {
    const InputFile file(path);
    if (file.size() > limit)
        throw Error(ErrorCode::io, fmt::format("{} cannot be read: it has {} bytes, and at most {} are read",
                                               path.string(), file.size(), limit));
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    bytes.resize(file.readAt(0, bytes.data(), bytes.size())); // it may have become shorter meanwhile
    return bytes;
}

} // namespace twb
