#pragma once

#include "core/shape.h"
#include "graph/graph.h"
#include "placement/analysis.h"
#include "widgets/run_state.h"

#include <QRectF>
#include <QStaticText>
#include <QString>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

class QTextDocument;

// The parts of a Scene.

namespace twb {

/// The input of a Scene. All parts belong to one revision.
struct SceneSource {
    const Graph& graph;
    const Analysis& analysis;
    const DeviceMap& devices;
    FrameId inside = FrameId::none; ///< the open module: only its content is shown
};

struct PortHash {
    std::size_t operator()(const PortRef& port) const noexcept {
        return std::hash<std::uint64_t>()(value(port.node) * 64 + static_cast<std::uint64_t>(port.port));
    }
};
using PortSet = std::unordered_set<PortRef, PortHash>;

/// The families of dtypes, which determine the colours of wires.
enum class WireClass : std::uint8_t { unknown, floating, integer, boolean };
WireClass wireClassOf(const std::optional<TensorType>& type) noexcept;

/// A lane as a band of the canvas, unbounded to both sides.
struct LaneBand {
    LaneId id = LaneId::none;
    Device device; ///< resolved
    double top = 0;
    double height = 0;
    double contentBottom = 0; ///< the bottom of the lowest card, note or label, from the lane's top
    QString name;             ///< "cuda:0", "auto → cpu"
    QString title;
    QString backend;   ///< "simulated NVIDIA H200"
    QString detail;    ///< "PCIe 5.0 x16"
    QString rankTitle; ///< "Rank 1 · 25 GbE", above the first lane of a rank other than 0; else empty
    bool simulated = false;
    bool repeated = false; ///< a lane above has the same device and shows its hardware
    bool collapsed = false;
    int hiddenNodes = 0;      ///< number of hidden nodes if it is collapsed
    bool hidesErrors = false; ///< a hidden node has an error
    double bottom() const noexcept { return top + height; }
};

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// The breakpoint marks of a node, or of a module's nodes: one per kind, filled if one of them is enabled.
struct StopMarks {
    enum Mark : std::uint8_t { before = 1, after = 2, looks = 4 };
    std::uint8_t present = 0;
    std::uint8_t enabled = 0;
    void add(const Breakpoints& breakpoints) noexcept;
};

/// The shape of one node. A slot of the scene; free slots have no id.
struct NodeShape {
    /// A row is a folded parameter on the card of its consumer. Of a collapsed module, one node's shape is
    /// the module's card and the others are hidden.
    enum class Kind : std::uint8_t { card, pill, row, module, hidden };

