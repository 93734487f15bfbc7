#include "widgets/canvas/gestures/connect_gesture.h"

#include "graph/port_fit.h"
#include "graph/reach.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/edit_title.h"
#include "widgets/text.h"

#include <QApplication>
#include <QCoreApplication>

#include <algorithm>

namespace twb {
namespace {

constexpr double kSnapPixels = 26;

bool accepts(const Op* op, int port, const std::optional<TensorType>& type) {
    return !type || twb::accepts(op, port, type->dtype);
}

/// Context for translations.
struct Reasons {
    Q_DECLARE_TR_FUNCTIONS(ConnectGesture)
};

const std::string& nameOf(const Graph& graph, NodeId id) { return graph.find(id)->name; }

} // namespace

PortSet portsFor(const Document& document, const Scene& scene, PortSide fixedSide, PortRef fixed) {
    const Analysis& analysis = document.analysis();
    const bool seeksInput = fixedSide == PortSide::output;
    const auto excluded =
        reach(document.graph(), {fixed.node}, seeksInput ? Reach::upstream : Reach::downstream);
    const auto opOf = [&](NodeId id) {
        const NodeFacts* facts = analysis.find(id);
        return facts ? facts->op : nullptr;
    };
    PortSet ports;
    for (const NodeShape& shape : scene.nodes().shapes()) {
        if (shape.id == NodeId::none) continue;
        const int count = seeksInput ? shape.inputs : shape.outputs;
        for (int port = 0; port < count; ++port) {
            const PortRef here =
                scene.modules().portOf(shape, seeksInput ? PortSide::input : PortSide::output, port);
            if (excluded.contains(here.node)) continue;
            const bool fits = seeksInput ? accepts(opOf(here.node), here.port, analysis.typeOf(fixed))
                                         : accepts(opOf(fixed.node), fixed.port, analysis.typeOf(here));
            if (fits) ports.insert(here);
        }
    }
    return ports;
}

QString reasonAgainst(const Document& document, PortSide fixedSide, PortRef fixed, const Hit& under) {
    const Graph& graph = document.graph();
    const bool seeksInput = fixedSide == PortSide::output;
    const auto nameIn = [&](NodeId id) { return toQt(nameOf(graph, id)); };
    const NodeId taker = seeksInput ? under.node : fixed.node;
    const NodeFacts* facts = document.analysis().find(taker);
    const Op* op = facts ? facts->op : nullptr;
    if (op && op->inputs.empty()) return Reasons::tr("%1 has no inputs.").arg(nameIn(taker));
    if (reach(graph, {fixed.node}, seeksInput ? Reach::upstream : Reach::downstream).contains(under.node))
        return Reasons::tr("This would form a cycle: %1 depends on %2.")
            .arg(nameIn(seeksInput ? fixed.node : under.node), nameIn(seeksInput ? under.node : fixed.node));
    const bool isPort = under.kind == (seeksInput ? Hit::Kind::input : Hit::Kind::output);
    const std::optional<TensorType>& type =
        document.analysis().typeOf(seeksInput ? fixed : PortRef{under.node, isPort ? under.port.port : 0});
    if (!type || !op) return {};
    const QString dtype = toQt(name(type->dtype));
    if (seeksInput && !isPort) return Reasons::tr("No input of %1 accepts %2.").arg(nameIn(taker), dtype);
    const PortSpec& port = op->inputAt(seeksInput ? under.port.port : fixed.port);
    return Reasons::tr("%1 of %2 does not accept %3.").arg(toQt(port.name), nameIn(taker), dtype);
}

ConnectGesture::ConnectGesture(GestureHost& host, const Pointer& start, PortSide side, PortRef port)
    : Gesture(host), m_startPixel(start.pixel), m_fixedSide(side), m_fixed(port) {
    if (side != PortSide::input) return;
    if (const auto from = host.document().graph().sourceOf(port)) lift({*from, port});
}

ConnectGesture::ConnectGesture(GestureHost& host, const Pointer& start, const Edge& wire)
    : Gesture(host), m_startPixel(start.pixel) {
    lift(wire);
}

void ConnectGesture::lift(const Edge& wire) {
    m_preview.lifted = wire;
    m_fixedSide = PortSide::output;
    m_fixed = wire.from;
}

void ConnectGesture::seek(const Pointer& pointer) {
    const Scene& scene = m_host.hostScene();
    if (!scene.nodes().find(m_fixed.node)) return;
    const PortSide side = m_preview.targetSide;
    const double range = kSnapPixels / m_host.zoom();
    m_preview.snapped = nearestPort(scene, pointer.at, side, range, m_targets);
    const Hit under = hitTest(scene, pointer.at, m_host.zoom());
    m_isOverCard = under.node != NodeId::none;
    if (!m_preview.snapped && under.node != NodeId::none) {
        // A wire released on a card goes to its first unconnected port, or to its first port.
        std::optional<PortRef> first;
        const NodeShape& shape = *scene.nodes().drawn(under.node);
        const int count = side == PortSide::input ? shape.inputs : shape.outputs;
        for (int port = 0; port < count && !m_preview.snapped; ++port) {
            const PortRef here = scene.modules().portOf(shape, side, port);
            if (!m_targets.contains(here)) continue;
            if (!first) first = here;
            if (side == PortSide::output || !m_host.document().graph().sourceOf(here))
                m_preview.snapped = here;
        }
        if (!m_preview.snapped) m_preview.snapped = first;
    }
    const bool isAgainst = !m_preview.snapped && m_isOverCard && under.node != m_fixed.node;
    if (!isAgainst)
        m_preview.reason.clear();
    else if (under != m_under || m_preview.reason.isEmpty())
        m_preview.reason = reasonAgainst(m_host.document(), m_fixedSide, m_fixed, under);
    m_under = under;
    WirePreview wire;
    const QPointF hand = m_preview.snapped ? scene.modules().portAt(*m_preview.snapped, side) : pointer.at;
    const QPointF root = scene.modules().portAt(m_fixed, m_fixedSide);
    wire.output = side == PortSide::input ? root : hand;
    wire.input = side == PortSide::input ? hand : root;
    const PortRef source = m_fixedSide == PortSide::output ? m_fixed : m_preview.snapped.value_or(PortRef{});
    if (const WireShape* lifted = m_preview.lifted ? scene.wires().find(*m_preview.lifted) : nullptr)
        wire.dots = scene.wires().dots().shownOn(*lifted);
    wire.kind = wireClassOf(m_host.document().analysis().typeOf(source));
    if (m_preview.snapped)
        wire.state = WirePreview::State::snapped;
    else if (under.node != NodeId::none && under.node != m_fixed.node)
        wire.state = WirePreview::State::refused;
    m_preview.wire = wire;
}

void ConnectGesture::move(const Pointer& pointer) {
    if (!m_moving) {
        if ((pointer.pixel - m_startPixel).manhattanLength() < QApplication::startDragDistance()) return;
        m_moving = true;
        m_targets = portsFor(m_host.document(), m_host.hostScene(), m_fixedSide, m_fixed);
        m_preview.targets = &m_targets;
        m_preview.targetSide = m_fixedSide == PortSide::output ? PortSide::input : PortSide::output;
    }
    seek(pointer);
    m_host.repaint();
}

void ConnectGesture::finish(const Pointer& pointer) {
    if (!m_moving) return;
    seek(pointer);
    const bool isRefused = m_preview.wire && m_preview.wire->state == WirePreview::State::refused;
    const std::optional<Edge> lifted = m_preview.lifted;
    const std::optional<PortRef> end = m_preview.snapped;
    const std::optional<WirePreview> shown = m_preview.wire;
    cancel();
    if (isRefused) return;
    const Graph& graph = m_host.document().graph();
    if (!end) {
        if (!lifted) {
            if (shown && !m_isOverCard) m_host.wantOp(pointer.pixel, {m_fixedSide, m_fixed}, *shown);
            return;
        }
        DeltaBuilder builder(graph,
                             editTitle(EditTitle::tr("Disconnect %1 from %2"),
                                       nameOf(graph, lifted->from.node), nameOf(graph, lifted->to.node)));
        builder.disconnect(*lifted);
        m_host.apply(builder.take());
        return;
    }
    const Edge edge = m_fixedSide == PortSide::output ? Edge{m_fixed, *end} : Edge{*end, m_fixed};
    if (graph.sourceOf(edge.to) == edge.from) return;
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Connect %1 to %2"), nameOf(graph, edge.from.node),
                                          nameOf(graph, edge.to.node)));
    // A wire that is plugged into another port keeps its dots.
    std::vector<Dot> dots = lifted ? graph.dots(lifted->to) : std::vector<Dot>();
    if (lifted) builder.disconnect(*lifted);
    builder.connect(edge);
    builder.setDots(edge.to, std::move(dots));
    m_host.apply(builder.take());
}

void ConnectGesture::cancel() {
    m_preview = {};
    m_host.repaint();
}

Qt::CursorShape ConnectGesture::cursor() const {
    if (m_preview.wire && m_preview.wire->state == WirePreview::State::refused) return Qt::ForbiddenCursor;
    return m_moving ? Qt::ClosedHandCursor : Qt::CrossCursor;
}

} // namespace twb
