#include "core/error.h"
#include "formats/npy.h"
#include "formats/onnx/onnx_export.h"
#include "formats/onnx/onnx_model.h"
#include "formats/project.h"
#include "support/graphs.h"
#include "support/onnx_models.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <fstream>
using namespace twb;
using namespace twb::test;

class TestOnnxImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nodesInputsAndWeights();
    void largeTensorsGoBesideTheProject();
    void unknownOpsArePlaceholders();
    void gradientsBecomeBackwardPasses();
    void namesThatAreNoTextBecomeOne();
    void newerOpsetsGiveARemark();
    void tensorsAreNoOptionals();
    void narrowTensors();
    void refusesBrokenModels_data();
    void refusesBrokenModels();
    void bodiesMayBeNestedDeeply();
    void initialValuesStayOutsideTheirBody();
    void listsThatABodyAppendsToMayGrow();
    void survivesEveryTruncation();

private:
    std::filesystem::path write(const onnx::ModelProto& model) { return write(model.SerializeAsString()); }
    std::filesystem::path write(const std::string& bytes) {
        const std::filesystem::path path = m_folder.filePath("model.onnx").toStdString();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    QTemporaryDir m_folder;
};

void TestOnnxImport::nodesInputsAndWeights() {
    const ImportedModel model = importOnnx(write(smallModel()), {.dimensions = {{"n", 3}}});
    const Graph& graph = model.graph;
    QCOMPARE(graph.info().title, "small");
    QCOMPARE(graph.nodes().size(), std::size_t{5});
    const Node* x = graph.findByName("x");
    QVERIFY(x && x->op == "Input");
    QCOMPARE(x->attributes.integers("shape"), (std::vector<std::int64_t>{2, 3}));
    const Node* w = graph.findByName("w");
    QVERIFY(w && w->op == "Constant");
    QCOMPARE(w->attributes.numbers("value"), std::vector<double>{-0.5});
    const Node* add = graph.findByName("layer1/add");
    QVERIFY(add);
    QCOMPARE(graph.sourceOf({add->id, 1})->node, w->id);
    QCOMPARE(model.outputs.size(), std::size_t{1});
    QCOMPARE(graph.find(model.outputs[0].from.node)->op, "Relu");
    QVERIFY(model.tensors.empty() && model.remarks.empty());
}

void TestOnnxImport::largeTensorsGoBesideTheProject() {
    onnx::ModelProto model = smallModel();
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    weight.clear_float_data();
    weight.set_dims(0, 100);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const char* value) {
        auto& pair = *weight.add_external_data();
        pair.set_key(key);
        pair.set_value(value);
    };
    entry("location", "weights.bin");
    entry("offset", "8");
    std::vector<float> values(102);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    std::ofstream(m_folder.filePath("weights.bin").toStdString(), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), 408);
    const ImportedModel imported = importOnnx(write(model));
    QCOMPARE(imported.tensors.size(), std::size_t{1});
    const std::filesystem::path project = m_folder.filePath("model.twb").toStdString();
    saveImportedModel(imported, project);
    const Graph back = loadProject(project);
    QVERIFY(back == imported.graph);
    const auto files = makeProjectFiles(m_folder.path().toStdString());
    const Tensor read = Tensor::onHost(files->typeOf("model.safetensors#w"));
    files->read("model.safetensors#w", read.view());
    QCOMPARE(read.at(0), 2.0);
    QCOMPARE(read.at(99), 101.0);
}

/// A Constant that only a Carried or a ScanSlice reads moved into the body, where the Loop cannot read it.
void TestOnnxImport::initialValuesStayOutsideTheirBody() {
    using Ints = std::vector<std::int64_t>;
    GraphMaker g;
    const Attributes two{{"value", std::vector<double>{1, 2}}};
    const NodeId start = g.node("Constant", "start", "cpu", two);
    const NodeId x = g.node("Carried", "x", "cpu", {{"index", std::int64_t{0}}}, {start});
    const NodeId factor = g.node("Constant", "factor", "cpu", two);
    const NodeId product = g.node("Mul", "product", "cpu", {}, {x, factor});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    g.connect(product, loop, 3);
    g.body(loop, "body", {x, product});
    const NodeId all =
        g.node("Constant", "all", "cpu", {{"value", std::vector<double>{1, 2, 3, 4}}, {"shape", Ints{2, 2}}});
    const NodeId slice = g.node("ScanSlice", "slice", "cpu", {}, {all});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {slice, loop});
    const NodeId scan = g.node("Scan", "scan", "cpu", {});
    g.connect(sum, scan, 0);
    g.body(scan, "body", {slice, sum});
    g.node("Probe", "out", "cpu", {}, {scan});
    const std::filesystem::path path = m_folder.filePath(QStringLiteral("loop.onnx")).toStdString();
    exportOnnx(g.graph(), nullptr, path);
    const ImportedModel model = importOnnx(path);
    const auto files = makeMemoryFiles(model.tensors);
    const Analysis analysis = analyze(model.graph, DeviceMap(), Policy::strict, files.get());
    if (analysis.hasErrors()) QFAIL(analysis.diagnostics.front().message.c_str());
    const Node* initial = model.graph.findByName("start");
    QVERIFY(initial && initial->folded && initial->frame == model.graph.findByName("loop")->frame);
}

