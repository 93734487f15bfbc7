#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace twb {

/// One test case of a JUnit file.
struct JunitCase {
    enum class Outcome { passed, failed, error }; ///< error: the test could not be run
    std::string name;
    Outcome outcome = Outcome::passed;
    std::string message; ///< the first line of the failure; `detail` has all of it
    std::string detail;
    double seconds = 0; ///< wall time
};

/// `--junit FILE`.
void addJunit(CLI::App& command, std::string& into);

/// Writes JUnit XML for CI servers, atomically: one suite, `twb COMMAND`. Throws Error(io).
void writeJunit(const std::filesystem::path& path, const std::string& command,
                const std::vector<JunitCase>& cases);

} // namespace twb
