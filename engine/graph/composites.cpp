#include "graph/composites.h"

#include "core/error.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

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

    /// A host value is on cpu, wherever its consumer is.
    void putOnHost(NodeId node) {
        constexpr LaneId host{1};
        if (m_fragment.lanes.empty()) m_fragment.lanes.push_back({host, Device::cpu(), "", 0, 0});
        m_fragment.nodes[static_cast<std::size_t>(value(node)) - 1].lane = host;
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

std::string lowered(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

/// A source of random floats, or a Constant.
NodeId addOperand(Builder& builder, const std::string& name, const ExampleInput& input, DType dtype,
                  Position position, std::int64_t seed) {
    Attributes attributes{{"shape", input.shape.dims()}};
    if (dtype != DType::f32) attributes.set("dtype", std::string(twb::name(dtype)));
    if (input.values.empty() && isFloating(dtype)) {
        attributes.set("seed", seed);
        return builder.addNode("RandomNormal", name, FrameId::none, position, std::move(attributes));
    }
    std::vector<double> values = input.values;
    if (values.empty()) {
        values.resize(static_cast<std::size_t>(input.shape.elementCount()));
        std::iota(values.begin(), values.end(), 0.0);
        if (dtype == DType::boolean)
            for (double& value : values) value = std::fmod(value, 2);
    }
    attributes.set("value", std::move(values));
    return builder.addNode("Constant", name, FrameId::none, position, std::move(attributes));
}

/// The dtype of an operand whose description names none: the first of these that the port accepts.
DType dtypeFor(const PortSpec& port) {
    for (const DType dtype : {DType::f32, DType::i64, DType::boolean})
        if (port.types.contains(dtype)) return dtype;
    return *std::ranges::find_if(kAllDTypes, [&](DType dtype) { return port.types.contains(dtype); });
}

Fragment makeExample(const Op& op) {
    std::vector<std::optional<ExampleInput>> inputs = op.example.inputs;
    if (inputs.empty())
        for (const PortSpec& port : op.inputs) {
            if (port.optional) break;
            inputs.push_back(ExampleInput{{3, 4}, {}, std::nullopt});
        }
    Builder builder;
    const auto count = std::ranges::count_if(inputs, [](const auto& input) { return input.has_value(); });
    const double middle = kRow * static_cast<double>(std::max<std::ptrdiff_t>(count - 1, 0)) / 2;
    const NodeId node = builder.addNode(op.name, lowered(op.name), FrameId::none,
                                        {count == 0 ? 0 : kColumn, middle}, op.example.attributes);
    std::map<std::string, DType> bound; ///< by type variable
    double y = 0;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
        const auto& input = inputs[static_cast<std::size_t>(i)];
        if (!input) continue;
        const PortSpec& port = op.inputAt(i);
        const auto same = bound.find(port.typeVariable);
        const DType dtype = input->dtype          ? *input->dtype
                            : same != bound.end() ? same->second
                                                  : dtypeFor(port);
        if (!port.typeVariable.empty()) bound.emplace(port.typeVariable, dtype);
        const std::string name = port.variadic ? fmt::format("{}{}", port.name, i) : port.name;
        const NodeId from = addOperand(builder, name, *input, dtype, {0, y}, i + 1);
        builder.connect(from, node, i);
        if (port.hostValue) builder.putOnHost(from);
        y += kRow;
    }
    return builder.take();
}

/// The example of If, Loop or Scan, or of an op that only their bodies have.
Fragment makeControlExample(std::string_view op) {
    Builder builder;
    const auto source = [&](std::vector<std::int64_t> shape, Position position) {
        return builder.addNode("RandomNormal", "x", FrameId::none, position,
                               {{"shape", std::move(shape)}, {"seed", std::int64_t{1}}});
    };
    const auto frame = [&](const char* body) {
        return builder.addFrame(fmt::format("{} of {}", body, lowered(std::string(op))), FrameId::none);
    };
    if (op == "If") {
        const NodeId x = source({3, 4}, {0, kRow});
        const NodeId cond = builder.addNode("Constant", "cond", FrameId::none, {kColumn + 24, 3 * kRow + 24},
                                            {{"value", std::int64_t{1}},
                                             {"shape", std::vector<std::int64_t>{}},
                                             {"dtype", std::string("bool")}});
        const FrameId yes = frame("then_branch");
        const FrameId no = frame("else_branch");
        const NodeId relu = builder.addNode("Relu", "then", yes, {kColumn + 24, 24});
        const NodeId neg = builder.addNode("Neg", "else", no, {kColumn + 24, 2 * kRow});
        const NodeId branch = builder.addNode("If", "if", FrameId::none, {2 * kColumn + 48, kRow});
        builder.own(yes, branch, "then_branch");
        builder.own(no, branch, "else_branch");
        builder.connect(cond, branch, 0);
        builder.putOnHost(cond);
        builder.connect(x, relu, 0);
        builder.connect(x, neg, 0);
        builder.connect(relu, branch, 1);
        builder.connect(neg, branch, 2);
        return builder.take();
    }
    const bool isScan = op == "Scan" || op == "ScanSlice";
    const bool counts = op == "Iteration";
    const NodeId x = counts ? NodeId::none : source({3, 4}, {0, 24});
    const double left = counts ? 0 : kColumn;
    const FrameId body = builder.addFrame(isScan ? "body of scan" : "body of loop", FrameId::none);
    const char* state = isScan ? "ScanSlice" : counts ? "Iteration" : "Carried";
    const NodeId before = builder.addNode(state, lowered(state), body, {left + 24, 24});
    const NodeId step = builder.addNode(counts ? "Neg" : "Tanh", "step", body, {left + kColumn + 24, 24});
    const Position end{left + 2 * kColumn + 48, 24};
    const NodeId owner =
        isScan ? builder.addNode("Scan", "scan", FrameId::none, end)
               : builder.addNode("Loop", "loop", FrameId::none, end,
                                 {{"M", std::int64_t{3}}, {"carried", std::int64_t{counts ? 0 : 1}}});
    builder.own(body, owner, "body");
    if (x != NodeId::none) builder.connect(x, before, 0);
    builder.connect(before, step, 0);
    builder.connect(step, owner, isScan ? 0 : 3);
    return builder.take();
}

constexpr std::string_view kExample = " example"; ///< the end of an example's name

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

const Composite* exampleOf(std::string_view op) noexcept {
    static std::mutex mutex;
    static std::map<std::string, Composite, std::less<>> examples; // made at the first use
    const Op* entry = findOp(op);
    if (!entry || !entry->example.none.empty()) return nullptr;
    const std::lock_guard lock(mutex);
    const auto known = examples.find(op);
    if (known != examples.end()) return &known->second;
    const bool isControl = entry->role == OpRole::control || entry->role == OpRole::state;
    Composite example{entry->name + std::string(kExample), entry->doc,
                      isControl ? makeControlExample(entry->name) : makeExample(*entry)};
    return &examples.emplace(entry->name, std::move(example)).first->second;
}

const Composite* findComposite(std::string_view name) noexcept {
    if (name.ends_with(kExample)) return exampleOf(name.substr(0, name.size() - kExample.size()));
    const auto& all = composites();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Composite& c) { return c.name == name; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace twb
