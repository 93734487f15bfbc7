#include "ops/op_table.h"

#include "ops/families.h"
#include "ops/input_errors.h"
#include "ops/plugins/plugins.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

namespace twb {
namespace {

/// The checks for every output: its size fits into 64 bits, and kernels support its number of axes.
void checkOutputs(const InferContext& ctx, std::span<const TensorType> outputs) {
    for (const TensorType& type : outputs) {
        if (type.shape.rank() > kMaxRank)
            ctx.fail("shape-mismatch", -1,
                     fmt::format("the result of {} has {} dimensions, but a tensor has {} at most",
                                 ctx.op().name, type.shape.rank(), kMaxRank));
        if (!type.isKnown()) continue;
        try {
            type.byteCount();
        } catch (const Error& overflow) {
            ctx.fail("too-large", -1, fmt::format("the result of {}: {}", ctx.op().name, overflow.what()));
        }
    }
}

/// A family may have ops in several sections of the palette. Sections are in the order of their first op.
void standTogether(std::vector<Op>& ops) {
    std::vector<std::string> sections;
    for (const Op& op : ops)
        if (std::find(sections.begin(), sections.end(), op.category) == sections.end())
            sections.push_back(op.category);
    const auto place = [&](const Op& op) {
        return std::find(sections.begin(), sections.end(), op.category) - sections.begin();
    };
    std::stable_sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) { return place(a) < place(b); });
}

std::vector<Op> buildTable() {
    std::vector<Op> ops;
    for (auto* add : {addSources,
                      addRandomSources,
                      addGenerators,
                      addMovement,
                      addLinearAlgebra,
                      addActivations,
                      addSoftmax,
                      addPointwise,
                      addVariadic,
                      addMath,
                      addLogic,
                      addReductions,
                      addShapeOps,
                      addCast,
                      addViewOps,
                      addSliceOps,
                      addPadOps,
                      addGatherOps,
                      addScatterOps,
                      addRearrangeOps,
                      addSelectionOps,
                      addOrderingOps,
                      addNonMaxSuppression,
                      addConvolutions,
                      addCausalConvolution,
                      addPooling,
                      addRegionPooling,
                      addNormalizations,
                      addRowNormalizations,
                      addLocalResponse,
                      addRecurrent,
                      addAttention,
                      addLinearAttention,
                      addRotaryEmbedding,
                      addResize,
                      addSampling,
                      addFolding,
                      addArgReductions,
                      addCumulative,
                      addDropout,
                      addLosses,
                      addEinsum,
                      addDeterminant,
                      addWindows,
                      addFourier,
                      addRandomLike,
                      addOptimizers,
                      addUpdates,
                      addBatches,
                      addQuantization,
                      addQuantizedMatMul,
                      addNGrams,
                      addMlFeatures,
                      addMlEncoders,
                      addMlLinear,
                      addCollectives,
                      addControlFlow,
                      addOpaque,
                      addSinks})
        add(ops);
    const auto isTaken = [&](std::string_view name) {
        return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
    };
    std::vector<Op> plugged = loadPlugins(isTaken);
    std::move(plugged.begin(), plugged.end(), std::back_inserter(ops));
    standTogether(ops);
    for (Op& op : ops) {
        if (!op.infer) continue; // test_op_table names the entry
        op.infer = [infer = std::move(op.infer)](InferContext& ctx) {
            const auto wrong = inputErrors(ctx.op(), ctx.inputs());
            if (!wrong.empty()) throw wrong.front();
            infer(ctx);
            checkOutputs(ctx, ctx.outputs());
        };
    }
    return ops;
}

const std::vector<Op>& table() {
    static const std::vector<Op> ops = buildTable();
    return ops;
}

} // namespace

std::span<const Op> opTable() { return table(); }

const Op* findOp(std::string_view name) noexcept {
    static const std::unordered_map<std::string_view, const Op*> byName = [] {
        std::unordered_map<std::string_view, const Op*> map;
        for (const Op& op : table()) map.emplace(op.name, &op);
        return map;
    }();
    const auto at = byName.find(name);
    return at == byName.end() ? nullptr : at->second;
}

} // namespace twb
