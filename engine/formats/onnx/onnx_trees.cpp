#include "formats/onnx/onnx_trees.h"

#include "formats/onnx/onnx_nodes.h"
#include "formats/onnx/onnx_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using ElementTypes = std::unordered_map<std::string, std::int32_t>; ///< by tensor, ONNX's codes

/// Why a node stays as it is.
class Unsupported : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

constexpr const char* kDomain = "ai.onnx.ml";

bool isOldEnsemble(const NodeProto& node) {
    return node.domain() == kDomain &&
           (node.op_type() == "TreeEnsembleClassifier" || node.op_type() == "TreeEnsembleRegressor");
}

Integers integersOf(const NodeProto& node, const std::string& name) {
    const AttributeProto* given = attributeOf(node, name);
    return given ? Integers(given->ints().begin(), given->ints().end()) : Integers();
}

/// A list of floats, or of version 3 a tensor with a name of its own.
Numbers numbersOf(const NodeProto& node, const std::string& name) {
    if (const AttributeProto* given = attributeOf(node, name + "_as_tensor"); given && given->has_t()) {
        const Tensor tensor = tensorFromProto(given->t(), {}, name); // loadTensors() was called
        Numbers out;
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i) out.push_back(tensor.at(i));
        return out;
    }
    const AttributeProto* given = attributeOf(node, name);
    return given ? Numbers(given->floats().begin(), given->floats().end()) : Numbers();
}

std::string textOf(const NodeProto& node, const std::string& name, const char* standard) {
    const AttributeProto* given = attributeOf(node, name);
    return given && !given->s().empty() ? given->s() : std::string(standard);
}

/// The code of a test in TreeEnsemble's nodes_modes.
std::int64_t testOf(const std::string& mode) {
    constexpr const char* modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                     "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const auto* const found = std::find(std::begin(modes), std::end(modes), mode);
    if (found == std::end(modes)) throw Unsupported(fmt::format("it has a node of the mode \"{}\"", mode));
    return found - std::begin(modes);
}

/// A contribution of a leaf to a score.
struct Weight {
    std::int64_t target = 0;
    double value = 0;
};

/// The trees of a node, and TreeEnsemble's lists for them.
class Forest {
public:
    /// `kind`: the prefix of the attributes with the leaves' weights.
    Forest(const NodeProto& node, const std::string& kind, std::string aggregate)
        : m_aggregate(std::move(aggregate)), m_features(integersOf(node, "nodes_featureids")),
          m_onTrue(integersOf(node, "nodes_truenodeids")), m_onFalse(integersOf(node, "nodes_falsenodeids")),
          m_missing(integersOf(node, "nodes_missing_value_tracks_true")),
          m_values(numbersOf(node, "nodes_values")) {
        if (const AttributeProto* given = attributeOf(node, "nodes_modes"))
            m_modes.assign(given->strings().begin(), given->strings().end());
        const Integers trees = integersOf(node, "nodes_treeids");
        const Integers ids = integersOf(node, "nodes_nodeids");
        const std::size_t count = m_modes.size();
        for (const std::size_t length : {trees.size(), ids.size(), m_features.size(), m_onTrue.size(),
                                         m_onFalse.size(), m_values.size()})
            if (length != count) throw Unsupported("its lists of nodes differ in length");
        if (!m_missing.empty() && m_missing.size() != count)
            throw Unsupported("its lists of nodes differ in length");
        for (std::size_t i = 0; i < count; ++i) {
            m_trees[trees[i]].push_back(i);
            if (!m_places.emplace(std::pair(trees[i], ids[i]), i).second)
                throw Unsupported(fmt::format("node {} of tree {} is listed twice", ids[i], trees[i]));
        }
        if (m_trees.empty()) throw Unsupported("it has no trees");
        readWeights(node, kind);
        for (const auto& [tree, nodes] : m_trees) addTree(tree, nodes);
    }

    /// Whether a sum of several trees stands for each tree.
    bool isCopied() const { return m_roots.size() > m_trees.size(); }
    std::size_t trees() const { return m_trees.size(); }
    std::set<std::int64_t> targets() const {
        std::set<std::int64_t> out;
        for (const auto& [place, weights] : m_weights)
            for (const Weight& weight : weights) out.insert(weight.target);
        return out;
    }
    bool hasNegativeWeight() const {
        return std::any_of(m_leafWeights.begin(), m_leafWeights.end(), [](double w) { return w < 0; });
    }

