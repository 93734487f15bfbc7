#include "core/error.h"
#include "formats/file_claims.h"
#include "formats/imported_model.h"
#include "formats/project.h"
#include "formats/safetensors.h"
#include "graph/delta.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

using NamedTensors = std::vector<std::pair<std::string, TensorView>>;

/// Whether the file already holds exactly these tensors.
bool holds(const fs::path& path, const NamedTensors& tensors) {
    constexpr std::size_t kSlice = 1 << 20;
    try {
        const Safetensors file(path);
        if (file.types().size() != tensors.size()) return false;
        for (const auto& [name, tensor] : tensors) {
            const auto known = file.types().find(name);
            const TensorType type{tensor.dtype, tensor.shape};
            if (known == file.types().end() || !(known->second == type)) return false;
        }
        std::vector<char> slice(kSlice);
        for (const auto& [name, tensor] : tensors) {
            const auto bytes = static_cast<std::size_t>(tensor.shape.byteCount(tensor.dtype));
            for (std::size_t at = 0; at < bytes; at += kSlice) {
                const std::size_t count = std::min(kSlice, bytes - at);
                file.readBytes(name, at, slice.data(), count);
                if (std::memcmp(slice.data(), static_cast<const char*>(tensor.data) + at, count) != 0)
                    return false;
            }
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The name of the tensor file beside the project "net.twb": net.safetensors, or net-2.safetensors if that
/// file has other content.
std::string tensorFileFor(const fs::path& project, const NamedTensors& tensors) {
    const std::string stem = project.stem().string();
    std::string name = stem + ".safetensors";
    const auto isFree = [&] {
        std::error_code failed;
        const fs::path file = project.parent_path() / name;
        return !fs::exists(fs::symlink_status(file, failed)) || holds(file, tensors);
    };
    for (int number = 2; !isFree(); ++number) name = fmt::format("{}-{}.safetensors", stem, number);
    return name;
}

/// The graph with paths "`before`#w" replaced by "`after`#w".
Graph withTensorFile(const Graph& graph, const std::string& before, const std::string& after) {
    if (before == after) return graph;
    Graph out = graph;
    Delta renamed;
    for (const Node& node : graph.nodes()) {
        const AttributeValue* path = node.op == "File" ? node.attributes.find("path") : nullptr;
        const auto* text = path ? std::get_if<std::string>(path) : nullptr;
        if (!text || !text->starts_with(before + '#')) continue;
        Node changed = node;
        changed.attributes.set("path", after + text->substr(before.size()));
        renamed.nodes.push_back({node, std::move(changed)});
    }
    out.apply(renamed);
    return out;
}

/// The name is stored in the project, which is UTF-8; a name in another encoding would not be found again.
void requireUtf8(const fs::path& project) {
    try {
        (void)nlohmann::json(project.filename().string()).dump();
    } catch (const nlohmann::json::exception&) {
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("the project {}: the name is not UTF-8, so the project could not name its "
                                "tensors' file; choose another name",
                                project.string()));
    }
}

} // namespace

std::string saveImportedModel(const ImportedModel& model, const fs::path& path) {
    requireUtf8(path);
    FileClaims().write(path, "the project", FileClaims::Content::project);
    if (model.tensors.empty()) {
        saveProject(model.graph, path);
        return {};
    }
    std::error_code failed;
    if (fs::exists(path, failed) && !fs::is_regular_file(path, failed))
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("the project {} cannot be a device or a pipe, because the model's tensors are "
                        "written to a file beside it; name a regular file",
                        path.string()));
    NamedTensors tensors;
    std::string imported; // the tensor file's name in the graph
    for (const auto& [key, tensor] : model.tensors) {
        const std::size_t mark = key.find('#');
        imported = key.substr(0, mark);
        tensors.emplace_back(key.substr(mark + 1), tensor.view());
    }
    // Tensors are written first, under an unused name, so that after any failure an existing project keeps
    // its tensors.
    const std::string name = tensorFileFor(path, tensors);
    const fs::path file = path.parent_path() / name;
    const Graph graph = withTensorFile(model.graph, imported, name);
    const bool isNew = !fs::exists(file, failed);
    if (isNew) writeSafetensors(file, tensors, AtomicFile::Existing::kept);
    try {
        saveProject(graph, path);
    } catch (...) {
        if (isNew) fs::remove(file, failed);
        throw;
    }
    return name;
}

} // namespace twb
