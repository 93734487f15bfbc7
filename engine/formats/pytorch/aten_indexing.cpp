#include "formats/pytorch/aten_mapping.h"

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

Attributes along(int axis) { return {{"axis", std::int64_t{axis}}}; }

/// PyTorch reads indices that are on the CPU wherever the tensor is.
Value indexFor(Mapping& m, const Value& index, const Value& of) {
    return index.device.isCpu() ? m.onDevice(index, of.device) : index;
}

/// Several index tensors, which broadcast, as the rows of one index tensor for GatherND and ScatterND.
Value rowsOf(Mapping& m, const std::vector<Value>& indices) {
    Shape common = indices.front().type.shape;
    for (const Value& index : indices) {
        const auto both = broadcast(common, index.type.shape);
        if (!both) Mapping::refuse("its indices do not broadcast");
        common = *both;
    }
    Mapping::Inputs columns;
    for (const Value& index : indices)
        columns.emplace_back(
            m.unsqueeze(m.expand(m.cast(index, DType::i64), common), std::int64_t{common.rank()}));
    return columns.size() == 1 ? *columns.front() : m.make("Concat", columns, along(common.rank()));
}

/// A bool mask as the rows of the indices at which it is true.
Value rowsOfMask(Mapping& m, const Value& mask) {
    return m.make("Transpose", {m.make("NonZero", {mask})}, {{"perm", Ints{1, 0}}});
}

/// The indices of `index` and `index_put` without None, and the dimension of the first one. They must be of
/// consecutive dimensions.
std::vector<Value> indicesOf(Mapping& m, const Value& of, int& first) {
    std::vector<Value> indices;
    first = -1;
    int at = 0;
    bool isOver = false;
    for (const auto& index : m.optionalTensors("indices")) {
        if (index) {
            if (isOver) Mapping::refuse("its indices are not of neighbouring dimensions");
            if (first < 0) first = at;
            indices.push_back(indexFor(m, *index, of));
        } else if (first >= 0) {
            isOver = true;
        }
        ++at;
    }
    if (indices.empty()) Mapping::refuse("it has no indices");
    return indices;
}

bool isMask(const Value& index) {
    return index.type.dtype == DType::boolean || index.type.dtype == DType::u8;
}

void index(Mapping& m) {
    const Value x = m.tensor("self");
    int first = 0;
    const std::vector<Value> indices = indicesOf(m, x, first);
    const bool isOne = indices.size() == 1;
    if (isOne && !isMask(indices[0]))
        return m.give(m.make("Gather", {x, m.cast(indices[0], DType::i64)}, along(first)));
    if (first != 0) Mapping::refuse("its indices do not begin at the first dimension");
    if (isOne) {
        const Value mask = m.cast(indices[0], DType::boolean);
        return m.give(m.make("GatherND", {x, rowsOfMask(m, mask)}));
    }
    for (const Value& i : indices)
        if (isMask(i)) Mapping::refuse("it has a mask among other indices");
    m.give(m.make("GatherND", {x, rowsOf(m, indices)}));
}

void indexPut(Mapping& m) {
    const Value x = m.tensor("self");
    Value values = m.cast(m.tensor("values"), x.type.dtype);
    const bool adds = m.flag("accumulate", false);
    int first = 0;
    const std::vector<Value> indices = indicesOf(m, x, first);
    if (first != 0) Mapping::refuse("its indices do not begin at the first dimension");
    if (indices.size() == 1 && isMask(indices[0])) {
        Value mask = m.cast(indices[0], DType::boolean);
        if (adds || values.type.shape.rank() > 0)
            Mapping::refuse("it assigns or adds a tensor through a mask");
        std::vector<std::int64_t> dims = mask.type.shape.dims();
        while (dims.size() < static_cast<std::size_t>(x.type.shape.rank())) dims.push_back(1);
        mask = m.reshape(mask, Shape(dims));
        return m.give(m.make("Where", {mask, values, x}));
    }
    for (const Value& i : indices)
        if (isMask(i)) Mapping::refuse("it has a mask among other indices");
    values = m.onDevice(values, x.device); // PyTorch copies a scalar on the CPU
    const Value rows = rowsOf(m, indices);
    std::vector<std::int64_t> dims = rows.type.shape.dims();
    dims.pop_back();
    for (int i = static_cast<int>(indices.size()); i < x.type.shape.rank(); ++i)
        dims.push_back(x.type.shape[i]);
    m.give(m.make("ScatterND", {x, rows, m.expand(values, Shape(dims))},
                  {{"reduction", std::string(adds ? "add" : "none")}}));
}