    /// Writes the lists as attributes.
    void writeTo(NodeProto& node) const {
        const auto integers = [&](const char* name, const Integers& list) {
            AttributeProto& attribute = *node.add_attribute();
            attribute.set_name(name);
            attribute.set_type(AttributeProto::INTS);
            attribute.mutable_ints()->Add(list.begin(), list.end());
        };
        const auto numbers = [&](const char* name, const Numbers& list) {
            AttributeProto& attribute = *node.add_attribute();
            attribute.set_name(name);
            attribute.set_type(AttributeProto::TENSOR);
            TensorProto& tensor = *attribute.mutable_t();
            tensor.set_data_type(TensorProto::DOUBLE);
            tensor.add_dims(static_cast<std::int64_t>(list.size()));
            tensor.mutable_double_data()->Add(list.begin(), list.end());
        };
        integers("leaf_targetids", m_leafTargets);
        numbers("leaf_weights", m_leafWeights);
        integers("nodes_featureids", m_tested);
        integers("nodes_modes", m_tests);
        numbers("nodes_splits", m_splits);
        integers("nodes_truenodeids", m_next[1]);
        integers("nodes_trueleafs", m_isLeaf[1]);
        integers("nodes_falsenodeids", m_next[0]);
        integers("nodes_falseleafs", m_isLeaf[0]);
        if (!m_missing.empty()) integers("nodes_missing_value_tracks_true", m_missingIsTrue);
        integers("tree_roots", m_roots);
    }

private:
    /// A node, or -1 − i for leaf i.
    using Branch = std::int64_t;

    void readWeights(const NodeProto& node, const std::string& kind) {
        const Integers trees = integersOf(node, kind + "_treeids");
        const Integers ids = integersOf(node, kind + "_nodeids");
        const Integers targets = integersOf(node, kind + "_ids");
        const Numbers values = numbersOf(node, kind + "_weights");
        if (trees.size() != ids.size() || trees.size() != targets.size() || trees.size() != values.size())
            throw Unsupported("its lists of weights differ in length");
        for (std::size_t i = 0; i < trees.size(); ++i) {
            const auto place = m_places.find({trees[i], ids[i]});
            if (place == m_places.end() || m_modes[place->second] != "LEAF")
                throw Unsupported(fmt::format("a weight belongs to node {} of tree {}, which is not a leaf",
                                              ids[i], trees[i]));
            m_weights[place->second].push_back({targets[i], values[i]});
        }
    }

    std::size_t placeOf(std::int64_t tree, std::int64_t id) const {
        const auto place = m_places.find({tree, id});
        if (place == m_places.end())
            throw Unsupported(fmt::format("tree {} has a branch to node {}, which does not exist", tree, id));
        return place->second;
    }

    /// Adds copies of a tree, as many as its leaves have weights.
    void addTree(std::int64_t tree, const std::vector<std::size_t>& nodes) {
        std::set<std::size_t> children;
        std::size_t copies = 1;
        for (const std::size_t i : nodes) {
            if (m_modes[i] == "LEAF") {
                copies = std::max(copies, m_weights[i].size());
                continue;
            }
            children.insert(placeOf(tree, m_onTrue[i]));
            children.insert(placeOf(tree, m_onFalse[i]));
        }
        const auto isRoot = [&](std::size_t i) { return !children.contains(i); };
        const auto root = std::find_if(nodes.begin(), nodes.end(), isRoot);
        if (root == nodes.end() || std::count_if(nodes.begin(), nodes.end(), isRoot) > 1)
            throw Unsupported(fmt::format("tree {} has not exactly one root", tree));
        for (std::size_t copy = 0; copy < copies; ++copy) addCopy(tree, nodes, *root, copy);
    }

    void addCopy(std::int64_t tree, const std::vector<std::size_t>& nodes, std::size_t root,
                 std::size_t copy) {
        std::unordered_map<std::size_t, Branch> branches;
        auto next = static_cast<Branch>(m_tests.size());
        for (const std::size_t i : nodes)
            branches[i] = m_modes[i] == "LEAF" ? addLeaf(tree, i, copy) : next++;
        for (const std::size_t i : nodes) {
            if (m_modes[i] == "LEAF") continue;
            addNode(m_features[i], testOf(m_modes[i]), m_values[i], branches.at(placeOf(tree, m_onTrue[i])),
                    branches.at(placeOf(tree, m_onFalse[i])), !m_missing.empty() && m_missing[i] != 0);
        }
        const Branch first = branches.at(root);
        m_roots.push_back(first >= 0 ? first : static_cast<Branch>(m_tests.size()));
        if (first < 0) addNode(0, 0, 0, first, first, false); // a tree of one leaf
    }

