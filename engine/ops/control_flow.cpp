#include "core/format.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

// Bodies are frames (graph/bodies.h) rather than graphs in an attribute: their nodes are on lanes like all
// others and read outer values through ordinary edges. What ONNX passes to a body by position is a node
// inside it (Carried, ScanSlice, Iteration), and a body's results are inputs of the control node, after its
// own inputs.

namespace twb {
namespace {

constexpr const char* kCategory = "Control flow";
constexpr std::int64_t kMostResults = 4096;

/// The shape of a result of either branch: sizes that differ are unknown.
Shape either(const InferContext& ctx, int port, const Shape& a, const Shape& b) {
    if (a.rank() != b.rank())
        ctx.fail("shape-mismatch", port,
                 fmt::format("the then branch returns {} dimensions and the else branch {} ({} and {}); both "
                             "must return the same number",
                             a.rank(), b.rank(), a.toTorchString(), b.toTorchString()));
    Shape out = a;
    for (int axis = 0; axis < a.rank(); ++axis)
        if (a[axis] != b[axis]) out[axis] = kUnknownDim;
    return out;
}

void checkResults(const InferContext& ctx, int first, std::int64_t wanted) {
    const int given = ctx.inputCount() - first;
    for (int port = first; port < ctx.inputCount(); ++port)
        if (!ctx.input(port))
            ctx.fail("missing-input", port, fmt::format("result {} is not connected", port - first));
    if (given != wanted)
        ctx.fail("missing-input", -1,
                 fmt::format("{} with num_outputs {} needs {} results of its body, but {} are connected",
                             ctx.op().name, ctx.attributes().integer("num_outputs"), wanted, given));
}

void inferIf(InferContext& ctx) {
    const std::int64_t outputs = ctx.attributes().integer("num_outputs");
    checkResults(ctx, 1, 2 * outputs);
    const Tensor* condition = ctx.value(0);
    if (condition && condition->elementCount() == 1) { // the other branch does not run
        const std::int64_t first = condition->at(0) != 0 ? 1 : 1 + outputs;
        for (int i = 0; i < outputs; ++i) ctx.output(i, *ctx.input(static_cast<int>(first) + i));
        return;
    }
    for (int i = 0; i < outputs; ++i) {
        const int otherPort = 1 + static_cast<int>(outputs) + i;
        const TensorType& then = *ctx.input(1 + i);
        const TensorType& other = *ctx.input(otherPort);
        if (then.dtype != other.dtype)
            throw InferError(
                "dtype-mismatch", otherPort,
                fmt::format(
                    "the then branch returns {} and the else branch {}; both must return the same dtype",
                    torchScalarName(then.dtype), torchScalarName(other.dtype)),
                then.dtype);
        ctx.output(i, {then.dtype, either(ctx, otherPort, then.shape, other.shape)});
    }
}

/// `type` with a new axis of size `times`, for results that are stacked over the iterations.
TensorType stacked(const TensorType& type, int axis, std::int64_t times) {
    std::vector<std::int64_t> dims = type.shape.dims();
    dims.insert(dims.begin() + axis, times);
    return {type.dtype, Shape(std::move(dims))};
}

std::int64_t carriedOf(const InferContext& ctx) {
    const std::int64_t carried = ctx.attributes().integer("carried");
    const std::int64_t outputs = ctx.attributes().integer("num_outputs");
    if (carried > outputs)
        ctx.fail("attribute", -1,
                 fmt::format("{} carries {}, but has {}; each value needs its own output", ctx.op().name,
                             counted(static_cast<std::uint64_t>(carried), "value"),
                             counted(static_cast<std::uint64_t>(outputs), "output")));
    return carried;
}

/// The number of iterations of a Loop that no condition can end early.
std::int64_t tripsOf(const InferContext& ctx) {
    for (const int port : {1, 2}) {
        if (!ctx.input(port) && !ctx.attributes().flag(ctx.op().inputAt(port).name)) return kUnknownDim;
        if (!ctx.input(port)) continue;
        const Tensor* known = ctx.value(port);
        if (!known || known->elementCount() != 1 || known->toIntegers()[0] == 0) return kUnknownDim;
    }
    const auto trips = ctx.integers(0);
    return trips && trips->size() == 1 && trips->front() >= 0 ? trips->front() : kUnknownDim;
}

void inferLoop(InferContext& ctx) {
    constexpr int first = 3;
    checkResults(ctx, first, ctx.attributes().integer("num_outputs"));
    const std::int64_t carried = carriedOf(ctx);
    for (int port = 0; port < first; ++port)
        if (const TensorType* type = ctx.input(port); type && type->shape.isKnown())
            if (type->shape.elementCount() != 1)
                ctx.fail("shape-mismatch", port,
                         fmt::format("{} must have exactly one element, but has shape {}",
                                     ctx.op().inputAt(port).name, type->shape.toTorchString()));
    const std::int64_t trips = tripsOf(ctx);
    for (int i = 0; i < ctx.inputCount() - first; ++i) {
        const TensorType& result = *ctx.input(first + i);
        if (i >= carried && isPacked(result.dtype))
            ctx.fail("dtype-mismatch", first + i,
                     fmt::format("results of {} cannot be stacked, because they share bytes; cast them first",
                                 name(result.dtype)));
        ctx.output(i, i < carried ? result : stacked(result, 0, trips));
    }
}

void inferScan(InferContext& ctx) {
    checkResults(ctx, 0, ctx.attributes().integer("num_outputs"));
    const std::int64_t carried = carriedOf(ctx);
    const std::size_t stacks = static_cast<std::size_t>(ctx.inputCount() - carried);
    for (const char* name : {"scan_output_axes", "scan_output_directions"})
        if (ctx.attributes().has(name) && ctx.attributes().integers(name).size() != stacks)
            ctx.fail("attribute", -1,
                     fmt::format("{} has {} entries, but Scan stacks {} results", name,
                                 ctx.attributes().integers(name).size(), stacks));
    for (int i = 0; i < ctx.inputCount(); ++i) {
        const TensorType& result = *ctx.input(i);
        if (i < carried) {
            ctx.output(i, result);
            continue;
        }
        std::int64_t axis = 0;
        if (ctx.attributes().has("scan_output_axes"))
            axis = ctx.attributes().integers("scan_output_axes")[static_cast<std::size_t>(i - carried)];
        ctx.output(i, stacked(result, axisOrFail(ctx, axis, result.shape.rank() + 1, -1), kUnknownDim));
    }
}

void inferCarried(InferContext& ctx) {
    TensorType type = *ctx.input(0);
    if (ctx.attributes().flag("varies"))
        for (int axis = 0; axis < type.shape.rank(); ++axis) type.shape[axis] = kUnknownDim;
    ctx.output(0, type);
}

void inferScanSlice(InferContext& ctx) {
    const TensorType& all = *ctx.input(0);
    if (all.shape.rank() == 0) ctx.fail("shape-mismatch", 0, "a scalar has no axis to take slices along");
    std::vector<std::int64_t> dims = all.shape.dims();
    dims.erase(dims.begin() + axisOrFail(ctx, ctx.attributes().integer("axis"), all.shape.rank(), 0));
    ctx.output(0, {all.dtype, Shape(std::move(dims))});
}

PortSpec hostScalar(const char* name, DTypeSet types) {
    PortSpec out = optionalPort(name, "", types);
    out.hostValue = true;
    return out;
}

Op makeControl(const char* name, int opset, const char* doc, const char* formula,
               std::vector<std::string> bodies) {
    Op op = makeOp(name, kCategory, opset, doc, formula);
    op.role = OpRole::control;
    op.bodies = std::move(bodies);
    op.outputs = {variadicPort("outputs", "", kStored)};
    AttributeSpec count = integerAttribute("num_outputs", 1, "Number of outputs");
    count.minimum = 1;
    count.maximum = kMostResults;
    op.attributes.push_back(std::move(count));
    // The op only forwards tensors; the steps of its bodies have costs of their own.
    op.cost = [](std::span<const TensorType>, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(outputs, outputs, 0);
    };
    return op;
}

AttributeSpec carriedCount(const char* doc) {
    AttributeSpec carried = integerAttribute("carried", 0, doc);
    carried.minimum = 0;
    carried.maximum = kMostResults;
    return carried;
}

Op makeState(const char* name, const char* doc) {
    Op op = makeOp(name, kCategory, 0, doc);
    op.role = OpRole::state;
    op.outputs = {port("output", "", kStored)};
    op.noGradient = "belongs to the body of an If, Loop or Scan; choose an output of that node as the loss";
    op.cost = [](std::span<const TensorType>, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(outputs, outputs, 0);
    };
    return op;
}

} // namespace

void addControlFlow(std::vector<Op>& table) {
    Op branch = makeControl("If", 25, "Runs one of two bodies and returns its results",
                            "Y = cond ? then : else", {"then_branch", "else_branch"});
    PortSpec cond = hostScalar("cond", kBool);
    cond.optional = false;
    branch.inputs = {cond, variadicPort("results", "", kStored)};
    branch.attributes.push_back(flagAttribute("cond", true, "Not used: the input must be connected"));
    branch.infer = inferIf;
    table.push_back(std::move(branch));

    Op loop = makeControl("Loop", 25,
                          "Runs its body repeatedly; some results are carried to the next run, others are "
                          "stacked along a new first axis",
                          "for i in range(M) while cond", {"body"});
    loop.inputs = {hostScalar("M", DTypeSet{DType::i64}), hostScalar("cond", kBool),
                   hostScalar("cond_out", kBool), variadicPort("results", "", kStored)};
    AttributeSpec trips;
    trips.name = "M";
    trips.type = AttributeType::integer;
    trips.doc = "Maximum number of iterations if M is not connected; absent: no limit";
    trips.minimum = 0;
    loop.attributes.push_back(std::move(trips));
    loop.attributes.push_back(
        flagAttribute("cond", true, "Whether the first iteration runs if cond is not connected"));
    loop.attributes.push_back(
        flagAttribute("cond_out", true, "Whether the next iteration runs if the body returns no condition"));
    loop.attributes.push_back(carriedCount("Number of carried results; the others are stacked"));
    loop.infer = inferLoop;
    table.push_back(std::move(loop));

    Op scan = makeControl("Scan", 25,
                          "Runs its body once per slice of its ScanSlices; some results are carried to the "
                          "next run, others are stacked",
                          "for x in slices", {"body"});
    scan.inputs = {variadicPort("results", "", kAll)};
    scan.attributes.push_back(carriedCount("Number of carried results; the others are stacked"));
    scan.attributes.push_back(
        integersAttribute("scan_output_axes", "New axis of each stacked result; absent: 0"));
    scan.attributes.push_back(integersAttribute(
        "scan_output_directions", "For each stacked result: 1 stacks from last to first; absent: 0"));
    scan.infer = inferScan;
    table.push_back(std::move(scan));

    Op carried = makeState("Carried", "In a body: the initial value in the first iteration, then the carried "
                                      "result with the same index from the previous iteration");
    carried.inputs = {port("initial", "", kStored)};
    AttributeSpec index = integerAttribute("index", 0, "Index of the owner's result, from 0");
    index.minimum = 0;
    index.maximum = kMostResults;
    carried.attributes.push_back(std::move(index));
    carried.attributes.push_back(
        flagAttribute("varies", false, "Whether its size may change between runs of the body"));
    carried.infer = inferCarried;
    table.push_back(std::move(carried));

    Op slice =
        makeState("ScanSlice", "In a body of Scan: a slice of its input, the next one in each iteration");
    slice.inputs = {port("all", "", kAll)};
    slice.attributes.push_back(integerAttribute("axis", 0, "Axis of the slices"));
    slice.attributes.push_back(flagAttribute("reverse", false, "Whether slices go from last to first"));
    slice.infer = inferScanSlice;
    table.push_back(std::move(slice));

    Op iteration = makeState("Iteration", "In a body of Loop: number of the iteration, from 0");
    iteration.outputs = {port("output", "", DTypeSet{DType::i64})};
    iteration.infer = [](InferContext& ctx) { ctx.output(0, {DType::i64, Shape{}}); };
    table.push_back(std::move(iteration));
}

} // namespace twb
