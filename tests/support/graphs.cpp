#include "support/graphs.h"

#include "backends/simulated/simulated_backend.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace twb::test {

FrameId GraphMaker::body(NodeId owner, const std::string& name, const std::vector<NodeId>& nodes) {
    DeltaBuilder builder(m_graph, "Body");
    const FrameId frame = builder.addFrame({FrameId::none, name, FrameId::none, owner, name});
    for (const NodeId id : nodes) {
        Node node = *builder.graph().find(id);
        node.frame = frame;
        builder.change(node);
    }
    m_graph.apply(builder.take());
    return frame;
}

LaneId GraphMaker::lane(const std::string& device) {
    const Device wanted = Device::parse(device).value();
    for (const Lane& lane : m_graph.lanes())
        if (lane.device == wanted) return lane.id;
    DeltaBuilder builder(m_graph, "add lane");
    Lane lane;
    lane.device = wanted;
    lane.order = static_cast<int>(m_graph.lanes().size());
    const LaneId id = builder.addLane(lane);
    m_graph.apply(builder.take());
    return id;
}

NodeId GraphMaker::node(const std::string& op, const std::string& name, const std::string& device,
                        Attributes attributes, const std::vector<NodeId>& inputs) {
    const LaneId where = lane(device);
    DeltaBuilder builder(m_graph, "add node");
    Node node;
    node.op = op;
    node.name = name;
    node.lane = where;
    node.attributes = std::move(attributes);
    node.position = {200.0 * static_cast<double>(m_graph.nodes().size() % 8), 20};
    const NodeId id = builder.addNode(node);
    for (std::size_t port = 0; port < inputs.size(); ++port)
        if (inputs[port] != NodeId::none)
            builder.connect({{inputs[port], 0}, {id, static_cast<std::int32_t>(port)}});
    m_graph.apply(builder.take());
    return id;
}

void GraphMaker::connect(NodeId from, NodeId to, int port, int output) {
    DeltaBuilder builder(m_graph, "connect");
    builder.connect({{from, output}, {to, port}});
    m_graph.apply(builder.take());
}

Delta randomDelta(const Graph& graph, std::mt19937_64& random) {
    DeltaBuilder builder(graph, "random");
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto anyNode = [&]() -> const Node* {
        if (graph.nodes().empty()) return nullptr;
        auto at = graph.nodes().begin();
        for (std::size_t skip = below(graph.nodes().size()); skip > 0; --skip) ++at;
        return &*at;
    };
    const auto anyLane = [&] {
        auto at = graph.lanes().begin();
        for (std::size_t skip = below(graph.lanes().size()); skip > 0; --skip) ++at;
        return at->id;
    };
    if (graph.lanes().empty()) {
        builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        return builder.take();
    }
    static const char* const ops[] = {"Relu", "Add", "MatMul", "Zeros", "To", "Nonsense", "Concat"};
    switch (below(15)) {
    case 0:
    case 1:
    case 2: {
        Node node;
        node.op = ops[below(std::size(ops))];
        node.name = "n" + std::to_string(below(1000));
        node.lane = anyLane();
        node.position = {static_cast<double>(below(2000)), static_cast<double>(below(300))};
        node.folded = below(4) == 0;
        if (!graph.frames().empty() && below(3) == 0) node.frame = graph.frames().begin()->id;
        builder.addNode(node);
        break;
    }
    case 3:
    case 4:
    case 5: {
        const Node* a = anyNode();
        const Node* b = anyNode();
        if (a && b) builder.connect({{a->id, 0}, {b->id, static_cast<std::int32_t>(below(3))}});
        break;
    }
    case 6:
        if (const Node* node = anyNode()) builder.removeNode(node->id);
        break;
    case 7:
        if (const Node* node = anyNode()) {
            Node moved = *node;
            moved.lane = anyLane();
            moved.position.x += 8;
            builder.change(moved);
        }
        break;
    case 8:
        if (const Node* node = anyNode()) {
            Node edited = *node;
            edited.attributes.set("shape", std::vector<std::int64_t>{static_cast<std::int64_t>(below(9)), 3});
            builder.change(edited);
        }
        break;
    case 9: {
        Lane lane;
        lane.device = below(2) ? Device::cpu() : Device::cuda(static_cast<int>(below(2)));
        lane.order = static_cast<int>(graph.lanes().size());
        builder.addLane(lane);
        break;
    }
    case 10: {
        const FrameId frame = builder.addFrame({FrameId::none, "module", FrameId::none});
        if (const Node* node = anyNode()) {
            Node inside = *node;
            inside.frame = frame;
            builder.change(inside);
        }
        break;
    }
    case 11:
        if (const Node* node = anyNode()) {
            Node marked = *node;
            bool* const marks[] = {&marked.disabled, &marked.disabled, &marked.pinned, &marked.folded};
            bool& mark = *marks[below(std::size(marks))];
            mark = !mark;
            if (below(4) == 0) put(marked.breakpoints, Breakpoint{});
            builder.change(marked);
        }
        break;
    case 12:
        if (!graph.frames().empty() && below(3) == 0) {
            Frame frame = *graph.frames().begin();
            frame.collapsed = !frame.collapsed;
            builder.change(frame);
        } else if (const Node* node = anyNode(); node && below(2)) {
            Node moved = *node;
            moved.position.y += 8;
            builder.change(moved);
        } else {
            Lane resized = *graph.find(anyLane());
            resized.height += 8;
            resized.collapsed = below(3) == 0;
            builder.change(resized);
        }
        break;
    case 13:
        if (const Node* node = anyNode(); node && !graph.outgoing(node->id).empty()) {
            const auto& edges = graph.outgoing(node->id);
            const PortRef input = edges[below(edges.size())].to;
            std::vector<Dot> dots = graph.dots(input);
            if (dots.size() > 3 || (!dots.empty() && below(3) == 0)) dots.pop_back();
            dots.push_back({anyLane(), {static_cast<double>(below(2000)), static_cast<double>(below(300))}});
            if (below(4) == 0) dots.clear();
            builder.setDots(input, std::move(dots));
        }
        break;
    default:
        if (const Node* node = anyNode()) {
            const auto edges = graph.outgoing(node->id);
            if (!edges.empty()) builder.disconnect(edges[below(edges.size())]);
        }
    }
    return builder.take();
}