    /// Leaf `i` with its weight number `copy`. Without one it has no effect: a sum gets 0, an extreme the
    /// same weight once more.
    Branch addLeaf(std::int64_t tree, std::size_t i, std::size_t copy) {
        const std::vector<Weight>& weights = m_weights[i];
        const bool isExtreme = m_aggregate == "MIN" || m_aggregate == "MAX";
        if (weights.empty() && isExtreme)
            throw Unsupported(fmt::format("tree {} has a leaf without a weight", tree));
        const Weight weight = copy < weights.size() ? weights[copy] : isExtreme ? weights.front() : Weight{};
        m_leafTargets.push_back(weight.target);
        m_leafWeights.push_back(weight.value);
        return -static_cast<Branch>(m_leafTargets.size());
    }

    void addNode(std::int64_t feature, std::int64_t test, double split, Branch onTrue, Branch onFalse,
                 bool missingIsTrue) {
        m_tested.push_back(feature);
        m_tests.push_back(test);
        m_splits.push_back(split);
        m_missingIsTrue.push_back(missingIsTrue ? 1 : 0);
        for (const auto& [side, branch] : {std::pair(1, onTrue), std::pair(0, onFalse)}) {
            m_isLeaf[side].push_back(branch < 0 ? 1 : 0);
            m_next[side].push_back(branch < 0 ? -1 - branch : branch);
        }
    }

    std::string m_aggregate;
    // By node, as given.
    Integers m_features, m_onTrue, m_onFalse, m_missing;
    Numbers m_values;
    std::vector<std::string> m_modes;
    std::map<std::int64_t, std::vector<std::size_t>> m_trees;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> m_places; ///< by tree and id
    std::unordered_map<std::size_t, std::vector<Weight>> m_weights;        ///< by leaf
    // As written.
    Integers m_tested, m_tests, m_missingIsTrue, m_roots, m_leafTargets, m_next[2], m_isLeaf[2];
    Numbers m_splits, m_leafWeights;
};

/// The nodes that replace one node.
class Replacement {
public:
    Replacement(const NodeProto& node, std::optional<std::int32_t> elementType, ValueNames& names)
        : m_node(node), m_names(names), m_isDouble(elementType != TensorProto::FLOAT),
          m_isWide(elementType == TensorProto::DOUBLE), m_transform(textOf(node, "post_transform", "NONE")) {
        if (node.input_size() < 1 || node.output_size() < 1)
            throw Unsupported("it has no input or no output");
    }

    /// Throws Unsupported.
    std::vector<NodeProto> take() {
        if (m_node.op_type() == "TreeEnsembleRegressor")
            regressor();
        else
            classifier();
        return std::move(m_out);
    }

private:
    using Names = std::initializer_list<std::string>;

    void regressor() {
        const std::string aggregate = textOf(m_node, "aggregate_function", "SUM");
        const AttributeProto* given = attributeOf(m_node, "n_targets");
        const std::int64_t targets = given ? given->i() : 1;
        const Forest forest(m_node, "target", aggregate);
        constexpr const char* aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
        const auto* const code = std::find(std::begin(aggregates), std::end(aggregates), aggregate);
        if (code == std::end(aggregates))
            throw Unsupported(fmt::format("its aggregate_function is \"{}\"", aggregate));
        const bool divides = aggregate == "AVERAGE" && forest.isCopied();
        std::string sums = ensemble(forest, divides ? 1 : code - std::begin(aggregates), targets);
        if (divides)
            sums = add("Div", "averages",
                       {sums, number("tree_count", {static_cast<double>(forest.trees())}, {})});
        finish(transformed(withBase(sums, targets), targets), 0);
    }

