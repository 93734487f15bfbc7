#pragma once

#include "graph/bodies.h"
#include "training/fixed_tensors.h"
#include "training/sample_runs.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace twb {

/// A node that can work on bytes. A pool does if its input is in bytes.
struct Candidate {
    enum class Kind : std::uint8_t { product, convolution, pool };
    const NodeFacts* facts = nullptr;
    Kind kind = Kind::product;
    PortRef input{};
    PortRef weight{};
    std::optional<PortRef> bias{}; ///< fixed for a convolution
    NodeId bound = NodeId::none;   ///< the Relu or Clip whose result is that of a convolution
    PortRef output{};              ///< of the bound, if there is one
};

/// Finds the candidates of a graph.
class CandidateFinder {
public:
    /// All arguments must outlive the object. Throws Error(badGraph) for a graph with a training.
    CandidateFinder(const Graph& graph, const RunSetup& setup);

    const FixedTensors& fixed() const noexcept { return m_fixed; }
    /// Inputs first. `others` receives the number of products and convolutions that cannot be quantized.
    std::vector<Candidate> find(int& others) const;

private:
    const TensorType* typeOf(std::optional<PortRef> output) const;
    bool isF32(std::optional<PortRef> output) const;
    bool isFixed(std::optional<PortRef> output) const { return output && m_fixed.isFixed(*output); }
    bool hasKernel(Device device, const char* name, const std::vector<DType>& dtypes) const;
    /// Outside bodies, and nobody stops there.
    bool isFree(NodeId id) const { return !m_bodies.around(id) && m_graph.find(id)->breakpoints.empty(); }
    bool mayPool(const NodeFacts& facts) const;
    std::optional<Candidate> candidateOf(const NodeFacts& facts) const;
    NodeId boundAfter(NodeId convolution) const;

    const Graph& m_graph;
    const RunSetup& m_setup;
    Analysis m_analysis;
    Bodies m_bodies;
    FixedTensors m_fixed;
};

} // namespace twb
