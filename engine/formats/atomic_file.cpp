#include "formats/atomic_file.h"

#include "core/error.h"
#include "formats/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// What a link at `path` leads to, so that saving changes that and the link stays.
fs::path throughLinks(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_symlink(path, failed)) return path;
    fs::path target = fs::weakly_canonical(path, failed);
    return failed ? path : target;
}

/// The rename itself must be on the disk too. Some file systems cannot do this for a folder: then the file is
/// safe but may still have its old content after a power cut.
void syncFolder(const fs::path& folder) {
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return;
    ::fsync(handle);
    ::close(handle);
}

} // namespace

AtomicFile::AtomicFile(const fs::path& path) : m_target(throughLinks(path)) {
    std::error_code ignored;
    if (fs::is_directory(m_target, ignored)) fail(EISDIR);
    // A device or a pipe is written to as it is: a rename would put a file in its place. O_NONBLOCK, because
    // a pipe that nobody reads would keep this waiting.
    if (fs::exists(m_target, ignored) && !fs::is_regular_file(m_target, ignored)) {
        m_file = ::open(m_target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (m_file < 0) fail(errno);
        ::fcntl(m_file, F_SETFL, ::fcntl(m_file, F_GETFL) & ~O_NONBLOCK);
        m_inPlace = true;
        return;
    }
    // A rename would replace a write-protected file without a word.
    if (fs::exists(m_target, ignored) && ::access(m_target.c_str(), W_OK) != 0) fail(errno);
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; m_file < 0; ++attempt) {
        // A process that died may have left its file behind, and this one got its number.
        m_temporary = m_target.parent_path() /
                      fmt::format(".{}.{}-{}.tmp", m_target.filename().string(), ::getpid(), ++counter);
        m_file = ::open(m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (m_file >= 0 || (errno == EEXIST && attempt < 1000)) continue;
        const int reason = errno;
        m_temporary.clear(); // not ours to remove
        fail(reason);
    }
    struct stat existing {};
    if (::stat(m_target.c_str(), &existing) != 0) return;
    // A file system without permissions refuses this, and then there is nothing to keep.
    [[maybe_unused]] const int kept = ::fchmod(m_file, existing.st_mode & 07777);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(const void* bytes, std::size_t count) {
    const char* at = static_cast<const char*>(bytes);
    while (count > 0) {
        constexpr std::size_t kSlice = std::size_t(1) << 30; // the kernel writes no more than 2 GiB at once
        const ssize_t written = ::write(m_file, at, std::min(count, kSlice));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        at += written;
        count -= static_cast<std::size_t>(written);
    }
}

void AtomicFile::seek(std::uint64_t offset) {
    if (::lseek(m_file, static_cast<off_t>(offset), SEEK_SET) < 0) fail(errno);
}

void AtomicFile::commit() {
    if (!m_inPlace && ::fsync(m_file) != 0) fail(errno);
    const int file = std::exchange(m_file, -1);
    if (::close(file) != 0) fail(errno);
    if (m_inPlace) return;
    if (::rename(m_temporary.c_str(), m_target.c_str()) != 0) fail(errno);
    m_temporary.clear();
    syncFolder(m_target.parent_path().empty() ? fs::path(".") : m_target.parent_path());
}

void AtomicFile::fail(int reason) {
    discard();
    throw Error(ErrorCode::io, fmt::format("{} cannot be written: {}", m_target.string(),
                                           std::generic_category().message(reason)));
}

void AtomicFile::discard() noexcept {
    if (m_file >= 0) ::close(std::exchange(m_file, -1));
    if (!m_temporary.empty()) ::unlink(m_temporary.c_str());
    m_temporary.clear();
}

void writeFileAtomically(const fs::path& path, std::string_view bytes) {
    AtomicFile file(path);
    file.write(bytes.data(), bytes.size());
    file.commit();
}

} // namespace twb
