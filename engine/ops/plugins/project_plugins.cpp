#include "ops/plugins/project_plugins.h"

#include "core/error.h"
#include "ops/plugins/plugins.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> everyFolderIsTrusted = false;

/// Empty if the user has no home.
fs::path trustFile() {
    const char* config = std::getenv("XDG_CONFIG_HOME");
    const char* home = std::getenv("HOME");
    if (config && *config) return fs::path(config) / "tensor-workbench" / "trusted-ops";
    if (home && *home) return fs::path(home) / ".config" / "tensor-workbench" / "trusted-ops";
    return {};
}

/// A line is "+" or "-" and a folder.
std::map<std::string, bool> readTrust() {
    std::map<std::string, bool> out;
    std::ifstream file(trustFile());
    for (std::string line; std::getline(file, line);)
        if (line.size() > 1 && (line[0] == '+' || line[0] == '-')) out[line.substr(1)] = line[0] == '+';
    return out;
}

void writeTrust(const std::map<std::string, bool>& answers) {
    fs::path path = trustFile();
    if (path.empty())
        throw Error(ErrorCode::io, "the answer is not remembered, because HOME is not set; set HOME or "
                                   "XDG_CONFIG_HOME");
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (const fs::path followed = fs::canonical(path, failed); !failed) path = followed; // through links
    // A rename, so that no reader sees half of the answers.
    const fs::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
    std::ofstream file(temporary, std::ios::trunc);
    for (const auto& [folder, trusted] : answers) file << (trusted ? '+' : '-') << folder << '\n';
    file.close();
    if (file) fs::rename(temporary, path, failed);
    if (!file || failed) {
        fs::remove(temporary, failed);
        throw Error(ErrorCode::io,
                    fmt::format("{} cannot be written, so the answer is not remembered", path.string()));
    }
}

} // namespace

fs::path opsBeside(const fs::path& project) {
    std::error_code failed;
    const fs::path file = fs::absolute(project, failed);
    if (failed) return {};
    const fs::path ops = fs::weakly_canonical(file.parent_path() / "ops", failed);
    return failed || librariesIn(ops).empty() ? fs::path() : ops;
}

Trust trustIn(const fs::path& ops) {
    if (everyFolderIsTrusted) return Trust::trusted;
    const std::map<std::string, bool> answers = readTrust();
    const auto answer = answers.find(ops.string());
    if (answer == answers.end()) return Trust::unasked;
    return answer->second ? Trust::trusted : Trust::refused;
}

void rememberTrust(const fs::path& ops, bool isTrusted) {
    // A line break would make the rest of the path an answer about another folder.
    if (ops.string().find('\n') != std::string::npos)
        throw Error(ErrorCode::io, fmt::format("the answer is not remembered, because the path {} contains a "
                                               "line break; rename the folder",
                                               ops.string()));
    std::map<std::string, bool> answers = readTrust();
    answers[ops.string()] = isTrusted;
    writeTrust(answers);
}

std::map<fs::path, bool> rememberedTrust() {
    std::map<fs::path, bool> out;
    for (const auto& [folder, isTrusted] : readTrust()) out[folder] = isTrusted;
    return out;
}

void forgetTrust(const fs::path& ops) {
    std::map<std::string, bool> answers = readTrust();
    if (answers.erase(ops.string()) > 0) writeTrust(answers);
}

void trustAllProjects() noexcept { everyFolderIsTrusted = true; }
bool areAllProjectsTrusted() noexcept { return everyFolderIsTrusted; }

bool loadProjectPlugins(const fs::path& project) {
    static std::mutex once;
    static std::set<fs::path> seen;
    if (arePluginsDisabled()) return false;
    const fs::path ops = opsBeside(project);
    if (ops.empty()) return false;
    const Trust trust = trustIn(ops);
    const std::lock_guard lock(once);
    if (trust == Trust::refused || !seen.insert(ops).second) return false;
    if (trust == Trust::trusted) return addPlugins(librariesIn(ops));
    seen.erase(ops); // the answer may come later
    reportPlugin({ops,
                  "it is beside the project and was not trusted so far; use twb --project-ops, or open the "
                  "project in the window and answer the question"});
    return false;
}

} // namespace twb
