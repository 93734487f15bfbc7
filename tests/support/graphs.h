#pragma once

#include "core/tensor_files.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>

namespace twb::test {

/// Builds graphs concisely: `GraphMaker g; auto a = g.node("Zeros", "a", "cpu", {{"shape", …}});`.
class GraphMaker {
public:
    /// Adds a node on the first lane of a device, connected to `inputs` in order. Adds the lane if it is
    /// missing.
    NodeId node(const std::string& op, const std::string& name, const std::string& device = "cpu",
                Attributes attributes = {}, const std::vector<NodeId>& inputs = {});
    void connect(NodeId from, NodeId to, int port, int output = 0);
    LaneId lane(const std::string& device);
    /// Makes `nodes` a body of `owner`.
    FrameId body(NodeId owner, const std::string& name, const std::vector<NodeId>& nodes);
    const Graph& graph() const { return m_graph; }

private:
    Graph m_graph;
};

/// A random change that a user could make to `graph`; may be empty. Deterministic in `random`.
Delta randomDelta(const Graph& graph, std::mt19937_64& random);

/// A layered network of `nodes` nodes on cpu and cuda:0, with To nodes on crossing edges: a typical large
/// graph.
Graph largeGraph(std::size_t nodes, bool crossLanes);
/// Dense rows of cards on two lanes. Each card has edges from its neighbour, and some from the row above.
Graph cardRows(int count);

/// Tensor files in memory.
class MemoryFiles final : public TensorFiles {
public:
    TensorType typeOf(std::string_view path) const override;
    void read(std::string_view path, const TensorView& out) const override;
    void write(std::string_view path, const TensorView& tensor) const override;
    std::string fingerprint(std::string_view path) const override;

    void put(const std::string& path, Tensor tensor);
    Tensor get(const std::string& path) const;
    std::size_t writes() const;

private:
    mutable std::mutex m_mutex;
    mutable std::map<std::string, Tensor, std::less<>> m_tensors;
    mutable std::size_t m_writes = 0;
};

/// A profile with round figures: 1000 GFLOP/s, 1000 GB/s, 10 GB/s link pinned, 5 pageable, 10 µs latency, 1
/// GiB.
DeviceProfile roundProfile();
/// cpu and simulated cuda:0 … cuda:(gpus-1) with roundProfile().
DeviceMap simulatedMap(int gpus = 1, std::uint64_t memoryBytes = std::uint64_t{1} << 30);
/// simulatedMap(), and for ranks 1 … (ranks-1) a simulated cpu and cuda:0 with roundProfile().
DeviceMap simulatedRanks(int ranks);

} // namespace twb::test