    void classifier() {
        if (const AttributeProto* texts = attributeOf(m_node, "classlabels_strings");
            texts && texts->strings_size() > 0)
            throw Unsupported("its class labels are strings; convert the model with integer labels");
        const Integers labels = integersOf(m_node, "classlabels_int64s");
        const auto classes = static_cast<std::int64_t>(labels.size());
        if (classes < 2) throw Unsupported("it has fewer than two class labels");
        const Forest forest(m_node, "class", "SUM");
        const std::set<std::int64_t> targets = forest.targets();
        const bool isSingle = classes == 2 && targets.size() == 1;
        if (isSingle && *targets.begin() != 0)
            throw Unsupported(
                "its weights belong to the second of two classes only, which has no agreed meaning");
        if (isSingle && m_transform != "NONE" && m_transform != "LOGISTIC")
            throw Unsupported(
                fmt::format("the post_transform {} of a single score has no agreed meaning; use "
                            "NONE or LOGISTIC",
                            m_transform));
        std::string scores = withBase(ensemble(forest, 1, isSingle ? 1 : classes), isSingle ? 1 : classes);
        const bool isShare = isSingle && !forest.hasNegativeWeight();
        if (isSingle) {
            const std::string other = isShare ? add("Sub", "rest", {number("one", {1}, {}), scores})
                                              : add("Neg", "negative", {scores});
            scores = add("Concat", "both", {other, scores});
            set("axis", 1);
        }
        const std::string label = add("ArgMax", "class", {scores});
        set("axis", 1);
        set("keepdims", 0);
        Integers plain(labels.size());
        for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::int64_t>(i);
        if (labels != plain) add("Gather", "label", {integers("labels", labels), label});
        rename(0);
        if (m_node.output_size() > 1 && !m_node.output(1).empty())
            finish(isShare ? scores : transformed(scores, isSingle ? 2 : classes), 1);
    }

    /// The sums of the leaves, in f32, or in f64 if X is not f32.
    std::string ensemble(const Forest& forest, std::int64_t aggregate, std::int64_t targets) {
        const std::set<std::int64_t> used = forest.targets();
        if (!used.empty() && (*used.begin() < 0 || *used.rbegin() >= targets))
            throw Unsupported(fmt::format("a weight belongs to score {}, but there are only {} scores",
                                          *used.begin() < 0 ? *used.begin() : *used.rbegin(), targets));
        std::string x = m_node.input(0);
        if (m_isDouble && !m_isWide) {
            x = add("Cast", "features", {x});
            set("to", TensorProto::DOUBLE);
        }
        x = add("TreeEnsemble", "trees", {x});
        m_out.back().set_domain(kDomain);
        set("aggregate_function", aggregate);
        set("n_targets", targets);
        forest.writeTo(m_out.back());
        return x;
    }

    std::string withBase(const std::string& sums, std::int64_t targets) {
        const Numbers base = numbersOf(m_node, "base_values");
        if (base.empty()) return sums;
        if (static_cast<std::int64_t>(base.size()) != targets)
            throw Unsupported(fmt::format("it has {} base_values for {} scores", base.size(), targets));
        return add("Add", "scores", {sums, number("base", base, {targets})});
    }

    std::string transformed(const std::string& scores, std::int64_t count) {
        if (m_transform == "NONE") return scores;
        if (m_transform == "LOGISTIC") return add("Sigmoid", "probabilities", {scores});
        if (m_transform == "SOFTMAX") {
            add("Softmax", "probabilities", {scores});
            set("axis", 1);
            return m_out.back().output(0);
        }
        if (m_transform != "SOFTMAX_ZERO" && m_transform != "PROBIT")
            throw Unsupported(fmt::format("its post_transform is \"{}\"", m_transform));
        // The linear models have these functions: here one whose scores are its features.
        const std::string out = add("LinearRegressor", "transformed", {scores});
        NodeProto& node = m_out.back();
        node.set_domain(kDomain);
        set("targets", count);
        AttributeProto& transform = *node.add_attribute();
        transform.set_name("post_transform");
        transform.set_type(AttributeProto::STRING);
        transform.set_s(m_transform);
        AttributeProto& coefficients = *node.add_attribute();
        coefficients.set_name("coefficients");
        coefficients.set_type(AttributeProto::FLOATS);
        for (std::int64_t i = 0; i < count * count; ++i)
            coefficients.add_floats(i % (count + 1) == 0 ? 1.0F : 0.0F);
        return out;
    }

    /// Makes the last node the source of an output, after a cast to f32 if it is not f32.
    void finish(const std::string& tensor, int output) {
        const bool isLast = m_out.back().output(0) == tensor;
        if (m_isDouble) {
            add("Cast", "result", {tensor});
            set("to", TensorProto::FLOAT);
        } else if (!isLast || isRead(tensor)) {
            add("Identity", "result", {tensor});
        }
        rename(output);
    }
    bool isRead(const std::string& tensor) const {
        return std::any_of(m_out.begin(), m_out.end(), [&](const NodeProto& node) {
            return std::find(node.input().begin(), node.input().end(), tensor) != node.input().end();
        });
    }
    void rename(int output) {
        if (!m_node.output(output).empty()) m_out.back().set_output(0, m_node.output(output));
    }

