#include "backends/cpu/elementwise.h"
#include "core/error.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/n_gram_pool.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace twb {
namespace {

void inferTfIdf(InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    if (shape.rank() < 1 || shape.rank() > 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("X must be one sequence or a batch of sequences, 1-D or 2-D, but it is {}-D",
                             shape.rank()));
    GramPool pool;
    try {
        pool = gramPoolOf(ctx.attributes());
    } catch (const Error& error) {
        ctx.fail("attribute", -1, error.what());
    }
    const auto last = std::max_element(pool.columns.begin(), pool.columns.end());
    const std::int64_t columns = last == pool.columns.end() ? 0 : *last + 1;
    ctx.output(0, {DType::f32, shape.rank() == 1 ? Shape{columns} : Shape{shape[0], columns}});
}

/// The number of occurrences of each n-gram in `text`, with up to `skips` items left out between neighbours.
void countGrams(const GramPool& pool, const Attributes& attributes, std::span<const std::int64_t> text,
                std::vector<double>& counts) {
    const std::int64_t longest = attributes.integer("max_gram_length");
    const std::int64_t skips = attributes.integer("max_skip_count");
    const auto length = static_cast<std::int64_t>(text.size());
    Gram gram;
    for (std::int64_t n = attributes.integer("min_gram_length"); n <= std::min(longest, length); ++n)
        for (std::int64_t step = 1; step <= (n == 1 ? 1 : skips + 1) && (n - 1) * step < length; ++step)
            for (std::int64_t start = 0; start + (n - 1) * step < length; ++start) {
                gram.clear();
                for (std::int64_t i = 0; i < n; ++i)
                    gram.push_back(text[static_cast<std::size_t>(start + i * step)]);
                if (const auto known = pool.grams.find(gram); known != pool.grams.end())
                    ++counts[known->second];
            }
}

void tfIdfKernel(const KernelContext& ctx) {
    const GramPool pool = gramPoolOf(ctx.attributes);
    const std::string& mode = ctx.attributes.text("mode");
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const std::int64_t rows = in.shape.rank() == 1 ? 1 : in.shape[0];
    const std::int64_t length = in.shape[in.shape.rank() - 1];
    const std::int64_t columns = out.shape[out.shape.rank() - 1];
    const Tensor wide = Tensor::onHost({DType::i64, in.shape});
    withInteger(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, std::int64_t>(in, wide.view(), [](T x) { return static_cast<std::int64_t>(x); });
    });
    const auto* texts = wide.view().as<const std::int64_t>();
    auto* result = out.as<float>();
    std::fill_n(result, out.elementCount(), 0.0F);
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<double> counts(pool.columns.size(), 0);
        countGrams(pool, ctx.attributes, {texts + row * length, static_cast<std::size_t>(length)}, counts);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const double weight = pool.weights.empty() || mode == "TF" ? 1 : pool.weights[i];
            const double count = mode == "IDF" ? std::min(counts[i], 1.0) : counts[i];
            result[row * columns + pool.columns[i]] += static_cast<float>(count * weight);
        }
    }
}

} // namespace

void addNGrams(std::vector<Op>& table) {
    Op op = makeOp("TfIdfVectorizer", "Selection", 9,
                   "Counts how often each n-gram of a pool occurs in a sequence of word ids");
    op.inputs = {port("X", "input", kIndices)};
    op.outputs = {port("Y", "", DTypeSet{DType::f32})};
    const auto atLeast = [](AttributeSpec spec, double minimum) {
        spec.minimum = minimum;
        return spec;
    };
    const auto required = [](AttributeSpec spec) {
        spec.required = true;
        return spec;
    };
    op.attributes = {
        atLeast(integerAttribute("min_gram_length", 1, "Minimum length of an n-gram"), 1),
        atLeast(integerAttribute("max_gram_length", 1, "Maximum length of an n-gram"), 1),
        atLeast(integerAttribute("max_skip_count", 0, "Maximum number of skipped words between neighbours"),
                0),
        choiceAttribute("mode", "TF", {"TF", "IDF", "TFIDF"},
                        "TF: counts; IDF: the weight where it occurs; TFIDF: count times weight"),
        required(integersAttribute("ngram_counts", "Start of the 1-grams, 2-grams, … in the pool")),
        required(integersAttribute("ngram_indexes", "The column of the result for each n-gram")),
        required(integersAttribute("pool_int64s", "The word ids of all n-grams, one after the other")),
        numbersAttribute("weights", "Weight of each n-gram; absent: 1")};
    op.infer = inferTfIdf;
    op.kernel = tfIdfKernel;
    table.push_back(std::move(op));

    describe(table, "TfIdfVectorizer", "X [t] or [n, t] → Y [k] or [n, k]",
             {operand({6}, {2, 3, 5, 4, 5, 6}, DType::i64)},
             {{"min_gram_length", std::int64_t{2}},
              {"max_gram_length", std::int64_t{2}},
              {"ngram_counts", Integers{0, 4}},
              {"ngram_indexes", Integers{0, 1, 2, 3, 4, 5, 6}},
              {"pool_int64s", Integers{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}})
        .formula = "Y[k] = count of n-gram k in X, times its weight in modes IDF and TFIDF";
}

} // namespace twb
