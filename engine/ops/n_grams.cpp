#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace twb {
namespace {

using Gram = std::vector<std::int64_t>;

/// The n-grams of an op's attributes, by their items: where in the pool each stands.
struct Pool {
    std::map<Gram, std::size_t> grams;
    std::vector<std::int64_t> columns; ///< of the result, by place in the pool
    std::vector<double> weights;       ///< the same; empty: all 1
};

/// `fail` is called with a sentence when the attributes contradict each other.
template <class Fail> Pool poolOf(const Attributes& attributes, const Fail& fail) {
    Pool pool;
    const std::vector<std::int64_t> items = attributes.integers("pool_int64s");
    const std::vector<std::int64_t> starts = attributes.integers("ngram_counts");
    pool.columns = attributes.integers("ngram_indexes");
    if (attributes.has("weights")) pool.weights = attributes.numbers("weights");
    for (std::size_t n = 1; n <= starts.size(); ++n) {
        const std::int64_t begin = starts[n - 1];
        const auto size = static_cast<std::int64_t>(items.size());
        const std::int64_t end = n < starts.size() ? starts[n] : size;
        if (begin < 0 || begin > end || end > size || (end - begin) % static_cast<std::int64_t>(n) != 0)
            fail(fmt::format(
                "ngram_counts says that the {}-grams are items {} to {} of a pool of {}: they must lie "
                "inside of it, {} items each",
                n, begin, end, size, n));
        for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(n)) {
            const auto first = items.begin() + at;
            pool.grams.emplace(Gram(first, first + static_cast<std::int64_t>(n)), pool.grams.size());
        }
    }
    if (pool.columns.size() != pool.grams.size())
        fail(fmt::format("the pool holds {} different n-grams, but ngram_indexes has {} entries",
                         pool.grams.size(), pool.columns.size()));
    if (!pool.weights.empty() && pool.weights.size() != pool.columns.size())
        fail(fmt::format("weights has {} entries for {} n-grams", pool.weights.size(), pool.columns.size()));
    if (std::any_of(pool.columns.begin(), pool.columns.end(), [](std::int64_t c) { return c < 0; }))
        fail("ngram_indexes must not be negative");
    return pool;
}

void inferTfIdf(InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    if (shape.rank() < 1 || shape.rank() > 2)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("X must be one text or a list of texts, 1-D or 2-D, but it is {}-D", shape.rank()));
    const Pool pool =
        poolOf(ctx.attributes(), [&](const std::string& sentence) { ctx.fail("attribute", -1, sentence); });
    const auto last = std::max_element(pool.columns.begin(), pool.columns.end());
    const std::int64_t columns = last == pool.columns.end() ? 0 : *last + 1;
    ctx.output(0, {DType::f32, shape.rank() == 1 ? Shape{columns} : Shape{shape[0], columns}});
}

/// How often each n-gram is in `text`: with up to `skips` items left out between its neighbours.
void countGrams(const Pool& pool, const Attributes& attributes, std::span<const std::int64_t> text,
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
    const Pool pool = poolOf(ctx.attributes, [](const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
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
                   "How often n-grams of a pool are in a text of numbered words");
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
        atLeast(integerAttribute("min_gram_length", 1, "Fewest words of an n-gram"), 1),
        atLeast(integerAttribute("max_gram_length", 1, "Most words of an n-gram"), 1),
        atLeast(integerAttribute("max_skip_count", 0, "Most words left out between neighbours"), 0),
        choiceAttribute("mode", "TF", {"TF", "IDF", "TFIDF"},
                        "TF: counts; IDF: the weight where it occurs; TFIDF: count times weight"),
        required(integersAttribute("ngram_counts", "Where in the pool the 1-grams, 2-grams, … start")),
        required(integersAttribute("ngram_indexes", "The column of the result for each n-gram")),
        required(integersAttribute("pool_int64s", "The words of all n-grams, one after the other")),
        numbersAttribute("weights", "One for each n-gram; absent: 1")};
    op.infer = inferTfIdf;
    op.kernel = tfIdfKernel;
    table.push_back(std::move(op));
}

} // namespace twb