void indexSelect(Mapping& m) {
    const Value x = m.tensor("self");
    m.give(m.make("Gather", {x, m.tensor("index")}, along(m.axis("dim", x))));
}

void gather(Mapping& m) {
    const Value x = m.tensor("self");
    m.give(m.make("GatherElements", {x, m.tensor("index")}, along(m.axis("dim", x))));
}

void scatterInto(Mapping& m, const std::string& reduction) {
    const Value x = m.tensor("self");
    const Value at = m.tensor("index");
    const char* source = m.has("src") ? "src" : "value";
    Value updates = m.operand(source, x.type.dtype);
    if (!m.isTensor(source)) updates = m.expand(updates, at.type.shape);
    for (int i = 0; i < at.type.shape.rank() && i < updates.type.shape.rank(); ++i)
        updates = m.slice(updates, i, 0, at.type.shape[i]);
    Attributes attributes = along(m.axis("dim", x));
    attributes.set("reduction", reduction);
    m.give(m.make("ScatterElements", {x, at, updates}, attributes));
}

void scatter(Mapping& m) {
    const std::string reduce = m.text("reduce", "none");
    scatterInto(m, reduce == "multiply" ? "mul" : reduce);
}

void indexAdd(Mapping& m) {
    const Value x = m.tensor("self");
    if (m.axis("dim", x) != 0) Mapping::refuse("it adds along a dimension other than the first");
    const Value rows = rowsOf(m, {m.tensor("index")});
    m.give(m.make("ScatterND", {x, rows, m.scaled(m.tensor("source"), m.number("alpha", 1))},
                  {{"reduction", std::string("add")}}));
}

void maskedSelect(Mapping& m) {
    const Value x = m.tensor("self");
    const auto both = broadcast(x.type.shape, m.tensor("mask").type.shape);
    if (!both) Mapping::refuse("its mask does not broadcast");
    const Value mask = m.expand(m.cast(m.tensor("mask"), DType::boolean), *both);
    m.give(m.make("GatherND", {m.expand(x, *both), rowsOfMask(m, mask)}));
}

void nonzero(Mapping& m) { m.give(rowsOfMask(m, m.tensor("self"))); }

void embedding(Mapping& m) { m.give(m.make("Gather", {m.tensor("weight"), m.tensor("indices")}, along(0))); }

void oneHot(Mapping& m) {
    const Value x = m.tensor("self");
    m.give(m.make("OneHot", {x, std::nullopt, m.constant(Ints{0, 1})},
                  {{"depth", m.shape()[m.shape().rank() - 1]}, {"axis", std::int64_t{-1}}}));
}

void topk(Mapping& m) {
    const Value x = m.tensor("self");
    const auto made = m.makeAll("TopK", {x},
                                {{"K", m.integer("k")},
                                 {"axis", std::int64_t{m.axis("dim", x, -1)}},
                                 {"largest", m.flag("largest", true)},
                                 {"sorted", m.flag("sorted", true)}});
    m.give(0, made[0]);
    m.give(1, made[1]);
}

std::vector<Value> sorted(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, -1);
    if (x.type.shape.rank() == 0) Mapping::refuse("it sorts a scalar");
    return m.makeAll("TopK", {x},
                     {{"K", x.type.shape[axis]},
                      {"axis", std::int64_t{axis}},
                      {"largest", m.flag("descending", false)},
                      {"sorted", true}});
}

} // namespace

void addIndexing(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    row("index", index);
    rows.push_back({"index_put", indexPut, true});
    row("_unsafe_index", index);
    rows.push_back({"_index_put_impl", indexPut, true});
    row("index_select", indexSelect);
    row("gather", gather);
    row("scatter", scatter);
    row("scatter_add", [](Mapping& m) { scatterInto(m, "add"); });
    row("index_add", indexAdd);
    row("masked_select", maskedSelect);
    row("nonzero", nonzero);
    row("embedding", embedding);
    row("one_hot", oneHot);
    row("topk", topk);
    row("sort", [](Mapping& m) {
        const auto made = sorted(m);
        m.give(0, made[0]);
        m.give(1, made[1]);
    });
    row("argsort", [](Mapping& m) { m.give(sorted(m)[1]); });
}

} // namespace twb::aten
