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

/// What a transfer or a fix is expected to cost in one iteration, by the device map's profiles.
struct Price {
    std::uint64_t bytes = 0;
    double ns = 0;
    bool modelled = true; ///< false once a calibrated profile of a real device stands behind it
    bool isKnown = false; ///< false when the size of the tensor is not known before the run
    bool operator==(const Price&) const = default;
};

/// A way out of a diagnostic: a recipe that toDelta (placement/fixes.h) turns into a Delta of the graph as it
/// is when the fix is applied.
struct Fix {
    enum class Kind : std::uint8_t {
        insertTo,     ///< put a To(`device`) on `edge`
        moveNode,     ///< stand `node` on a lane of `device`
        insertCast,   ///< put a Cast to `dtype` on `edge`
        disconnect,   ///< remove `edge`
        removeNode,   ///< remove `node`
        bypass,       ///< whoever reads `node` reads `edge.from` instead; `node` goes
        enableNode,   ///< let a disabled `node` take part in runs again
        setAttribute, ///< set `attribute` of `node` to `value`; `value` absent: back to its default
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

/// One operand of a node with a mismatch, as the table under the message shows it.
struct Operand {
    std::string argument; ///< "mat1"
    std::string label;    ///< "images"
    Device device;
    std::string origin; ///< "from File \"test_images.npy\", created on cpu"; empty when on the right device
    bool operator==(const Operand&) const = default;
};

/// Something to know about a graph before it runs. A value.
///
/// Codes: device-mismatch, shape-mismatch, dtype-mismatch, attribute, cycle, missing-input, unknown-op,
/// unknown-port, unsupported, missing-device, file, too-large, body (errors); implicit-transfer (warning);
/// disabled (a note of the node, a warning of what cannot run without it); auto-device (note); and those of
/// placement/lints.h.
struct Diagnostic {
    Severity severity = Severity::error;
    std::string code;
    NodeId node = NodeId::none;
    int port = -1;            ///< the input it concerns
    std::optional<Edge> edge; ///< to highlight
    std::string message;      ///< one sentence, searchable
    std::vector<Operand> operands;
    std::vector<Fix> fixes;
    bool operator==(const Diagnostic&) const = default;
};

/// An error; `node` and `port` may be none and -1.
Diagnostic makeError(std::string code, NodeId node, int port, std::string message);

/// The message, its operands and its numbered fixes as `twb check` prints them.
std::string toText(const Diagnostic& diagnostic);

} // namespace twb
