#include "formats/imported_model.h"

#include "core/error.h"
#include "graph/arrange.h"
#include "graph/bodies.h"
#include "graph/card_size.h"
#include "graph/constant_node.h"
#include "graph/delta.h"
#include "graph/difference.h"
#include "graph/folding.h"
#include "graph/module_levels.h"
#include "graph/repeated_modules.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace twb {
namespace {

constexpr double kMargin = 24; ///< between the left end of a lane and a parameter

/// Removes frames; their content belongs to the frames around them.
void removeFrames(Graph& graph, const std::set<FrameId>& frames) {
    /// The innermost frame that stays.
    const auto kept = [&](FrameId id) {
        while (frames.contains(id)) id = graph.find(id)->parent;
        return id;
    };
    Delta delta;
    for (const Frame& frame : graph.frames()) {
        if (frames.contains(frame.id)) {
            delta.frames.push_back({frame, std::nullopt});
        } else if (const FrameId parent = kept(frame.parent); parent != frame.parent) {
            Frame after = frame;
            after.parent = parent;
            delta.frames.push_back({frame, std::move(after)});
        }
    }
    for (const Node& node : graph.nodes()) {
        const FrameId frame = kept(node.frame);
        if (frame == node.frame) continue;
        Node after = node;
        after.frame = frame;
        delta.nodes.push_back({node, std::move(after)});
    }
    graph.apply(delta);
}

/// Removes frames around fewer than two cards, except for the bodies of control ops and frames that run
/// once.
void removeSmallFrames(Graph& graph) {
    std::unordered_map<FrameId, int> cards;
    for (const Node& node : graph.nodes()) {
        if (foldedInto(graph, node)) continue;
        for (const Frame* at = graph.find(node.frame); at; at = graph.find(at->parent)) ++cards[at->id];
    }
    std::set<FrameId> small;
    for (const Frame& frame : graph.frames())
        if (cards[frame.id] < 2 && frame.owner == NodeId::none && !frame.once) small.insert(frame.id);
    removeFrames(graph, small);
}

/// Puts parameters beside their consumers, for users who unfold them.
void placeBeside(Graph& graph, const std::vector<NodeId>& parameters) {
    Delta beside;
    for (const NodeId id : parameters) {
        const Node* node = graph.find(id);
        const auto into = foldedInto(graph, *node);
        if (!into) continue;
        Node after = *node;
        const Position reader = graph.find(into->node)->position;
        after.position = {std::max(kMargin, reader.x - card::maxWidth), reader.y};
        beside.nodes.push_back({*node, std::move(after)});
    }
    graph.apply(beside);
}

/// Puts folded parameters into the modules of their consumers. A state of a body reads its initial value
/// outside the body, beside the owner.
void putFoldedWithConsumers(Graph& graph) {
    const Bodies bodies(graph);
    Delta delta;
    for (const Node& node : graph.nodes()) {
        const auto into = foldedInto(graph, node);
        const Node* consumer = into ? graph.find(into->node) : nullptr;
        const Op* op = consumer ? findOp(consumer->op) : nullptr;
        const Body* body = op && op->role == OpRole::state ? bodies.around(consumer->id) : nullptr;
        if (body) consumer = graph.find(body->owner);
        if (!consumer || consumer->frame == node.frame) continue;
        Node after = node;
        after.frame = consumer->frame;
        delta.nodes.push_back({node, std::move(after)});
    }
    graph.apply(delta);
}

class MemoryFiles final : public TensorFiles {
public:
    using Tensors = std::map<std::string, Tensor>;
    explicit MemoryFiles(std::shared_ptr<const Tensors> tensors) : m_tensors(std::move(tensors)) {}

    TensorType typeOf(std::string_view path) const override { return at(path).type(); }
    void read(std::string_view path, const TensorView& out) const override {
        const Tensor& tensor = at(path);
        if (tensor.byteCount() > 0)
            std::copy_n(static_cast<const std::byte*>(tensor.data()), tensor.byteCount(),
                        out.as<std::byte>());
    }
    void write(std::string_view path, const TensorView&) const override {
        throw Error(
            ErrorCode::io,
            fmt::format("\"{}\" cannot be written: this run has no project folder; save the project first",
                        path));
    }
    std::string fingerprint(std::string_view path) const override {
        return m_tensors->contains(std::string(path)) ? "memory" : "";
    }

private:
    const Tensor& at(std::string_view path) const {
        const auto tensor = m_tensors->find(std::string(path));
        if (tensor == m_tensors->end())
            throw Error(ErrorCode::io, fmt::format("there is no tensor \"{}\"", path));
        return tensor->second;
    }
    std::shared_ptr<const Tensors> m_tensors;
};

} // namespace

