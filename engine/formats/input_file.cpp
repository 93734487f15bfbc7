#include "formats/input_file.h"

#include "core/error.h"
#include "formats/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace twb {

InputFile::InputFile(const std::filesystem::path& path, const FileBounds& bounds) : m_path(path) {
    try {
        open(bounds);
    } catch (...) {
        if (m_file >= 0) ::close(m_file);
        throw;
    }
}

InputFile::InputFile(InputFile&& other) noexcept
    : m_path(std::move(other.m_path)), m_file(std::exchange(other.m_file, -1)), m_size(other.m_size) {}

InputFile::~InputFile() {
    if (m_file >= 0) ::close(m_file);
}

void InputFile::open(const FileBounds& bounds) {
    // O_PATH only finds the file and has no effect on a pipe or device. O_NONBLOCK, because opening a pipe
    // without a writer would block.
    constexpr int kRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    m_file = ::open(m_path.c_str(), bounds.isLimited() ? O_PATH | O_CLOEXEC : kRead);
    if (m_file < 0) {
        const int reason = errno;
        bounds.checkName(m_path); // must not reveal whether a file exists outside
        fail(std::strerror(reason));
    }
    struct stat status {};
    if (::fstat(m_file, &status) != 0) fail(std::strerror(errno));
    bounds.check(m_file, m_path);
    if (!S_ISREG(status.st_mode)) fail("it is not a file");
    m_size = static_cast<std::uint64_t>(status.st_size);
    if (!bounds.isLimited()) return;
    const int found = m_file;
    m_file = ::open(fmt::format("/proc/self/fd/{}", found).c_str(), kRead);
    const int reason = errno;
    ::close(found);
    if (m_file < 0) fail(std::strerror(reason));
}

std::string InputFile::fingerprint() const {
    struct stat status {};
    if (::fstat(m_file, &status) != 0) fail(std::strerror(errno));
    return fmt::format("{}-{}-{}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

std::size_t InputFile::readAt(std::uint64_t offset, void* to, std::size_t count) const {
    constexpr std::size_t kSlice = std::size_t(1) << 30; // the kernel reads at most 2 GiB per call
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

void InputFile::fail(const char* reason) const {
    throw Error(ErrorCode::io, fmt::format("{} cannot be read: {}", m_path.string(), reason));
}

std::string readFile(const std::filesystem::path& path, std::uint64_t limit) {
    const InputFile file(path);
    if (file.size() > limit)
        throw Error(ErrorCode::io, fmt::format("{} cannot be read: it has {} bytes, but the limit is {}",
                                               path.string(), file.size(), limit));
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    bytes.resize(file.readAt(0, bytes.data(), bytes.size())); // the file may have been truncated meanwhile
    return bytes;
}

} // namespace twb
