#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferCast(InferContext& ctx) { ctx.output(0, {dtypeOf(ctx.attributes(), "to"), ctx.input(0)->shape}); }

void castKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (in.dtype == out.dtype) return copyElements(in, out);
    withAny(in.dtype, [&](auto from) {
        withAny(out.dtype, [&](auto to) {
            using To = decltype(to);
            using From = decltype(from);
            mapElements<From, To>(in, out, [](From x) { return element::cast<To>(x); });
        });
    });
}

} // namespace

void addCast(std::vector<Op>& table) {
    Op cast = makeOp("Cast", "Shape", 19, "The same elements in another dtype", "Y = (to) X");
    cast.inputs = {port("input", "self", kAll)};
    cast.outputs = {port("output", "", kAll)};
    cast.attributes = {dtypeAttribute("to", "f32", kAll, "Type to convert to")};
    cast.infer = inferCast;
    cast.kernel = castKernel;
    table.push_back(std::move(cast));
}

} // namespace twb
