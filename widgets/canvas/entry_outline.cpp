#include "widgets/canvas/entry_outline.h"

#include "widgets/add_op.h"
#include "widgets/canvas/scene.h"

namespace twb {

QRectF outlineOfEntry(const QString& entry, const Graph& graph, const Lane& lane, const DeviceMap& devices,
                      const std::optional<FedTensor>& fed) {
    Graph alone;
    DeltaBuilder builder(alone, "measure");
    Lane open = lane;
    open.collapsed = false;
    const LaneId there = builder.addLane(open);
    alone.apply(builder.take());
    std::vector<NodeId> added;
    Delta delta = addOp(alone, {entry, there, {}}, &added);
    for (auto& change : delta.nodes) // names in use get a number, which makes a card wider
        if (change.after) change.after->name = graph.uniqueName(change.after->name);
    alone.apply(std::move(delta));
    if (fed) {
        DeltaBuilder feeding(alone, "feed");
        Node source;
        source.op = "Input";
        source.name = "source";
        source.lane = there;
        source.attributes = {
            {"shape", std::vector<std::int64_t>(fed->type.shape.begin(), fed->type.shape.end())},
            {"dtype", std::string(name(fed->type.dtype))}};
        const NodeId from = feeding.addNode(std::move(source));
        feeding.connect({{from, 0}, {added[fed->port.node], fed->port.port}});
        alone.apply(feeding.take());
    }
    const Analysis analysis = analyze(alone, devices, alone.info().policy, nullptr);
    Scene scene;
    scene.rebuild({alone, analysis, devices});
    QRectF outline = scene.boundsOf(added, {});
    for (const FrameShape& frame : scene.frames()) outline |= frame.rect;
    return outline;
}

} // namespace twb