/// PyTorch's exporter declares the sizes of the empty list for the body, too.
void TestOnnxImport::listsThatABodyAppendsToMayGrow() {
    using Ints = std::vector<std::int64_t>;
    GraphMaker g;
    const NodeId start = g.node("Zeros", "start", "cpu", {{"shape", Ints{0, 2}}});
    const NodeId x = g.node("Carried", "x", "cpu", {{"index", std::int64_t{0}}, {"varies", true}}, {start});
    const NodeId row = g.node("Ones", "row", "cpu", {{"shape", Ints{1, 2}}});
    const NodeId longer = g.node("Concat", "longer", "cpu", {{"axis", std::int64_t{0}}}, {x, row});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    g.connect(longer, loop, 3);
    g.body(loop, "body", {x, longer});
    g.node("Probe", "out", "cpu", {}, {loop});
    onnx::ModelProto model;
    QVERIFY(model.ParseFromString(toOnnx(g.graph(), nullptr)));
    const auto body = [&]() -> onnx::GraphProto& {
        for (auto& node : *model.mutable_graph()->mutable_node())
            if (node.op_type() == "Loop") return *node.mutable_attribute(0)->mutable_g();
        qFatal("no Loop");
    };
    const auto declare = [](onnx::ValueInfoProto& value, const Ints& sizes) {
        auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
        shape.clear_dim();
        for (const std::int64_t size : sizes) shape.add_dim()->set_dim_value(size);
    };
    const auto varies = [&] {
        const ImportedModel imported = importOnnx(write(model));
        const auto files = makeMemoryFiles(imported.tensors);
        const Analysis analysis = analyze(imported.graph, DeviceMap(), Policy::strict, files.get());
        return std::pair(imported.graph.findByName(body().input(2).name())->attributes.has("varies"),
                         analysis.hasErrors());
    };
    declare(*body().mutable_input(2), {0, 2});
    body().mutable_output(1)->mutable_type()->mutable_tensor_type()->clear_shape();
    QCOMPARE(varies(), std::pair(true, false));
    declare(*body().mutable_input(2), {1, 2});
    declare(*body().mutable_output(1), {2, 2});
    QCOMPARE(varies().first, true);
    declare(*body().mutable_output(1), {1, 2});
    QCOMPARE(varies().first, false);
}

void TestOnnxImport::unknownOpsArePlaceholders() {
    onnx::ModelProto model = smallModel();
    model.mutable_graph()->mutable_node(0)->set_op_type("NeverHeardOf");
    model.mutable_graph()->mutable_node(1)->set_domain("com.example");
    const ImportedModel imported = importOnnx(write(model));
    QCOMPARE(imported.graph.findByName("layer1/add")->op, "NeverHeardOf");
    QCOMPARE(imported.graph.find(imported.outputs[0].from.node)->op, "com.example.Relu");
    QCOMPARE(imported.graph.edgeCount(), std::size_t{4});
}

