#pragma once

#include "graph/bodies.h"
#include "runtime/plan.h"
#include "runtime/update_order.h"

#include <map>
#include <tuple>

namespace twb {

/// Makes one plan; the implementation of compile(). It is in compile.cpp and, for If, Loop and Scan, in
/// compile_bodies.cpp, for the part of one rank, in compile_ranks.cpp.
class Compiler {
public:
    Compiler(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
             std::shared_ptr<const TensorFiles> files, const CompileOptions& options)
        : m_graph(graph), m_analysis(analysis), m_options(options), m_bodies(graph) {
        m_plan->revision = options.revision;
        m_plan->devices = devices;
        m_plan->files = std::move(files);
    }

    std::shared_ptr<const Plan> run();

private:
    using ValueId = std::uint32_t;

    /// The destination of new steps: a body of a control op, or none.
    struct Scope {
        std::uint32_t owner = kNone;
        std::uint32_t body = 0;
        auto operator<=>(const Scope&) const = default;
    };

    void addNode(const NodeFacts& facts, const Node& node);
    void addControl(const NodeFacts& facts, const Node& node);
    void addBody(const NodeFacts& facts, PlanControl& control, Scope scope);
    void addState(const NodeFacts& facts, PlanBody& body);
    std::vector<ValueId> readFromOutside(std::uint32_t firstStep, const PlanControl& control) const;
    void findBodies();
    void addTo(const NodeFacts& facts, const Node& node);
    void passOn(const NodeFacts& facts);
    void addStagedFile(const NodeFacts& facts, const Node& node);
    ValueId inputFor(const NodeFacts& facts, int port);
    ValueId addValue(PortRef source, TensorType type, Device device, std::string label);
    Step& addStep(const Op* op, NodeId node, std::uint32_t stream, std::vector<ValueId> inputs,
                  std::vector<ValueId> outputs, std::string label, bool setup);
    ValueId addCopy(ValueId from, Device target, Transfer transfer, bool setup, bool blocking);
    ValueId addImplicitCopy(ValueId value, Device target, const Edge& edge, bool setup);
    // In compile_ranks.cpp, with CompileOptions::ownPart:
    bool isElsewhere(const NodeFacts& facts) const { return m_options.ownPart && facts.device.rank != 0; }
    void sendFor(const NodeFacts& to);
    void receiveFor(const NodeFacts& to);
    void addMessage(const NodeFacts& to, Device source, ValueId sent, ValueId received);
    ValueId addIdentity(ValueId from);
    ValueId valueFor(const NodeFacts& reader, PortRef from) const;
    void bindUpdates(Step& step);
    bool runsAhead(const NodeFacts& facts, const std::vector<ValueId>& inputs,
                   const std::vector<ValueId>& outputs);
    void setAhead(Step& step, bool isAhead);
    ValueId addCast(ValueId from, DType to, NodeId node, bool setup);
    std::uint32_t streamOf(Device device, QueueKind queue);
    std::uint32_t collectiveStream(Device device);
    void addCollective(Step& step, const NodeFacts& facts);
    void price(Step& step);
    void sign(Step& step);
    void setupFirst();
    void fuseShuffles();           // in compile_shuffles.cpp
    void fuseJoins();              // in compile_joins.cpp
    void fuseBottlenecks();        // in compile_bottlenecks.cpp
    void fuseExcitations();        // in compile_excitations.cpp
    void fuseJoinedConvolutions(); // in compile_joined_convolutions.cpp
    void fuseChains();             // in compile_fusion.cpp
    void dropSteps(const std::vector<bool>& isGone);
    /// Whether the value is the same in all iterations.
    bool isSetup(ValueId value) const {
        return m_producer[value] != kNone && m_plan->steps[m_producer[value]].setup &&
               !m_plan->values[value].isUpdated;
    }

    const Graph& m_graph;
    const Analysis& m_analysis;
    const CompileOptions& m_options;
    std::shared_ptr<Plan> m_plan = std::make_shared<Plan>();
    std::vector<std::uint32_t> m_producer;  ///< by value: the step that makes it, in order of creation
    std::vector<std::uint64_t> m_signature; ///< by value
    std::vector<bool> m_isAhead;            ///< by value: made by a step that runs ahead
    std::vector<bool> m_blocking;           ///< by step
    std::map<std::pair<Device, QueueKind>, std::uint32_t> m_streams;
    std::map<std::tuple<Scope, PortRef, Device>, ValueId> m_implicit;
    std::map<std::pair<PortRef, Device>, const ImplicitCopy*> m_wantedCopies;
    const Bodies m_bodies;
    UpdateOrder m_order;
    std::map<PortRef, ValueId> m_before; ///< copies of tensors, made before their updates
    std::map<FrameId, std::vector<const NodeFacts*>> m_inBody;
    std::vector<Scope> m_scopes{Scope{}}; ///< the open scopes, innermost last
};

} // namespace twb
