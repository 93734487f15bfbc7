#include "training/training_metrics.h"

#include "graph/unique_names.h"

#include <cmath>
#include <initializer_list>
#include <utility>

namespace twb {

namespace {

/// The norm of an expression of the elements' indices.
template <class Element> double norm(std::int64_t count, const Element& element) {
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = element(i);
        squares += value * value;
    }
    return std::sqrt(squares);
}

/// Calls `use` with a function from an index to an element. The common type is dispatched once, not per
/// element.
template <class Use> double withElements(const Tensor& tensor, const Use& use) {
    if (tensor.dtype() == DType::f32 && tensor.view().isDense())
        return use([values = static_cast<const float*>(tensor.data())](std::int64_t i) {
            return static_cast<double>(values[i]);
        });
    return use([&](std::int64_t i) { return tensor.at(i); });
}

double normOf(const Tensor& tensor) {
    return withElements(tensor, [&](const auto& at) { return norm(tensor.elementCount(), at); });
}

double distance(const Tensor& a, const Tensor& b) {
    return withElements(a, [&](const auto& inA) {
        return withElements(b, [&](const auto& inB) {
            return norm(a.elementCount(), [&](std::int64_t i) { return inA(i) - inB(i); });
        });
    });
}

} // namespace

ParameterFigures figuresOf(std::string name, const Tensor& gradient, const Tensor* before,
                           const Tensor& after) {
    return {std::move(name), normOf(gradient), normOf(after),
            before ? std::optional(distance(*before, after)) : std::nullopt};
}

void ConfusionMatrix::add(const Tensor& counted) {
    const auto of = counted.values<std::int64_t>();
    counts.resize(of.size() - 1); // the last element counts what is ignored
    classes = std::llround(std::sqrt(static_cast<double>(counts.size())));
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += of[i];
}

std::optional<LabelCounts> addLabelCounts(DeltaBuilder& builder, const Analysis& analysis, NodeId loss) {
    const Node& node = *builder.graph().find(loss);
    if (node.op != "SoftmaxCrossEntropyLoss" && node.op != "NegativeLogLikelihoodLoss") return std::nullopt;
    const auto scores = builder.graph().sourceOf({loss, 0});
    const auto labels = builder.graph().sourceOf({loss, 1});
    if (!scores || !labels) return std::nullopt;

    const LaneId lane = node.lane;
    const Attributes lossAttributes = node.attributes; // changes invalidate the node
    UniqueNames names(builder.graph());
    const auto add = [&](const char* op, Attributes attributes, std::initializer_list<PortRef> inputs) {
        Node added;
        added.op = op;
        added.name = names.take("label counts");
        added.lane = lane;
        added.attributes = std::move(attributes);
        const NodeId id = builder.addNode(std::move(added));
        std::int32_t port = 0;
        for (const PortRef input : inputs) builder.connect({input, {id, port++}});
        return PortRef{id, 0};
    };
    using Sizes = std::vector<std::int64_t>;
    const auto whole = [&](std::int64_t value, Sizes shape) {
        return add("Full",
                   {{"value", static_cast<double>(value)},
                    {"dtype", std::string("i64")},
                    {"shape", std::move(shape)}},
                   {});
    };
    const auto zeros = [&](Sizes shape) {
        return add("Zeros", {{"shape", std::move(shape)}, {"dtype", std::string("i64")}}, {});
    };
    const auto flat = [&](PortRef from) { return add("Reshape", {{"shape", Sizes{-1}}}, {from}); };
    const auto countOf = [&](PortRef flags) {
        return add("ReduceSum", {{"keepdims", false}}, {add("Cast", {{"to", std::string("i64")}}, {flags})});
    };
    // Adds `number` up over the iterations.
    const auto sumOver = [&](PortRef number) {
        const PortRef sum = zeros({});
        add("Assign", {}, {sum, add("Add", {}, {sum, number})});
        return sum;
    };

    const PortRef best = flat(add("ArgMax", {{"axis", std::int64_t{1}}, {"keepdims", false}}, {*scores}));
    const PortRef label = flat(add("Cast", {{"to", std::string("i64")}}, {*labels}));
    std::optional<PortRef> isIgnored;
    if (lossAttributes.has("ignore_index"))
        isIgnored = add("Equal", {}, {label, whole(lossAttributes.integer("ignore_index"), {})});
    PortRef isCorrect = add("Equal", {}, {best, label});
    PortRef counted;
    if (isIgnored) {
        const PortRef isCounted = add("Not", {}, {*isIgnored});
        isCorrect = add("And", {}, {isCorrect, isCounted});
        counted = countOf(isCounted);
    } else {
        counted = add("Size", {}, {label});
    }
    LabelCounts out{sumOver(countOf(isCorrect)), sumOver(counted), std::nullopt};

    const std::optional<TensorType>& scoreType = analysis.typeOf(*scores);
    const std::optional<TensorType>& labelType = analysis.typeOf(*labels);
    if (!scoreType || !scoreType->isKnown() || !labelType || !labelType->isKnown()) return out;
    const std::int64_t classes = scoreType->shape[1];
    if (classes > ConfusionMatrix::kMostClasses) return out;
    PortRef cell = add("Add", {}, {add("Mul", {}, {label, whole(classes, {})}), best});
    if (isIgnored) cell = add("Where", {}, {*isIgnored, whole(classes * classes, {}), cell});
    const PortRef counts = zeros({classes * classes + 1});
    add("Assign", {},
        {counts, add("ScatterElements", {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}},
                     {counts, cell, whole(1, {labelType->shape.elementCount()})})});
    out.confusion = counts;
    return out;
}

} // namespace twb
