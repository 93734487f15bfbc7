#include "app/command_line_files.h"

#include "app/settings.h"
#include "core/error.h"
#include "formats/npy.h"
#include "graph/delta.h"
#include "ops/op_table.h"

#include <fmt/format.h>

namespace twb {
namespace {

std::string fullPath(const std::filesystem::path& path) { return std::filesystem::absolute(path).string(); }

} // namespace

NamedFile parseNamedFile(std::string_view text, std::string_view option) {
    // Names and paths may contain "="; it is more likely in a path.
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} \"{}\" must have the form node=file.npy", option, text));
    return {std::string(text.substr(0, equals)), std::filesystem::path(text.substr(equals + 1))};
}

CommandLineFiles::CommandLineFiles(std::shared_ptr<const TensorFiles> project,
                                   const std::vector<NamedFile>& named)
    : m_project(std::move(project)), m_anywhere(makeProjectFiles(std::filesystem::current_path(), true)) {
    for (const NamedFile& file : named) {
        const std::string path = fullPath(file.path);
        try {
            (void)m_anywhere->typeOf(path);
        } catch (const Error& error) {
            throw Error(error.code(), fmt::format("--input {}: {}", file.node, error.what()));
        }
        m_named.insert(path);
    }
}

const TensorFiles& CommandLineFiles::owner(std::string_view path) const {
    return m_named.contains(path) ? *m_anywhere : *m_project;
}

TensorType CommandLineFiles::typeOf(std::string_view path) const { return owner(path).typeOf(path); }
void CommandLineFiles::read(std::string_view path, const TensorView& out) const {
    owner(path).read(path, out);
}
void CommandLineFiles::checkTarget(std::string_view path) const { m_project->checkTarget(path); }
void CommandLineFiles::write(std::string_view path, const TensorView& tensor) const {
    m_project->write(path, tensor);
}
std::string CommandLineFiles::fingerprint(std::string_view path) const {
    return owner(path).fingerprint(path);
}

void replaceSources(Graph& graph, const std::vector<NamedFile>& inputs) {
    DeltaBuilder builder(graph, "");
    for (const NamedFile& input : inputs) {
        Node node = nodeNamed(graph, input.node, "--input " + input.node);
        const Op* op = findOp(node.op);
        if (!op || op->role != OpRole::source)
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("--input {}: {} \"{}\" computes its tensor; only a source such as File, Zeros or "
                            "RandomNormal can be replaced by a file",
                            input.node, node.op, node.name));
        node.op = "File";
        node.attributes = Attributes{{"path", fullPath(input.path)}};
        builder.change(node);
    }
    graph.apply(builder.take());
}

} // namespace twb
