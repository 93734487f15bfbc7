#include "ops/tree_ensemble.h"

#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/ml_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace twb {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw InferError("attribute", -1, sentence); }

/// Throws unless the list has `count` entries, each at least 0 and below `end`.
const Integers& checked(const Integers& list, const char* name, std::size_t count, std::int64_t end) {
    if (list.size() != count)
        refuse(fmt::format("{} has {} entries, but there are {} nodes or leaves of its kind", name,
                           list.size(), count));
    for (const std::int64_t value : list)
        if (value < 0 || value >= end)
            refuse(fmt::format("{} has the entry {}, but its entries must be 0 to {}", name, value, end - 1));
    return list;
}

/// Throws if a walk from a root could come back to a node.
void refuseCycles(const TreeEnsemble& forest) {
    enum class State : std::uint8_t { fresh, open, done };
    std::vector<State> states(forest.nodes.size(), State::fresh);
    std::vector<std::pair<std::int64_t, int>> path; // a node, and how many of its branches were walked
    for (const std::int64_t root : forest.roots) {
        path.emplace_back(root, 0);
        while (!path.empty()) {
            auto& [at, walked] = path.back();
            const auto node = static_cast<std::size_t>(at);
            if (walked == 0 && states[node] == State::done) {
                path.pop_back();
                continue;
            }
            if (walked == 2) {
                states[node] = State::done;
                path.pop_back();
                continue;
            }
            states[node] = State::open;
            const std::int64_t next = walked++ == 0 ? forest.nodes[node].onTrue : forest.nodes[node].onFalse;
            if (next < 0) continue;
            if (states[static_cast<std::size_t>(next)] == State::open)
                refuse(fmt::format("the nodes form a cycle through node {}: each branch must end in a leaf",
                                   next));
            path.emplace_back(next, 0);
        }
    }
}

void inferTreeEnsemble(InferContext& ctx) {
    needRows(ctx);
    const TreeEnsemble forest(ctx.attributes());
    const Shape& x = ctx.input(0)->shape;
    const std::int64_t features = columnsOf(x);
    if (features != kUnknownDim && features < forest.features)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("a node tests feature {}, but X has only {} features", forest.features - 1,
                             features));
    ctx.output(0, {ctx.input(0)->dtype, {rowsOf(x), forest.targets}});
}

void treeEnsembleKernel(const KernelContext& ctx) {
    const TreeEnsemble forest(ctx.attributes);
    const TreeArrays trees{
        forest.nodes.data(),       forest.roots.data(),   std::ssize(forest.roots), forest.leafTargets.data(),
        forest.leafWeights.data(), forest.members.data(), forest.targets,           forest.sum,
        forest.transform};
    const DenseInput in(ctx.inputs[0]);
    const std::int64_t rows = rowsOf(in.shape());
    const std::int64_t features = columnsOf(in.shape());
    withFloat(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        const T* const x = in.as<T>();
        T* const y = ctx.outputs[0].as<T>();
        constexpr std::int64_t depth = 16; // of a usual tree
        parallelRanges(rows, rows * trees.rootCount * depth, 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> scores(static_cast<std::size_t>(forest.targets));
            for (std::int64_t row = begin; row < end; ++row) {
                trees.score(x + row * features, scores.data());
                std::transform(scores.begin(), scores.end(), y + row * forest.targets,
                               [](double score) { return static_cast<T>(score); });
            }
        });
    });
}

AttributeSpec required(AttributeSpec spec) {
    spec.required = true;
    return spec;
}

AttributeSpec choice(const char* name, std::int64_t value, double most, const char* doc) {
    AttributeSpec spec = integerAttribute(name, value, doc);
    spec.minimum = 0;
    spec.maximum = most;
    return spec;
}

std::vector<AttributeSpec> treeAttributes() {
    AttributeSpec targets = integerAttribute("n_targets", 1, "Scores of each row; absent: from the leaves");
    targets.defaultValue.reset();
    targets.minimum = 1;
    return {
        choice("aggregate_function", 1, 3,
               "Of the leaves of all trees. 0: average; 1: sum; 2: minimum; 3: maximum"),
        required(integersAttribute("leaf_targetids", "The score to which each leaf contributes")),
        required(numbersAttribute("leaf_weights", "The contribution of each leaf")),
        numbersAttribute("membership_values",
                         "The members of each set that a node tests, with NaN between sets"),
        std::move(targets),
        required(integersAttribute("nodes_falseleafs", "For each node: 1 if its false branch is a leaf")),
        required(integersAttribute("nodes_falsenodeids", "The node or leaf of each node's false branch")),
        required(integersAttribute("nodes_featureids", "The feature that each node tests")),
        numbersAttribute("nodes_hitrates", "How often each node is reached; has no effect on the scores"),
        integersAttribute("nodes_missing_value_tracks_true",
                          "For each node: 1 if a NaN takes its true branch"),
        required(integersAttribute(
            "nodes_modes", "The test of each node. 0: <=; 1: <; 2: >=; 3: >; 4: ==; 5: !=; 6: member")),
        required(numbersAttribute("nodes_splits", "The number with which each node compares its feature")),
        required(integersAttribute("nodes_trueleafs", "For each node: 1 if its true branch is a leaf")),
        required(integersAttribute("nodes_truenodeids", "The node or leaf of each node's true branch")),
        choice(
            "post_transform", 0, 4,
            "Function of each row of scores. 0: none; 1: softmax; 2: logistic; 3: softmax that keeps zeros; "
            "4: probit"),
        required(integersAttribute("tree_roots", "The first node of each tree"))};
}

} // namespace