Graph largeGraph(std::size_t nodes, bool crossLanes) {
    Graph graph;
    Delta delta;
    delta.lanes.push_back({std::nullopt, Lane{LaneId(1), Device::cpu(), "", 0, 0}});
    delta.lanes.push_back({std::nullopt, Lane{LaneId(2), Device::cuda(0), "", 1, 0}});
    const std::size_t columns = 400;
    const auto add = [&](const char* op, const char* stem, LaneId lane, Attributes attributes) {
        Node node;
        node.id = NodeId(delta.nodes.size() + 1);
        node.op = op;
        node.name = stem + std::to_string(delta.nodes.size());
        node.lane = lane;
        node.attributes = std::move(attributes);
        const std::size_t i = delta.nodes.size();
        node.position = {static_cast<double>(i / (nodes / columns + 1)) * 200,
                         static_cast<double>(i % (nodes / columns + 1)) * 96};
        delta.nodes.push_back({std::nullopt, std::move(node)});
        return NodeId(delta.nodes.size());
    };
    NodeId before = add("Zeros", "source", LaneId(1), {{"shape", std::vector<std::int64_t>{8, 8}}});
    NodeId skip = before;
    while (delta.nodes.size() < nodes) {
        const std::size_t i = delta.nodes.size();
        const bool onGpu = crossLanes && (i / 50) % 2 == 1;
        const LaneId lane = onGpu ? LaneId(2) : LaneId(1);
        const bool crosses = delta.nodes[value(before) - 1].after->lane != lane;
        NodeId now = NodeId::none;
        if (crosses) {
            now = add("To", "to", lane, {});
            delta.edgesAdded.push_back({{before, 0}, {now, 0}});
            skip = now;
        } else if (i % 3 == 0) {
            now = add("Add", "add", lane, {});
            delta.edgesAdded.push_back({{before, 0}, {now, 0}});
            delta.edgesAdded.push_back({{skip, 0}, {now, 1}});
            skip = now;
        } else {
            now = add(i % 3 == 1 ? "Relu" : "Tanh", "op", lane, {});
            delta.edgesAdded.push_back({{before, 0}, {now, 0}});
        }
        before = now;
    }
    graph.apply(delta);
    return graph;
}

