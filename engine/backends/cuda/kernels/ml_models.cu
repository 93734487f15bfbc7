#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/uploaded.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/linear_scores.h"
#include "ops/ml_schema.h"
#include "ops/tree_ensemble.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>

// Linear models and lookup ops of ai.onnx.ml.

namespace twb::cuda {
namespace {

template <class T> struct ScoreRow {
    const T* x;
    const double *coefficients, *intercepts; ///< intercepts null: 0
    double* scores;
    std::int64_t features, targets;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / targets;
        const std::int64_t target = i - row * targets;
        double score = intercepts ? intercepts[target] : 0;
        for (std::int64_t f = 0; f < features; ++f)
            score += static_cast<double>(x[row * features + f]) * coefficients[target * features + f];
        scores[i] = score;
    }
};

struct FinishRow {
    double* scores;
    std::int64_t targets;
    ScoreTransform how;
    const std::int64_t* labels; ///< null: no class is requested
    std::int64_t* chosen;
    float* out; ///< null: not requested
    TWB_HOST_DEVICE void operator()(std::int64_t row) const {
        double* const own = scores + row * targets;
        if (labels) {
            std::int64_t best = 0;
            for (std::int64_t t = 1; t < targets; ++t)
                if (own[best] < own[t]) best = t;
            chosen[row] = labels[best];
        }
        if (!out) return;
        transformScores(own, targets, how);
        for (std::int64_t t = 0; t < targets; ++t) out[row * targets + t] = element::cast<float>(own[t]);
    }
};

void linear(const KernelCall& call, std::int64_t targets, const Uploaded<std::int64_t>* labels,
            std::size_t scoresPort) {
    const DenseView in(call.queue, call.inputs[0]);
    const std::int64_t rows = rowsOf(in.shape());
    const Uploaded<double> coefficients(call.queue, call.attributes.numbers("coefficients"));
    const Uploaded<double> intercepts(call.queue, numbersOrNone(call.attributes, "intercepts"));
    const Scratch scores(call.queue, static_cast<std::size_t>(rows * targets) * sizeof(double));
    withMatrixType(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, rows * targets,
                ScoreRow<T>{in.as<T>(), coefficients.data(), intercepts.data(), scores.as<double>(),
                            columnsOf(in.shape()), targets});
    });
    const bool chooses = labels && call.isAsked(0);
    forEach(call.queue, rows,
            FinishRow{scores.as<double>(), targets, scoreTransformOf(call.attributes.text("post_transform")),
                      chooses ? labels->data() : nullptr,
                      chooses ? call.outputs[0].as<std::int64_t>() : nullptr,
                      call.isAsked(scoresPort) ? call.outputs[scoresPort].as<float>() : nullptr});
}

void linearRegressorKernel(const KernelCall& call) {
    linear(call, call.attributes.integer("targets"), nullptr, 0);
}

void linearClassifierKernel(const KernelCall& call) {
    const Uploaded<std::int64_t> labels(call.queue, call.attributes.integers("classlabels_ints"));
    linear(call, labels.size(), &labels, 1);
}

// Decision trees

/// One row of features.
template <class T> struct ScoreByTrees {
    TreeArrays trees;
    const T* x;
    double* scores;
    std::int64_t features;
    T* y;
    TWB_HOST_DEVICE void operator()(std::int64_t row) const {
        double* const own = scores + row * trees.targets;
        trees.score(x + row * features, own);
        for (std::int64_t t = 0; t < trees.targets; ++t)
            y[row * trees.targets + t] = element::cast<T>(own[t]);
    }
};

void treeEnsembleKernel(const KernelCall& call) {
    const TreeEnsemble forest(call.attributes);
    const Uploaded<TreeNode> nodes(call.queue, forest.nodes);
    const Uploaded<std::int64_t> roots(call.queue, forest.roots);
    const Uploaded<std::int64_t> leafTargets(call.queue, forest.leafTargets);
    const Uploaded<double> leafWeights(call.queue, forest.leafWeights);
    const Uploaded<double> members(call.queue, forest.members);
    const TreeArrays trees{nodes.data(),       roots.data(),       roots.size(),
                           leafTargets.data(), leafWeights.data(), members.data(),
                           forest.targets,     forest.sum,         forest.transform};
    const DenseView in(call.queue, call.inputs[0]);
    const std::int64_t rows = rowsOf(in.shape());
    const Scratch scores(call.queue, static_cast<std::size_t>(rows * forest.targets) * sizeof(double));
    withAny(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half>)
            forEach(call.queue, rows,
                    ScoreByTrees<T>{trees, in.as<T>(), scores.as<double>(), columnsOf(in.shape()),
                                    call.outputs[0].as<T>()});
    });
}

// Lookup in lists

/// Keys in ascending order, each with its value.
template <class V> struct Lookup {
    const std::int64_t* keys;
    const V* values;
    std::int64_t count;
    /// The position of `key`, or -1.
    TWB_HOST_DEVICE std::int64_t find(std::int64_t key) const {
        std::int64_t low = 0;
        std::int64_t high = count;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (keys[middle] < key)
                low = middle + 1;
            else
                high = middle;
        }
        return low < count && keys[low] == key ? low : -1;
    }
};

