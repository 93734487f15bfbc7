#pragma once

#include "core/device.h"
#include "core/shape.h"
#include "graph/delta.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// PyTorch programs as graphs: one table maps aten ops to ops of the op table. The readers of captures and of
/// .pt2 files describe each call of their program as a Call and add it with a GraphWriter.
namespace twb::aten {

/// A tensor of the program. The ids are the reader's own; writing in place makes a new value.
enum class ValueId : std::int64_t { none = 0 };

/// An argument of a call; monostate is None. Dtypes ("float32"), devices ("cuda:0"), memory formats and modes
/// are strings. The table converts where PyTorch does: an integer counts as a number or as a list of one, and
/// the strings "inf", "-inf" and "nan" count as numbers.
using Argument =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, ValueId, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<ValueId>>;

/// One result of a call, with the type and device that the program states.
struct Result {
    ValueId id = ValueId::none; ///< none: a result that the program does not use
    TensorType type;
    Device device;
};

/// One call of an aten op.
struct Call {
    std::string op;       ///< "aten::addmm"
    std::string overload; ///< "Tensor", "default"; may be empty. The table does not depend on it.
    /// By the names of the op's schema. An absent argument has the schema's default.
    std::vector<std::pair<std::string, Argument>> arguments;
    /// In the order of the schema's results. An op that writes in place has the new value of each operand
    /// that it writes.
    std::vector<Result> results;
    Device device;    ///< where the op runs
    std::string name; ///< of the node; empty: the op's
    FrameId frame = FrameId::none;
    std::optional<SourceLine> source;
};

/// A value whose node is in the graph.
struct Value {
    PortRef from;
    TensorType type;
    Device device;
};

/// What became of a call.
enum class Outcome : std::uint8_t {
    mapped, ///< nodes of known ops
    opaque, ///< one Opaque node, which has the results' types but does not run
    none,   ///< no node: the results are operands (`detach`, a view of the same shape), or there are none
};

/// Builds a graph from calls in the order of the program. Every device gets one lane.
class GraphWriter {
public:
    /// `graph` must outlive the writer and stay as it is until take() is applied.
    GraphWriter(const Graph& graph, std::string title);
    ~GraphWriter();
    GraphWriter(const GraphWriter&) = delete;
    GraphWriter& operator=(const GraphWriter&) = delete;

    LaneId laneOf(Device device); ///< adds the lane if there is none
    /// A module's frame. A frame may stay empty: take() leaves out frames without nodes.
    FrameId addFrame(std::string title, FrameId parent = FrameId::none);
    Frame& frame(FrameId id); ///< added by this writer; valid until the next call
    /// Adds a node as it is, except for its id and a unique name.
    NodeId addNode(Node node);
    Node& node(NodeId id); ///< added by this writer; valid until the next call
    void connect(PortRef from, PortRef to);
    /// Marks a source node as a parameter: take()'s reader folds parameters into their consumers.
    void addParameter(NodeId id);

    /// Defines a value that no call makes, or redefines one (`copy_`).
    void define(ValueId id, Value value);
    /// Null for an unknown value, and for a result of a mapped call that its nodes do not compute.
    const Value* find(ValueId id) const noexcept;
    /// The same, but an Opaque node is added for a result that no node computes.
    const Value* demand(ValueId id);
    /// Whether a call made the result, but no node computes it so far.
    bool isPending(ValueId id) const noexcept;

    /// Adds the nodes of a call and defines its results. A call that the table cannot express with exactly
    /// the stated types becomes an Opaque node with the reason. Throws Error(badFile) that names the call if
    /// one of its operands is not defined.
    Outcome add(const Call& call);
    /// The nodes that the last add() made, in order; empty for Outcome::none.
    std::span<const NodeId> added() const noexcept;

    struct Counts {
        std::size_t mapped = 0;
        std::size_t opaque = 0;
        std::size_t none = 0;
    };
    const Counts& counts() const noexcept;
    /// Parameters and the constants of calls.
    const std::vector<NodeId>& parameters() const noexcept;

    /// All changes so far, against the graph of the constructor.
    Delta take();

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

/// The name of an op without its namespace: "addmm" of "aten::addmm".
std::string_view shortName(std::string_view op);
/// Whether PyTorch accepts a 0-dimensional CPU tensor among operands of this op on another device.
bool isPointwise(std::string_view op);

} // namespace twb::aten
