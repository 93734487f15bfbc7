#include "formats/trained_graph.h"

#include "formats/project.h"
#include "formats/safetensors.h"
#include "training/training.h"

#include <optional>
#include <utility>
#include <vector>

namespace twb {

void saveWeights(const std::filesystem::path& path, const std::map<std::string, Tensor>& parameters) {
    std::vector<std::pair<std::string, TensorView>> tensors;
    for (const auto& [name, tensor] : parameters) tensors.emplace_back(name, tensor.view());
    writeSafetensors(path, tensors);
}

std::filesystem::path weightsOf(const std::filesystem::path& project) {
    std::filesystem::path weights = project;
    return weights.replace_extension(".safetensors");
}

void saveTrained(const std::filesystem::path& path, const Graph& graph,
                 const std::map<std::string, Tensor>& parameters,
                 const std::map<NodeId, std::string>& names) {
    const std::filesystem::path weights = weightsOf(path);
    saveWeights(weights, parameters);
    DeltaBuilder builder(graph, {});
    if (const std::optional<Training> training = trainingOf(graph))
        for (const NodeId id : training->nodes) builder.removeNode(id);
    for (const Node& node : graph.nodes()) {
        const auto name = names.find(node.id);
        if (name == names.end() || !parameters.contains(name->second) || !builder.graph().find(node.id))
            continue;
        Node trained = node;
        trained.op = "File";
        trained.attributes = {{"path", weights.filename().string() + "#" + name->second}};
        builder.change(trained);
    }
    setInference(builder);
    Graph trained = graph;
    trained.apply(builder.take());
    trained.apply(removeTraining(trained));
    saveProject(trained, path);
}

} // namespace twb