    /// Adds a node with one output, and returns the name of this.
    std::string add(const char* op, const std::string& name, Names inputs) {
        NodeProto& node = m_out.emplace_back();
        const std::string prefix = m_node.name().empty() ? m_node.op_type() : m_node.name();
        node.set_op_type(op);
        node.set_name(prefix + "/" + name);
        for (const std::string& input : inputs) node.add_input(input);
        node.add_output(m_names.fresh(prefix + "/" + name));
        return node.output(0);
    }
    void set(const char* name, std::int64_t value) {
        AttributeProto& attribute = *m_out.back().add_attribute();
        attribute.set_name(name);
        attribute.set_type(AttributeProto::INT);
        attribute.set_i(value);
    }
    TensorProto& constant(const std::string& name, std::int32_t type, const Integers& sizes) {
        add("Constant", name, {});
        AttributeProto& attribute = *m_out.back().add_attribute();
        attribute.set_name("value");
        attribute.set_type(AttributeProto::TENSOR);
        attribute.mutable_t()->set_data_type(type);
        for (const std::int64_t size : sizes) attribute.mutable_t()->add_dims(size);
        return *attribute.mutable_t();
    }
    /// A constant with the dtype of the sums.
    std::string number(const std::string& name, const Numbers& values, const Integers& sizes) {
        TensorProto& tensor = constant(name, m_isDouble ? TensorProto::DOUBLE : TensorProto::FLOAT, sizes);
        for (const double value : values) {
            if (m_isDouble)
                tensor.add_double_data(value);
            else
                tensor.add_float_data(static_cast<float>(value));
        }
        return m_out.back().output(0);
    }
    std::string integers(const std::string& name, const Integers& values) {
        TensorProto& tensor = constant(name, TensorProto::INT64, {static_cast<std::int64_t>(values.size())});
        for (const std::int64_t value : values) tensor.add_int64_data(value);
        return m_out.back().output(0);
    }

    const NodeProto& m_node;
    ValueNames& m_names;
    const bool m_isDouble; ///< the arithmetic of sums is f64
    const bool m_isWide;   ///< X is f64 already
    const std::string m_transform;
    std::vector<NodeProto> m_out;
};

std::string quoted(const NodeProto& node) {
    return fmt::format("{} \"{}\"", node.op_type(),
                       node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
}

/// Takes tensors in external data into the node.
void loadTensors(NodeProto& node, const std::filesystem::path& folder) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_t() || attribute.t().data_location() != TensorProto::EXTERNAL) continue;
        const Tensor tensor =
            tensorFromProto(attribute.t(), folder, fmt::format("{} of {}", attribute.name(), quoted(node)));
        *attribute.mutable_t() = protoFromTensor(tensor.view(), attribute.t().name());
    }
}

void replaceIn(onnx::GraphProto& graph, const std::filesystem::path& folder, ElementTypes types,
               ValueNames& names, std::vector<std::string>& problems) {
    const auto remember = [&](const onnx::ValueInfoProto& value) {
        if (value.type().has_tensor_type()) types[value.name()] = value.type().tensor_type().elem_type();
    };
    for (const auto& value : graph.input()) remember(value);
    for (const auto& value : graph.value_info()) remember(value);
    for (const auto& tensor : graph.initializer()) types[tensor.name()] = tensor.data_type();
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& node : nodes) {
        for (AttributeProto& attribute : *node.mutable_attribute())
            if (attribute.has_g()) replaceIn(*attribute.mutable_g(), folder, types, names, problems);
        std::vector<NodeProto> replaced;
        if (isOldEnsemble(node)) {
            loadTensors(node, folder);
            try {
                const auto type = node.input_size() > 0 ? types.find(node.input(0)) : types.end();
                replaced =
                    Replacement(node, type == types.end() ? std::nullopt : std::optional(type->second), names)
                        .take();
            } catch (const Unsupported& problem) {
                problems.push_back(fmt::format("{} is a placeholder: {}", quoted(node), problem.what()));
            }
        }
        if (replaced.empty()) {
            *graph.add_node() = std::move(node);
            continue;
        }
        for (NodeProto& part : replaced) *graph.add_node() = std::move(part);
    }
}

} // namespace

std::vector<std::string> replaceTrees(onnx::GraphProto& graph, const std::filesystem::path& folder) {
    std::vector<std::string> problems;
    ValueNames names;
    names.take(graph);
    replaceIn(graph, folder, {}, names, problems);
    return problems;
}

} // namespace twb
