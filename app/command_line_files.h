#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace twb {

/// `name=path`, the argument of `--input` and `--output`.
struct NamedFile {
    std::string node;
    std::filesystem::path path;
};
/// Throws Error(invalidArgument); `option` is for the message.
NamedFile parseNamedFile(std::string_view text, std::string_view option);

/// The project's files, and the files named on the command line. Only the latter may be outside the project's
/// folder: a graph must not read files that its user did not name.
class CommandLineFiles : public TensorFiles {
public:
    /// Throws Error(io) or Error(badFile) for a named file without a tensor: that is an error of the command
    /// line, not of the graph.
    CommandLineFiles(std::shared_ptr<const TensorFiles> project, const std::vector<NamedFile>& named);

    TensorType typeOf(std::string_view path) const override;
    void read(std::string_view path, const TensorView& out) const override;
    void checkTarget(std::string_view path) const override;
    void write(std::string_view path, const TensorView& tensor) const override;
    std::string fingerprint(std::string_view path) const override;

private:
    const TensorFiles& owner(std::string_view path) const;

    std::shared_ptr<const TensorFiles> m_project;
    std::shared_ptr<const TensorFiles> m_anywhere;
    std::set<std::string, std::less<>> m_named; ///< absolute paths
};

/// Replaces each named source node by a File node with the named path. Throws Error(invalidArgument) for a
/// node that has inputs.
void replaceSources(Graph& graph, const std::vector<NamedFile>& inputs);

} // namespace twb
