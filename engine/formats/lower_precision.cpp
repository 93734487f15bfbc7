#include "formats/lower_precision.h"

#include "core/error.h"
#include "formats/safetensors.h"
#include "formats/tensor_archive.h"
#include "training/mixed_precision.h"

#include <fmt/format.h>

#include <set>
#include <system_error>
#include <vector>

namespace twb {
namespace {

/// The path of a File; empty for another node.
std::string pathOf(const Node& node) {
    const AttributeValue* path = node.op == "File" ? node.attributes.find("path") : nullptr;
    const auto* text = path ? std::get_if<std::string>(path) : nullptr;
    return text ? *text : std::string();
}

/// Reads held tensors from memory, and all others from the files below.
class FilesOver final : public TensorFiles {
public:
    using Tensors = std::map<std::string, Tensor>;
    FilesOver(std::shared_ptr<const Tensors> tensors, std::shared_ptr<const TensorFiles> below)
        : m_tensors(std::move(tensors)), m_below(std::move(below)) {}

    TensorType typeOf(std::string_view path) const override {
        const Tensor* held = find(path);
        return held ? held->type() : below(path).typeOf(path);
    }
    void read(std::string_view path, const TensorView& out) const override {
        const Tensor* held = find(path);
        if (!held) return below(path).read(path, out);
        if (held->byteCount() > 0)
            std::copy_n(static_cast<const std::byte*>(held->data()), held->byteCount(), out.as<std::byte>());
    }
    std::shared_ptr<const TensorRows> rows(std::string_view path) const override {
        return find(path) ? TensorFiles::rows(path) : below(path).rows(path);
    }
    void checkTarget(std::string_view path) const override { below(path).checkTarget(path); }
    /// The graph is only tried out: its Save nodes write nothing.
    void write(std::string_view, const TensorView&) const override {}
    std::string fingerprint(std::string_view path) const override {
        return find(path) ? "memory" : below(path).fingerprint(path);
    }

private:
    const Tensor* find(std::string_view path) const {
        const auto at = m_tensors->find(std::string(path));
        return at == m_tensors->end() ? nullptr : &at->second;
    }
    const TensorFiles& below(std::string_view path) const {
        if (!m_below) throw Error(ErrorCode::io, fmt::format("there is no tensor \"{}\"", path));
        return *m_below;
    }

    std::shared_ptr<const Tensors> m_tensors;
    std::shared_ptr<const TensorFiles> m_below;
};

} // namespace

HeldTensors::HeldTensors(const Graph& graph, const std::filesystem::path& project)
    : m_folder(project.parent_path()), m_tensors(std::make_shared<std::map<std::string, Tensor>>()) {
    std::set<std::string> files;
    for (const Node& node : graph.nodes())
        if (const std::string path = pathOf(node); !path.empty()) files.insert(splitTensorPath(path).file);
    const std::string stem = project.empty() ? "weights" : project.stem().string() + "-low";
    const auto isTaken = [&] {
        std::error_code failed;
        return files.contains(m_file) ||
               (!project.empty() && std::filesystem::exists(m_folder / m_file, failed));
    };
    m_file = stem + ".safetensors";
    for (int number = 2; isTaken(); ++number) m_file = fmt::format("{}-{}.safetensors", stem, number);
}

HoldTensor HeldTensors::hold() {
    return [this](Node& node, const Tensor& tensor) {
        std::string path = fmt::format("{}#{}", m_file, node.name);
        while (!m_tensors->emplace(path, tensor).second) path += '_';
        node.op = "File";
        node.attributes = {{"path", path}};
    };
}

std::shared_ptr<const TensorFiles> HeldTensors::over(std::shared_ptr<const TensorFiles> files) const {
    return std::make_shared<FilesOver>(m_tensors, std::move(files));
}

std::map<std::string, Tensor> HeldTensors::of(const Graph& graph) const {
    std::map<std::string, Tensor> out;
    for (const Node& node : graph.nodes())
        if (const auto at = m_tensors->find(pathOf(node)); at != m_tensors->end()) out.insert(*at);
    return out;
}

std::filesystem::path HeldTensors::write(const Graph& graph) const {
    const std::map<std::string, Tensor> held = of(graph);
    if (held.empty()) return {};
    std::vector<std::pair<std::string, TensorView>> tensors;
    for (const auto& [path, tensor] : held)
        tensors.emplace_back(path.substr(m_file.size() + 1), tensor.view());
    writeSafetensors(m_folder / m_file, tensors, AtomicFile::Existing::kept);
    return m_folder / m_file;
}

PrecisionChange lowerPrecision(const Graph& graph, const RunSetup& setup, const Samples& samples,
                               LowPrecision to, HeldTensors& held, const IsCancelled& isCancelled,
                               const QuantizationOptions& options) {
    // Save nodes must not write while the graph is tried out.
    const RunSetup trial{setup.devices, held.over(setup.files), setup.policy};
    PrecisionChange out;
    out.change =
        to == LowPrecision::int8
            ? quantize(graph, trial, observeRanges(graph, trial, samples, isCancelled, options.percentile),
                       held.hold(), options)
            : castToBFloat16(graph, trial, held.hold());
    if (out.change.delta.empty()) return out;
    Graph after = graph;
    after.apply(out.change.delta);
    out.loss = comparePrecision(graph, after, trial, samples, isCancelled);
    return out;
}

} // namespace twb
