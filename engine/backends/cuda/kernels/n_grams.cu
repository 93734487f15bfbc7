#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/indices.h"
#include "backends/cuda/kernels/uploaded.h"
#include "ops/n_gram_pool.h"

namespace twb::cuda {
namespace {

// TfIdfVectorizer: one thread per column of each text searches the text for each n-gram of the column.

/// The n-grams of a pool, sorted by their column, then by their place in the pool.
struct SortedPool {
    std::vector<std::int64_t> items;
    std::vector<std::int64_t> starts;  ///< the start of each n-gram in `items`, and the total
    std::vector<std::int64_t> columns; ///< the first n-gram of each column, and the total
    std::vector<double> weights;

    SortedPool(const GramPool& pool, std::int64_t columnCount, bool isWeighted) {
        std::vector<const Gram*> byPlace(pool.grams.size());
        for (const auto& [gram, place] : pool.grams) byPlace[place] = &gram;
        std::vector<std::vector<std::size_t>> places(static_cast<std::size_t>(columnCount));
        for (std::size_t place = 0; place < byPlace.size(); ++place)
            places[static_cast<std::size_t>(pool.columns[place])].push_back(place);
        for (const std::vector<std::size_t>& ofColumn : places) {
            columns.push_back(static_cast<std::int64_t>(starts.size()));
            for (const std::size_t place : ofColumn) {
                starts.push_back(static_cast<std::int64_t>(items.size()));
                items.insert(items.end(), byPlace[place]->begin(), byPlace[place]->end());
                weights.push_back(isWeighted ? pool.weights[place] : 1);
            }
        }
        columns.push_back(static_cast<std::int64_t>(starts.size()));
        starts.push_back(static_cast<std::int64_t>(items.size()));
    }
};

template <class I> struct CountGrams {
    IndexView<I> texts;
    std::int64_t length, columnCount;
    const std::int64_t *items, *starts, *columns;
    const double* weights;
    std::int64_t shortest, longest, skips;
    bool onlyWhether; ///< 1 if the n-gram occurs, not its count
    float* out;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / columnCount;
        const std::int64_t column = i - row * columnCount;
        float sum = 0;
        for (std::int64_t gram = columns[column]; gram < columns[column + 1]; ++gram) {
            double count = countOf(row * length, items + starts[gram], starts[gram + 1] - starts[gram]);
            if (onlyWhether && count > 1) count = 1;
            sum += static_cast<float>(count * weights[gram]);
        }
        out[i] = sum;
    }

    /// The number of occurrences of `gram`, which has n items, in a text, with up to `skips` items left out
    /// between neighbours.
    TWB_HOST_DEVICE double countOf(std::int64_t text, const std::int64_t* gram, std::int64_t n) const {
        double count = 0;
        if (n < shortest || n > longest || n > length) return count;
        for (std::int64_t step = 1; step <= (n == 1 ? 1 : skips + 1) && (n - 1) * step < length; ++step)
            for (std::int64_t start = 0; start + (n - 1) * step < length; ++start) {
                std::int64_t alike = 0;
                while (alike < n && texts[text + start + alike * step] == gram[alike]) ++alike;
                if (alike == n) count += 1;
            }
        return count;
    }
};

void tfIdfKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const GramPool pool = gramPoolOf(call.attributes);
    const std::string& mode = call.attributes.text("mode");
    const std::int64_t columnCount = out.shape[out.shape.rank() - 1];
    const SortedPool sorted(pool, columnCount, !pool.weights.empty() && mode != "TF");
    const Uploaded<std::int64_t> items(call.queue, sorted.items);
    const Uploaded<std::int64_t> starts(call.queue, sorted.starts);
    const Uploaded<std::int64_t> columns(call.queue, sorted.columns);
    const Uploaded<double> weights(call.queue, sorted.weights);
    withIndices(in, [&](const auto& texts) {
        using I = typename std::decay_t<decltype(texts)>::Index;
        forEach(call.queue, out.elementCount(),
                CountGrams<I>{texts, in.shape[in.shape.rank() - 1], columnCount, items.data(), starts.data(),
                              columns.data(), weights.data(), call.attributes.integer("min_gram_length"),
                              call.attributes.integer("max_gram_length"),
                              call.attributes.integer("max_skip_count"), mode == "IDF", out.as<float>()});
    });
}

} // namespace

void addNGramKernels(KernelMap& table) { add(table, "TfIdfVectorizer", tfIdfKernel); }

} // namespace twb::cuda
