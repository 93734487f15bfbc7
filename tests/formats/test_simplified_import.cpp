#include "formats/onnx/onnx_model.h"
#include "formats/project.h"
#include "graph/simplify.h"
#include "runtime/runs.h"
#include "support/onnx_models.h"
#include "support/test_main.h"
#include "support/transformer_model.h"

#include <QTemporaryDir>

#include <cmath>
#include <limits>
#include <optional>

using namespace twb;
using namespace twb::test;

namespace {

ImportedModel transformer() { return parseOnnx(TransformerModel(2).bytes(), "model.onnx"); }

std::map<std::string, Tensor> results(const Graph& graph, const std::shared_ptr<const TensorFiles>& files) {
    const DeviceMap map;
    const RunResult result = runToEnd(planOf(graph, map, {}, files), {}, nullptr);
    if (!result.errors.empty()) qFatal("%s", result.errors[0].message.c_str());
    std::map<std::string, Tensor> out;
    for (const Node& node : graph.nodes())
        if (node.op == "Probe") out[node.name] = *result.tensor(*graph.sourceOf({node.id, 0}));
    return out;
}

bool areEqual(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [name, tensor] : a) {
        if (!b.contains(name) || !(b.at(name).type() == tensor.type())) return false;
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
            if (std::abs(tensor.at(i) - b.at(name).at(i)) > 1e-5) return false;
    }
    return true;
}

/// smallModel() with out = Reshape(y, the number of elements of x), and an unused initializer.
onnx::ModelProto modelWithShape() {
    onnx::ModelProto model = smallModel();
    onnx::GraphProto& graph = *model.mutable_graph();
    const auto node = [&](const char* op, std::initializer_list<const char*> inputs, const char* output) {
        onnx::NodeProto& added = *graph.add_node();
        added.set_op_type(op);
        for (const char* input : inputs) added.add_input(input);
        added.add_output(output);
    };
    node("Shape", {"x"}, "shape");
    node("ReduceProd", {"shape"}, "count");
    node("Reshape", {"y", "count"}, "out");
    graph.mutable_output(0)->set_name("out");
    onnx::TensorProto& unused = *graph.add_initializer();
    unused.set_name("unused");
    unused.set_data_type(onnx::TensorProto::FLOAT);
    unused.add_dims(100);
    for (int i = 0; i < 100; ++i) unused.add_float_data(1);
    return model;
}

} // namespace

class TestSimplifiedImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneDeltaGivesTheSimplerGraph() {
        ImportedModel model = transformer();
        const Graph before = model.graph;
        const Simplified simpler = simplifyImported(model);
        QVERIFY(model.graph == before);
        QCOMPARE(simpler.delta.title, std::string("Simplify the import"));
        Graph after = before;
        after.apply(simpler.delta);
        QCOMPARE(simpler.remarks.at(0), "Simplified from " + std::to_string(before.nodes().size()) + " to " +
                                            std::to_string(after.nodes().size()) + " nodes");
        QVERIFY2(after.nodes().size() * 2 < before.nodes().size(), simpler.remarks[0].c_str());
        const auto files = makeMemoryFiles(model.tensors);
        QVERIFY(areEqual(results(before, files), results(after, files)));
        after.apply(simpler.delta.inverse());
        QVERIFY(after == before);
    }

    void theProjectHasOnlyTheTensorsThatItReads() {
        ImportedModel model = parseOnnx(modelWithShape().SerializeAsString(), "model.onnx");
        QCOMPARE(model.tensors.size(), std::size_t{1});
        model.graph.apply(simplifyImported(model).delta);
        dropUnreadTensors(model);
        QVERIFY(model.tensors.empty());
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("net.twb").toStdString();
        QCOMPARE(saveImportedModel(model, path), std::string());
        QVERIFY(loadProject(path) == model.graph);
    }

    void endsAtEveryMomentWhenCancelled() {
        const std::string bytes = TransformerModel(2).bytes();
        int asked = 0;
        int most = std::numeric_limits<int>::max();
        const auto import = [&] {
            asked = 0;
            ImportOptions options;
            options.isCancelled = [&] { return ++asked > most; };
            ImportedModel model = parseOnnx(bytes, "model.onnx", options);
            (void)simplifyImported(model, options.isCancelled);
        };
        import();
        const int all = asked;
        QVERIFY2(all > 100, qPrintable(QString::number(all)));
        for (most = 0; most < all; most += 5) {
            std::optional<ErrorCode> end;
            try {
                import();
            } catch (const Error& e) {
                end = e.code();
            }
            QVERIFY(end == ErrorCode::cancelled);
            QCOMPARE(asked, most + 1); // ends at once
        }
    }

    void symbolicSizesStayFree() {
        const std::string bytes = modelWithShape().SerializeAsString();
        for (const bool isFixed : {false, true}) {
            ImportOptions options;
            if (isFixed) options.dimensions["n"] = 3;
            ImportedModel model = parseOnnx(bytes, "model.onnx", options);
            QCOMPARE(model.freeAxes.size(), std::size_t{isFixed ? 0U : 1U});
            model.graph.apply(simplifyImported(model).delta);
            QCOMPARE(model.graph.nodes().size(), std::size_t{6});
            const Node* probe = model.graph.findByName("out");
            const Node* reshape = model.graph.find(model.graph.sourceOf({probe->id, 0})->node);
            QCOMPARE(reshape->attributes.integers("shape"), Ints{isFixed ? 6 : -1});
            if (isFixed) continue;
            DeltaBuilder builder(model.graph, "wider");
            builder.setAttribute(model.graph.findByName("x")->id, "shape", Ints{2, 7});
            model.graph.apply(builder.take());
            QCOMPARE(results(model.graph, nullptr).at("out").shape(), (Shape{14}));
        }
    }

    void faultyNodesStay() {
        onnx::ModelProto model = modelWithShape();
        onnx::GraphProto& graph = *model.mutable_graph();
        const auto node = [&](const char* op, const char* input, const char* output, const char* attribute) {
            onnx::NodeProto& added = *graph.add_node();
            added.set_op_type(op);
            added.add_input(input);
            added.add_output(output);
            auto& faulty = *added.add_attribute();
            faulty.set_name(attribute);
            faulty.set_type(onnx::AttributeProto::STRING);
            faulty.set_s("none");
            *graph.add_output() = graph.output(0);
            graph.mutable_output(graph.output_size() - 1)->set_name(output);
        };
        node("Transpose", "out", "a", "perm");
        node("Transpose", "a", "b", "perm");
        node("Pad", "out", "c", "pads");
        node("Dropout", "out", "d", "ratio");
        node("File", "out", "f", "path");
        graph.mutable_node(graph.node_size() - 1)->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
        ImportedModel imported = parseOnnx(model.SerializeAsString(), "model.onnx");
        imported.graph.apply(simplifyImported(imported).delta);
        dropUnreadTensors(imported);
        int faulty = 0;
        for (const Node& each : imported.graph.nodes())
            faulty += each.op == "Transpose" || each.op == "Pad" || each.op == "Dropout" || each.op == "File";
        QCOMPARE(faulty, 5);
    }

    void framesAndNamesStaySensible() {
        ImportedModel model = transformer();
        model.graph.apply(simplifyImported(model).delta);
        for (const Node& node : model.graph.nodes()) {
            QCOMPARE(model.graph.findByName(node.name), &node);
            if (!node.name.starts_with("/0/") || node.folded) continue;
            const Frame* frame = model.graph.find(node.frame);
            QVERIFY2(frame && (frame->title == "0" || model.graph.find(frame->parent)), node.name.c_str());
        }
    }
};

TWB_TEST_MAIN(TestSimplifiedImport)
#include "test_simplified_import.moc"
