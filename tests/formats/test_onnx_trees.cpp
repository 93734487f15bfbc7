#include "formats/onnx/onnx_model.h"
#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <cmath>
#include <fstream>
#include <functional>
#include <onnx/onnx_pb.h>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
using List = std::vector<std::int64_t>;
using onnx::AttributeProto;
using onnx::NodeProto;

AttributeProto& attribute(NodeProto& node, const std::string& name, AttributeProto::AttributeType type) {
    for (AttributeProto& given : *node.mutable_attribute())
        if (given.name() == name) {
            given.Clear();
            given.set_name(name);
            given.set_type(type);
            return given;
        }
    AttributeProto& out = *node.add_attribute();
    out.set_name(name);
    out.set_type(type);
    return out;
}
void set(NodeProto& node, const std::string& name, const List& values) {
    AttributeProto& list = attribute(node, name, AttributeProto::INTS);
    list.mutable_ints()->Add(values.begin(), values.end());
}
void set(NodeProto& node, const std::string& name, const Numbers& values) {
    AttributeProto& list = attribute(node, name, AttributeProto::FLOATS);
    for (const double value : values) list.add_floats(static_cast<float>(value));
}
void set(NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
    AttributeProto& list = attribute(node, name, AttributeProto::STRINGS);
    for (const std::string& value : values) list.add_strings(value);
}
void set(NodeProto& node, const std::string& name, const char* value) {
    attribute(node, name, AttributeProto::STRING).set_s(value);
}
void set(NodeProto& node, const std::string& name, std::int64_t value) {
    attribute(node, name, AttributeProto::INT).set_i(value);
}

/// Tree 7: node 0 tests x₀ ≤ 1, its false branch is node 2, which tests x₁ > 3; the leaves are 1, 3 and 4.
/// Tree 8 is the leaf 0. The three rows of x reach the leaves 1, 3 and 4.
NodeProto twoTrees(const char* op) {
    NodeProto node;
    node.set_domain("ai.onnx.ml");
    node.set_op_type(op);
    node.set_name("trees");
    node.add_input("x");
    set(node, "nodes_treeids", List{7, 7, 7, 7, 7, 8});
    set(node, "nodes_nodeids", List{0, 1, 2, 3, 4, 0});
    set(node, "nodes_featureids", List{0, 0, 1, 0, 0, 0});
    set(node, "nodes_modes",
        std::vector<std::string>{"BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF"});
    set(node, "nodes_values", Numbers{1, 0, 3, 0, 0, 0});
    set(node, "nodes_truenodeids", List{1, 0, 3, 0, 0, 0});
    set(node, "nodes_falsenodeids", List{2, 0, 4, 0, 0, 0});
    return node;
}
const Numbers kRows{0, 0, 2, 5, 2, 1};

NodeProto regressor() {
    NodeProto node = twoTrees("TreeEnsembleRegressor");
    node.add_output("y");
    set(node, "n_targets", std::int64_t{2});
    set(node, "target_treeids", List{7, 7, 7, 7, 8});
    set(node, "target_nodeids", List{1, 1, 3, 4, 0});
    set(node, "target_ids", List{0, 1, 1, 0, 0});
    set(node, "target_weights", Numbers{1, 10, 20, 4, 100});
    return node;
}

NodeProto classifier(const List& labels, const List& ids, const Numbers& weights, const List& leaves) {
    NodeProto node = twoTrees("TreeEnsembleClassifier");
    node.add_output("label");
    node.add_output("scores");
    set(node, "classlabels_int64s", labels);
    List trees;
    List nodes;
    for (const std::int64_t leaf : leaves) {
        trees.push_back(leaf == 0 ? 8 : 7);
        nodes.push_back(leaf);
    }
    set(node, "class_treeids", trees);
    set(node, "class_nodeids", nodes);
    set(node, "class_ids", ids);
    set(node, "class_weights", weights);
    return node;
}
NodeProto threeClasses() {
    return classifier({5, 7, 9}, {0, 1, 2, 1, 2, 0}, {0.6, 0.4, 1, 0.7, 0.3, 0.5}, {1, 1, 3, 4, 4, 0});
}
/// Leaves of class 0 only; the sums are those of tree 7 plus 0.1.
NodeProto twoClasses(const Numbers& weights) {
    return classifier({3, 8}, {0, 0, 0, 0}, {weights[0], weights[1], weights[2], 0.1}, {1, 3, 4, 0});
}

