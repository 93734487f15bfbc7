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
#include <vector>

class QTextDocument;

// What a Scene consists of.

namespace twb {

/// The families of dtypes that wires are coloured by.
enum class WireClass : std::uint8_t { unknown, floating, integer, boolean };
WireClass wireClassOf(const std::optional<TensorType>& type) noexcept;

/// One lane as a band of the canvas. Its left is open: the band goes on for ever to both sides.
struct LaneBand {
    LaneId id = LaneId::none;
    Device device; ///< resolved
    double top = 0;
    double height = 0;
    double contentBottom = 0; ///< the lowest card, note or label, from the lane's top
    QString name;             ///< "cuda:0", "auto → cpu"
    QString title;
    QString backend; ///< "simulated NVIDIA H200"
    QString detail;  ///< "PCIe 5.0 x16"
    bool simulated = false;
    bool repeated = false; ///< a lane above shows the same device and says what stands behind it
    bool collapsed = false;
    int hiddenNodes = 0;      ///< that stand on it, where it is collapsed
    bool hidesErrors = false; ///< one of them has an error
    double bottom() const noexcept { return top + height; }
};

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// The breakpoints of a node, or of the nodes of a module, as they are drawn: a mark for each kind, filled
/// where one of it is enabled.
struct StopMarks {
    enum Mark : std::uint8_t { before = 1, after = 2, looks = 4 };
    std::uint8_t present = 0;
    std::uint8_t enabled = 0;
    void add(const Breakpoints& breakpoints) noexcept;
};

/// Where one node is drawn. A slot of the scene; free slots have no id.
struct NodeShape {
    /// A row is a folded parameter, on the card of the node that reads it. Of a collapsed module one node's
    /// shape is the module's card, and the others are hidden.
    enum class Kind : std::uint8_t { card, pill, row, module, hidden };

    NodeId id = NodeId::none;
    QRectF rect;
    LaneId lane = LaneId::none;
    FrameId frame = FrameId::none;
    Position at;   ///< in its lane
    QPointF drag;  ///< while it is being moved
    Device device; ///< of its lane, or of the lane it is dragged over
    Kind kind = Kind::card;
    std::uint16_t inputs = 0; ///< ports drawn
    std::uint16_t outputs = 0;
    bool hasError = false;
    bool hasWarning = false;
    bool isPinned = false; ///< to its lane
    bool isDisabled = false;
    StopMarks stops;
    bool dragged = false;
    bool isStaged = false;    ///< a File whose tensor is copied to its lane's device: priced under its card
    bool isHidden = false;    ///< on a collapsed lane, or outside of the module that is open
    bool placed = false;      ///< in the grid
    bool isCounted = false;   ///< among those that reach as far as the scene does
    double ownWidth = 0;      ///< what its words need; it is as wide as the widest card of its column
    std::uint64_t folded = 0; ///< bits: inputs that have a row each, in the order of the ports
    std::uint32_t module = kNoSlot;    ///< the slot of the collapsed module's card that it is part of
    std::uint32_t card = kNoSlot;      ///< of a row: the slot of the card that it is on
    std::int32_t row = 0;              ///< of a row: its number from the top
    std::uint64_t signature = 0;       ///< of everything that its looks depend on
    std::uint64_t column = 0;          ///< the cards it lines up with; 0: none
    LaneId contentLane = LaneId::none; ///< which has to be `contentBottom` high for it; none: no lane has
    double contentBottom = 0;
};

enum class PortSide : std::uint8_t { input, output };
/// A card without its rows.
QRectF bodyOf(const NodeShape& shape) noexcept;
bool isFolded(const NodeShape& shape, int input) noexcept;
/// The middle of a port.
QPointF portPosition(const NodeShape& shape, PortSide side, int port) noexcept;

/// A collapsed module, known by the slot of its card.
struct ModuleShape {
    FrameId frame = FrameId::none;
    QString title;
    FrameColor color = FrameColor::none;
    std::vector<NodeId> nodes;
    std::vector<PortRef> inputs; ///< ports of its nodes that lead out of it, or that wait for an edge
    std::vector<PortRef> outputs;
};

/// Where wires end whose nodes are not shown: on the strip of a collapsed lane, or beside what is in the
/// module that is open.
struct StubShape {
    enum class Kind : std::uint8_t { onLane, producer, consumer };
    Kind kind = Kind::onLane;
    LaneId lane = LaneId::none;
    std::vector<NodeId> nodes; ///< that it stands for
    Device device;
    Position at; ///< of its top left, in its lane
    QRectF rect;
    QString title;
    int wires = 0;
    bool hasError = false;
};

/// A copy that the implicit policy makes, drawn as a pill on the border of the lane it goes to.
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
    std::int8_t rank = -1; ///< of the tensor, as far as it is known
    float width = 1.5F;
    bool free = true;    ///< the slot
    bool routed = false; ///< in the grid
    bool hidden = false; ///< from a row to the card that it is on
    bool crosses = false;
    bool mismatch = false;
    std::int32_t ghost = -1;    ///< the pill it runs through
    std::int32_t fromStub = -1; ///< where it begins, and ends, instead of at its nodes
    std::int32_t toStub = -1;
    bool showsDots = false; ///< it runs through its dots, as far as they are not hidden
};