void holdTensor(Node& node, const std::string& name, const Tensor& tensor, ImportedModel& model) {
    if (!fitsConstant(tensor)) {
        std::string path = fmt::format("{}#{}", kTensorFile, name);
        while (!model.tensors.emplace(path, tensor).second) path += '_'; // different names may become equal
        node.op = "File";
        node.attributes.set("path", path);
        return;
    }
    makeConstant(node, tensor);
}

void layOutImported(Graph& graph, const std::vector<NodeId>& parameters, const IsCancelled& isCancelled) {
    removeSmallFrames(graph);
    graph.apply(arrangeAll(graph, FrameId::none, isCancelled).delta);
    placeBeside(graph, parameters);
}

std::vector<FrameId> layOutModel(Graph& graph, const std::vector<NodeId>& parameters,
                                 const std::map<std::string, Tensor>& tensors,
                                 const IsCancelled& isCancelled) {
    removeSmallFrames(graph);
    putFoldedWithConsumers(graph);
    const auto typeOf = [&](const Node& node) -> std::optional<TensorType> {
        if (node.op == "Constant") return typeOfConstant(node);
        const AttributeValue* path = node.op == "File" ? node.attributes.find("path") : nullptr;
        const auto* text = path ? std::get_if<std::string>(path) : nullptr;
        const auto tensor = text ? tensors.find(*text) : tensors.end();
        return tensor == tensors.end() ? std::nullopt : std::optional(tensor->second.type());
    };
    const Delta stacking = stackRepeats(graph, typeOf);
    graph.apply(stacking);
    graph.apply(openLevelsThatFit(graph, isCancelled));
    placeBeside(graph, parameters);
    std::vector<FrameId> stacks;
    for (const Change<Frame>& change : stacking.frames)
        if (!change.before) stacks.push_back(change.after->id);
    return stacks;
}

Simplified simplifyImported(ImportedModel& model, const IsCancelled& isCancelled) {
    // Sees the tensors that are added meanwhile.
    const MemoryFiles files(
        std::shared_ptr<const MemoryFiles::Tensors>(std::shared_ptr<void>(), &model.tensors));
    SimplifyOptions options;
    options.files = &files;
    options.free = model.freeAxes;
    options.hold = [&](Node& node, const Tensor& tensor) { holdTensor(node, node.name, tensor, model); };
    options.isCancelled = isCancelled;
    Simplified out = simplify(model.graph, options);
    if (out.delta.empty()) return out;
    Graph after = model.graph;
    after.apply(out.delta);
    std::vector<NodeId> sources;
    for (const Node& node : after.nodes())
        if (node.op == "Constant" || node.op == "File") sources.push_back(node.id);
    after.apply(fold(after, sources));
    removeFrames(after, {model.stacks.begin(), model.stacks.end()}); // more modules may be equal now
    layOutModel(after, sources, model.tensors, isCancelled);
    out.delta = difference(model.graph, after, "Simplify the import");
    return out;
}

void dropUnreadTensors(ImportedModel& model) {
    std::set<std::string> named;
    for (const Node& node : model.graph.nodes()) {
        const AttributeValue* path = node.op == "File" ? node.attributes.find("path") : nullptr;
        if (const auto* text = path ? std::get_if<std::string>(path) : nullptr) named.insert(*text);
    }
    std::erase_if(model.tensors, [&](const auto& tensor) { return !named.contains(tensor.first); });
}

std::shared_ptr<const TensorFiles> makeMemoryFiles(std::map<std::string, Tensor> tensors) {
    return std::make_shared<MemoryFiles>(
        std::make_shared<const std::map<std::string, Tensor>>(std::move(tensors)));
}

} // namespace twb
