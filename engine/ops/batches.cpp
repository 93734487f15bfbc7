#include "core/tensor_files.h"
#include "ops/batch_rows.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/philox.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// Which rows of its files a Batches node gives, and in which order.
class RowOrder {
public:
    RowOrder(const Attributes& attributes, std::int64_t rows)
        : m_seed(static_cast<std::uint64_t>(attributes.integer("seed"))),
          m_shuffles(attributes.flag("shuffle")) {
        // The rows that are held out do not depend on the epoch.
        const std::int64_t held = heldRows(attributes, rows);
        m_rows.resize(static_cast<std::size_t>(rows));
        std::iota(m_rows.begin(), m_rows.end(), 0);
        if (held > 0) shuffle(0);
        if (attributes.text("split") == "validation")
            m_rows.erase(m_rows.begin(), m_rows.end() - held);
        else
            m_rows.erase(m_rows.end() - held, m_rows.end());
        std::ranges::sort(m_rows);
        m_sorted = m_rows;
    }

    std::int64_t count() const noexcept { return static_cast<std::int64_t>(m_rows.size()); }

    /// The rows of an epoch in their order.
    const std::vector<std::int64_t>& of(std::int64_t epoch) {
        if (m_shuffles && epoch != m_epoch) {
            m_rows = m_sorted;
            shuffle(static_cast<std::uint64_t>(epoch) + 1);
            m_epoch = epoch;
        }
        return m_rows;
    }

private:
    /// Fisher and Yates, with the random numbers of one stream.
    void shuffle(std::uint64_t stream) {
        for (std::size_t i = m_rows.size(); i > 1; --i) {
            const double u = uniform01<double>(randomWords(m_seed, i, stream));
            std::swap(m_rows[i - 1], m_rows[static_cast<std::size_t>(u * static_cast<double>(i))]);
        }
    }

    std::uint64_t m_seed;
    bool m_shuffles;
    std::int64_t m_epoch = -1;
    std::vector<std::int64_t> m_rows;
    std::vector<std::int64_t> m_sorted;
};

constexpr const char* kPaths[] = {"path", "labels"};

/// The files of the outputs; the labels may be absent.
std::vector<std::string> pathsOf(const Attributes& attributes) {
    std::vector<std::string> out;
    for (const char* name : kPaths)
        if (attributes.has(name) && !attributes.text(name).empty()) out.push_back(attributes.text(name));
    return out;
}

/// The rows from the start of one batch to that of the next.
std::int64_t strideOf(const Attributes& attributes) {
    const std::int64_t stride = attributes.integer("stride");
    return stride > 0 ? stride : attributes.integer("batch_size");
}

void inferBatches(InferContext& ctx) {
    if (!ctx.files())
        ctx.fail("file", -1,
                 "the types of Batches are read from the project's folder: save the project first");
    const Attributes& attributes = ctx.attributes();
    const std::vector<std::string> paths = pathsOf(attributes);
    const std::int64_t size = attributes.integer("batch_size");
    std::int64_t rows = -1;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const TensorType type = ctx.files()->typeOf(paths[i]);
        if (type.shape.rank() == 0)
            ctx.fail("file", -1, fmt::format("\"{}\" is a single number and has no rows", paths[i]));
        if (type.shape[0] == 0) ctx.fail("file", -1, fmt::format("\"{}\" has no rows", paths[i]));
        if (rows >= 0 && type.shape[0] != rows)
            ctx.fail("file", -1,
                     fmt::format("\"{}\" has {} rows, but \"{}\" has {}; each row needs its label", paths[0],
                                 rows, paths[i], type.shape[0]));
        rows = type.shape[0];
        std::vector<std::int64_t> sizes = type.shape.dims();
        sizes[0] = size;
        ctx.output(static_cast<int>(i), {type.dtype, Shape(std::move(sizes))});
    }
    if (paths.size() < 2) ctx.output(1, {DType::i64, Shape{size}});
    const std::int64_t held = heldRows(attributes, rows);
    const bool isHeldOut = attributes.text("split") == "validation";
    const std::int64_t usable = isHeldOut ? held : rows - held;
    const std::int64_t from = attributes.integer("first_row");
    const char* part = isHeldOut ? "validation" : "training";
    if (usable - from < 1)
        ctx.fail(
            "attribute", -1,
            fmt::format("the {} part of \"{}\" has no rows; set validation to a value between 0 and 1, and "
                        "first_row to 0",
                        part, paths[0]));
    const std::int64_t stride = strideOf(attributes);
    if (attributes.integer("offset") + size > stride)
        ctx.fail("attribute", -1,
                 fmt::format(
                     "a batch of {} rows after an offset of {} does not fit into a stride of {} rows; raise "
                     "stride",
                     size, attributes.integer("offset"), stride));
    if (usable - from < stride)
        ctx.fail("attribute", -1,
                 fmt::format(
                     "a batch of {} rows is larger than the {} part of \"{}\", which has {}; set batch_size "
                     "to {} or less",
                     stride, part, paths[0], usable, usable - from));
}

class BatchesState final : public KernelState {
public:
    explicit BatchesState(const KernelContext& ctx) {
        if (!ctx.files)
            throw Error(ErrorCode::io,
                        "Batches cannot read its files: this run has no project folder; save the "
                        "project first");
        for (const std::string& path : pathsOf(ctx.attributes)) files.push_back(ctx.files->rows(path));
        if (files.at(0)->type().shape.rank() == 0)
            throw Error(ErrorCode::badFile, "the data of Batches has no rows");
        order.emplace(ctx.attributes, files[0]->type().shape[0]);
    }