/// A dot on a wire.
struct DotShape {
    Dot dot;
    QPointF drag; ///< while it is being moved
    QPointF at;
    bool isHidden = false; ///< on a collapsed lane, or under the card of a collapsed module
};
/// How far from its middle a dot is drawn.
inline constexpr double kDotRadius = 4.2;

/// Where a wire takes a new dot.
struct DotPlace {
    std::size_t index = 0; ///< before the dot that has this place now
    QPointF at;
};

struct FrameShape {
    FrameId id = FrameId::none;
    QRectF rect;      ///< empty when nothing stands in it
    QRectF titleRect; ///< the handle, in canvas units; empty where there is no room for one
    double titleScale = 1;
    QString title;
    QString shownTitle; ///< as much of it as there is room for
    FrameId parent = FrameId::none;
    int depth = 0;
    FrameColor color = FrameColor::none;
    bool isBody = false;    ///< of an If, Loop or Scan
    bool isCarried = false; ///< all that stands in it is being moved
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

/// How a port looks.
struct PortLook {
    enum class State : std::uint8_t { connected, optional, missing };
    WireClass kind = WireClass::unknown;
    State state = State::connected;
};

/// How much larger than a title the short title is written.
inline constexpr double kShortTitleScale = 1.6;

/// The words of a card, laid out once and drawn many times.
struct NodeCard {
    QStaticText title;
    QStaticText shortTitle; ///< for a card that shows nothing else, written larger
    QStaticText subtitle;
    QStaticText chip;
    double chipWidth = 0;   ///< of its text; 0: no chip
    QStaticText deviceWord; ///< of a row that is elsewhere than its card
    double deviceWidth = 0;
    QStaticText time;
    double timeWidth = 0;
    double timeNs = -1;
    QString value; ///< of a Probe, in the place of the time
    bool isModelled = false; ///< the time: it is never written without the word
    bool isOnce = false;     ///< the time is no part of an iteration's
    QStaticText remark;      ///< under the time
    double remarkWidth = 0;
    std::vector<PortLook> inputs;
    std::vector<PortLook> outputs;
    NodeRun moduleRun;   ///< of a collapsed module: what its nodes have come to, together
    double progress = 0; ///< and how many of them are through, of 1
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
    Edge wire; ///< of a dot, too
    FrameId frame = FrameId::none;
    NoteId note = NoteId::none;
    std::int32_t stub = -1;
    std::size_t dot = 0; ///< its place on the wire
    bool operator==(const Hit&) const = default;
};

} // namespace twb
