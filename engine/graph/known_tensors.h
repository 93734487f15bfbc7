#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"
#include "ops/op_table.h"

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace twb {

/// Axes of Input nodes whose sizes may differ from run to run.
using FreeAxes = std::set<std::pair<NodeId, int>>;

/// The types and the values of a graph's tensors that are the same in every run, whatever its Inputs hold and
/// whatever the sizes of their free axes. Devices do not matter. Random numbers, trained parameters, and the
/// bodies of control ops and their results are not known.
class KnownTensors {
public:
    /// Linear in nodes and edges. Computes the constant tensors with up to kMostBytes, as far as that is
    /// quick. `files` may be null. All arguments must outlive the object.
    KnownTensors(const Graph& graph, const TensorFiles* files, const FreeAxes& free);

    /// Complete; null for an unknown op or faulty attributes.
    const Attributes* attributes(NodeId node) const noexcept;
    /// Dimensions that are not known are kUnknownDim. Null if even the number of axes is not known.
    const TensorType* type(PortRef output) const noexcept;
    /// A dense host tensor; null if it is not known. Sources are read when they are asked for.
    const Tensor* value(PortRef output) const;
    /// The element of a known tensor that has only one.
    std::optional<double> number(PortRef output) const;
    /// Whether two sizes are equal in every run. Two unknown sizes are equal if they stem from the same free
    /// axis.
    bool isSameSize(PortRef a, int axisOfA, PortRef b, int axisOfB) const noexcept;
    /// For a Reshape whose shape is known in part: the same shape with the unknown sizes as 0 (the input's)
    /// and -1. Nothing if those do not suffice.
    std::optional<std::vector<std::int64_t>> shapeOfReshape(NodeId node) const;
    /// Bytes of the Constants and Files from which a known tensor is computed.
    double storedBytes(PortRef output) const noexcept;

    /// The output types of an op with these complete attributes and inputs (by port; null: not connected).
    /// Nothing if it does not accept them.
    std::optional<std::vector<TensorType>> infer(const Op& op, const Attributes& attributes,
                                                 const std::vector<std::optional<PortRef>>& inputs) const;

    /// Larger tensors are not computed.
    static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;

private:
    struct Facts {
        const Op* op = nullptr;
        Attributes attributes;
        bool sound = false; ///< attributes are complete
        std::vector<std::optional<TensorType>> types;
        /// By output and axis: the id of an unknown size, or 0. Sizes with the same id > 0 are equal in every
        /// run.
        std::vector<std::vector<int>> sizeIds;
        bool isConstant = false; ///< output 0 has a known value, which may be computed already
        mutable Tensor value;    ///< of output 0
        bool isPartial = false;  ///< `value` is a list of sizes of which some are unknown
        double storedBytes = 0;
    };
    void learn(const Node& node);
    void inferTypes(const Node& node, Facts& facts);
    void identifySizes(const Node& node, Facts& facts) const;
    void inferReshape(const Node& node, Facts& facts) const;
    int sizeId(std::optional<PortRef> output, int axis) const noexcept;
    int broadcastId(const Node& node, int axisFromEnd) const;
    std::optional<std::vector<std::int64_t>> hostList(const Node& node, const Facts& facts, int port) const;
    void compute(const Node& node, Facts& facts);
    bool computeSizes(const Node& node, Facts& facts) const;
    const Facts* find(NodeId node) const noexcept;
    bool isConstant(PortRef output) const noexcept;

    const Graph& m_graph;
    const TensorFiles* m_files;
    const FreeAxes& m_free;
    std::unordered_map<NodeId, Facts> m_facts;
    int m_sizeIds = 0;     ///< the last id
    double m_computed = 0; ///< bytes of the values
    double m_flops = 0;    ///< of the computations
};

/// The nodes in an order in which each one comes after its inputs. Nodes on or after cycles are left out.
std::vector<NodeId> topologicalOrder(const Graph& graph);

} // namespace twb
