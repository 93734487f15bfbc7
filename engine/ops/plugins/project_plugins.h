#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace twb {

// The plug-ins of a project are libraries in the folder "ops" beside its file. They run code, so they are
// loaded only if the user trusts the folder. The answers are in
// $XDG_CONFIG_HOME/tensor-workbench/trusted-ops, one line per folder.

enum class Trust : std::uint8_t { unasked, trusted, refused };

/// The folder "ops" beside a project; empty if it has no libraries.
std::filesystem::path opsBeside(const std::filesystem::path& project);
Trust trustIn(const std::filesystem::path& ops);
/// Throws Error(io), also for a path with a line break.
void rememberTrust(const std::filesystem::path& ops, bool isTrusted);
/// The answers, by folder.
std::map<std::filesystem::path, bool> rememberedTrust();
/// Takes an answer back: the folder's next project asks again. Throws Error(io).
void forgetTrust(const std::filesystem::path& ops);
/// All folders are trusted in this process, and nothing is remembered.
void trustAllProjects() noexcept;
bool areAllProjectsTrusted() noexcept; ///< by trustAllProjects()

/// Adds the ops of the project's plug-ins to the op table, once per folder, if the folder is trusted. If
/// the user was not asked yet, pluginProblems() says so. Returns whether there are new ops. May be called
/// from any thread.
bool loadProjectPlugins(const std::filesystem::path& project);

} // namespace twb