onnx::ModelProto modelOf(const NodeProto& node, onnx::TensorProto::DataType dtype) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto& import = *model.add_opset_import();
    import.set_domain("ai.onnx.ml");
    import.set_version(3);
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::ValueInfoProto& x = *graph.add_input();
    x.set_name("x");
    auto& type = *x.mutable_type()->mutable_tensor_type();
    type.set_elem_type(dtype);
    type.mutable_shape()->add_dim()->set_dim_value(3);
    type.mutable_shape()->add_dim()->set_dim_value(2);
    *graph.add_node() = node;
    for (const std::string& output : node.output()) graph.add_output()->set_name(output);
    return model;
}

ImportedModel imported(const NodeProto& node, const Tensor& x,
                       const std::filesystem::path& path = "trees.onnx") {
    const auto dtype = x.dtype() == DType::f32   ? onnx::TensorProto::FLOAT
                       : x.dtype() == DType::f64 ? onnx::TensorProto::DOUBLE
                                                 : onnx::TensorProto::INT64;
    ImportOptions options;
    options.inputs = {{"x", x}};
    return parseOnnx(modelOf(node, dtype).SerializeAsString(), path, options);
}

std::vector<Tensor> resultsOf(const NodeProto& node, const Tensor& x,
                              const std::filesystem::path& path = "trees.onnx") {
    const ImportedModel model = imported(node, x, path);
    if (!model.remarks.empty()) qWarning("%s", model.remarks[0].c_str());
    const DeviceMap devices;
    const auto files = makeMemoryFiles(model.tensors);
    const Analysis analysis = analyze(model.graph, devices, Policy::strict, files.get());
    for (const Diagnostic& diagnostic : analysis.diagnostics) qWarning("%s", diagnostic.message.c_str());
    CompileOptions options;
    for (const auto& output : model.outputs) options.keep.insert(output.from);
    const RunResult result = runToEnd(compile(model.graph, analysis, devices, files, options), {});
    std::vector<Tensor> out;
    for (const auto& output : model.outputs) out.push_back(*result.tensor(output.from));
    return out;
}

Tensor rows(DType dtype = DType::f32) { return tensorOf(dtype, {3, 2}, kRows); }

Numbers softmax(const Numbers& scores) {
    Numbers out;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    for (const double score : scores) out.push_back(std::exp(score) / sum);
    return out;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Numbers joined(const Numbers& a, const Numbers& b, const Numbers& c) {
    Numbers out = a;
    out.insert(out.end(), b.begin(), b.end());
    out.insert(out.end(), c.begin(), c.end());
    return out;
}

} // namespace