template <class V> class UploadedLookup {
public:
    UploadedLookup(Queue& queue, const std::map<std::int64_t, V>& entries)
        : m_keys(queue, listOf<std::int64_t>(entries, [](const auto& entry) { return entry.first; })),
          m_values(queue, listOf<V>(entries, [](const auto& entry) { return entry.second; })) {}
    Lookup<V> lookup() const { return {m_keys.data(), m_values.data(), m_keys.size()}; }

private:
    template <class T, class Of>
    static std::vector<T> listOf(const std::map<std::int64_t, V>& entries, const Of& of) {
        std::vector<T> list;
        for (const auto& entry : entries) list.push_back(of(entry));
        return list;
    }
    Uploaded<std::int64_t> m_keys;
    Uploaded<V> m_values;
};

template <class T> struct MarkCategory {
    const T* x;
    float* y; ///< zeros
    Lookup<std::int64_t> places;
    std::int64_t categories;
    Fault* fault; ///< null: unknown categories become zeros
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        std::int64_t at = -1;
        bool isWhole = true;
        if constexpr (std::is_floating_point_v<T>) isWhole = std::fabs(x[i]) < static_cast<T>(0x1p63);
        if (isWhole) at = places.find(static_cast<std::int64_t>(x[i]));
        if (at >= 0)
            y[i * categories + places.values[at]] = 1;
        else if (fault)
            raise(fault, Fault::noCategory, std::bit_cast<std::int64_t>(static_cast<double>(x[i])),
                  std::is_same_v<T, float> ? 1 : 0, categories);
    }
};

void oneHotEncoderKernel(const KernelCall& call) {
    const std::vector<std::int64_t> categories = call.attributes.integers("cats_int64s");
    std::map<std::int64_t, std::int64_t> entries; // for equal keys, the last one
    for (std::size_t i = 0; i < categories.size(); ++i) entries[categories[i]] = static_cast<std::int64_t>(i);
    const UploadedLookup<std::int64_t> places(call.queue, entries);
    const DenseView in(call.queue, call.inputs[0]);
    const TensorView& out = call.outputs[0];
    constexpr float zero = 0;
    fillView(call.queue, out, &zero);
    withMatrixType(in.view().dtype, [&](auto none) {
        using T = decltype(none);
        forEach(call.queue, in.shape().elementCount(),
                MarkCategory<T>{in.as<T>(), out.as<float>(), places.lookup(),
                                static_cast<std::int64_t>(categories.size()),
                                call.attributes.flag("zeros") ? nullptr : call.queue.fault()});
    });
}

/// The bits of a float. Keys are compared by bits, so NaN can be a key; −0 and 0 are one key.
TWB_HOST_DEVICE inline std::int64_t keyOf(float x) {
    if (x == 0) return 0;
    return x != x ? 0x7fc00000 : std::int64_t{std::bit_cast<std::uint32_t>(x)};
}
TWB_HOST_DEVICE inline std::int64_t keyOf(std::int64_t x) { return x; }

template <class V> struct TakeValue {
    Lookup<V> lookup;
    V otherwise;
    template <class T> TWB_HOST_DEVICE V operator()(T x) const {
        const std::int64_t at = lookup.find(keyOf(x));
        return at < 0 ? otherwise : lookup.values[at];
    }
};

void labelEncoderKernel(const KernelCall& call) {
    std::vector<std::int64_t> keys = integersOrNone(call.attributes, "keys_int64s");
    for (const double key : numbersOrNone(call.attributes, "keys_floats"))
        keys.push_back(keyOf(element::cast<float>(key)));
    const auto map = [&](const auto& values, auto otherwise) {
        using V = decltype(otherwise);
        std::map<std::int64_t, V> entries;
        for (std::size_t i = 0; i < keys.size(); ++i) entries[keys[i]] = element::cast<V>(values[i]);
        const UploadedLookup<V> list(call.queue, entries);
        const TakeValue<V> take{list.lookup(), otherwise};
        if (call.inputs[0].dtype == DType::f32)
            mapElements<float, V>(call.queue, call.inputs[0], call.outputs[0], take);
        else
            mapElements<std::int64_t, V>(call.queue, call.inputs[0], call.outputs[0], take);
    };
    if (call.outputs[0].dtype == DType::f32)
        map(call.attributes.numbers("values_floats"),
            element::cast<float>(call.attributes.number("default_float")));
    else
        map(call.attributes.integers("values_int64s"), call.attributes.integer("default_int64"));
}

} // namespace

void addMlModelKernels(KernelMap& table) {
    add(table, "LinearRegressor", linearRegressorKernel);
    add(table, "LinearClassifier", linearClassifierKernel);
    add(table, "TreeEnsemble", treeEnsembleKernel);
    add(table, "OneHotEncoder", oneHotEncoderKernel);
    add(table, "LabelEncoder", labelEncoderKernel);
}

} // namespace twb::cuda
