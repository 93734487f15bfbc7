#pragma once

#include "core/tensor_files.h"
#include "placement/analysis.h"

namespace twb {

/// The tensors of a graph that are the same in every run, such as weights: the results of sources other than
/// Input and Batches, and of ops that copy, convert or move the elements of such tensors.
class FixedTensors {
public:
    /// `files` may be null. All arguments must outlive the object.
    FixedTensors(const Graph& graph, const Analysis& analysis, const TensorFiles* files)
        : m_graph(graph), m_analysis(analysis), m_files(files) {}

    bool isFixed(PortRef output) const;
    /// The elements of a fixed tensor, dense, on the host. Throws Error(io) and Error(badFile).
    Tensor read(PortRef output) const;

private:
    const Graph& m_graph;
    const Analysis& m_analysis;
    const TensorFiles* m_files;
};

} // namespace twb
