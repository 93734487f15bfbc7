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
    enum class Outcome { passed, failed, error }; ///< error: it could not be tried
    std::string name;
    Outcome outcome = Outcome::passed;
    std::string message; ///< the first line of what went wrong; `detail` has all of it
    std::string detail;
    double seconds = 0; ///< on this machine's clock
};

/// `--junit FILE`.
void addJunit(CLI::App& command, std::string& into);

/// The JUnit XML that CI servers read, atomically: one suite, `twb COMMAND`. Throws Error(io).
void writeJunit(const std::filesystem::path& path, const std::string& command,
                const std::vector<JunitCase>& cases);

} // namespace twb
