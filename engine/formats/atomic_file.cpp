#include "formats/atomic_file.h"

#include "core/error.h"
#include "formats/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// The rename must be on the disk, too. Some file systems cannot flush a folder; then the file is safe, but
/// may have its old content after a power failure.
void syncFolder(int folder) {
    const int handle = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return;
    ::fsync(handle);
    ::close(handle);
}

} // namespace

fs::path throughLinks(const fs::path& path) {
    constexpr int kMostLinks = 40; // the path as resolved by the kernel
    std::error_code failed;
    fs::path place = fs::absolute(path, failed);
    if (failed) return path;
    for (int links = 0; links < kMostLinks; ++links) {
        // Not to "pipe:[123]", which is where /dev/stdout may lead.
        if (fs::exists(place, failed) && !fs::is_regular_file(place, failed)) return place;
        const fs::path folder = fs::weakly_canonical(place.parent_path(), failed);
        if (!failed) place = folder / place.filename();
        const fs::path next = fs::read_symlink(place, failed);
        if (failed) return place;
        place = place.parent_path() / next;
    }
    return path;
}

AtomicFile::AtomicFile(const fs::path& path, const FileBounds& bounds) : m_path(path) {
    try {
        open(bounds);
    } catch (...) {
        discard();
        throw;
    }
}

void AtomicFile::open(const FileBounds& bounds) {
    const fs::path target = throughLinks(m_path);
    m_name = target.filename();
    m_folder = ::open(target.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (m_folder < 0) fail(errno);
    bounds.check(m_folder, m_path);
    // From here on, only names in the open folder count. A link that appears there now is not followed,
    // unless there are no bounds, since /dev/stdout is a link.
    const bool follow = !bounds.isLimited();
    struct stat existing {};
    const bool exists = ::fstatat(m_folder, m_name.c_str(), &existing, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
    if (m_name.empty() || (exists && S_ISDIR(existing.st_mode))) fail(EISDIR);
    // Devices and pipes are written in place, since a rename would replace them by a file. O_NONBLOCK,
    // because opening a pipe without a reader would block.
    if (exists && !S_ISREG(existing.st_mode)) {
        m_file =
            ::openat(m_folder, m_name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
        if (m_file < 0) fail(errno);
        ::fcntl(m_file, F_SETFL, ::fcntl(m_file, F_GETFL) & ~O_NONBLOCK);
        m_inPlace = true;
        return;
    }
    // A rename would silently replace a write-protected file.
    if (exists && ::faccessat(m_folder, m_name.c_str(), W_OK, 0) != 0) fail(errno);
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; m_file < 0; ++attempt) {
        // A crashed process with the same process id may have left its file.
        m_temporary = fmt::format(".{}.{}-{}.tmp", m_name, ::getpid(), ++counter);
        m_file = ::openat(m_folder, m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (m_file >= 0 || (errno == EEXIST && attempt < 1000)) continue;
        const int reason = errno;
        m_temporary.clear(); // not this object's file
        fail(reason);
    }
    // A file system without permissions rejects this; then there are none to keep.
    if (exists) [[maybe_unused]]
        const int kept = ::fchmod(m_file, existing.st_mode & 07777);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(const void* bytes, std::size_t count) {
    const char* at = static_cast<const char*>(bytes);
    while (count > 0) {
        constexpr std::size_t kSlice = std::size_t(1) << 30; // the kernel writes at most 2 GiB per call
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

void AtomicFile::commit(Existing existing) {
    if (!m_inPlace && ::fsync(m_file) != 0) fail(errno);
    const int file = std::exchange(m_file, -1);
    if (::close(file) != 0) fail(errno);
    if (m_inPlace) return;
    const auto rename = [&](unsigned flags) {
        return ::renameat2(m_folder, m_temporary.c_str(), m_folder, m_name.c_str(), flags) == 0;
    };
    bool renamed = rename(existing == Existing::kept ? RENAME_NOREPLACE : 0);
    if (!renamed && errno == EINVAL &&
        existing == Existing::kept) { // some file systems do not support the flag
        if (::faccessat(m_folder, m_name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) fail(EEXIST);
        renamed = rename(0);
    }
    if (!renamed) fail(errno);
    m_temporary.clear();
    syncFolder(m_folder);
}

void AtomicFile::fail(int reason) {
    discard();
    throw Error(ErrorCode::io, fmt::format("{} cannot be written: {}", m_path.string(),
                                           std::generic_category().message(reason)));
}

void AtomicFile::discard() noexcept {
    if (m_file >= 0) ::close(std::exchange(m_file, -1));
    if (!m_temporary.empty()) ::unlinkat(m_folder, m_temporary.c_str(), 0);
    m_temporary.clear();
    if (m_folder >= 0) ::close(std::exchange(m_folder, -1));
}

void writeFileAtomically(const fs::path& path, std::string_view bytes) {
    AtomicFile file(path);
    file.write(bytes.data(), bytes.size());
    file.commit();
}

} // namespace twb
