#include "app/short_waits.h"

#include <climits>

#include <array>
#include <cstdlib>
#include <unistd.h>

namespace twb {

void waitBriefly(char** arguments) noexcept {
    if (std::getenv("TWB_WAITS_BRIEFLY")) { // the second start: libgomp has read its setting
        ::unsetenv("TWB_WAITS_BRIEFLY");
        ::unsetenv("GOMP_SPINCOUNT"); // the programs that this one starts keep their own
        return;
    }
    if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
    // By its own path, since the name of the process is that of the file that was started.
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    // About 20 µs, longer than most waits between the parts of an op.
    if (length <= 0 || ::setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return;
    if (::setenv("TWB_WAITS_BRIEFLY", "1", 1) == 0) ::execv(path.data(), arguments);
    ::unsetenv("TWB_WAITS_BRIEFLY");
    ::unsetenv("GOMP_SPINCOUNT");
}

} // namespace twb
