#include "ops/op_table.h"

#include "ops/families.h"
#include "ops/input_errors.h"
#include "ops/plugins/plugins.h"
#include "ops/schema.h"
#include "ops/tree_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
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

/// An op's inference checks its inputs before and its outputs after.
void addChecks(Op& op) {
    if (!op.infer) return; // test_op_table names the entry
    op.infer = [infer = std::move(op.infer)](InferContext& ctx) {
        const auto wrong = inputErrors(ctx.op(), ctx.inputs());
        if (!wrong.empty()) throw wrong.front();
        infer(ctx);
        checkOutputs(ctx, ctx.outputs());
    };
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
                      addTreeEnsemble,
                      addCollectives,
                      addControlFlow,
                      addOpaque,
                      addSinks})
        add(ops);
    const auto isTaken = [&](std::string_view name) {
        return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
    };
    std::vector<Op> plugged = loadPlugins(installedPlugins(), isTaken);
    std::move(plugged.begin(), plugged.end(), std::back_inserter(ops));
    standTogether(ops);
    for (Op& op : ops) addChecks(op);
    return ops;
}

using Names = std::unordered_map<std::string_view, const Op*>;

/// Grows when a project brings plug-ins. Other threads may read it meanwhile, so no entry ever moves, and a
/// map of names is replaced by a new one.
class Table {
public:
    Table() : m_ops(buildTable()) {
        const std::size_t pluginOps = loadedOps();
        m_ops.reserve(m_ops.size() + kMostPluginOps - pluginOps);
        publish();
    }
    std::span<const Op> ops() const noexcept { return {m_ops.data(), m_count.load()}; }
    const Op* find(std::string_view name) const noexcept {
        const Names& names = *m_names.load();
        const auto at = names.find(name);
        return at == names.end() ? nullptr : at->second;
    }
    bool add(const std::vector<std::filesystem::path>& files) {
        const std::lock_guard lock(m_growing);
        std::vector<Op> more =
            loadPlugins(files, [this](std::string_view name) { return find(name) != nullptr; });
        for (Op& op : more) addChecks(op);
        std::move(more.begin(), more.end(), std::back_inserter(m_ops));
        if (!more.empty()) publish();
        return !more.empty();
    }

private:
    static std::size_t loadedOps() {
        std::size_t count = 0;
        for (const Plugin& plugin : loadedPlugins()) count += plugin.ops.size();
        return count;
    }
    void publish() {
        auto names = std::make_unique<Names>();
        for (const Op& op : m_ops) names->emplace(op.name, &op);
        m_names = names.get();
        m_allNames.push_back(std::move(names));
        m_count = m_ops.size();
    }

    std::vector<Op> m_ops; ///< with room for all ops that plug-ins may have
    std::atomic<std::size_t> m_count;
    std::atomic<const Names*> m_names;
    std::vector<std::unique_ptr<const Names>> m_allNames; ///< a reader may still use an old one
    std::mutex m_growing;
};

Table& table() {
    static Table all;
    return all;
}

} // namespace

std::span<const Op> opTable() { return table().ops(); }

const Op* findOp(std::string_view name) noexcept { return table().find(name); }

bool addPlugins(const std::vector<std::filesystem::path>& files) { return table().add(files); }

} // namespace twb
