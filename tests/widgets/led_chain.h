#pragma once

#include "widgets/window_hand.h"

#include <set>
#include <string>
#include <vector>

namespace twb::test {

/// a -> sum -> relu -> out on the upper of three lanes, an unconnected Exp below; the wire into out is long.
struct LedChain {
    Graph graph;
    LaneId cpu, cuda, last;
    NodeId a, sum, relu, out, exp;

    LedChain() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 120});
        last = builder.addLane({LaneId::none, Device::cpu(), "last", 2, 120});
        a = addNode(builder, cpu, "Ones", "a", 16, 16);
        sum = addNode(builder, cpu, "Add", "sum", 240, 16);
        relu = addNode(builder, cpu, "Relu", "relu", 440, 16);
        out = addNode(builder, cpu, "Sqrt", "out", 880, 16);
        exp = addNode(builder, cpu, "Exp", "exp", 440, 208);
        builder.connect({{a, 0}, {sum, 0}});
        builder.connect({{a, 0}, {sum, 1}});
        builder.connect({{sum, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {out, 0}});
        graph.apply(builder.take());
    }
    Edge wire() const { return {{relu, 0}, {out, 0}}; }
    /// Adds dots to the wire into out.
    LedChain& with(std::vector<Dot> dots) {
        DeltaBuilder builder(graph, "dots");
        builder.setDots(wire().to, std::move(dots));
        graph.apply(builder.take());
        return *this;
    }
};

inline const std::vector<Dot>& dotsOf(const WindowHand& hand, const LedChain& g) {
    return hand.graph().dots(g.wire().to);
}
inline QPoint dotAt(const WindowHand& hand, const LedChain& g, std::size_t index) {
    return hand.pixel(hand.canvas.scene().wires().dot({g.wire().to, index})->at);
}
inline void doubleClick(WindowHand& hand, QPoint at) {
    hand.click(at);
    QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, at);
}
inline bool runsThrough(const WindowHand& hand, const Edge& edge, QPointF at) {
    return hand.canvas.scene().wires().path(*hand.canvas.scene().wires().find(edge)).distanceTo(at) < 0.01;
}
inline QString undoText(const WindowHand& hand) { return hand.document.undoStack().undoText(); }
inline std::set<DotRef> only(const LedChain& g, std::size_t index) { return {{g.wire().to, index}}; }

} // namespace twb::test
