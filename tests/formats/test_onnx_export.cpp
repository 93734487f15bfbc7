#include "backends/cpu/strided.h"
#include "core/error.h"
#include "formats/onnx/onnx_export.h"
#include "formats/onnx/onnx_model.h"
#include "formats/onnx/onnx_schemas.h"
#include "graph/delta.h"
#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/graphs.h"
#include "support/kernel_cases.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <onnx/checker.h>

using namespace twb;
using namespace twb::test;

/// The export writes a valid model, or says why it cannot. TWB_KEEP_MODELS in the environment names a folder
/// for the models, which tests/conformance/exports.py reads.
class TestOnnxExport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyOpInEveryDtypeBesideOpsOfLaterOpsets();
    void oneOpsetServesAllNodes();
    void requiredAttributesAreWritten();
    void numbersKeepTheirPrecision();
    void unreadOutputsThatOnnxNeedsAreNamed();
    void attributesAndDtypesRaiseTheOpset();
    void stacksOfMatricesAreMultipliedByMatMul_data();
    void stacksOfMatricesAreMultipliedByMatMul();
    void normalizationsGetAScale();
    void scaledStacksOfIntegersAreRefused();
    void refusalsNameTheNodeAndTheWayOut();
};

namespace {

/// One op per opset, to force the model to have at least that opset.
const std::pair<const char*, int> kCompanions[] = {{nullptr, 17}, {"Mish", 18}, {"Gelu", 20}, {"Swish", 24}};

onnx::ModelProto modelOf(const Graph& graph, const TensorFiles* files = nullptr) {
    onnx::ModelProto model;
    if (!model.ParseFromString(toOnnx(graph, files))) throw std::logic_error("the model does not parse");
    // The library of Debian 12 knows no later operator sets.
    const auto isKnown = [](const onnx::OperatorSetIdProto& set) {
        return set.version() <= (set.domain() == "ai.onnx.ml" ? 3 : 17);
    };
    if (std::ranges::all_of(model.opset_import(), isKnown)) onnx::checker::check_model(model);
    return model;
}

std::int64_t opsetOf(const onnx::ModelProto& model) { return model.opset_import(0).version(); }

const onnx::NodeProto& nodeOf(const onnx::ModelProto& model, const std::string& op) {
    for (const auto& node : model.graph().node())
        if (node.op_type() == op) return node;
    throw std::logic_error("there is no " + op);
}

const onnx::AttributeProto* attributeOf(const onnx::NodeProto& node, const std::string& name) {
    for (const auto& attribute : node.attribute())
        if (attribute.name() == name) return &attribute;
    return nullptr;
}

/// One node of an op with its inputs, and Probes of the outputs listed in `read`.
struct OpGraph {
    GraphMaker maker;
    MemoryFiles files;

