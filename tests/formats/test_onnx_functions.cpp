#include "core/error.h"
#include "formats/onnx/onnx_model.h"
#include "graph/module_op.h"
#include "ops/op_table.h"
#include "placement/analysis.h"
#include "runtime/executor.h"
#include "support/onnx_function_models.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

ImportedModel parse(const onnx::ModelProto& model) {
    return parseOnnx(model.SerializeAsString(), "memory.onnx");
}

QString refusalOf(const onnx::ModelProto& model) {
    try {
        parse(model);
    } catch (const Error& e) {
        return QString::fromUtf8(e.what());
    }
    return {};
}

} // namespace

/// FlexAttention of two query heads that share a key head. score_mod adds the tensor "bias" of the model.
onnx::ModelProto modelWithFlexAttention() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(26);
    auto& import = *model.add_opset_import();
    import.set_domain("ai.onnx.preview");
    import.set_version(1);
    onnx::GraphProto& graph = *model.mutable_graph();
    const auto value = [](onnx::ValueInfoProto& info, const char* name,
                          const std::vector<std::int64_t>& sizes) {
        info.set_name(name);
        auto& type = *info.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnx::TensorProto::FLOAT);
        for (const std::int64_t size : sizes) type.mutable_shape()->add_dim()->set_dim_value(size);
    };
    value(*graph.add_input(), "q", {1, 2, 1, 4});
    value(*graph.add_input(), "k", {1, 1, 2, 4});
    value(*graph.add_input(), "v", {1, 1, 2, 1});
    value(*graph.add_input(), "bias", {2});
    value(*graph.add_output(), "y", {1, 2, 1, 1});
    auto& flex = *graph.add_node() = node("ai.onnx.preview", "FlexAttention", "flex", {"q", "k", "v"}, {"y"});
    auto& modifier = *flex.add_attribute();
    modifier.set_name("score_mod");
    modifier.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& body = *modifier.mutable_g();
    value(*body.add_input(), "q", {1, 2, 1, 2}); // a name that the model has, too
    value(*body.add_output(), "out", {1, 2, 1, 2});
    *body.add_node() = node("", "Add", "add", {"q", "bias"}, {"out"});
    return model;
}

