#include "formats/sample_folder.h"

#include "core/error.h"
#include "formats/npy.h"
#include "formats/tensor_archive.h"
#include "ops/cast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace twb {
namespace {

namespace fs = std::filesystem;
using PathsByName = std::vector<std::pair<std::string, std::string>>;

bool isArchive(const fs::path& file) {
    return file.extension() == ".npz" || file.extension() == ".safetensors";
}

std::vector<const Node*> inputsOf(const Graph& graph) {
    std::vector<const Node*> out;
    for (const Node& node : graph.nodes())
        if (node.op == "Input" && !node.disabled) out.push_back(&node);
    return out;
}

std::string namesOf(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node* input : inputsOf(graph)) names.push_back('"' + input->name + '"');
    return names.empty()
               ? "it has no Input; name a source of the graph"
               : fmt::format("its Input{}: {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

/// The sorted entries of a folder.
std::vector<fs::path> entriesOf(const fs::path& folder) try {
    std::vector<fs::path> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
    std::ranges::sort(out);
    return out;
} catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io,
                fmt::format("cannot read the samples in {}: {}", folder.string(), error.code().message()));
}

bool isSameKind(DType a, DType b) {
    return a == b || (isFloating(a) && isFloating(b)) || (isInteger(a) && isInteger(b));
}

/// The number of samples in a tensor; 0 if it does not fit.
std::int64_t piecesOf(const TensorType& given, const TensorType& wanted) {
    if (!isSameKind(given.dtype, wanted.dtype)) return 0;
    if (given.shape == wanted.shape) return 1;
    const int rank = wanted.shape.rank();
    if (rank == 0) return 0;
    const bool isOneRow = given.shape.rank() == rank - 1 && wanted.shape[0] == 1;
    if (!isOneRow && given.shape.rank() != rank) return 0;
    for (int axis = 1; axis < rank; ++axis)
        if (given.shape[isOneRow ? axis - 1 : axis] != wanted.shape[axis]) return 0;
    if (isOneRow) return 1;
    return wanted.shape[0] > 0 ? given.shape[0] / wanted.shape[0] : 0;
}

} // namespace

SampleFolder::SampleFolder(const Graph& graph, const Analysis& analysis, const fs::path& folder)
    : m_folder(folder), m_files(makeProjectFiles(fs::absolute(folder), true)) {
    PathsByName loose;
    for (const fs::path& entry : entriesOf(folder)) {
        const std::string name = entry.filename().string();
        std::error_code failed;
        if (fs::is_directory(entry, failed)) {
            PathsByName paths;
            for (const fs::path& file : entriesOf(entry))
                if (file.extension() == ".npy")
                    paths.emplace_back(file.stem().string(), (fs::path(name) / file.filename()).string());
            if (!paths.empty()) add(graph, analysis, entry.string(), paths);
        } else if (isArchive(entry)) {
            PathsByName paths;
            for (const std::string& tensor : openTensorArchive(entry)->names())
                paths.emplace_back(tensor, fmt::format("{}#{}", name, tensor));
            add(graph, analysis, entry.string(), paths);
        } else if (entry.extension() == ".npy") {
            loose.emplace_back(entry.stem().string(), name);
        }
    }
    const std::vector<const Node*> inputs = inputsOf(graph);
    const bool isNamed = std::ranges::any_of(
        loose, [&](const auto& file) { return inputs.size() == 1 && file.first == inputs[0]->name; });
    if (inputs.size() == 1 && !isNamed)
        for (const auto& [name, path] : loose)
            add(graph, analysis, (folder / path).string(), {{inputs[0]->name, path}});
    else if (!loose.empty())
        add(graph, analysis, folder.string(), loose);
    for (const Group& group : m_groups) m_count += group.pieces;
    if (m_count == 0)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} has no samples: it needs .npy files, .npz files, or a folder for each "
                                "sample, with the names of the graph's inputs ({})",
                                folder.string(), namesOf(graph)));
}

void SampleFolder::add(const Graph& graph, const Analysis& analysis, const std::string& origin,
                       const PathsByName& pathsByName) {
    Group group;
    std::set<NodeId> given;
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const auto& [name, path] : pathsByName) {
        const Node* node = graph.findByName(name);
        const Op* op = node ? findOp(node->op) : nullptr;
        if (!op || op->role != OpRole::source || op->name == "Batches")
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("{}: the graph has no input \"{}\"; rename the tensor after one of {}",
                                    origin, name, namesOf(graph)));
        const auto& wanted = analysis.typeOf({node->id, 0});
        if (!wanted) continue; // the analysis reports it
        Part part{{node->id, 0}, path, m_files->typeOf(path), *wanted};
        const std::int64_t pieces = piecesOf(part.given, part.wanted);
        if (pieces == 0)
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("{}: \"{}\" is {}, but the graph's \"{}\" is {}; save it with that shape, "
                            "or with more rows",
                            origin, path, part.given.toString(), name, part.wanted.toString()));
        if (!(part.given.shape == part.wanted.shape)) most = std::min(most, pieces);
        given.insert(node->id);
        group.parts.push_back(std::move(part));
    }
    for (const Node* input : inputsOf(graph))
        if (!given.contains(input->id))
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("{} has no tensor for the Input \"{}\"; add {}.npy", origin, input->name,
                                    input->name));
    if (most != std::numeric_limits<std::int64_t>::max()) group.pieces = static_cast<std::size_t>(most);
    m_groups.push_back(std::move(group));
}

Sample SampleFolder::read(std::size_t index) const {
    auto group = m_groups.begin();
    for (; index >= group->pieces; ++group) index -= group->pieces;
    Sample out;
    for (const Part& part : group->parts) {
        Tensor tensor = Tensor::onHost({part.given.dtype, part.wanted.shape});
        if (part.given.shape.elementCount() == part.wanted.shape.elementCount()) {
            const TensorView whole{tensor.data(), part.given.dtype, part.given.shape,
                                   denseStrides(part.given.shape)};
            m_files->read(part.path, whole);
        } else {
            const std::int64_t count = part.wanted.shape[0];
            std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
            std::iota(rows.begin(), rows.end(), static_cast<std::int64_t>(index) * count);
            m_files->rows(part.path)->read(rows, tensor.data());
        }
        if (part.given.dtype != part.wanted.dtype) {
            const Tensor converted = Tensor::onHost(part.wanted);
            convertElements(tensor.view(), converted.view());
            tensor = converted;
        }
        out.emplace(part.source, std::move(tensor));
    }
    return out;
}

std::unique_ptr<Samples> samplesFor(const Graph& graph, const Analysis& analysis, const fs::path& folder) {
    if (!folder.empty()) return std::make_unique<SampleFolder>(graph, analysis, folder);
    if (inputsOf(graph).empty()) return std::make_unique<OwnSamples>();
    throw Error(ErrorCode::invalidArgument,
                fmt::format("there is no calibration data for the graph ({}): name a folder of .npy or .npz "
                            "files with --calibrate",
                            namesOf(graph)));
}

} // namespace twb
