#pragma once

#include "graph/graph.h"
#include "widgets/canvas/scene.h"

#include <set>
#include <string>
#include <utility>

namespace twb::test {

/// The positions of everything in a scene as text, in a canonical order.
inline std::string textOf(const Scene& scene, const Graph& graph) {
    std::string text;
    const auto put = [&](const QRectF& r) {
        for (double x : {r.x(), r.y(), r.width(), r.height()}) text += std::to_string(x) + " ";
    };
    for (const LaneBand& band : scene.lanes().bands()) {
        text += "lane " + std::to_string(value(band.id)) + " " + band.name.toStdString() + " ";
        put({0, band.top, 0, band.height});
        if (band.collapsed)
            text += "hides " + std::to_string(band.hiddenNodes) + (band.hidesErrors ? " errors" : "");
        text += "\n";
    }
    for (const Node& node : graph.nodes()) {
        const NodeShape* shape = scene.nodes().find(node.id);
        if (!shape) return text + "a node is missing";
        text += "node " + std::to_string(value(node.id)) + " ";
        put(shape->rect);
        text += shape->device.toString() + (shape->hasError ? " error " : " ") +
                (shape->hasWarning ? "warning " : "") + (shape->isPinned ? "pinned " : "") +
                (shape->isDisabled ? "disabled " : "") + (shape->isStaged ? "staged " : "") +
                (shape->isHidden ? "hidden " : "") + "stops " + std::to_string(shape->stops.present) + " " +
                std::to_string(shape->stops.enabled) + " " + std::to_string(static_cast<int>(shape->kind)) +
                " " + std::to_string(shape->inputs) + " " + std::to_string(shape->outputs) + " " +
                std::to_string(shape->folded) + "\n";
    }
    for (const Edge& edge : graph.edges()) {
        const WireShape* wire = scene.wires().find(edge);
        if (!wire) return text + "a wire is missing";
        put(wire->bounds);
        put(QRectF(wire->start, wire->end));
        text += std::to_string(static_cast<int>(wire->kind)) + " " + std::to_string(wire->width) +
                (wire->hidden ? " hidden" : "") + (wire->mismatch ? " mismatch" : "") +
                (wire->crosses ? " crosses" : "") + " " + std::to_string(wire->ghost) + "\n";
    }
    for (const FrameShape& frame : scene.frames().shapes()) {
        text += frame.title.toStdString() + " ";
        put(frame.rect);
        put(frame.titleRect);
    }
    put(scene.extent());
    for (const NoteShape& note : scene.notes()) put(note.rect);
    for (const GhostShape& ghost : scene.ghosts().shapes()) put(ghost.rect);
    std::set<std::string> stubs;
    for (const StubShape& stub : scene.stubs().shapes()) {
        const std::string before = std::exchange(text, {});
        put(stub.rect);
        text +=
            stub.title.toStdString() + (stub.hasError ? " error " : " ") + std::to_string(stub.wires) + " ";
        for (const NodeId id : stub.nodes) text += std::to_string(value(id)) + " ";
        stubs.insert(std::exchange(text, before) + "\n");
    }
    for (const std::string& stub : stubs) text += stub;
    std::size_t wires = 0;
    for (const WireShape& wire : scene.wires().shapes()) wires += wire.free ? 0 : 1;
    return text + std::to_string(scene.nodes().count()) + " " + std::to_string(wires);
}

} // namespace twb::test
