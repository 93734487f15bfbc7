#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twb {

/// The files that one command, or one export of the window, reads and writes. Each is claimed before the work
/// begins, and a claim that would destroy a file is refused:
///  - a file that is written and also read, or written twice, however the two paths are written (symbolic
///    links, hard links, "..");
///  - a project that would be replaced by a file of another kind, and a file of another kind that would be
///    replaced by a project.
/// Devices and pipes may be claimed repeatedly. Two tensors of one archive ("a.npz#x", "a.npz#y") are two
/// files. Errors: Error(invalidArgument), naming both claims; Error(io) for a path that cannot be written.
class FileClaims {
public:
    enum class Content : std::uint8_t { project, other };

    /// `role` is the subject of a sentence: "the project", "--report".
    void read(const std::filesystem::path& path, const std::string& role);
    void write(const std::filesystem::path& path, const std::string& role, Content content = Content::other);
    /// The files that the graph's File nodes read and its Save nodes write, relative to `folder`. They may
    /// coincide with each other, but not with a file that the command writes.
    void readGraph(const Graph& graph, const std::filesystem::path& folder);

private:
    struct Claim {
        std::string role;
        std::filesystem::path place; ///< absolute, links followed
        std::optional<std::pair<std::uint64_t, std::uint64_t>>
            inode;                         ///< device and number of an existing file
        std::optional<std::string> tensor; ///< within an archive
        bool written = false;
        bool byGraph = false;
    };
    void add(const std::filesystem::path& path, const std::string& role, bool written, bool byGraph);

    std::vector<Claim> m_claims;
};

/// A file that a node of a graph names.
struct GraphFile {
    const Node* node = nullptr;
    std::string path; ///< as in the graph: "a.npz#x"
    bool isWritten = false;
};
/// Valid as long as the graph. Names that are no paths, such as an empty one, are left out.
std::vector<GraphFile> filesNamedBy(const Graph& graph);

} // namespace twb