TreeEnsemble::TreeEnsemble(const Attributes& attributes) {
    leafTargets = attributes.integers("leaf_targetids");
    leafWeights = attributes.numbers("leaf_weights");
    const Integers& modes = attributes.integers("nodes_modes");
    const std::size_t count = modes.size();
    const auto leaves = std::ssize(leafTargets);
    const auto list = [&](const char* name, std::int64_t end) {
        return checked(attributes.integers(name), name, count, end);
    };
    constexpr std::int64_t anything = std::int64_t{1} << 40;
    if (leafTargets.empty()) refuse("leaf_targetids is empty: list at least one leaf");
    const std::int64_t last = *std::max_element(leafTargets.begin(), leafTargets.end());
    targets = attributes.has("n_targets") ? attributes.integer("n_targets") : last + 1;
    checked(leafTargets, "leaf_targetids", leafWeights.size(), targets);
    checked(modes, "nodes_modes", count, 7);
    roots = attributes.integers("tree_roots");
    checked(roots, "tree_roots", roots.size(), std::ssize(modes));
    if (roots.empty()) refuse("tree_roots is empty: list the first node of at least one tree");
    const Integers tested = list("nodes_featureids", anything);
    const Integers trueLeaf = list("nodes_trueleafs", 2);
    const Integers falseLeaf = list("nodes_falseleafs", 2);
    const Integers onTrue = list("nodes_truenodeids", anything);
    const Integers onFalse = list("nodes_falsenodeids", anything);
    const Integers missing = integersOrNone(attributes, "nodes_missing_value_tracks_true");
    if (!missing.empty()) list("nodes_missing_value_tracks_true", 2);
    const std::vector<double>& splits = attributes.numbers("nodes_splits");
    if (splits.size() != count)
        refuse(fmt::format("nodes_splits has {} entries, but there are {} nodes", splits.size(), count));
    members = numbersOrNone(attributes, "membership_values");
    sum = static_cast<TreeSum>(attributes.integer("aggregate_function"));
    transform = static_cast<ScoreTransform>(attributes.integer("post_transform"));

    auto nextSet = members.begin();
    const auto branch = [&](std::int64_t to, bool isLeaf, const char* name) {
        const std::int64_t end = isLeaf ? leaves : std::ssize(modes);
        if (to >= end)
            refuse(fmt::format("{} has the entry {}, but there are only {} {}", name, to, end,
                               isLeaf ? "leaves" : "nodes"));
        return isLeaf ? -1 - to : to;
    };
    for (std::size_t i = 0; i < count; ++i) {
        TreeNode& node = nodes.emplace_back();
        node.feature = tested[i];
        features = std::max(features, node.feature + 1);
        node.test = static_cast<TreeTest>(modes[i]);
        node.missingIsTrue = !missing.empty() && missing[i] == 1;
        node.onTrue = branch(onTrue[i], trueLeaf[i] == 1, "nodes_truenodeids");
        node.onFalse = branch(onFalse[i], falseLeaf[i] == 1, "nodes_falsenodeids");
        node.split = splits[i];
        if (node.test != TreeTest::member) continue;
        if (nextSet == members.end())
            refuse("membership_values has fewer sets than nodes that test membership");
        const auto end = std::find_if(nextSet, members.end(), [](double value) { return std::isnan(value); });
        node.firstMember = nextSet - members.begin();
        node.memberCount = end - nextSet;
        nextSet = end == members.end() ? end : end + 1;
    }
    refuseCycles(*this);
}

void addTreeEnsemble(std::vector<Op>& table) {
    constexpr DTypeSet types{DType::f32, DType::f64, DType::f16};
    Op op = makeMlOp("TreeEnsemble", 5, "The scores of decision trees for each row of features",
                     "Y = Σ weight of the leaf that each tree reaches", types, types);
    op.inputs[0].typeVariable = op.outputs[0].typeVariable = "T";
    op.attributes = treeAttributes();
    op.tolerance = {1e-6, 1e-6};
    op.infer = inferTreeEnsemble;
    op.kernel = viaFloat<treeEnsembleKernel>;
    op.noGradient = "compares its input with thresholds";
    table.push_back(std::move(op));
    describe(table, "TreeEnsemble", "X [n, features] → Y [n, targets]", {operand({3, 1}, {0.5, 1.5, 2.5})},
             {{"leaf_targetids", Integers{0, 0, 0}},
              {"leaf_weights", Doubles{10, 20, 30}},
              {"nodes_falseleafs", Integers{0, 1}},
              {"nodes_falsenodeids", Integers{1, 2}},
              {"nodes_featureids", Integers{0, 0}},
              {"nodes_modes", Integers{0, 0}},
              {"nodes_splits", Doubles{1, 2}},
              {"nodes_trueleafs", Integers{1, 1}},
              {"nodes_truenodeids", Integers{0, 1}},
              {"tree_roots", Integers{0}}});
}

} // namespace twb
