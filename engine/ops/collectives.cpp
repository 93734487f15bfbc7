#include "ops/collectives.h"

#include "backends/cpu/dense_input.h"
#include "core/narrow.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace twb {
namespace {

// Ops over the ranks of a run. All ranks run the same graph, each with its own tensors.

World& worldOf(const KernelContext& ctx) { return ctx.world ? *ctx.world : *aloneWorld(); }

std::int64_t integerOf(const KernelContext& ctx, const char* name) { return ctx.attributes.integer(name); }

/// Fails if a rank in an attribute does not exist. A graph on one rank may be checked, but not run.
void requireRank(const World& world, std::int64_t rank, const char* attribute) {
    if (rank < world.size()) return;
    throw Error(
        ErrorCode::failed,
        fmt::format("{} is rank {}, but this run has {}: start it with mpirun -n {}, or set {} to a "
                    "smaller rank",
                    attribute, rank,
                    world.size() == 1 ? "only rank 0" : fmt::format("ranks 0 to {}", world.size() - 1),
                    rank + 1, attribute));
}

void inferRank(const InferContext& ctx, const char* attribute) {
    const std::int64_t rank = ctx.attributes().integer(attribute);
    if (ctx.ranks() > 1 && rank >= ctx.ranks())
        ctx.fail(
            "attribute", -1,
            fmt::format("{} is rank {}, but this run has ranks 0 to {}", attribute, rank, ctx.ranks() - 1));
}

void inferSame(InferContext& ctx) {
    ctx.output(0, *ctx.input(0));
    for (const char* attribute : {"root", "source", "target"})
        if (ctx.op().attribute(attribute)) inferRank(ctx, attribute);
}

void inferAllReduce(InferContext& ctx) {
    const std::int64_t outputs = ctx.attributes().integer("num_outputs");
    if (outputs != ctx.inputCount())
        ctx.fail("attribute", -1,
                 fmt::format("num_outputs is {}, but AllReduce has {} input{}; give it one output for each",
                             outputs, ctx.inputCount(), ctx.inputCount() == 1 ? "" : "s"));
    const std::string& reduction = ctx.attributes().text("reduction");
    if (reduction != "max" && ctx.input(0)->dtype == DType::boolean)
        ctx.fail(
            "dtype-mismatch", 0,
            fmt::format("the {} over ranks needs a number, not bool: cast the tensor, or set reduction to "
                        "max, which is true where it is true on any rank",
                        reduction));
    if (reduction == "mean" && !isFloating(ctx.input(0)->dtype))
        ctx.fail("dtype-mismatch", 0,
                 fmt::format("the mean over ranks needs a floating-point dtype, not {}: cast the tensor, or "
                             "set reduction to sum or max",
                             name(ctx.input(0)->dtype)));
    for (int port = 0; port < ctx.inputCount(); ++port) ctx.output(port, *ctx.input(port));
}

/// The first axis, whose size is given times the number of ranks or divided by it.
void inferAllGather(InferContext& ctx) {
    TensorType type = *ctx.input(0);
    if (type.shape.rank() == 0)
        ctx.fail("shape-mismatch", 0, "AllGather joins tensors along axis 0, so it needs at least one axis");
    if (type.shape[0] != kUnknownDim) type.shape[0] *= ctx.ranks();
    ctx.output(0, std::move(type));
}

void inferReduceScatter(InferContext& ctx) {
    TensorType type = *ctx.input(0);
    if (type.shape.rank() == 0)
        ctx.fail("shape-mismatch", 0, "ReduceScatter splits axis 0, so it needs at least one axis");
    if (type.shape[0] != kUnknownDim) {
        if (type.shape[0] % ctx.ranks() != 0)
            ctx.fail("shape-mismatch", 0,
                     fmt::format("ReduceScatter splits axis 0 over {} ranks, but its size {} is not a "
                                 "multiple of {}",
                                 ctx.ranks(), type.shape[0], ctx.ranks()));
        type.shape[0] /= ctx.ranks();
    }
    ctx.output(0, std::move(type));
}

Reduction reductionOf(const Attributes& attributes) {
    const std::string& text = attributes.text("reduction");
    return text == "mean" ? Reduction::mean : text == "max" ? Reduction::max : Reduction::sum;
}

Collective callOf(const KernelContext& ctx, CollectiveKind kind, const TensorView& in,
                  const TensorView& out) {
    Collective call;
    call.kind = kind;
    call.dtype = in.dtype;
    call.source = in.data;
    call.target = out.data;
    call.count = in.elementCount();
    call.label = ctx.label;
    return call;
}

/// A bool is a byte 0 or 1, and worlds reduce numbers.
DType numbersOf(DType dtype) { return dtype == DType::boolean ? DType::u8 : dtype; }

/// The buffer that several tensors share for one call.
class Bucket final : public KernelState {
public:
    std::vector<std::byte> bytes;
};

/// Reduces all inputs with one call. Several are packed into one buffer.
void allReduceKernel(const KernelContext& ctx) {
    World& world = worldOf(ctx);
    if (ctx.inputs.size() == 1) {
        const DenseInput in(ctx.inputs[0]);
        Collective call = callOf(ctx, CollectiveKind::allReduce, in.view(), ctx.outputs[0]);
        call.reduction = reductionOf(ctx.attributes);
        call.dtype = numbersOf(call.dtype);
        return world.run(std::move(call));
    }
    std::unique_ptr<KernelState> own;
    std::unique_ptr<KernelState>& kept = ctx.memory ? ctx.memory->state : own;
    if (!kept) kept = std::make_unique<Bucket>();
    std::vector<std::byte>& buffer = static_cast<Bucket&>(*kept).bytes;
    const std::size_t size = sizeOf(ctx.inputs[0].dtype);
    std::int64_t count = 0;
    for (const TensorView& in : ctx.inputs) count += in.elementCount();
    buffer.resize(static_cast<std::size_t>(count) * size);
    std::size_t at = 0;
    for (const TensorView& in : ctx.inputs) {
        const std::size_t bytes = static_cast<std::size_t>(in.elementCount()) * size;
        if (bytes > 0) std::memcpy(buffer.data() + at, DenseInput(in).view().data, bytes);
        at += bytes;
    }
    Collective call;
    call.kind = CollectiveKind::allReduce;
    call.reduction = reductionOf(ctx.attributes);
    call.dtype = numbersOf(ctx.inputs[0].dtype);
    call.source = call.target = buffer.data();
    call.count = count;
    call.label = ctx.label;
    world.run(std::move(call));
    at = 0;
    for (const TensorView& out : ctx.outputs) {
        const std::size_t bytes = static_cast<std::size_t>(out.elementCount()) * size;
        if (bytes > 0) std::memcpy(out.data, buffer.data() + at, bytes);
        at += bytes;
    }
}

void broadcastKernel(const KernelContext& ctx) {
    World& world = worldOf(ctx);
    const std::int64_t root = integerOf(ctx, "root");
    requireRank(world, root, "root");
    const DenseInput in(ctx.inputs[0]);
    Collective call = callOf(ctx, CollectiveKind::broadcast, in.view(), ctx.outputs[0]);
    call.peer = static_cast<int>(root);
    world.run(std::move(call));
}

void reduceKernel(const KernelContext& ctx) {
    World& world = worldOf(ctx);
    const std::int64_t root = integerOf(ctx, "root");
    requireRank(world, root, "root");
    const DenseInput in(ctx.inputs[0]);
    const TensorView& out = ctx.outputs[0];
    Collective call = callOf(ctx, CollectiveKind::reduce, in.view(), out);
    call.peer = static_cast<int>(root);
    world.run(std::move(call));
    if (world.rank() != root && out.elementCount() > 0)
        std::memset(out.data, 0, static_cast<std::size_t>(out.elementCount()) * sizeOf(out.dtype));
}

std::size_t bytesOf(const TensorView& view) {
    return static_cast<std::size_t>(view.shape.byteCount(view.dtype));
}

/// Of parts that end inside a byte: the world joins them byte by byte, and the codes are then moved together.
void gatherCodes(const KernelContext& ctx, const TensorView& in) {
    World& world = worldOf(ctx);
    const TensorView& out = ctx.outputs[0];
    const auto ranks = static_cast<std::size_t>(world.size());
    std::vector<std::byte> parts(ranks * bytesOf(in));
    Collective call = callOf(ctx, CollectiveKind::allGather, in, out);
    call.target = parts.data();
    world.run(std::move(call));
    const std::int64_t count = in.elementCount();
    std::vector<std::uint8_t> codes(ranks * static_cast<std::size_t>(count));
    for (std::size_t r = 0; r < ranks; ++r)
        unpackCodes(in.dtype, parts.data() + r * bytesOf(in), 0, count,
                    codes.data() + r * static_cast<std::size_t>(count));
    packCodes(out.dtype, codes.data(), out.data, 0, out.elementCount());
}

void allGatherKernel(const KernelContext& ctx) {
    const DenseInput in(ctx.inputs[0]);
    if (isPacked(in.view().dtype) && in.view().elementCount() * bitsOf(in.view().dtype) % 8 != 0)
        return gatherCodes(ctx, in.view());
    worldOf(ctx).run(callOf(ctx, CollectiveKind::allGather, in.view(), ctx.outputs[0]));
}

void reduceScatterKernel(const KernelContext& ctx) {
    const DenseInput in(ctx.inputs[0]);
    Collective call = callOf(ctx, CollectiveKind::reduceScatter, in.view(), ctx.outputs[0]);
    call.count = ctx.outputs[0].elementCount();
    worldOf(ctx).run(std::move(call));
}

void sendReceiveKernel(const KernelContext& ctx) {
    World& world = worldOf(ctx);
    const std::int64_t source = integerOf(ctx, "source");
    const std::int64_t target = integerOf(ctx, "target");
    requireRank(world, source, "source");
    requireRank(world, target, "target");
    const TensorView& out = ctx.outputs[0];
    const std::size_t bytes = bytesOf(out);
    const DenseInput given(ctx.inputs[0]);
    const TensorView& in = given.view();
    if (source == target || world.rank() != target) {
        if (source != target && world.rank() == source) {
            Collective send = callOf(ctx, CollectiveKind::send, in, {});
            send.peer = static_cast<int>(target);
            world.run(std::move(send));
        }
        if (bytes == 0 || !out.data) return; // a rank that only sends has no output
        if (source == target && world.rank() == target)
            std::memmove(out.data, in.data, bytes);
        else
            std::memset(out.data, 0, bytes);
        return;
    }
    Collective receive = callOf(ctx, CollectiveKind::receive, in, out);
    receive.peer = static_cast<int>(source);
    world.run(std::move(receive));
}

void barrierKernel(const KernelContext& ctx) {
    Collective call;
    call.kind = CollectiveKind::barrier;
    call.label = ctx.label;
    worldOf(ctx).run(std::move(call));
    copyElements(ctx.inputs[0], ctx.outputs[0]);
}

// Gradients. The gradients of all ranks' losses are added, as if their sum were the loss.

void allReduceGradient(GradientContext& g) {
    const std::string reduction = g.attributes().text("reduction");
    for (int port = 0; port < g.inputCount(); ++port) {
        if (!g.gradient(port)) continue;
        const bool isMax = reduction == "max";
        GraphTensor all =
            apply("AllReduce", {g.gradient(port)}, {{"reduction", std::string(isMax ? "sum" : reduction)}});
        g.give(port, isMax ? where(isEqual(g.input(port), g.output(port)), all) : all);
    }
}

void broadcastGradient(GradientContext& g) {
    g.give(0, apply("Reduce", {g.gradient()}, {{"root", g.attributes().integer("root")}}));
}

void reduceGradient(GradientContext& g) {
    g.give(0, apply("Broadcast", {g.gradient()}, {{"root", g.attributes().integer("root")}}));
}

void allGatherGradient(GradientContext& g) { g.give(0, apply("ReduceScatter", {g.gradient()})); }
void reduceScatterGradient(GradientContext& g) { g.give(0, apply("AllGather", {g.gradient()})); }

void sendReceiveGradient(GradientContext& g) {
    g.give(0, apply("SendReceive", {g.gradient()},
                    {{"source", g.attributes().integer("target")},
                     {"target", g.attributes().integer("source")}}));
}

void passGradient(GradientContext& g) { g.give(0, g.gradient()); }

Op makeCollective(CollectiveKind kind, std::string doc, std::string formula, DTypeSet types,
                  HostKernel kernel, void (*gradient)(GradientContext&)) {
    Op op = makeOp(std::string(kind == CollectiveKind::send ? "SendReceive" : name(kind)), "Ranks", 0,
                   std::move(doc), std::move(formula));
    op.role = OpRole::collective;
    op.inputs = {port("X", "tensor", types, "T")};
    op.outputs = {port("Y", "", types, "T")};
    op.infer = inferSame;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    op.kernel = kernel;
    op.gradient = gradient;
    op.tolerance = {1e-6, 1e-30};
    return op;
}

AttributeSpec rankAttribute(const char* name, std::int64_t value, const char* doc) {
    AttributeSpec spec = integerAttribute(name, value, doc);
    spec.minimum = 0;
    return spec;
}

} // namespace

