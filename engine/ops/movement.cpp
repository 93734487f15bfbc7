#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferTo(InferContext& ctx) {
    const TensorType& self = *ctx.input(0);
    const DType target = ctx.attributes().has("dtype") ? dtypeOf(ctx.attributes(), "dtype") : self.dtype;
    ctx.output(0, {target, self.shape});
}

} // namespace

void addMovement(std::vector<Op>& table) {
    // No kernel: the planner turns it into copies, and into a Cast where the dtype changes.
    Op to = makeOp("To", "Move", 0,
                   "Copies a tensor to this node's device, as PyTorch's .to(), .cpu() and .cuda() do");
    to.role = OpRole::transfer;
    to.inputs = {port("self", "self", kStored)};
    to.outputs = {port("output", "", kStored)};
    to.attributes = {
        dtypeAttribute("dtype", "", kStored, "Type to convert to; absent: unchanged"),
        flagAttribute("non_blocking", false,
                      "Let the host continue during the copy; effective from pinned memory only"),
        flagAttribute("pin_memory", false, "Copy from page-locked host memory, at the link's full speed")};
    to.infer = inferTo;
    to.gradient = [](GradientContext& g) {
        // give() adds the copy back.
        g.give(0, cast(g.gradient(), g.input().type().dtype));
    };
    to.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    table.push_back(std::move(to));

    describe(table, "To", "The result has the shape of self");
}

} // namespace twb
