#include "graph/fresh_seed.h"

#include "ops/op_table.h"

namespace twb {

void giveFreshSeeds(DeltaBuilder& builder, const std::vector<NodeId>& added) {
    for (const NodeId id : added) {
        Node node = *builder.graph().find(id);
        const Op* op = findOp(node.op);
        if (!op || !op->attribute("seed")) continue;
        node.attributes.set("seed", static_cast<std::int64_t>(value(id)));
        builder.change(node);
    }
}

} // namespace twb
