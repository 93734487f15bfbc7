#include "graph/known_tensors.h"
#include "graph/unknown_element.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace twb {
namespace {

/// Ops whose result has the shape to which all inputs broadcast.
bool broadcasts(const Op& op) {
    static constexpr std::array<std::string_view, 4> kCategories{"Activation", "Pointwise", "Math", "Logic"};
    return std::find(kCategories.begin(), kCategories.end(), op.category) != kCategories.end() ||
           op.name == "Cast" || op.name == "Identity";
}

/// Ops whose first axis is that of input 0. Pooling of regions has an entry per region.
bool keepsBatch(const Op& op) {
    return op.category == "Convolution" ||
           (op.category == "Pooling" && op.name != "RoiAlign" && op.name != "MaxRoiPool");
}

/// Axes in [0, rank); empty if one is out of range.
std::vector<int> normalized(const std::vector<std::int64_t>& axes, int rank) {
    std::vector<int> out;
    for (const std::int64_t axis : axes) {
        const auto at = normalizeAxis(axis, rank);
        if (!at) return {};
        out.push_back(*at);
    }
    return out;
}

bool contains(const std::vector<int>& axes, int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

} // namespace

int KnownTensors::sizeId(std::optional<PortRef> output, int axis) const noexcept {
    const Facts* facts = output ? find(output->node) : nullptr;
    const auto port = output ? static_cast<std::size_t>(output->port) : 0;
    if (!facts || port >= facts->sizeIds.size() || axis < 0) return 0;
    const std::vector<int>& ids = facts->sizeIds[port];
    const auto at = static_cast<std::size_t>(axis);
    return at < ids.size() ? ids[at] : 0;
}

bool KnownTensors::isSameSize(PortRef a, int axisOfA, PortRef b, int axisOfB) const noexcept {
    const TensorType* first = type(a);
    const TensorType* second = type(b);
    if (!first || !second || axisOfA >= first->shape.rank() || axisOfB >= second->shape.rank()) return false;
    const std::int64_t size = first->shape[axisOfA];
    if (size != second->shape[axisOfB]) return false;
    return size != kUnknownDim || (sizeId(a, axisOfA) > 0 && sizeId(a, axisOfA) == sizeId(b, axisOfB));
}

/// The list that the host reads at `port`, from a constant or the attribute.
std::optional<std::vector<std::int64_t>> KnownTensors::hostList(const Node& node, const Facts& facts,
                                                                int port) const {
    if (const auto from = m_graph.sourceOf({node.id, port})) {
        const Tensor* known = value(*from);
        return known && !holdsFractions(known->dtype()) ? std::optional(known->toIntegers()) : std::nullopt;
    }
    const std::string& name = facts.op->inputAt(port).name;
    return facts.attributes.has(name) ? std::optional(facts.attributes.integers(name)) : std::nullopt;
}

/// The id of an axis to which the inputs broadcast; 0 if it is not known.
int KnownTensors::broadcastId(const Node& node, int axisFromEnd) const {
    int id = 0;
    for (const auto& from : m_graph.inputs(node.id)) {
        const TensorType* in = from ? type(*from) : nullptr;
        const int axis = in ? in->shape.rank() - axisFromEnd : -1;
        if (axis < 0 || in->shape[axis] == 1) continue;
        const int here = sizeId(from, axis);
        if (here == 0 || (id != 0 && id != here)) return 0;
        id = here;
    }
    return id;
}

/// Finds the unknown sizes of the outputs that are sizes of the inputs.
void KnownTensors::identifySizes(const Node& node, Facts& facts) const {
    const Op& op = *facts.op;
    const auto first = m_graph.sourceOf({node.id, 0});
    const TensorType* in = first ? type(*first) : nullptr;
    if (!in || facts.types.empty() || !facts.types[0] || facts.types[0]->isKnown()) return;
    if (op.name == "Reshape") return inferReshape(node, facts);
    const int rank = facts.types[0]->shape.rank();
    const int inRank = in->shape.rank();
    const auto second = m_graph.sourceOf({node.id, 1});
    const TensorType* other = second ? type(*second) : nullptr;
    const Attributes& attributes = facts.attributes;
    const auto idOf = [&](int axis) {
        if (broadcasts(op)) return broadcastId(node, rank - axis);
        if (op.category == "Normalization") return sizeId(first, axis);
        if (op.category == "Reduce") return rank == inRank ? sizeId(first, axis) : 0; // others have size 1
        if (keepsBatch(op) || op.name == "Flatten")
            return axis == 0 && (op.name != "Flatten" || attributes.integer("axis") == 1) ? sizeId(first, 0)
                                                                                          : 0;
        if (op.name == "MatMul") {
            if (!other || inRank < 2 || other->shape.rank() < 2) return 0;
            if (axis == rank - 1) return sizeId(second, other->shape.rank() - 1);
            return axis == rank - 2 ? sizeId(first, inRank - 2) : broadcastId(node, rank - axis);
        }
        if (op.name == "Gemm")
            return axis < rank - 1 ? sizeId(first, attributes.flag("transA") ? 1 : axis)
                                   : sizeId(second, attributes.flag("transB") ? 0 : 1);
        if (op.name == "Attention") // batch, and the queries
            return axis == 0 || axis == rank - 2 ? sizeId(first, axis) : 0;
        if (op.name == "Transpose") {
            if (!attributes.has("perm")) return sizeId(first, rank - 1 - axis);
            const auto perm = attributes.integers("perm");
            return sizeId(first, static_cast<int>(perm[static_cast<std::size_t>(axis)]));
        }
        if (op.name == "Concat" || op.name == "Split" || op.name == "Pad") {
            const bool isPad = op.name == "Pad";
            const auto changed = isPad ? std::nullopt : normalizeAxis(attributes.integer("axis"), rank);
            return changed && *changed != axis ? sizeId(first, axis) : 0;
        }
        if (op.name == "Slice") {
            const auto axes = hostList(node, facts, 3);
            const auto cut = axes ? normalized(*axes, rank) : std::vector<int>();
            return !cut.empty() && !contains(cut, axis) ? sizeId(first, axis) : 0;
        }
        if (op.name == "Unsqueeze" || op.name == "Squeeze") {
            const auto axes = hostList(node, facts, 1);
            const bool adds = op.name == "Unsqueeze";
            const auto changed = axes ? normalized(*axes, adds ? rank : inRank) : std::vector<int>();
            if (changed.empty()) return 0;
            int at = axis; // of the input
            if (adds) {
                at -= static_cast<int>(
                    std::count_if(changed.begin(), changed.end(), [&](int c) { return c < axis; }));
            } else {
                at = -1;
                for (int left = axis; left >= 0; --left) do
                        ++at;
                    while (contains(changed, at));
            }
            return sizeId(first, at);
        }
        if (op.name == "Gather" && other) {
            const auto along = normalizeAxis(attributes.integer("axis"), inRank);
            if (!along) return 0;
            const int indices = other->shape.rank();
            if (axis < *along) return sizeId(first, axis);
            if (axis < *along + indices) return sizeId(second, axis - *along);
            return sizeId(first, axis - indices + 1);
        }
        return 0;
    };
    for (int axis = 0; axis < rank; ++axis) {
        if (facts.types[0]->shape[axis] != kUnknownDim) continue;
        const int id = idOf(axis);
        facts.sizeIds[0][static_cast<std::size_t>(axis)] = id;
        if (op.name != "Split") continue;
        for (std::vector<int>& ids : facts.sizeIds) ids[static_cast<std::size_t>(axis)] = id;
    }
}

/// The sizes of a Reshape: a size with an id cancels the same size of the input, so that the last unknown one
/// follows from the number of elements.
void KnownTensors::inferReshape(const Node& node, Facts& facts) const {
    const auto data = m_graph.sourceOf({node.id, 0});
    const auto list = m_graph.sourceOf({node.id, 1});
    const Facts* given = list && isConstant(*list) ? find(list->node) : nullptr;
    const auto known = hostList(node, facts, 1);
    const std::vector<std::int64_t> wanted = given && given->isPartial ? given->value.toIntegers()
                                             : known                   ? *known
                                                                       : std::vector<std::int64_t>();
    Shape& shape = facts.types[0]->shape;
    std::vector<int>& ids = facts.sizeIds[0];
    if (static_cast<int>(wanted.size()) != shape.rank() || facts.attributes.flag("allowzero")) return;

    const Shape& in = type(*data)->shape;
    std::vector<bool> isUsed(static_cast<std::size_t>(in.rank())); // axes of the input that cancel
    std::optional<int> open;
    int openCount = 0;
    std::int64_t product = 1; // of the known sizes, without those of the input
    const auto multiply = [](std::int64_t& by, std::int64_t size) {
        if (size <= 0 || __builtin_mul_overflow(by, size, &by)) by = 0;
    };
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t size = wanted[static_cast<std::size_t>(axis)];
        int& id = ids[static_cast<std::size_t>(axis)];
        bool cancels = false;
        if (size == 0 && axis < in.rank()) {
            isUsed[static_cast<std::size_t>(axis)] = cancels = true;
            shape[axis] = in[axis];
            id = sizeId(data, axis);
        } else if (isUnknownElement(size)) {
            id = idOfElement(size);
            for (int from = 0; from < in.rank() && id > 0 && !cancels; ++from)
                if (sizeId(data, from) == id && !isUsed[static_cast<std::size_t>(from)])
                    isUsed[static_cast<std::size_t>(from)] = cancels = true;
        } else if (size > 0) {
            shape[axis] = size;
            multiply(product, size);
            cancels = true;
        }
        if (cancels) continue;
        open = axis;
        ++openCount;
    }
    std::int64_t total = 1;
    for (int axis = 0; axis < in.rank(); ++axis)
        if (!isUsed[static_cast<std::size_t>(axis)]) multiply(total, in[axis]);
    if (openCount != 1 || product == 0 || total == 0 || total % product != 0) return;
    shape[*open] = total / product;
    ids[static_cast<std::size_t>(*open)] = 0;
}

std::optional<std::vector<std::int64_t>> KnownTensors::shapeOfReshape(NodeId node) const {
    const Facts* facts = find(node);
    const auto data = m_graph.sourceOf({node, 0});
    if (!data || !facts || !facts->op || facts->op->name != "Reshape" || facts->types.empty() ||
        !facts->types[0] || facts->attributes.flag("allowzero"))
        return std::nullopt;
    std::vector<std::int64_t> out = facts->types[0]->shape.dims();
    int computed = 0;
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
        if (out[axis] == 0) return std::nullopt; // 0 copies a size
        if (out[axis] != kUnknownDim) continue;
        const int id = facts->sizeIds[0][axis];
        if (id > 0 && id == sizeId(data, static_cast<int>(axis)))
            out[axis] = 0;
        else if (++computed > 1)
            return std::nullopt;
    }
    return out;
}

} // namespace twb