class TestOnnxFunctions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void flexAttentionBecomesOtherOps() {
        ImportOptions options;
        options.inputs = {{"q", tensorOf(DType::f32, {1, 2, 1, 4}, {1, 2, 3, 4, -1, 0, 1, 2})},
                          {"k", tensorOf(DType::f32, {1, 1, 2, 4}, {1, 0, 1, 0, 0, 1, 0, -1})},
                          {"v", tensorOf(DType::f32, {1, 1, 2, 1}, {3, 5})},
                          {"bias", tensorOf(DType::f32, {2}, {0.5, -0.5})}};
        const ImportedModel imported =
            parseOnnx(modelWithFlexAttention().SerializeAsString(), "memory.onnx", options);
        DeviceMap devices;
        const auto files = makeMemoryFiles(imported.tensors);
        const Analysis analysis = analyze(imported.graph, devices, Policy::strict, files.get());
        QVERIFY2(analysis.diagnostics.empty(),
                 analysis.diagnostics.empty() ? "" : analysis.diagnostics[0].message.c_str());
        CompileOptions compiling;
        compiling.keep.insert(imported.outputs.at(0).from);
        const RunResult result = runToEnd(compile(imported.graph, analysis, devices, files, compiling), {});
        const Tensor* y = result.tensor(imported.outputs[0].from);
        QVERIFY(y);
        // The scores are q · k / 2 + bias: 2.5 and −1.5, 0.5 and −1.5.
        const auto mean = [](double a, double b) {
            return (3 * std::exp(a) + 5 * std::exp(b)) / (std::exp(a) + std::exp(b));
        };
        const QString wrong = difference(*y, {1, 2, 1, 1}, {mean(2.5, -1.5), mean(0.5, -1.5)}, {1e-6, 1e-6});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        for (const Node& made : imported.graph.nodes()) QVERIFY2(findOp(made.op), made.op.c_str());
    }

    void callsBecomeModules() {
        const ImportedModel model = parse(modelWithFunctions());
        const Graph& graph = model.graph;
        std::vector<std::pair<std::string, double>> alphas;
        for (const char* name :
             {"block/first/relu", "block/second/relu", "block2/first/relu", "block2/second/relu"}) {
            const Node* relu = graph.findByName(name);
            QVERIFY2(relu && relu->op == "LeakyRelu", name);
            QVERIFY(relu->frame != FrameId::none);
            alphas.emplace_back(name, relu->attributes.number("alpha"));
        }
        // An attribute of the call overrides the function's default.
        QCOMPARE(alphas[0].second, 0.25);
        QCOMPARE(alphas[1].second, 0.5);
        QCOMPARE(graph.sourceOf({graph.findByName("block2/first/relu")->id, 0})->node,
                 graph.findByName("block/second/relu")->id);
        const Frame& block = *graph.find(graph.findByName("block/first/relu")->frame);
        QCOMPARE(block.title, std::string("block"));
        // The module names the function and the version of its domain.
        QVERIFY(madeFrom(block) == std::optional<ModuleRef>({"ours.Two", 1}));
    }

    void inputMayBeAnOutput() {
        onnx::ModelProto model = modelWithFunctions();
        addFunction(model, "Same").set_output(0, "x");
        *model.mutable_graph()->mutable_node(2) = node("ours", "Same", "same", {"middle"}, {"y"});
        const ImportedModel imported = parse(model);
        QCOMPARE(imported.graph.find(imported.outputs.at(0).from.node)->op, std::string("Identity"));
    }

    void functionsOfAnOlderOpsetAreUpgraded() {
        onnx::ModelProto model = modelWithFunctions();
        onnx::FunctionProto& leaky = *model.mutable_functions(0);
        leaky.mutable_opset_import(0)->set_version(9);
        *leaky.mutable_node(0) = node("", "Clip", "clip", {"x"}, {"y"});
        *leaky.mutable_node(0)->add_attribute() = floatAttribute("max", 6);
        const ImportedModel imported = parse(model);
        const Node* clip = imported.graph.findByName("block/first/clip");
        QVERIFY(clip && imported.graph.sourceOf({clip->id, 2}));
    }

    void recursiveFunctionsAreRefused() {
        onnx::ModelProto itself = modelWithFunctions();
        itself.mutable_functions(0)->mutable_node(0)->set_domain("ours");
        itself.mutable_functions(0)->mutable_node(0)->set_op_type("Two");
        QVERIFY2(refusalOf(itself).contains(QStringLiteral("are recursive")), qPrintable(refusalOf(itself)));

        onnx::ModelProto bomb = modelWithFunctions(); // each level calls the next one twice
        for (int level = 0; level < 40; ++level) {
            onnx::FunctionProto& function = addFunction(bomb, "F" + std::to_string(level));
            const std::string next = level == 39 ? "Leaky" : "F" + std::to_string(level + 1);
            *function.add_node() = node("ours", next, "a", {"x"}, {"m"});
            *function.add_node() = node("ours", next, "b", {"m"}, {"y"});
        }
        bomb.mutable_graph()->mutable_node(1)->set_op_type("F0");
        QVERIFY2(refusalOf(bomb).contains(QStringLiteral("more than 200000 nodes")),
                 qPrintable(refusalOf(bomb)));

        onnx::ModelProto many = modelWithFunctions();
        many.mutable_graph()->mutable_node(1)->add_input("sum");
        QVERIFY(refusalOf(many).contains(QStringLiteral("more inputs or outputs than the function has")));
        onnx::ModelProto twice = modelWithFunctions();
        *twice.add_functions() = twice.functions(0);
        QVERIFY(refusalOf(twice).contains(QStringLiteral("overloads are not supported")));
    }
};

TWB_TEST_MAIN(TestOnnxFunctions)
#include "test_onnx_functions.moc"
