#include "app/job_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// The file with the reason, in both folders.
constexpr const char* kFailed = "failed";
/// The file in the shared folder that exists after the report was written.
constexpr const char* kReported = "reported";

constexpr int kLooks = 100; ///< in 2 s
constexpr int kLookUs = 20'000;

void put(JobFolders::Path& to, std::string_view text) {
    const std::size_t length = std::min(text.size(), to.size() - 1);
    std::memcpy(to.data(), text.data(), length);
    to[length] = 0;
}

bool isThere(const fs::path& path) {
    std::error_code failed;
    return fs::exists(path, failed);
}

std::string contentOf(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes `text` to this file, unless a process of any machine has written the file before. Returns its text;
/// nothing if it cannot be written.
std::optional<std::string> firstText(const fs::path& path, const std::string& text) {
    std::string own = path.string() + "-XXXXXX";
    const int file = ::mkostemp(own.data(), O_CLOEXEC);
    if (file < 0) return std::nullopt;
    writeAll(file, text);
    ::close(file);
    const bool isWritten = ::link(own.c_str(), path.c_str()) == 0 || errno == EEXIST; // atomic, also on NFS
    ::unlink(own.c_str());
    const std::string first = isWritten ? contentOf(path) : std::string();
    return first.empty() ? std::nullopt : std::optional(first); // the folder may have been removed meanwhile
}

} // namespace

void writeAll(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

JobFolders::Path JobFolders::makeHere() {
    Path out{};
    const char* const chosen = std::getenv("TMPDIR");
    std::string name = (fs::path(chosen && *chosen ? chosen : "/tmp") / "twb-ranks-XXXXXX").string();
    if (name.size() < out.size() && mkdtemp(name.data())) put(out, name);
    return out;
}

std::string JobFolders::besideLogs(const fs::path& logs, const Path& here) {
    const std::string out = (logs / ('.' + fs::path(here.data()).filename().string())).string();
    return here[0] && out.size() < here.size() ? out : std::string();
}

void JobFolders::setShared(const std::string& path) { put(m_shared, path); }

fs::path JobFolders::fileOf(int rank) const { return fs::path(m_here.data()) / fmt::format("rank{}", rank); }

bool JobFolders::isOver() const {
    return hasHere() && (isThere(fs::path(m_here.data()) / kFailed) ||
                         (hasShared() && isThere(fs::path(m_shared.data()) / kFailed)));
}

std::string JobFolders::reasonHere() const {
    return hasHere() ? contentOf(fs::path(m_here.data()) / kFailed) : std::string();
}

std::string JobFolders::reasonShared() const {
    return hasShared() ? contentOf(fs::path(m_shared.data()) / kFailed) : std::string();
}

JobFolders::Turn JobFolders::claim(const std::string& reason, std::string_view doubt) const {
    // Without one of the folders, the last rank of a machine has removed it: a reason has been said.
    if (hasHere() && !isThere(m_here.data())) return {};
    const auto first = hasShared() ? firstText(fs::path(m_shared.data()) / kFailed, reason) : std::nullopt;
    Turn out{true, hasShared() && !first && !isThere(m_shared.data()),
             first.value_or(reason + std::string(doubt))};
    if (!hasHere()) return out;
    const int file =
        ::open((fs::path(m_here.data()) / kFailed).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return {};
    writeAll(file, out.reason);
    ::close(file);
    return out;
}

void JobFolders::awaitReason() const {
    for (int i = 0; i < kLooks && hasHere() && !isOver(); ++i) ::usleep(kLookUs);
}

void JobFolders::setReported() const {
    if (!hasShared()) return;
    const int file =
        ::open((fs::path(m_shared.data()) / kReported).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) ::close(file);
}

void JobFolders::awaitReport() const {
    // The machine of rank 0 removes the folder at its end.
    const fs::path shared = m_shared.data();
    for (int i = 0; i < kLooks && hasShared() && isThere(shared) && !isThere(shared / kReported); ++i)
        ::usleep(kLookUs);
}

void JobFolders::clear(int rank, int ranks, bool withShared) const {
    if (!hasHere()) return;
    std::error_code failed;
    fs::remove(fileOf(rank), failed);
    for (int one = 0; one < ranks; ++one)
        if (isThere(fileOf(one))) return;
    if (withShared && hasShared()) {
        // Under another name, it gets no more files from watches of other machines.
        const std::string over = std::string(m_shared.data()) + "-over";
        fs::rename(m_shared.data(), over, failed);
        fs::remove_all(over, failed);
    }
    fs::remove_all(m_here.data(), failed);
}

} // namespace twb