    /// The files may have been replaced since the graph was analysed.
    void requireFit(std::size_t output, const TensorView& out, const std::vector<std::string>& paths) const {
        if (!out.data) return;
        if (output >= files.size())
            throw Error(ErrorCode::invalidArgument,
                        "Batches has no file of labels: set its attribute labels");
        const TensorType& type = files[output]->type();
        bool fits = type.dtype == out.dtype && type.shape.rank() == out.shape.rank() &&
                    type.shape[0] == files[0]->type().shape[0];
        for (int axis = 1; fits && axis < out.shape.rank(); ++axis)
            fits = type.shape[axis] == out.shape[axis];
        if (!fits)
            throw Error(ErrorCode::badFile, fmt::format("\"{}\" has changed and is now {}; reload the graph",
                                                        paths[output], type.toString()));
    }

    std::vector<std::shared_ptr<const TensorRows>> files;
    std::optional<RowOrder> order;
};

void batchesKernel(const KernelContext& ctx) {
    std::unique_ptr<KernelState> own;
    std::unique_ptr<KernelState>& kept = ctx.memory ? ctx.memory->state : own;
    if (!kept) kept = std::make_unique<BatchesState>(ctx);
    auto& state = static_cast<BatchesState&>(*kept);
    const std::int64_t size = ctx.attributes.integer("batch_size");
    const std::int64_t from = ctx.attributes.integer("first_row");
    for (std::size_t i = 0; i < ctx.outputs.size(); ++i)
        state.requireFit(i, ctx.outputs[i], pathsOf(ctx.attributes));
    const std::int64_t stride = strideOf(ctx.attributes);
    const std::int64_t batches = (state.order->count() - from) / stride;
    if (batches < 1)
        throw Error(ErrorCode::badFile,
                    fmt::format("\"{}\" now has too few rows for a batch; reload the graph",
                                pathsOf(ctx.attributes).at(0)));
    const std::vector<std::int64_t>& rows = state.order->of(ctx.iteration / batches);
    const auto first =
        static_cast<std::size_t>(from + ctx.iteration % batches * stride + ctx.attributes.integer("offset"));
    const std::span<const std::int64_t> taken(rows.data() + first, static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < state.files.size() && i < ctx.outputs.size(); ++i)
        if (ctx.outputs[i].data) state.files[i]->read(taken, ctx.outputs[i].data);
}

} // namespace

std::int64_t rowsOf(const std::string& path, const TensorFiles& files) {
    const TensorType type = files.typeOf(path);
    if (type.shape.rank() == 0)
        throw Error(ErrorCode::badFile, fmt::format("\"{}\" is a single number and has no rows", path));
    return type.shape[0];
}

std::int64_t heldRows(const Attributes& batches, std::int64_t rows) {
    return std::llround(batches.number("validation") * static_cast<double>(rows));
}

BatchRows trainingRows(const Attributes& batches, const TensorFiles& files) {
    const std::int64_t all = rowsOf(batches.text("path"), files);
    const std::int64_t first = batches.integer("first_row");
    return {all - heldRows(batches, all) - first, strideOf(batches), batches.flag("drop_last"), first};
}

void addBatches(std::vector<Op>& table) {
    Op op = makeOp("Batches", "Training", 0, "The next rows of a data set, in each iteration", "");
    op.outputs = {port("data", "", kAll), optionalPort("labels", "", kAll)};
    AttributeSpec labels = fileAttribute("labels", "The file with one label per row; absent: none");
    labels.required = false;
    AttributeSpec size = integerAttribute("batch_size", 32, "Rows per batch");
    size.minimum = 1;
    AttributeSpec held = numberAttribute("validation", 0, "Fraction of the rows to hold out for validation");
    held.minimum = 0;
    held.maximum = 1;
    AttributeSpec ahead = integerAttribute(
        "prefetch", 0, "Batches to load ahead on a thread of their own; their copies to a GPU do not block");
    ahead.minimum = 0;
    ahead.maximum = 16;
    AttributeSpec first = integerAttribute("first_row", 0, "Rows to skip at the start of each epoch");
    first.minimum = 0;
    AttributeSpec stride = integerAttribute(
        "stride", 0,
        "Rows from the start of one batch to that of the next; 0: batch_size. Ranks that share "
        "batches have their number of rows here");
    stride.minimum = 0;
    AttributeSpec offset = integerAttribute("offset", 0, "Rows of each batch that are left out at its start");
    offset.minimum = 0;
    op.attributes = {
        fileAttribute("path",
                      "The data, one row per sample: .npy, .npz#name, .safetensors#name, .csv or IDX"),
        std::move(labels),
        std::move(size),
        flagAttribute("shuffle", true, "Shuffle the rows in each epoch"),
        integerAttribute("seed", 0, "The same seed gives the same order and the same split"),
        flagAttribute(
            "drop_last", false,
            "Drop the last incomplete batch of an epoch in a training run; other runs always drop it"),
        std::move(held),
        choiceAttribute("split", "training", {"training", "validation"}, "The part of the rows that is read"),
        std::move(first),
        std::move(stride),
        std::move(offset),
        std::move(ahead)};
    op.readsIteration = true;
    op.infer = inferBatches;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    op.kernel = batchesKernel;
    table.push_back(std::move(op));

    describeOnly(table, "Batches", "→ data [batch_size, …], labels [batch_size]", "needs a file of samples")
        .formula = "data = rows batch_size · i and following of the file";
}

} // namespace twb
