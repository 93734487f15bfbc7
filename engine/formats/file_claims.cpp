#include "formats/file_claims.h"

#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/input_file.h"
#include "formats/project_parts.h"
#include "formats/tensor_archive.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Content = FileClaims::Content;

/// Extensions of other kinds of files. A project with such a name would be mistaken for one of them.
constexpr std::array<std::string_view, 5> kOtherEndings{".onnx", ".safetensors", ".npy", ".npz", ".pt2"};

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalidArgument, sentence); }

void checkFolder(const fs::path& path, const std::string& role) {
    const fs::path folder = fs::absolute(path).parent_path();
    const auto fail = [&](const std::string& problem) {
        throw Error(ErrorCode::io, fmt::format("{} {}: {}", role, path.string(), problem));
    };
    std::error_code failed;
    if (!fs::is_directory(folder, failed))
        fail(fmt::format("the folder {} does not exist; create it first", folder.string()));
    if (::access(folder.c_str(), W_OK) != 0)
        fail(fmt::format("cannot write to the folder {}", folder.string()));
    if (fs::is_directory(path, failed)) fail("the path is a folder; name a file");
    if (fs::exists(path, failed) && ::access(path.c_str(), W_OK) != 0) fail(std::strerror(errno));
}

/// Whether the file starts like a project. False for a file that cannot be read.
bool isProject(const fs::path& path) {
    try {
        const InputFile file(path);
        std::string start(512, '\0');
        start.resize(file.readAt(0, start.data(), start.size()));
        return start.starts_with('{') &&
               start.find(fmt::format("\"{}\"", kProjectFormat)) != std::string::npos;
    } catch (const Error&) {
        return false;
    }
}

void checkContent(const fs::path& path, const std::string& role, Content content) {
    std::error_code failed;
    if (content == Content::project)
        for (const std::string_view ending : kOtherEndings)
            if (path.extension() == ending)
                refuse(fmt::format("{} {}: a project must not be named as a {} file; name it {}", role,
                                   path.string(), ending, fs::path(path).replace_extension(".twb").string()));
    if (!fs::is_regular_file(path, failed) || fs::file_size(path, failed) == 0) return;
    if (isProject(path) == (content == Content::project)) return;
    refuse(content == Content::project
               ? fmt::format(
                     "{} {}: this file is not a project and is not overwritten with one; name another file",
                     role, path.string())
               : fmt::format("{} {}: this file is a project and is not overwritten; name another file", role,
                             path.string()));
}

} // namespace

void FileClaims::read(const fs::path& path, const std::string& role) { add(path, role, false, false); }

void FileClaims::write(const fs::path& path, const std::string& role, Content content) {
    const fs::path file = splitTensorPath(path.string()).file;
    checkFolder(file, role);
    add(path, role, true, false);
    checkContent(file, role, content);
}

void FileClaims::readGraph(const Graph& graph, const fs::path& folder) {
    for (const GraphFile& file : filesNamedBy(graph))
        add(folder / file.path, fmt::format("{} \"{}\"", file.node->op, file.node->name), file.isWritten,
            true);
}

std::vector<GraphFile> filesNamedBy(const Graph& graph) {
    std::vector<GraphFile> out;
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (!op) continue;
        for (const AttributeSpec& spec : op->attributes) {
            const AttributeValue* path =
                spec.type == AttributeType::file ? node.attributes.find(spec.name) : nullptr;
            const auto* text = path ? std::get_if<std::string>(path) : nullptr;
            if (text && !text->empty() && text->find('\0') == std::string::npos)
                out.push_back({&node, *text, op->role == OpRole::sink});
        }
    }
    return out;
}

void FileClaims::add(const fs::path& path, const std::string& role, bool written, bool byGraph) {
    TensorPath tensor = splitTensorPath(path.string());
    Claim claim{role, throughLinks(tensor.file), {}, std::move(tensor.tensor), written, byGraph};
    struct stat status {};
    if (::stat(claim.place.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) return;
        claim.inode.emplace(status.st_dev, status.st_ino);
    }
    for (const Claim& other : m_claims) {
        if ((other.byGraph && byGraph) || (!other.written && !written)) continue;
        if (other.place != claim.place && (!other.inode || other.inode != claim.inode)) continue;
        if (other.tensor && claim.tensor && other.tensor != claim.tensor) continue;
        refuse(fmt::format("{} and {} are the same file, {}; use different files", other.role, role,
                           path.string()));
    }
    m_claims.push_back(std::move(claim));
}

} // namespace twb
