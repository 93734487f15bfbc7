#pragma once

#include "core/cancel.h"
#include "graph/delta.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace twb {

inline constexpr int kProjectVersion = 1;

/// The text of a project file: JSON, one node per line, one edge per line, fixed key order, positions in a
/// separate section. The same graph always gives the same bytes. Source files inside `folder` are written
/// relative to it.
std::string toProjectText(const Graph& graph, const std::filesystem::path& folder = {});
/// Parses a project. Throws Error(badFile) with `origin`, the line of a JSON error or the place in the
/// document ("nodes[3].lane"), and the problem. An older version is migrated, a newer one refused.
Graph parseProject(std::string_view text, const std::string& origin);

/// The text of a project file. Throws Error(io), also if it is larger than 1 GiB.
std::string readProjectText(const std::filesystem::path& path);
/// Reads a file; also throws like readProjectText(), and Error(cancelled). The names of source files that are
/// relative to the project's folder become absolute.
Graph loadProject(const std::filesystem::path& path, const IsCancelled& isCancelled = {});
/// Writes a project that can be moved together with the source files in its folder.
/// Writes atomically: a temporary file in the same folder, fsync, rename. Throws Error(io).
void saveProject(const Graph& graph, const std::filesystem::path& path);

/// The text for the clipboard: the same JSON with the format "tensor-workbench-fragment".
std::string toFragmentText(const Fragment& fragment);
Fragment parseFragment(std::string_view text);

/// Writes `bytes` to `path` atomically. Throws Error(io) with the path and the reason.
void writeFileAtomically(const std::filesystem::path& path, std::string_view bytes);
/// Reads a whole file. Throws Error(io), also if it is larger than `limit` bytes.
std::string readFile(const std::filesystem::path& path, std::uint64_t limit);

} // namespace twb
