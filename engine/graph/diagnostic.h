#pragma once

#include "core/attributes.h"
#include "core/device.h"
#include "core/dtype.h"
#include "graph/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace twb {

enum class Severity : std::uint8_t { note, warning, error };
std::string_view name(Severity severity) noexcept;

/// The expected cost of a transfer or a fix in one iteration, from the profiles of the device map.
struct Price {
    std::uint64_t bytes = 0;
    double ns = 0;
    bool modelled = true; ///< false if it comes from a calibrated profile of a real device
    bool isKnown = false; ///< false if the tensor's size is unknown before the run
    bool operator==(const Price&) const = default;
};

/// A fix of a diagnostic. toDelta (placement/fixes.h) turns it into a Delta of the current graph when it is
/// applied.
struct Fix {
    enum class Kind : std::uint8_t {
        insertTo,     ///< insert a To(`device`) on `edge`
        moveNode,     ///< move `node` to a lane of `device`
        insertCast,   ///< insert a Cast to `dtype` on `edge`
        disconnect,   ///< remove `edge`
        removeNode,   ///< remove `node`
        bypass,       ///< connect the consumers of `node` to `edge.from`, then remove `node`
        enableNode,   ///< enable a disabled `node`
        setAttribute, ///< set `attribute` of `node` to `value`; without `value`, reset it to its default
    };
    Kind kind = Kind::insertTo;
    std::string title; ///< "insert To(cuda:0) on images -> fc1"
    NodeId node = NodeId::none;
    Edge edge;
    Device device;
    DType dtype = DType::f32;
    std::string attribute;
    std::optional<AttributeValue> value;
    Price price;
    bool operator==(const Fix&) const = default;
};

/// One operand of a node with a mismatch: a row of the table below the message.
struct Operand {
    std::string argument; ///< "mat1"
    std::string label;    ///< "images"
    Device device;
    std::string
        origin; ///< "from File \"test_images.npy\", created on cpu"; empty if it is on the right device
    bool operator==(const Operand&) const = default;
};

/// A finding about a graph before it runs. A value.
///
/// Codes: device-mismatch, shape-mismatch, dtype-mismatch, attribute, cycle, missing-input, unknown-op,
/// unknown-port, unsupported, missing-device, file, too-large, body (errors); implicit-transfer (warning);
/// disabled (a note on the disabled node, a warning on a node that cannot run without it); auto-device and
/// rank-link (notes); opaque (a note on a node that cannot run); and the codes of placement/lints.h.
struct Diagnostic {
    Severity severity = Severity::error;
    std::string code;
    NodeId node = NodeId::none;
    int port = -1;            ///< input port of `node`, or -1
    std::optional<Edge> edge; ///< the edge to highlight
    std::string message;      ///< one sentence that users can search for
    std::vector<Operand> operands;
    std::vector<Fix> fixes;
    /// For a mismatch of an imported program that follows from another one: the node of that one, or the node
    /// itself for another operand of it (placement/mismatch_roots.h).
    NodeId root = NodeId::none;
    Price price{}; ///< of the copy that a lint is about; unknown for other diagnostics
    bool operator==(const Diagnostic&) const = default;
};

/// Makes an error. `node` may be none and `port` -1.
Diagnostic makeError(std::string code, NodeId node, int port, std::string message);

/// The message, its operands and its numbered fixes, as `twb check` prints them.
std::string toText(const Diagnostic& diagnostic);

} // namespace twb
