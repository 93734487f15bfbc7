#include "formats/onnx/onnx_export.h"
#include "formats/onnx/onnx_model.h"
#include "ops/op_table.h"
#include "support/onnx_models.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

/// Ops of domains other than ONNX's default one.
class TestOnnxDomains : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void opsOfOtherDomainsAreReadAndWritten();
    void anOpBelongsToItsDomain();
};

namespace {

onnx::ModelProto modelOf(const std::string& domain, const std::string& op) {
    onnx::ModelProto model = smallModel();
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(3);
    onnx::NodeProto& node = *model.mutable_graph()->mutable_node(1);
    node.set_domain(domain);
    node.set_op_type(op);
    return model;
}

std::string opOf(const onnx::ModelProto& model) {
    const ImportedModel imported = parseOnnx(model.SerializeAsString(), "m.onnx");
    return imported.graph.find(imported.outputs.at(0).from.node)->op;
}

} // namespace

void TestOnnxDomains::opsOfOtherDomainsAreReadAndWritten() {
    onnx::ModelProto model = modelOf("ai.onnx.ml", "Scaler");
    onnx::AttributeProto& scale = *model.mutable_graph()->mutable_node(1)->add_attribute();
    scale.set_name("scale");
    scale.set_type(onnx::AttributeProto::FLOATS);
    scale.add_floats(0.25F);
    const ImportedModel imported = parseOnnx(model.SerializeAsString(), "m.onnx");
    const Node& node = *imported.graph.find(imported.outputs.at(0).from.node);
    QCOMPARE(node.op, std::string("Scaler"));
    QCOMPARE(node.attributes.numbers("scale"), std::vector<double>{0.25});

    onnx::ModelProto back;
    QVERIFY(back.ParseFromString(toOnnx(imported.graph, makeMemoryFiles(imported.tensors).get())));
    QCOMPARE(back.graph().node(0).domain(), std::string());
    QCOMPARE(back.graph().node(1).op_type(), std::string("Scaler"));
    QCOMPARE(back.graph().node(1).domain(), std::string("ai.onnx.ml"));
    QCOMPARE(back.graph().node(1).attribute(0).floats(0), 0.25F);
    QCOMPARE(back.opset_import_size(), 2);
    QCOMPARE(back.opset_import(1).domain(), std::string("ai.onnx.ml"));
    QCOMPARE(back.opset_import(1).version(), std::int64_t{1});
    const ImportedModel again = parseOnnx(back.SerializeAsString(), "m.onnx");
    const PortRef probed = again.outputs.at(0).from; // through an Identity
    QCOMPARE(again.graph.find(again.graph.sourceOf({probed.node, 0})->node)->op, std::string("Scaler"));
}

void TestOnnxDomains::anOpBelongsToItsDomain() {
    QCOMPARE(opOf(modelOf("ai.onnx.preview.training", "Adam")), std::string("Adam"));
    QCOMPARE(opOf(modelOf("ai.onnx.ml", "Adam")), std::string("ai.onnx.ml.Adam"));
    QCOMPARE(opOf(modelOf("ai.onnx.ml", "Relu")), std::string("ai.onnx.ml.Relu"));
    QCOMPARE(opOf(modelOf("ai.onnx.ml", "SVMClassifier")), std::string("ai.onnx.ml.SVMClassifier"));
    QCOMPARE(opOf(modelOf("com.example", "Scaler")), std::string("com.example.Scaler"));
}

TWB_TEST_MAIN(TestOnnxDomains)
#include "test_onnx_domains.moc"
