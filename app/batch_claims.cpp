#include "app/batch_claims.h"

#include "core/error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <thread>
#include <unistd.h>

namespace twb {
namespace {

constexpr off_t kJob = off_t{1} << 40; ///< the byte that every process of a job has locked

/// Locks of an open file, which end with it. False if another process has a lock that excludes this one.
bool lock(int file, short how, off_t byte) {
    struct flock wanted {};
    wanted.l_type = how;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = byte;
    wanted.l_len = 1;
    while (::fcntl(file, F_OFD_SETLK, &wanted) != 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EACCES) return false;
        throw Error(ErrorCode::io, std::strerror(errno));
    }
    return true;
}

} // namespace

BatchClaims::BatchClaims(const std::filesystem::path& folder) : m_path(folder / ".claims") {
    m_file = ::open(m_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    try {
        if (m_file < 0) throw Error(ErrorCode::io, std::strerror(errno));
        joinJob();
    } catch (const Error& error) {
        if (m_file >= 0) ::close(m_file);
        throw Error(ErrorCode::io,
                    fmt::format("cannot lock {}, with which ranks share out the runs: {}; name a folder "
                                "of a file system that all ranks share with --report",
                                m_path.string(), error.what()));
    }
}

BatchClaims::~BatchClaims() { ::close(m_file); }

/// The first process names the job. Those that come while others are there read the name.
void BatchClaims::joinJob() {
    std::array<char, 17> name{};
    constexpr int patience = 500; // times 10 ms
    for (int i = 0; i < patience; ++i) {
        if (lock(m_file, F_WRLCK, kJob)) {
            std::random_device random;
            m_job = fmt::format("{:08x}{:08x}", random(), random());
            if (::pwrite(m_file, m_job.data(), m_job.size(), 0) != static_cast<ssize_t>(m_job.size()))
                throw Error(ErrorCode::io, std::strerror(errno));
            lock(m_file, F_RDLCK, kJob);
            return;
        }
        if (lock(m_file, F_RDLCK, kJob)) {
            if (::pread(m_file, name.data(), name.size() - 1, 0) == static_cast<ssize_t>(name.size() - 1)) {
                m_job = name.data();
                return;
            }
            lock(m_file, F_UNLCK, kJob);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10)); // another one is about to name it
    }
    throw Error(ErrorCode::io, "another process has locked it");
}

bool BatchClaims::take(std::size_t member) { return lock(m_file, F_WRLCK, static_cast<off_t>(member)); }

void BatchClaims::release(std::size_t member) { lock(m_file, F_UNLCK, static_cast<off_t>(member)); }

} // namespace twb
