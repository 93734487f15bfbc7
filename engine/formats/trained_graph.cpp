#include "formats/trained_graph.h"

#include "formats/project.h"
#include "formats/safetensors.h"
#include "ops/op_table.h"
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

void saveTrained(const std::filesystem::path& path, const Graph& graph,
                 const std::map<std::string, Tensor>& parameters) {
    std::filesystem::path weights = path;
    weights.replace_extension(".safetensors");
    saveWeights(weights, parameters);
    DeltaBuilder builder(graph, {});
    if (const std::optional<Training> training = trainingOf(graph))
        for (const NodeId id : training->nodes) builder.removeNode(id);
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (!op || op->role != OpRole::source || !parameters.contains(node.name) ||
            !builder.graph().find(node.id))
            continue;
        Node trained = node;
        trained.op = "File";
        trained.attributes = {{"path", weights.filename().string() + "#" + node.name}};
        builder.change(trained);
    }
    Graph trained = graph;
    trained.apply(builder.take());
    trained.apply(removeTraining(trained));
    saveProject(trained, path);
}

} // namespace twb