Graph cardRows(int count) {
    Graph graph;
    Delta delta;
    const int columns = std::max(1, static_cast<int>(std::sqrt(count) * 0.8));
    for (int i = 0; i < 2; ++i)
        delta.lanes.push_back({std::nullopt, Lane{graph.newLaneId(static_cast<std::uint64_t>(i)),
                                                  i ? Device::cuda(0) : Device::cpu(), "", i, 0}});
    const auto id = [&](int i) { return graph.newNodeId(static_cast<std::uint64_t>(i)); };
    for (int i = 0; i < count; ++i) {
        const int row = i / columns;
        Node node;
        node.id = id(i);
        node.name = fmt::format("layer{}.{}", row, i % columns);
        node.lane = delta.lanes[i < count / 2 ? 0 : 1].after->id;
        const int top = i < count / 2 ? 0 : (count / 2) / columns;
        node.position = {16.0 + (i % columns) * 200.0, 16.0 + (row - top) * 96.0};
        const bool isFirst = i % columns == 0;
        node.op = isFirst ? "Ones" : (i % 3 == 0 && i >= columns ? "Add" : "Relu");
        if (!isFirst) delta.edgesAdded.push_back({{id(i - 1), 0}, {node.id, 0}});
        if (node.op == "Add") delta.edgesAdded.push_back({{id(i - columns), 0}, {node.id, 1}});
        delta.nodes.push_back({std::nullopt, std::move(node)});
    }
    graph.apply(delta);
    return graph;
}

TensorType MemoryFiles::typeOf(std::string_view path) const {
    const std::scoped_lock lock(m_mutex);
    const auto at = m_tensors.find(path);
    if (at == m_tensors.end())
        throw Error(ErrorCode::io, std::string(path) + " cannot be read: no such file");
    return at->second.type();
}

void MemoryFiles::read(std::string_view path, const TensorView& out) const {
    const Tensor tensor = get(std::string(path));
    std::memcpy(out.data, tensor.data(), static_cast<std::size_t>(tensor.byteCount()));
}

void MemoryFiles::write(std::string_view path, const TensorView& tensor) const {
    Tensor copy = Tensor::onHost({tensor.dtype, tensor.shape});
    std::memcpy(copy.data(), tensor.data, static_cast<std::size_t>(copy.byteCount()));
    const std::scoped_lock lock(m_mutex);
    ++m_writes;
    m_tensors.insert_or_assign(std::string(path), copy);
}

std::string MemoryFiles::fingerprint(std::string_view path) const {
    const std::scoped_lock lock(m_mutex);
    const auto at = m_tensors.find(path);
    return at == m_tensors.end() ? std::string()
                                 : std::to_string(reinterpret_cast<std::uintptr_t>(at->second.data()));
}

void MemoryFiles::put(const std::string& path, Tensor tensor) {
    const std::scoped_lock lock(m_mutex);
    m_tensors.insert_or_assign(path, std::move(tensor));
}

Tensor MemoryFiles::get(const std::string& path) const {
    const std::scoped_lock lock(m_mutex);
    const auto at = m_tensors.find(path);
    if (at == m_tensors.end()) throw Error(ErrorCode::io, path + " cannot be read: no such file");
    return at->second;
}

std::size_t MemoryFiles::writes() const {
    const std::scoped_lock lock(m_mutex);
    return m_writes;
}

DeviceProfile roundProfile() {
    DeviceProfile p;
    p.id = "round";
    p.name = "Round";
    p.link = "test link";
    p.peakGflops.fill(1000);
    p.memoryGBps = 1000;
    p.memoryBytes = std::uint64_t{1} << 30;
    p.launchUs = 2;
    p.linkPinnedGBps = 10;
    p.linkPageableGBps = 5;
    p.linkLatencyUs = 10;
    p.pageableLatencyUs = 10;
    return p;
}

DeviceMap simulatedMap(int gpus, std::uint64_t memoryBytes) {
    DeviceMap map;
    for (int i = 0; i < gpus; ++i) {
        DeviceProfile profile = roundProfile();
        profile.memoryBytes = memoryBytes;
        map.set(Device::cuda(i), makeSimulatedBackend(Device::cuda(i), profile), true);
    }
    return map;
}

DeviceMap simulatedRanks(int ranks) {
    DeviceMap map = simulatedMap();
    for (int rank = 1; rank < ranks; ++rank)
        for (const Device device : {Device::cpu(rank), Device::cuda(0, rank)})
            map.set(device, makeSimulatedBackend(device, roundProfile()), true);
    return map;
}

} // namespace twb::test
