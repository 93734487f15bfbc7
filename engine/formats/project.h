#pragma once

#include "graph/delta.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace twb {

inline constexpr int kProjectVersion = 1;

/// The project file's text: JSON, one node a line, one edge a line, fixed key order, positions apart from
/// meaning. The same graph always gives the same bytes.
std::string toProjectText(const Graph& graph);
/// Parses a whole project or throws Error(badFile) with `origin`, the line where JSON broke or the place in
/// the document ("nodes[3].lane"), and what is wrong. An older version is migrated, a newer one refused.
Graph parseProject(std::string_view text, const std::string& origin);

/// Reads a file; also throws Error(io). Files beyond 1 GiB are refused.
Graph loadProject(const std::filesystem::path& path);
/// Writes atomically: a temporary file in the same folder, fsync, rename. Throws Error(io).
void saveProject(const Graph& graph, const std::filesystem::path& path);

/// The clipboard's text: the same JSON form, as "tensor-workbench-fragment".
std::string toFragmentText(const Fragment& fragment);
Fragment parseFragment(std::string_view text);

/// Writes `bytes` to `path` atomically. Throws Error(io) with the path and the reason.
void writeFileAtomically(const std::filesystem::path& path, std::string_view bytes);
/// The whole file. Throws Error(io), also beyond `limit` bytes.
std::string readFile(const std::filesystem::path& path, std::uint64_t limit);

} // namespace twb