/// Found by the fuzzer: such an attribute was saved under a name that the reader did not expect.
/// Of a loss of one number; a Gradient of a larger tensor remains, and a remark says why.
void TestOnnxImport::gradientsBecomeBackwardPasses() {
    onnx::ModelProto model = smallModel();
    auto& training = *model.add_opset_import();
    training.set_domain("ai.onnx.preview.training");
    training.set_version(1);
    auto& loss = *model.mutable_graph()->add_node();
    loss.set_op_type("ReduceSum");
    loss.add_input("y");
    loss.add_output("loss");
    auto& gradient = *model.mutable_graph()->add_node();
    gradient.set_op_type("Gradient");
    gradient.set_domain(training.domain());
    for (const char* x : {"x", "w"}) gradient.add_input(x);
    for (const char* dx : {"dx", "dw"}) gradient.add_output(dx);
    auto& xs = *gradient.add_attribute();
    xs.set_name("xs");
    xs.set_type(onnx::AttributeProto::STRINGS);
    for (const char* x : {"x", "w"}) xs.add_strings(x);
    auto& y = *gradient.add_attribute();
    y.set_name("y");
    y.set_type(onnx::AttributeProto::STRING);
    y.set_s("loss");
    *model.mutable_graph()->add_output() = model.graph().output(0);
    model.mutable_graph()->mutable_output(1)->set_name("dx");
    const ImportedModel imported = importOnnx(write(model), {.dimensions = {{"n", 3}}});
    QCOMPARE(imported.remarks, std::vector<std::string>{});
    const Node* dx = imported.graph.find(imported.outputs[1].from.node);
    QVERIFY(dx && imported.graph.find(dx->forward));

    model.mutable_graph()->mutable_node(3)->mutable_attribute(1)->set_s("y");
    const ImportedModel larger = importOnnx(write(model), {.dimensions = {{"n", 3}}});
    QCOMPARE(larger.remarks.size(), std::size_t{1});
    QVERIFY(QString::fromStdString(larger.remarks[0]).contains("must be a floating-point scalar"));
    QCOMPARE(larger.graph.find(larger.outputs[1].from.node)->op, "ai.onnx.preview.training.Gradient");
}

void TestOnnxImport::namesThatAreNoTextBecomeOne() {
    onnx::ModelProto model = smallModel();
    onnx::AttributeProto& attribute = *model.mutable_graph()->mutable_node(1)->add_attribute();
    attribute.set_name("coordina\xb0"
                       "e");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(3);
    const ImportedModel imported = importOnnx(write(model));
    QVERIFY(parseProject(toProjectText(imported.graph), "saved") == imported.graph);
}

void TestOnnxImport::newerOpsetsGiveARemark() {
    onnx::ModelProto model = smallModel();
    model.mutable_opset_import(0)->set_version(99);
    const ImportedModel imported = importOnnx(write(model));
    QCOMPARE(imported.remarks.size(), std::size_t{1});
    QVERIFY(imported.remarks[0].find("opset 99 is newer than 28") != std::string::npos);
}

/// A tensor always has an element, and an input that is not connected has none.
void TestOnnxImport::tensorsAreNoOptionals() {
    onnx::ModelProto model = smallModel();
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::NodeProto& last = *graph.mutable_node(1);
    const auto source = [&] {
        const ImportedModel imported = importOnnx(write(model));
        return *imported.graph.find(imported.outputs.at(0).from.node);
    };
    last.set_op_type("OptionalGetElement");
    QCOMPARE(source().op, "Identity");
    last.set_op_type("OptionalHasElement");
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
    QCOMPARE(source().attributes.number("value"), 1.0);
    last.set_input(0, "");
    QCOMPARE(source().attributes.number("value"), 0.0);
}

/// Each entry of int32_data is a byte, which holds several elements of a packed dtype.
void TestOnnxImport::narrowTensors() {
    const auto imported = [&](int type, std::int64_t size, const std::vector<std::int32_t>& bytes,
                              bool isRaw) {
        onnx::ModelProto model = smallModel();
        onnx::GraphProto& graph = *model.mutable_graph();
        auto& weight = *graph.mutable_initializer(0);
        weight.clear_float_data();
        weight.set_data_type(type);
        weight.set_dims(0, size);
        std::string raw;
        for (const std::int32_t byte : bytes) {
            raw += static_cast<char>(byte);
            if (!isRaw) weight.add_int32_data(byte);
        }
        if (isRaw) weight.set_raw_data(raw);
        const ImportedModel made = importOnnx(write(model));
        const Node* node = made.graph.findByName("w");
        return std::pair(node->attributes.text("dtype"), node->attributes.numbers("value"));
    };
    for (const bool isRaw : {false, true}) {
        QVERIFY(imported(22, 3, {0x98, 0x07}, isRaw) ==
                std::pair(std::string("i4"), std::vector<double>{-8, -7, 7}));
        QVERIFY(imported(21, 3, {0x98, 0x07}, isRaw) ==
                std::pair(std::string("u4"), std::vector<double>{8, 9, 7}));
        QVERIFY(imported(25, 5, {0b11100100, 2}, isRaw) ==
                std::pair(std::string("u2"), std::vector<double>{0, 1, 2, 3, 2}));
        QVERIFY(imported(26, 2, {0b0110}, isRaw) == std::pair(std::string("i2"), std::vector<double>{-2, 1}));
        QVERIFY(imported(23, 2, {0xa7}, isRaw) ==
                std::pair(std::string("f4e2m1"), std::vector<double>{6, -1}));
        QVERIFY(imported(17, 2, {0x7e, 0x80}, isRaw) ==
                std::pair(std::string("f8e4m3fn"), std::vector<double>{448, -0.0}));
        QVERIFY(imported(18, 1, {0x7f}, isRaw) ==
                std::pair(std::string("f8e4m3fnuz"), std::vector<double>{240}));
        QVERIFY(imported(19, 1, {0x7b}, isRaw) ==
                std::pair(std::string("f8e5m2"), std::vector<double>{57344}));
        QVERIFY(imported(20, 1, {0x01}, isRaw) ==
                std::pair(std::string("f8e5m2fnuz"), std::vector<double>{0x1p-17}));
        QVERIFY(imported(24, 1, {0x80}, isRaw) == std::pair(std::string("f8e8m0"), std::vector<double>{2}));
    }
}

