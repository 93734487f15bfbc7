// Whole processes from start to exit: `twb run` of the smallest graph (budget 100 ms), `twb --version`, and,
// if the window was built, its first frame, measured as a 1600×1000 screenshot of the digits example.
#include "formats/project.h"
#include "support/graphs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <vector>

extern char** environ;

namespace {

/// Milliseconds from spawn to exit; negative if the program failed.
double once(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", 1, 0);
    const auto start = std::chrono::steady_clock::now();
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], &silent, nullptr, arguments.data(), environ) != 0) return -1;
    int status = 0;
    waitpid(child, &status, 0);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    posix_spawn_file_actions_destroy(&silent);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? took.count() : -1;
}

bool measure(const char* what, const std::vector<std::string>& command, int times) {
    if (!std::filesystem::exists(command[0])) {
        std::printf("%-34s not built\n", what);
        return true;
    }
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
        took.push_back(once(command));
        if (took.back() < 0) {
            std::printf("%-34s failed\n", what);
            return false;
        }
    }
    std::sort(took.begin(), took.end());
    std::printf("%-34s min %7.1f  median %7.1f  max %7.1f ms\n", what, took.front(), took[took.size() / 2],
                took.back());
    return true;
}

} // namespace

int main() {
    const std::filesystem::path bin = std::filesystem::path(TWB_BINARY_DIR) / "bin";
    const auto folder = std::filesystem::temp_directory_path() / "twb-bench-start";
    std::filesystem::create_directories(folder);
    twb::test::GraphMaker smallest;
    const auto a = smallest.node("Ones", "a", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
    smallest.node("Relu", "r", "cpu", {}, {a});
    twb::saveProject(smallest.graph(), folder / "smallest.twb");

    bool fine = measure("twb --version", {bin / "twb", "--version"}, 21);
    fine = measure("twb run, smallest graph", {bin / "twb", "run", folder / "smallest.twb"}, 21) && fine;
    const std::string digits = TWB_SOURCE_DIR "/resources/examples/digits.twb";
    fine = measure("twb run, digits", {bin / "twb", "run", digits}, 21) && fine;
    fine = measure("tensor-workbench, first frame",
                   {bin / "tensor-workbench", "--screenshot", folder / "frame.png", "--size", "1600x1000",
                    digits},
                   7) &&
           fine;
    std::filesystem::remove_all(folder);
    return fine ? 0 : 1;
}
