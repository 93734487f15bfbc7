#pragma once

#include "core/tensor_files.h"
#include "runtime/plan.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>

namespace twb {

/// The tensors of sources in one run, on the host, by the source's output. The other sources make their own.
using Sample = std::map<PortRef, Tensor>;

/// Inputs with which a graph is tried out.
class Samples {
public:
    virtual ~Samples() = default;
    virtual std::size_t count() const = 0;
    /// Throws Error(io) and Error(badFile).
    virtual Sample read(std::size_t index) const = 0;
};

/// The inputs that the graph itself names: one sample without tensors.
class OwnSamples final : public Samples {
public:
    std::size_t count() const override { return 1; }
    Sample read(std::size_t) const override { return {}; }
};

/// What a graph is run with.
struct RunSetup {
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;
    Policy policy{};
};

/// Runs one graph with several samples. Weights are loaded once.
class SampleRuns {
public:
    /// Throws like compile(). `keep`: the outputs that run() returns.
    SampleRuns(const Graph& graph, const RunSetup& setup, const std::set<PortRef>& keep);

    /// Host tensors by output. Throws Error of the first step that fails, or Error(invalidArgument) for a
    /// tensor that its source cannot have.
    std::map<PortRef, Tensor> run(const Sample& sample);
    /// The mean time of an iteration in ns, in a run that takes about `atLeastNs`.
    double iterationNs(const Sample& sample, double atLeastNs);
    /// A simulated device takes part, so times are modelled.
    bool isModelled() const noexcept { return m_plan->virtualClock; }

private:
    /// The tensors of a run's sources on their devices.
    std::map<PortRef, Tensor> stateOf(const Sample& sample) const;

    std::shared_ptr<const Plan> m_plan;
    std::set<PortRef> m_keep;
    std::set<PortRef> m_sources;          ///< whose tensors are kept from run to run
    std::map<PortRef, Tensor> m_resident; ///< on their devices
};

} // namespace twb