void TestOnnxImport::refusesBrokenModels_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("problem");
    const auto row = [](const char* name, const char* problem, const auto& change) {
        onnx::ModelProto model = smallModel();
        change(model, *model.mutable_graph());
        QTest::newRow(name) << QByteArray::fromStdString(model.SerializeAsString()) << QString(problem);
    };
    using Model = onnx::ModelProto;
    using GraphProto = onnx::GraphProto;
    QTest::newRow("empty") << QByteArray() << QStringLiteral("not an ONNX file");
    QTest::newRow("text") << QByteArray("hello, world") << QStringLiteral("not an ONNX file");
    row("no graph", "it has no graph", [](Model& m, GraphProto&) { m.clear_graph(); });
    row("no opset", "no operator set", [](Model& m, GraphProto&) { m.clear_opset_import(); });
    row("missing source", "the Relu that makes \"y\": its input 0 is \"nobody\", which has no source",
        [](Model&, GraphProto& g) { g.mutable_node(1)->set_input(0, "nobody"); });
    row("a Scan whose body returns nothing", "its body has 0 outputs, but carries 1 values",
        [](Model&, GraphProto& g) {
            onnx::NodeProto& scan = *g.mutable_node(1);
            scan.set_op_type("Scan");
            scan.add_input(scan.input(0));
            auto& count = *scan.add_attribute();
            count.set_name("num_scan_inputs");
            count.set_type(onnx::AttributeProto::INT);
            count.set_i(1);
            auto& body = *scan.add_attribute();
            body.set_name("body");
            body.set_type(onnx::AttributeProto::GRAPH);
            for (const char* name : {"state", "slice"}) body.mutable_g()->add_input()->set_name(name);
        });
    row("missing output", "output \"y\": it has no source",
        [](Model&, GraphProto& g) { g.mutable_node(1)->set_output(0, "z"); });
    row("two sources", "output \"sum\" has another source already",
        [](Model&, GraphProto& g) { g.mutable_node(1)->set_output(0, "sum"); });
    row("short initializer", "initializer \"w\": its shape has 4 elements, but 1 are given",
        [](Model&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, 4); });
    row("huge initializer", "initializer \"w\": its shape [1099511627776] has 1099511627776 elements",
        [](Model&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, std::int64_t{1} << 40); });
    row("overflow", "initializer \"w\"", [](Model&, GraphProto& g) {
        g.mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62);
        g.mutable_initializer(0)->add_dims(64);
    });
    row("negative size", "initializer \"w\"",
        [](Model&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, -1); });
    row("empty, negative size", "initializer \"w\"", [](Model&, GraphProto& g) {
        g.mutable_initializer(0)->set_dims(0, 0);
        g.mutable_initializer(0)->add_dims(-1);
        g.mutable_initializer(0)->clear_float_data();
    });
    row("empty, overflow", "initializer \"w\"", [](Model&, GraphProto& g) {
        g.mutable_initializer(0)->set_dims(0, 0);
        for (int i = 0; i < 2; ++i) g.mutable_initializer(0)->add_dims(std::int64_t{1} << 62);
        g.mutable_initializer(0)->clear_float_data();
    });
    row("strings", "initializer \"w\": its element type is string",
        [](Model&, GraphProto& g) { g.mutable_initializer(0)->set_data_type(onnx::TensorProto::STRING); });
    row("raw length", "its shape [1] needs 4 bytes, but its data has 3",
        [](Model&, GraphProto& g) { g.mutable_initializer(0)->set_raw_data("abc"); });
    const auto external = [](GraphProto& g, const char* location) {
        auto& weight = *g.mutable_initializer(0);
        weight.set_data_location(onnx::TensorProto::EXTERNAL);
        auto& entry = *weight.add_external_data();
        entry.set_key("location");
        entry.set_value(location);
    };
    row("outside", "is outside the model's folder",
        [&](Model&, GraphProto& g) { external(g, "../../etc/passwd"); });
    row("absolute", "is outside the model's folder",
        [&](Model&, GraphProto& g) { external(g, "/etc/passwd"); });
    row("no such file", "nothing.bin cannot be read",
        [&](Model&, GraphProto& g) { external(g, "nothing.bin"); });
    row("map input", "input \"x\": it is a map", [](Model&, GraphProto& g) {
        g.mutable_input(0)->mutable_type()->mutable_map_type()->mutable_value_type();
    });
    row("sequence as a tensor", "node \"layer1/add\" (Add) reads a sequence or an optional as its input 0",
        [](Model&, GraphProto& g) {
            const onnx::TypeProto tensor = g.input(0).type();
            *g.mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type() = tensor;
        });
    row("sequence of unknown length",
        "the length of the output \"y\", a sequence, is not known before the run", [](Model&, GraphProto& g) {
            *g.add_input() = g.input(0);
            auto& sequence = *g.mutable_input(1);
            sequence.set_name("s");
            *sequence.mutable_type()->mutable_sequence_type()->mutable_elem_type() = g.input(0).type();
            auto& split = *g.mutable_node(1);
            split.set_op_type("SplitToSequence");
            auto& axis = *split.add_attribute();
            axis.set_name("axis");
            axis.set_type(onnx::AttributeProto::INT);
            axis.set_i(1);
        });
    row("string input", "input \"x\": its element type is string", [](Model&, GraphProto& g) {
        g.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
    });
}

