#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace twb {

/// `name=path`, as `--input` and `--output` take it.
struct NamedFile {
    std::string node;
    std::filesystem::path path;
};
/// Throws Error(invalidArgument); `option` is for the message.
NamedFile parseNamedFile(std::string_view text, std::string_view option);

/// The project's files, and beside them those that the user named on the command line. Only the latter may
/// lie outside of the project's folder: a graph must not reach what its user did not ask for.
class CommandLineFiles : public TensorFiles {
public:
    /// Throws Error(io) or Error(badFile) for a named file that holds no tensor: the command line is wrong
    /// then, not the graph.
    CommandLineFiles(std::shared_ptr<const TensorFiles> project, const std::vector<NamedFile>& named);

    TensorType typeOf(std::string_view path) const override;
    void read(std::string_view path, const TensorView& out) const override;
    void write(std::string_view path, const TensorView& tensor) const override;
    std::string fingerprint(std::string_view path) const override;

private:
    const TensorFiles& owner(std::string_view path) const;

    std::shared_ptr<const TensorFiles> m_project;
    std::shared_ptr<const TensorFiles> m_anywhere;
    std::set<std::string, std::less<>> m_named; ///< absolute
};

/// Makes each named source node a File that reads the named path. Throws Error(invalidArgument) for a node
/// that has inputs.
void replaceSources(Graph& graph, const std::vector<NamedFile>& inputs);

} // namespace twb
