#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferCast(InferContext& ctx) { ctx.output(0, {dtypeOf(ctx.attributes(), "to"), ctx.input(0)->shape}); }

} // namespace

void addCast(std::vector<Op>& table) {
    Op cast = makeOp("Cast", "Shape", 19, "The same elements in another dtype", "Y = (to) X");
    cast.inputs = {port("input", "self", kValues)};
    cast.outputs = {port("output", "", kValues)};
    cast.attributes = {dtypeAttribute("to", "f32", kValues, "Type to convert to")};
    cast.infer = inferCast;
    table.push_back(std::move(cast));
}

} // namespace twb