void TestOnnxImport::refusesBrokenModels() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, problem);
    try {
        (void)importOnnx(write(bytes.toStdString()));
        QFAIL("it was imported");
    } catch (const Error& e) {
        QVERIFY(e.code() == ErrorCode::badFile || e.code() == ErrorCode::io);
        QVERIFY2(QString(e.what()).contains(problem), e.what());
    }
}

/// A model truncated at any byte is either rejected or read.
void TestOnnxImport::bodiesMayBeNestedDeeply() {
    onnx::ModelProto model = smallModel();
    onnx::NodeProto innermost;
    innermost.set_op_type("Relu");
    innermost.add_input("sum");
    innermost.add_output("y");
    auto& condition = *model.mutable_graph()->add_initializer();
    condition.set_name("condition");
    condition.set_data_type(onnx::TensorProto::BOOL);
    condition.add_int32_data(1);
    onnx::NodeProto node = innermost;
    constexpr std::size_t depth = 100;
    for (std::size_t i = 0; i < depth; ++i) {
        onnx::NodeProto around;
        around.set_op_type("If");
        around.set_name("if" + std::to_string(i));
        around.add_input("condition");
        around.add_output("y");
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto& attribute = *around.add_attribute();
            attribute.set_name(branch);
            attribute.set_type(onnx::AttributeProto::GRAPH);
            const bool isThen = branch[0] == 't';
            onnx::NodeProto& inside = *attribute.mutable_g()->add_node() = isThen ? node : innermost;
            inside.set_output(0, std::string(branch) + std::to_string(i));
            attribute.mutable_g()->add_output()->set_name(inside.output(0));
        }
        node = std::move(around);
    }
    *model.mutable_graph()->mutable_node(1) = node;
    const ImportedModel imported = importOnnx(write(model));
    QCOMPARE(imported.graph.frames().size(), 2 * depth);
}

void TestOnnxImport::survivesEveryTruncation() {
    const std::string bytes = smallModel().SerializeAsString();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        try {
            (void)importOnnx(write(bytes.substr(0, length)));
        } catch (const Error&) {
            continue;
        }
    }
}

TWB_TEST_MAIN(TestOnnxImport)
#include "test_onnx_import.moc"
