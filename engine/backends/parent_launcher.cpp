#include "backends/parent_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace twb {
namespace {

std::string inProc(int process, std::string_view file) { return fmt::format("/proc/{}/{}", process, file); }

/// A process has the name of the file that was started, such as Debian's mpirun.openmpi, so beginnings are
/// compared.
bool isMpirun(int process) {
    std::string name;
    std::getline(std::ifstream(inProc(process, "comm")), name);
    constexpr std::array<std::string_view, 4> names{"mpirun", "mpiexec", "orterun", "prterun"};
    return std::ranges::any_of(names, [&](std::string_view one) { return name.starts_with(one); });
}

bool endsWithin(int process, std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    for (pollfd file{process, POLLIN, 0};;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        const int ready = ::poll(&file, 1, static_cast<int>(std::max(left.count(), std::int64_t{0})));
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

} // namespace

ParentLauncher::ParentLauncher() : m_id(::getppid()) {
    if (!isMpirun(m_id)) return;
    m_process = static_cast<int>(::syscall(SYS_pidfd_open, m_id, 0));
    if (m_process < 0 || ::getppid() == m_id) return;
    ::close(m_process); // mpirun has ended, and another process may have its number
    m_process = -1;
}

ParentLauncher::~ParentLauncher() {
    if (m_process >= 0) ::close(m_process);
}

void ParentLauncher::endAfter(std::chrono::milliseconds grace) const {
    if (m_process < 0 || ::fork() != 0) return;
    ::prctl(PR_SET_NAME, "twb-watch-end");
    // mpirun waits until no process has the other ends of its pipes.
    if (m_process > 0) ::close_range(0, static_cast<unsigned>(m_process) - 1, 0);
    ::close_range(static_cast<unsigned>(m_process) + 1, ~0U, 0);
    if (endsWithin(m_process, grace)) ::_exit(0);
    const std::string said = fmt::format(
        "twb: mpirun has not ended {:g} s after the ranks of this machine, and may wait for another "
        "machine: twb ends it now\n",
        std::chrono::duration<double>(grace).count());
    if (const int err = ::open(inProc(m_id, "fd/2").c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
        err >= 0) [[maybe_unused]]
        const ssize_t written = ::write(err, said.data(), said.size());
    // At the first signal, mpirun tries to stop its daemons; at the second one, it ends at once.
    constexpr std::chrono::seconds between(5);
    for (int i = 0; i < 2; ++i) {
        ::syscall(SYS_pidfd_send_signal, m_process, SIGTERM, nullptr, 0);
        if (endsWithin(m_process, between)) break;
    }
    ::_exit(0);
}

} // namespace twb
