#include "graph/composites.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace twb {
namespace {

// The parameters of a layer are in one column, their consumers in the next.
constexpr double kColumn = 264;
constexpr double kRow = 96;

class Builder {
public:
    FrameId addFrame(std::string title, FrameId parent) {
        Frame frame;
        frame.id = FrameId(m_fragment.frames.size() + 1);
        frame.title = std::move(title);
        frame.parent = parent;
        m_fragment.frames.push_back(std::move(frame));
        return m_fragment.frames.back().id;
    }

    /// Makes a frame a body of an existing node.
    void own(FrameId frame, NodeId owner, std::string body) {
        Frame& owned = m_fragment.frames[static_cast<std::size_t>(value(frame)) - 1];
        owned.owner = owner;
        owned.body = std::move(body);
    }

    NodeId addNode(std::string op, std::string name, FrameId frame, Position position,
                   Attributes attributes = {}) {
        Node node;
        node.id = NodeId(m_fragment.nodes.size() + 1);
        node.op = std::move(op);
        node.name = std::move(name);
        node.frame = frame;
        node.position = position;
        node.attributes = std::move(attributes);
        m_fragment.nodes.push_back(std::move(node));
        return m_fragment.nodes.back().id;
    }

    void connect(NodeId from, NodeId to, int input) { m_fragment.edges.push_back({{from, 0}, {to, input}}); }

    /// Returns the Gemm.
    NodeId addLinear(const std::string& name, std::int64_t inputs, std::int64_t outputs, FrameId parent,
                     double x, std::int64_t seed) {
        if (inputs < 1 || outputs < 1)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("a Linear needs at least 1 input and 1 output, but has {} and {}", inputs,
                                    outputs));
        const FrameId frame = addFrame(fmt::format("{} ({} → {})", name, inputs, outputs), parent);
        const double bound = 1 / std::sqrt(static_cast<double>(inputs));
        const auto parameter = [&](const char* what, double y, std::vector<std::int64_t> shape,
                                   std::int64_t number) {
            return addNode("RandomUniform", fmt::format("{}.{}", name, what), frame, {x, y},
                           {{"shape", std::move(shape)}, {"low", -bound}, {"high", bound}, {"seed", number}});
        };
        const NodeId weight = parameter("weight", 0, {outputs, inputs}, seed);
        const NodeId bias = parameter("bias", kRow, {outputs}, seed + 1);
        const NodeId gemm = addNode("Gemm", name, frame, {x + kColumn, kRow / 2}, {{"transB", true}});
        connect(weight, gemm, 1);
        connect(bias, gemm, 2);
        return gemm;
    }

    Fragment take() { return std::move(m_fragment); }

private:
    Fragment m_fragment;
};

Fragment makeLoop() {
    Builder builder;
    const FrameId body = builder.addFrame("body of loop", FrameId::none);
    const NodeId before = builder.addNode("Carried", "x", body, {0, 0});
    const NodeId step = builder.addNode("Identity", "step", body, {kColumn, 0});
    const NodeId loop = builder.addNode("Loop", "loop", FrameId::none, {2 * kColumn, 0},
                                        {{"M", std::int64_t{10}}, {"carried", std::int64_t{1}}});
    builder.own(body, loop, "body");
    builder.connect(before, step, 0);
    builder.connect(step, loop, 3);
    return builder.take();
}

Fragment makeBranch() {
    Builder builder;
    const FrameId thenFrame = builder.addFrame("then_branch of if", FrameId::none);
    const FrameId elseFrame = builder.addFrame("else_branch of if", FrameId::none);
    const NodeId thenNode = builder.addNode("Identity", "then", thenFrame, {0, 0});
    const NodeId elseNode = builder.addNode("Identity", "else", elseFrame, {0, kRow + 48});
    const NodeId branch = builder.addNode("If", "if", FrameId::none, {kColumn, (kRow + 48) / 2});
    builder.own(thenFrame, branch, "then_branch");
    builder.own(elseFrame, branch, "else_branch");
    builder.connect(thenNode, branch, 1);
    builder.connect(elseNode, branch, 2);
    return builder.take();
}

} // namespace

Fragment makeLinear(std::int64_t inputs, std::int64_t outputs) {
    Builder builder;
    builder.addLinear("linear", inputs, outputs, FrameId::none, 0, 1);
    return builder.take();
}

Fragment makeMlp(std::span<const std::int64_t> sizes) {
    if (sizes.size() < 2)
        throw Error(ErrorCode::invalidArgument,
                    "an MLP needs at least the sizes of its input and its output");
    Builder builder;
    const FrameId model = builder.addFrame("MLP", FrameId::none);
    NodeId before = NodeId::none;
    double x = 0;
    for (std::size_t layer = 0; layer + 1 < sizes.size(); ++layer) {
        const NodeId gemm = builder.addLinear(fmt::format("fc{}", layer + 1), sizes[layer], sizes[layer + 1],
                                              model, x, static_cast<std::int64_t>(2 * layer + 1));
        if (before != NodeId::none) builder.connect(before, gemm, 0);
        before = gemm;
        x += 2 * kColumn;
        if (layer + 2 == sizes.size()) break;
        const NodeId relu = builder.addNode("Relu", fmt::format("relu{}", layer + 1), model, {x, kRow / 2});
        builder.connect(gemm, relu, 0);
        before = relu;
        x += kColumn;
    }
    return builder.take();
}

const std::vector<Composite>& composites() {
    static const std::array<std::int64_t, 3> sizes{64, 128, 10};
    static const std::vector<Composite> table{
        {"Linear", "A fully connected layer: Gemm with its weight and bias, 64 to 128", makeLinear(64, 128)},
        {"MLP", "Two Linear layers with Relu between them: 64 to 128 to 10", makeMlp(sizes)},
        {"Repeat", "A Loop with a body and one carried value; put the repeated ops into its frame",
         makeLoop()},
        {"Branch", "An If with one body per case; put the ops of each case into its frame", makeBranch()},
    };
    return table;
}

const Composite* findComposite(std::string_view name) noexcept {
    const auto& all = composites();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Composite& c) { return c.name == name; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace twb