/// The ensembles of ai.onnx.ml 1 to 3; the expected values were computed by hand.
class TestOnnxTrees : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void regressions_data() {
        QTest::addColumn<QString>("aggregate");
        QTest::addColumn<bool>("hasBase");
        QTest::addColumn<QString>("transform");
        QTest::addColumn<QList<double>>("expected");
        const auto row = [](const char* aggregate, bool hasBase, const char* transform,
                            const Numbers& expected) {
            QTest::addRow("%s %d %s", aggregate, hasBase, transform)
                << aggregate << hasBase << transform << QList<double>(expected.begin(), expected.end());
        };
        const Numbers sums{101, 10, 100, 20, 104, 0};
        row("SUM", false, "NONE", sums);
        row("AVERAGE", false, "NONE", {50.5, 5, 50, 10, 52, 0});
        row("AVERAGE", true, "NONE", {51, 4, 50.5, 9, 52.5, -1});
        row("MIN", false, "NONE", {1, 10, 100, 20, 4, 0});
        row("MAX", true, "NONE", {100.5, 9, 100.5, 19, 100.5, -1});
        Numbers shares;
        for (const double sum : sums) shares.push_back(logistic(sum));
        row("SUM", false, "LOGISTIC", shares);
        row("MIN", true, "SOFTMAX", joined(softmax({1.5, 9}), softmax({100.5, 19}), softmax({4.5, -1})));
        // A score of 0 does not count.
        row("MIN", false, "SOFTMAX_ZERO", joined(softmax({1, 10}), softmax({100, 20}), {1, 0}));
    }
    void regressions() {
        QFETCH(QString, aggregate);
        QFETCH(bool, hasBase);
        QFETCH(QString, transform);
        QFETCH(QList<double>, expected);
        NodeProto node = regressor();
        set(node, "aggregate_function", aggregate.toLatin1().constData());
        set(node, "post_transform", transform.toLatin1().constData());
        if (hasBase) set(node, "base_values", Numbers{0.5, -1});
        for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
            const Tensor y = resultsOf(node, rows(dtype)).at(0);
            QCOMPARE(y.dtype(), DType::f32);
            const QString wrong =
                difference(y, {3, 2}, Numbers(expected.begin(), expected.end()), {1e-6, 1e-6});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }

    /// The quantiles of the normal distribution at 0.2, 0.5 and 0.975.
    void probit() {
        NodeProto node = twoTrees("TreeEnsembleRegressor");
        node.add_output("y");
        set(node, "target_treeids", List{7, 7, 7, 8});
        set(node, "target_nodeids", List{1, 3, 4, 0});
        set(node, "target_ids", List{0, 0, 0, 0});
        set(node, "target_weights", Numbers{0.1, 0.4, 0.875, 0});
        set(node, "base_values", Numbers{0.1});
        set(node, "post_transform", "PROBIT");
        const QString wrong = difference(resultsOf(node, rows()).at(0), {3, 1},
                                         {-0.8416212335729143, 0, 1.959963984540054}, {1e-5, 1e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// Thresholds and weights of version 3 in f64.
    void doublesKeepTheirDigits() {
        NodeProto node = regressor();
        const auto asTensor = [&](const std::string& name, const Numbers& values) {
            set(node, name, Numbers{});
            onnx::TensorProto& tensor =
                *attribute(node, name + "_as_tensor", AttributeProto::TENSOR).mutable_t();
            tensor.set_data_type(onnx::TensorProto::DOUBLE);
            tensor.add_dims(static_cast<std::int64_t>(values.size()));
            tensor.mutable_double_data()->Add(values.begin(), values.end());
        };
        asTensor("nodes_values", {1 + 1e-12, 0, 3, 0, 0, 0});
        asTensor("target_weights", {1, 10, 20, 4, 0.1});
        const Tensor x = tensorOf(DType::f64, {3, 2}, {1 + 1e-12, 0, 1 + 2e-12, 5, 1, 5});
        const QString wrong =
            difference(resultsOf(node, x).at(0), {3, 2}, {1.1, 10, 0.1, 20, 1.1, 10}, {1e-7, 1e-7});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// The file of an external tensor is beside the model, whatever the working directory.
    void weightsInAnotherFile() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath(QStringLiteral("trees.onnx")).toStdString();
        NodeProto node = regressor();
        set(node, "target_weights", Numbers{});
        onnx::TensorProto& tensor =
            *attribute(node, "target_weights_as_tensor", AttributeProto::TENSOR).mutable_t();
        tensor.set_data_type(onnx::TensorProto::DOUBLE);
        tensor.add_dims(5);
        tensor.set_data_location(onnx::TensorProto::EXTERNAL);
        onnx::StringStringEntryProto& location = *tensor.add_external_data();
        location.set_key("location");
        location.set_value("weights.bin");
        try {
            imported(node, rows(), path);
            QFAIL("the file is missing");
        } catch (const Error& e) {
            const QString message = QString::fromUtf8(e.what());
            QVERIFY2(message.contains(QStringLiteral("target_weights_as_tensor of TreeEnsembleRegressor")) &&
                         message.contains(QStringLiteral("weights.bin")),
                     qPrintable(message));
        }
        const Numbers weights{1, 10, 20, 4, 100};
        std::ofstream(path.parent_path() / "weights.bin", std::ios::binary)
            .write(reinterpret_cast<const char*>(weights.data()), 40);
        const QString wrong =
            difference(resultsOf(node, rows(), path).at(0), {3, 2}, {101, 10, 100, 20, 104, 0}, {1e-6, 1e-6});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    void classes() {
        NodeProto node = threeClasses();
        const Numbers scores{1.1, 0.4, 0, 0.5, 0, 1, 0.5, 0.7, 0.3};
        const auto check = [&](const Numbers& labels, const Numbers& expected) {
            const std::vector<Tensor> results = resultsOf(node, rows());
            QCOMPARE(results[0].dtype(), DType::i64);
            QCOMPARE(valuesOf(results[0]), labels);
            const QString wrong = difference(results[1], {3, 3}, expected, {1e-6, 1e-6});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        };
        check({5, 9, 7}, scores);
        set(node, "post_transform", "SOFTMAX");
        check({5, 9, 7}, joined(softmax({1.1, 0.4, 0}), softmax({0.5, 0, 1}), softmax({0.5, 0.7, 0.3})));
        set(node, "post_transform", "NONE");
        set(node, "base_values", Numbers{0, 0.8, 0});
        set(node, "classlabels_int64s", List{0, 1, 2});
        check({1, 2, 1}, {1.1, 1.2, 0, 0.5, 0.8, 1, 0.5, 1.5, 0.3});
    }

    /// Two labels, and leaves for one class.
    void twoClassesOfOneScore() {
        const auto check = [&](const NodeProto& node, const Numbers& labels, const Numbers& expected) {
            const std::vector<Tensor> results = resultsOf(node, rows());
            QCOMPARE(valuesOf(results[0]), labels);
            const QString wrong = difference(results[1], {3, 2}, expected, {1e-6, 1e-6});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        };
        NodeProto node = twoClasses({0.2, 0.7, 0.4});
        check(node, {3, 8, 3}, {0.7, 0.3, 0.2, 0.8, 0.5, 0.5});
        node = twoClasses({-1, 0.7, 0.4});
        check(node, {3, 8, 8}, {0.9, -0.9, -0.8, 0.8, -0.5, 0.5});
        set(node, "post_transform", "LOGISTIC");
        set(node, "base_values", Numbers{-0.5});
        check(node, {3, 8, 3}, {logistic(1.4), logistic(-1.4), logistic(-0.3), logistic(0.3), 0.5, 0.5});
    }

    void unsupportedEnsemblesArePlaceholders_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("says");
        const char* sentences[] = {"its class labels are strings",
                                   "the post_transform SOFTMAX of a single score has no agreed meaning",
                                   "it has 1 base_values for 3 scores",
                                   "tree 7 has a branch to node 6, which does not exist",
                                   "a weight belongs to node 2 of tree 7, which is not a leaf",
                                   "its lists of nodes differ in length",
                                   "it has a node of the mode \"BRANCH_IN\"",
                                   "tree 7 has not exactly one root",
                                   "a weight belongs to score 3, but there are only 3 scores"};
        for (int i = 0; i < int(std::size(sentences)); ++i)
            QTest::addRow("%d", i) << i << QString::fromLatin1(sentences[i]);
    }
    void unsupportedEnsemblesArePlaceholders() {
        QFETCH(int, which);
        QFETCH(QString, says);
        NodeProto node = threeClasses();
        const std::function<void()> faults[] = {
            [&] {
                set(node, "classlabels_int64s", List{});
                set(node, "classlabels_strings", std::vector<std::string>{"a", "b", "c"});
            },
            [&] {
                node = twoClasses({1, 2, 3});
                set(node, "post_transform", "SOFTMAX");
            },
            [&] { set(node, "base_values", Numbers{1}); },
            [&] {
                set(node, "nodes_falsenodeids", List{2, 0, 6, 0, 0, 0});
            },
            [&] {
                set(node, "class_nodeids", List{1, 1, 2, 4, 4, 0});
            },
            [&] { set(node, "nodes_values", Numbers{1}); },
            [&] {
                set(node, "nodes_modes",
                    std::vector<std::string>{"BRANCH_IN", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF"});
            },
            [&] {
                set(node, "nodes_truenodeids", List{2, 0, 3, 0, 0, 0});
            },
            [&] {
                set(node, "class_ids", List{0, 1, 3, 1, 2, 0});
            }};
        faults[which]();
        const ImportedModel model = imported(node, rows());
        QCOMPARE(model.remarks.size(), std::size_t{1});
        const QString remark = QString::fromStdString(model.remarks[0]);
        QVERIFY2(remark.contains(says) && remark.contains(QLatin1String("\"trees\" is a placeholder")),
                 qPrintable(remark));
        QCOMPARE(model.graph.find(model.outputs.at(0).from.node)->op,
                 std::string("ai.onnx.ml.TreeEnsembleClassifier"));
    }
};

TWB_TEST_MAIN(TestOnnxTrees)
#include "test_onnx_trees.moc"