    NodeId id = NodeId::none;
    QRectF rect;
    LaneId lane = LaneId::none;
    FrameId frame = FrameId::none;
    Position at;   ///< in its lane
    QPointF drag;  ///< offset during a move
    Device device; ///< of its lane, or of the lane under it during a move
    Kind kind = Kind::card;
    std::uint16_t inputs = 0; ///< ports drawn
    std::uint16_t outputs = 0;
    bool hasError = false;
    bool hasWarning = false;
    bool isPinned = false; ///< to its lane
    bool isDisabled = false;
    StopMarks stops;
    bool dragged = false;
    bool isStaged =
        false; ///< a File whose tensor is copied to its lane's device; the price is below its card
    bool isHidden = false;          ///< on a collapsed lane, or outside the open module
    bool placed = false;            ///< in the grid
    bool isCounted = false;         ///< counted among the outermost items of the scene
    double ownWidth = 0;            ///< the width of its texts; its column is as wide as the widest card
    std::uint64_t folded = 0;       ///< bits: inputs with a row each, in port order
    std::uint32_t module = kNoSlot; ///< slot of the card of the collapsed module that contains it
    std::uint32_t card = kNoSlot;   ///< for a row: slot of its card
    std::int32_t row = 0;           ///< for a row: its index from the top
    std::int32_t repeats = 0;       ///< for a module: the number of equal modules in it, if it has only these
    std::uint64_t signature = 0;    ///< hash of everything that determines its appearance
    std::uint64_t column = 0;       ///< the column with which it is aligned; 0: none
    LaneId contentLane = LaneId::none; ///< the lane whose height depends on it; none: no lane
    double contentBottom = 0;
};

enum class PortSide : std::uint8_t { input, output };
inline constexpr double kRowInset = 10;  ///< of a row from the sides of its card
inline constexpr double kRowPadding = 7; ///< of the text of a row
inline constexpr double kLabelRoom = 40; ///< for the price below a pill
inline constexpr double kFramePadding = 14;
/// The height of the rows on a card.
double rowsHeight(int rows) noexcept;
/// The rectangle of a card's row, counted from the top.
QRectF rowRect(const NodeShape& card, int row) noexcept;
/// A card without its rows.
QRectF bodyOf(const NodeShape& shape) noexcept;
bool isFolded(const NodeShape& shape, int input) noexcept;
/// The centre of a port.
QPointF portPosition(const NodeShape& shape, PortSide side, int port) noexcept;
/// Of the discs of the ports on a side: smaller where they are close together.
double portRadius(const NodeShape& shape, PortSide side) noexcept;

/// A collapsed module, identified by the slot of its card.
struct ModuleShape {
    FrameId frame = FrameId::none;
    QString title;
    FrameColor color = FrameColor::none;
    std::vector<NodeId> nodes;
    /// The ports of its card, by port: the ports of its nodes for which it stands. An input stands for all
    /// that read one other card, an output for all that are read by the same other cards, so that the wires
    /// between two cards form a bundle. An unconnected port stands for itself.
    std::vector<std::vector<PortRef>> inputs;
    std::vector<std::vector<PortRef>> outputs;
    int repeats = 0; ///< the number of equal modules in it, if it has only these
};

/// The ends of wires whose nodes are hidden: on the strip of a collapsed lane, or beside the content of the
/// open module.
struct StubShape {
    enum class Kind : std::uint8_t { onLane, producer, consumer };
    Kind kind = Kind::onLane;
    LaneId lane = LaneId::none;
    std::vector<NodeId> nodes; ///< the nodes that it represents
    Device device;
    Position at; ///< of its top left, in its lane
    QRectF rect;
    QString title;
    int wires = 0;
    bool hasError = false;
};

/// A copy of the implicit policy, drawn as a pill on the border of its destination lane.
struct GhostShape {
    PortRef from;
    Device target;
    QRectF rect;
    QString title;
    Price price;
    bool hoisted = false;
};

struct WireShape {
    Edge edge;
    std::uint32_t from = 0; ///< slots of its nodes
    std::uint32_t to = 0;
    QPointF start;
    QPointF end;
    QRectF bounds;
    WireClass kind = WireClass::unknown;
    std::int8_t rank = -1; ///< of the tensor, if known
    float width = 1.5F;
    bool free = true;    ///< the slot
    bool routed = false; ///< in the grid
    bool hidden = false; ///< from a row to its own card
    bool crosses = false;
    bool mismatch = false;
    std::int32_t ghost = -1;    ///< the pill on its path
    std::int32_t fromStub = -1; ///< replaces the node at its start or end
    std::int32_t toStub = -1;
    bool showsDots = false;  ///< runs through its visible dots
    bool turnsAside = false; ///< has a detour around cards
};

/// A dot on a wire.
struct DotShape {
    Dot dot;
    QPointF drag; ///< offset during a move
    QPointF at;
    bool isHidden = false; ///< on a collapsed lane, or below the card of a collapsed module
};
/// The radius of a dot.
inline constexpr double kDotRadius = 4.2;

/// The place of a new dot on a wire.
struct DotPlace {
    std::size_t index = 0; ///< before the dot that has this index now
    QPointF at;
};

struct FrameShape {
    FrameId id = FrameId::none;
    QRectF rect;      ///< empty if it has no content
    QRectF titleRect; ///< the handle, in canvas units; empty where there is no room for one
    double titleScale = 1;
    std::string words;  ///< the whole title
    QString title;      ///< as much of it as a frame shows at most
    QString shownTitle; ///< as much of it as there is room for
    FrameId parent = FrameId::none;
    int depth = 0;
    FrameColor color = FrameColor::none;
    bool isBody = false;    ///< of an If, Loop or Scan
    bool isCarried = false; ///< all of its content is being moved
};

struct NoteShape {
    NoteId id = NoteId::none;
    QRectF rect;
    QPointF drag;
    std::string markdown;
    std::shared_ptr<QTextDocument> text; ///< its Markdown, laid out once
    LaneId lane = LaneId::none;
    Position at;
};

/// The appearance of a port.
struct PortLook {
    enum class State : std::uint8_t { connected, optional, missing };
    WireClass kind = WireClass::unknown;
    State state = State::connected;
};

/// How much larger than a title the short title is written.
inline constexpr double kShortTitleScale = 1.6;

/// The texts of a card, laid out once and drawn many times.
struct NodeCard {
    QStaticText title;
    QStaticText shortTitle; ///< drawn larger, on a card that shows nothing else
    QStaticText subtitle;
    QStaticText size; ///< of a module's parameters
    QStaticText chip;
    double chipWidth = 0;   ///< 0: no chip
    QStaticText deviceWord; ///< for a row on another device than its card
    double deviceWidth = 0;
    QStaticText time;
    double timeWidth = 0;
    double timeNs = -1;
    QString value;           ///< of a Probe, in the place of the time
    bool isModelled = false; ///< of the time, which is never shown without this label
    bool isOnce = false;     ///< the time is not part of an iteration
    double modelledNs = 0;   ///< beside the time; see NodeRun
    QStaticText remark;      ///< below the time
    double remarkWidth = 0;
    std::vector<PortLook> inputs;
    std::vector<PortLook> outputs;
    NodeRun moduleRun;   ///< total of a collapsed module's nodes
    double progress = 0; ///< share of its nodes that are done, up to 1
};

/// A price on a pill or a word on a wire: two short lines in a box.
struct PriceLabel {
    QRectF rect;
    QStaticText figures;
    QStaticText remark;
    QSizeF size; ///< of the box at scale 1
    double scale = 1;
    double figuresWidth = 0;
    double remarkWidth = 0;
    bool isError = false;
    std::uint64_t signature = 0; ///< of its words
    std::uint64_t placed = 0;    ///< the version of the geometry it was placed in
};

/// What lies under a point, uppermost first.
struct Hit {
    enum class Kind : std::uint8_t { nothing, input, output, node, wire, frame, note, stub, dot };
    Kind kind = Kind::nothing;
    PortRef port;
    NodeId node = NodeId::none;
    Edge wire; ///< also of a dot
    FrameId frame = FrameId::none;
    NoteId note = NoteId::none;
    std::int32_t stub = -1;
    std::size_t dot = 0; ///< its index on the wire
    bool operator==(const Hit&) const = default;
};

} // namespace twb