    OpGraph(const Op& op, const Case& made, const std::vector<int>& read, const char* companion) {
        std::vector<NodeId> sources;
        for (std::size_t i = 0; i < made.inputs.size(); ++i) {
            const Tensor& given = made.inputs[i];
            if (!given) {
                sources.push_back(NodeId::none);
                continue;
            }
            const std::string name = "in" + std::to_string(i);
            if (!op.inputAt(static_cast<int>(i)).hostValue) {
                sources.push_back(maker.node(
                    "Input", name, "cpu",
                    {{"shape", given.shape().dims()}, {"dtype", std::string(twb::name(given.dtype()))}}));
                continue;
            }
            const Tensor dense = Tensor::onHost(given.type());
            copyElements(given.view(), dense.view());
            files.put(name, dense);
            sources.push_back(maker.node("File", name, "cpu", {{"path", name}}));
        }
        const NodeId node = maker.node(op.name, "the node", "cpu", made.attributes);
        for (std::size_t i = 0; i < sources.size(); ++i)
            if (sources[i] != NodeId::none) maker.connect(sources[i], node, static_cast<int>(i));
        for (const int port : read)
            maker.connect(node, maker.node("Probe", "out" + std::to_string(port)), 0, port);
        if (companion)
            maker.node(
                "Probe", "beside", "cpu", {},
                {maker.node(companion, "companion", "cpu", {},
                            {maker.node("Ones", "ones", "cpu", {{"shape", std::vector<std::int64_t>{2}}})})});
    }
};

QString refusalOf(const Graph& graph, const TensorFiles* files = nullptr) {
    try {
        toOnnx(graph, files);
    } catch (const Error& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

void keep(const onnx::ModelProto& model, const std::string& name) {
    const char* folder = std::getenv("TWB_KEEP_MODELS");
    if (!folder) return;
    std::ofstream file(std::string(folder) + "/" + name + ".onnx", std::ios::binary);
    model.SerializeToOstream(&file);
}

} // namespace

void TestOnnxExport::everyOpInEveryDtypeBesideOpsOfLaterOpsets() {
    Dice dice(20);
    int written = 0;
    QStringList problems;
    for (const Op& op : opTable()) {
        const CaseMaker maker = caseMakerOf(op);
        if (op.role != OpRole::compute || op.opset == 0 || !maker) continue;
        std::set<DType> models;
        std::string lastRefusal;
        for (const DType dtype : kAllDTypes) {
            if (!caseTypesOf(op).contains(dtype)) continue;
            for (const auto& [companion, least] : kCompanions) {
                const Case made = maker(dice, op, dtype);
                const int count = op.outputCount(completeAttributes(op, made.attributes));
                std::vector<int> read;
                for (int port = 0; port < count; ++port)
                    if (dice.one(2)) read.push_back(port);
                if (read.empty()) read.push_back(static_cast<int>(dice.integer(0, count - 1)));
                const OpGraph graph(op, made, read, companion);
                const std::string label =
                    op.name + "-" + std::string(name(dtype)) + "-" + std::to_string(least);
                try {
                    const onnx::ModelProto model = modelOf(graph.maker.graph(), &graph.files);
                    if (opsetOf(model) < least) problems << QString::fromStdString(label) + ": opset too low";
                    models.insert(dtype);
                    keep(model, label);
                    ++written;
                } catch (const std::exception& error) {
                    lastRefusal = error.what();
                    const bool isNoWindow =
                        lastRefusal.find("size input must be greater than 0") != std::string::npos;
                    if (!isNoWindow &&
                        !lastRefusal.starts_with(op.name + " \"the node\" cannot be exported to ONNX: "))
                        problems << QString::fromStdString(label + ": " + lastRefusal);
                }
            }
        }
        const bool takesFloats = caseTypesOf(op).contains(DType::f32) && op.name != "DequantizeLinear";
        if (models.empty() || (takesFloats && !models.contains(DType::f32)))
            problems << QString::fromStdString(op.name + " was never written: " + lastRefusal);
    }
    for (const QString& problem : problems) std::fprintf(stderr, "%s\n", qPrintable(problem));
    QVERIFY(problems.isEmpty());
    QVERIFY(written > 1000);
}

void TestOnnxExport::oneOpsetServesAllNodes() {
    GraphMaker g;
    const NodeId x = g.node("Input", "x", "cpu", {{"shape", std::vector<std::int64_t>{2, 3}}});
    const NodeId mean = g.node("ReduceMean", "mean", "cpu", {{"axes", std::vector<std::int64_t>{1}}}, {x});
    g.node("Probe", "y", "cpu", {}, {mean});
    onnx::ModelProto model = modelOf(g.graph());
    QCOMPARE(opsetOf(model), std::int64_t{17});
    QVERIFY(attributeOf(nodeOf(model, "ReduceMean"), "axes"));
    g.node("Probe", "z", "cpu", {}, {g.node("Gelu", "gelu", "cpu", {}, {x})});
    model = modelOf(g.graph());
    QCOMPARE(opsetOf(model), std::int64_t{20});
    QVERIFY(!attributeOf(nodeOf(model, "ReduceMean"), "axes"));
    QCOMPARE(nodeOf(model, "ReduceMean").input_size(), 2);
}

void TestOnnxExport::requiredAttributesAreWritten() {
    GraphMaker g;
    const NodeId x = g.node("Input", "x", "cpu", {{"shape", std::vector<std::int64_t>{1, 4, 2, 2}}});
    for (const char* op : {"Concat", "Cast", "CumSum", "DepthToSpace", "SpaceToDepth", "LRN", "Split"})
        g.node("Probe", std::string(op) + " out", "cpu", {}, {g.node(op, op, "cpu", {}, {x})});
    const NodeId bits = g.node("Input", "bits", "cpu",
                               {{"shape", std::vector<std::int64_t>{2}}, {"dtype", std::string("u8")}});
    g.node("Probe", "shifted", "cpu", {}, {g.node("BitShift", "BitShift", "cpu", {}, {bits, bits})});
    for (const char* op : {"HannWindow", "MelWeightMatrix"})
        g.node("Probe", std::string(op) + " out", "cpu", {}, {g.node(op, op)});
    const onnx::ModelProto model = modelOf(g.graph());
    QVERIFY(attributeOf(nodeOf(model, "Concat"), "axis"));
    QVERIFY(attributeOf(nodeOf(model, "BitShift"), "direction"));
    QCOMPARE(nodeOf(model, "HannWindow").input_size(), 1);
    QCOMPARE(nodeOf(model, "MelWeightMatrix").input_size(), 5);
}

/// Of attributes that are inputs in ONNX.
void TestOnnxExport::numbersKeepTheirPrecision() {
    GraphMaker g;
    const auto input = [&](const char* name, const char* dtype) {
        return g.node("Input", name, "cpu",
                      {{"shape", std::vector<std::int64_t>{2}}, {"dtype", std::string(dtype)}});
    };
    g.node("Probe", "y", "cpu", {}, {g.node("Clip", "tenths", "cpu", {{"min", 0.1}}, {input("x", "f64")})});
    g.node("Probe", "z", "cpu", {},
           {g.node("Clip", "whole", "cpu", {{"min", 16777217.0}}, {input("i", "i64")})});
    const onnx::ModelProto model = modelOf(g.graph());
    int seen = 0;
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
        const std::string& bytes = tensor.raw_data();
        if (tensor.name().starts_with("tenths")) {
            QCOMPARE(tensor.data_type(), onnx::TensorProto::DOUBLE);
            double value = 0;
            QCOMPARE(bytes.size(), sizeof value);
            std::memcpy(&value, bytes.data(), sizeof value);
            QCOMPARE(value, 0.1);
            ++seen;
        } else if (tensor.name().starts_with("whole")) {
            QCOMPARE(tensor.data_type(), onnx::TensorProto::INT64);
            std::int64_t value = 0;
            QCOMPARE(bytes.size(), sizeof value);
            std::memcpy(&value, bytes.data(), sizeof value);
            QCOMPARE(value, std::int64_t{16777217});
            ++seen;
        }
    }
    QCOMPARE(seen, 2);
}

void TestOnnxExport::unreadOutputsThatOnnxNeedsAreNamed() {
    GraphMaker g;
    const NodeId x = g.node("Input", "x", "cpu", {{"shape", std::vector<std::int64_t>{3, 4}}});
    const NodeId k = g.node("Constant", "k", "cpu",
                            {{"value", std::vector<std::int64_t>{2}}, {"dtype", std::string("i64")}});
    const NodeId top = g.node("TopK", "top", "cpu", {}, {x, k});
    g.connect(top, g.node("Probe", "values"), 0, 0);
    const NodeId split = g.node("Split", "split", "cpu", {{"num_outputs", std::int64_t{3}}}, {x});
    g.connect(split, g.node("Probe", "part"), 0, 1);
    const NodeId four = g.node("Input", "four", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
    const NodeId norm =
        g.node("BatchNormalization", "norm", "cpu", {{"training_mode", true}}, {x, four, four, four, four});
    g.connect(norm, g.node("Probe", "normed"), 0, 0);
    const onnx::ModelProto model = modelOf(g.graph());
    for (const auto& [op, outputs] : {std::pair{"TopK", 2}, {"Split", 3}, {"BatchNormalization", 3}}) {
        const onnx::NodeProto& node = nodeOf(model, op);
        QCOMPARE(node.output_size(), outputs);
        for (const std::string& name : node.output()) QVERIFY2(!name.empty(), op);
    }
}

void TestOnnxExport::attributesAndDtypesRaiseTheOpset() {
    const auto opsetFor = [](const char* op, const char* dtype, const Attributes& attributes) {
        GraphMaker g;
        const NodeId x =
            g.node("Input", "x", "cpu",
                   {{"shape", std::vector<std::int64_t>{1, 2, 6}}, {"dtype", std::string(dtype)}});
        g.node("Probe", "y", "cpu", {}, {g.node(op, op, "cpu", attributes, {x})});
        return opsetOf(modelOf(g.graph()));
    };
    const std::vector<std::int64_t> two{2};
    QCOMPARE(opsetFor("LpPool", "f32", {{"kernel_shape", two}}), std::int64_t{17});
    QCOMPARE(opsetFor("LpPool", "f32", {{"kernel_shape", two}, {"dilations", two}}), std::int64_t{18});
    QCOMPARE(opsetFor("LpPool", "f32", {{"kernel_shape", two}, {"ceil_mode", true}}), std::int64_t{18});
    QCOMPARE(opsetFor("IsInf", "f32", {}), std::int64_t{17});
    QCOMPARE(opsetFor("IsInf", "f16", {}), std::int64_t{20});
    for (const char* op : {"Sin", "Selu", "Elu", "Softplus"})
        QCOMPARE(opsetFor(op, "bf16", {}), std::int64_t{22});
}

/// Fails if the graph's result "y" and that of the model that was written from it differ.
void compareWithItsModel(const Graph& graph, const onnx::ModelProto& model) {
    const ImportedModel back = parseOnnx(model.SerializeAsString(), "model.onnx");
    const DeviceMap map;
    const auto resultOf = [&](const Graph& of, const std::shared_ptr<const TensorFiles>& files) {
        const RunResult result = runToEnd(planOf(of, map, {}, files), {}, nullptr);
        return *result.tensor(*of.sourceOf({of.findByName("y")->id, 0}));
    };
    const Tensor before = resultOf(graph, nullptr);
    const Tensor after = resultOf(back.graph, makeMemoryFiles(back.tensors));
    QCOMPARE(after.shape(), before.shape());
    for (std::int64_t i = 0; i < before.elementCount(); ++i)
        QVERIFY(std::abs(before.at(i) - after.at(i)) < 1e-5);
}

/// ONNX's Gemm multiplies two matrices.
void TestOnnxExport::stacksOfMatricesAreMultipliedByMatMul_data() {
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<bool>("hasBias");
    QTest::addColumn<QString>("ops");
    const auto row = [](const char* name, const Attributes& attributes, bool hasBias, const char* ops) {
        QTest::newRow(name) << attributes << hasBias << QString(ops);
    };
    row("a linear layer", {}, true, "MatMul Add");
    row("without a bias", {}, false, "MatMul");
    row("a bias that is not read", {{"beta", 0.0}}, true, "MatMul");
    row("a transposed weight", {{"transB", true}}, true, "Transpose MatMul Add");
    row("scaled", {{"alpha", 0.5}}, false, "MatMul Mul");
    row("all scaled", {{"alpha", 0.5}, {"beta", 2.0}}, true, "MatMul Mul Mul Add");
}
void TestOnnxExport::stacksOfMatricesAreMultipliedByMatMul() {
    QFETCH(Attributes, attributes);
    QFETCH(bool, hasBias);
    QFETCH(QString, ops);
    GraphMaker g;
    const auto random = [&](const char* name, const std::vector<std::int64_t>& shape) {
        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", std::int64_t{5}}});
    };
    std::vector<NodeId> inputs{random("x", {2, 3, 4}), random("w", {4, 4})};
    if (hasBias) inputs.push_back(random("b", {4}));
    const NodeId layer = g.node("Gemm", "layer", "cpu", attributes, inputs);
    g.node("Probe", "y", "cpu", {}, {layer});
    const onnx::ModelProto model = modelOf(g.graph());
    QStringList written;
    for (const auto& node : model.graph().node())
        if (node.op_type() != "Identity") written << QString::fromStdString(node.op_type());
    written.sort();
    QStringList wanted = ops.split(QLatin1Char(' '));
    wanted.sort();
    QCOMPARE(written, wanted);

    compareWithItsModel(g.graph(), model);
}

/// ONNX's LayerNormalization requires a Scale.
void TestOnnxExport::normalizationsGetAScale() {
    GraphMaker g;
    const NodeId x = g.node("RandomNormal", "x", "cpu",
                            {{"shape", std::vector<std::int64_t>{2, 3, 4}}, {"seed", std::int64_t{5}}});
    const NodeId layer = g.node("LayerNormalization", "layer", "cpu", {{"axis", std::int64_t{1}}}, {x});
    g.node("Probe", "y", "cpu", {}, {layer});
    const onnx::ModelProto model = modelOf(g.graph());
    const auto& written = model.graph();
    const auto scale = std::ranges::find_if(written.initializer(),
                                            [](const auto& tensor) { return tensor.name() == "layer_Ones"; });
    QVERIFY(scale != written.initializer().end());
    QCOMPARE(std::vector<std::int64_t>(scale->dims().begin(), scale->dims().end()),
             (std::vector<std::int64_t>{3, 4}));
    compareWithItsModel(g.graph(), model);
}

void TestOnnxExport::scaledStacksOfIntegersAreRefused() {
    GraphMaker g;
    const auto ones = [&](const char* name, const std::vector<std::int64_t>& shape) {
        return g.node("Ones", name, "cpu", {{"shape", shape}, {"dtype", std::string("i32")}});
    };
    const NodeId layer =
        g.node("Gemm", "layer", "cpu", {{"alpha", 0.5}}, {ones("x", {2, 3, 4}), ones("w", {4, 4})});
    g.node("Probe", "y", "cpu", {}, {layer});
    const QString refusal = refusalOf(g.graph());
    QVERIFY2(refusal.contains("Gemm \"layer\" cannot be exported to ONNX") &&
                 refusal.contains("alpha and beta"),
             qPrintable(refusal));
}

void TestOnnxExport::refusalsNameTheNodeAndTheWayOut() {
    GraphMaker g;
    const NodeId x = g.node("Input", "x", "cpu",
                            {{"shape", std::vector<std::int64_t>{2}}, {"dtype", std::string("bf16")}});
    g.node("Probe", "y", "cpu", {}, {g.node("Shrink", "fine", "cpu", {}, {g.node("Ones", "ones")})});
    QVERIFY2(refusalOf(g.graph()).isEmpty(), qPrintable(refusalOf(g.graph())));
    g.node("Probe", "z", "cpu", {}, {g.node("Shrink", "shrink", "cpu", {}, {x})});
    const QString refusal = refusalOf(g.graph());
    QVERIFY2(
        refusal.contains("Shrink \"shrink\" cannot be exported to ONNX: its input cannot be bf16 in ONNX; "
                         "cast to another dtype"),
        qPrintable(refusal));
}

TWB_TEST_MAIN(TestOnnxExport)
#include "test_onnx_export.moc"
