#pragma once

#include "core/attributes.h"
#include "ops/element_functions.h"
#include "ops/linear_scores.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace twb {

struct Op;

// Decision trees of ai.onnx.ml. The host and the GPU share the walk through the trees.

enum class TreeTest : std::uint8_t { leq, less, geq, greater, equal, notEqual, member };
enum class TreeSum : std::uint8_t { average, sum, minimum, maximum };

/// A node that tests one feature. A branch is the index of the next node, or -1 - i for leaf i.
struct TreeNode {
    std::int64_t feature = 0;
    TreeTest test = TreeTest::leq;
    bool missingIsTrue = false; ///< a NaN takes the true branch
    std::int64_t onTrue = -1, onFalse = -1;
    double split = 0;
    std::int64_t firstMember = 0, memberCount = 0;
};

/// The arrays of a forest, in the memory of the host or of a GPU.
struct TreeArrays {
    const TreeNode* nodes = nullptr;
    const std::int64_t* roots = nullptr;
    std::int64_t rootCount = 0;
    const std::int64_t* leafTargets = nullptr;
    const double* leafWeights = nullptr;
    const double* members = nullptr;
    std::int64_t targets = 1;
    TreeSum sum = TreeSum::sum;
    ScoreTransform transform = ScoreTransform::none;

    TWB_HOST_DEVICE bool isTrue(const TreeNode& node, double x) const {
        if (x != x && node.missingIsTrue) return true;
        switch (node.test) {
        case TreeTest::leq:
            return x <= node.split;
        case TreeTest::less:
            return x < node.split;
        case TreeTest::geq:
            return x >= node.split;
        case TreeTest::greater:
            return x > node.split;
        case TreeTest::equal:
            return x == node.split;
        case TreeTest::notEqual:
            return x != node.split;
        case TreeTest::member:
            break;
        }
        for (std::int64_t i = 0; i < node.memberCount; ++i)
            if (members[node.firstMember + i] == x) return true;
        return false;
    }

    /// The scores of one row of features. A minimum or maximum over no leaf is 0.
    template <class T> TWB_HOST_DEVICE void score(const T* x, double* scores) const {
        const bool adds = sum == TreeSum::sum || sum == TreeSum::average;
        for (std::int64_t t = 0; t < targets; ++t)
            scores[t] = adds ? 0 : std::numeric_limits<double>::quiet_NaN(); // NaN: no leaf yet
        for (std::int64_t tree = 0; tree < rootCount; ++tree) {
            std::int64_t at = roots[tree];
            while (at >= 0) {
                const TreeNode& node = nodes[at];
                at = isTrue(node, element::cast<double>(x[node.feature])) ? node.onTrue : node.onFalse;
            }
            const double weight = leafWeights[-1 - at];
            double& score = scores[leafTargets[-1 - at]];
            if (adds)
                score += weight;
            else if (score != score || (sum == TreeSum::minimum ? weight < score : score < weight))
                score = weight;
        }
        for (std::int64_t t = 0; t < targets; ++t) {
            if (sum == TreeSum::average) scores[t] /= static_cast<double>(rootCount);
            if (!adds && scores[t] != scores[t]) scores[t] = 0;
        }
        transformScores(scores, targets, transform);
    }
};

/// The forest that the attributes of a TreeEnsemble describe.
struct TreeEnsemble {
    /// Throws InferError for attributes that do not fit each other, or nodes that form a cycle.
    explicit TreeEnsemble(const Attributes& attributes);

    std::vector<TreeNode> nodes;
    std::vector<std::int64_t> roots, leafTargets;
    std::vector<double> leafWeights, members;
    std::int64_t targets = 1;
    std::int64_t features = 0; ///< 1 + the largest feature that a node tests
    TreeSum sum = TreeSum::sum;
    ScoreTransform transform = ScoreTransform::none;
};

void addTreeEnsemble(std::vector<Op>& table);

} // namespace twb