CollectiveLoad collectiveLoad(const Op& op, std::span<const TensorType> inputs, int ranks) {
    CollectiveLoad out;
    out.kind = collectiveKindOf(op.name).value();
    if (out.kind == CollectiveKind::barrier) return out;
    for (const TensorType& type : inputs) out.bytes += static_cast<std::uint64_t>(type.byteCount());
    if (out.kind == CollectiveKind::allGather) out.bytes *= static_cast<std::uint64_t>(ranks);
    return out;
}

void addCollectives(std::vector<Op>& table) {
    Op allReduce = makeCollective(CollectiveKind::allReduce,
                                  "The sum, mean or maximum of all ranks' tensors, on every rank",
                                  "Y = Σᵣ Xᵣ", kAll, allReduceKernel, allReduceGradient);
    allReduce.inputs = {variadicPort("X", "tensor", kAll, "T")};
    allReduce.outputs = {variadicPort("Y", "", kAll, "T")};
    AttributeSpec outputs = integerAttribute("num_outputs", 1, "Number of outputs: one for each input");
    outputs.minimum = 1;
    allReduce.attributes = {
        choiceAttribute("reduction", "sum", {"sum", "mean", "max"}, "How ranks are combined"),
        std::move(outputs)};
    allReduce.infer = inferAllReduce;
    table.push_back(std::move(allReduce));

    Op broadcast = makeCollective(CollectiveKind::broadcast, "The tensor of one rank, on every rank",
                                  "Y = X_root", kStored, broadcastKernel, broadcastGradient);
    broadcast.attributes = {rankAttribute("root", 0, "The rank whose tensor is taken")};
    table.push_back(std::move(broadcast));

    Op reduce = makeCollective(CollectiveKind::reduce,
                               "The sum of all ranks' tensors on one rank, and zeros on the others",
                               "Y_root = Σᵣ Xᵣ", kNumbers, reduceKernel, reduceGradient);
    reduce.attributes = {rankAttribute("root", 0, "The rank that gets the sum")};
    table.push_back(std::move(reduce));

    Op gather = makeCollective(CollectiveKind::allGather,
                               "All ranks' tensors, joined along axis 0 in the order of the ranks", "",
                               kStored, allGatherKernel, allGatherGradient);
    gather.infer = inferAllGather;
    table.push_back(std::move(gather));

    Op scatter = makeCollective(CollectiveKind::reduceScatter,
                                "The sum of all ranks' tensors, of which each rank gets its part of axis 0",
                                "", kNumbers, reduceScatterKernel, reduceScatterGradient);
    scatter.infer = inferReduceScatter;
    table.push_back(std::move(scatter));

    Op sendReceive = makeCollective(CollectiveKind::send,
                                    "Gives the tensor of one rank to another; the other ranks get zeros",
                                    "Y_target = X_source", kStored, sendReceiveKernel, sendReceiveGradient);
    sendReceive.attributes = {rankAttribute("source", 0, "The rank that sends"),
                              rankAttribute("target", 1, "The rank that receives")};
    table.push_back(std::move(sendReceive));

    table.push_back(makeCollective(CollectiveKind::barrier,
                                   "Passes its tensor on when all ranks have reached this node", "Y = X",
                                   kStored, barrierKernel, passGradient));

    describe(table, "AllReduce", "Each output has the shape of its input");
    describe(table, "Broadcast", "Y has the shape of X");
    describe(table, "Reduce", "Y has the shape of X");
    describe(table, "AllGather", "X [n, …] → Y [ranks · n, …]").formula = "Y = [X of rank 0, X of rank 1, …]";
    describe(table, "ReduceScatter", "X [ranks · n, …] → Y [n, …]").formula = "Y = rank r's part of Σᵣ Xᵣ";
    describe(table, "SendReceive", "Y has the shape of X", {}, {{"target", std::int64_t{0}}});
    describe(table, "Barrier", "Y has the shape of X");
}

} // namespace twb
