#include "core/error.h"
#include "formats/module_files.h"
#include "formats/op_help.h"
#include "formats/project.h"
#include "placement/analysis.h"
#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/onnx_function_models.h"
#include "support/op_runner.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QDir>
#include <QTemporaryDir>

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> [ leaky -> [ twice ] ]: LeakyRelu with alpha 0.1, then a product with 2. Its attributes are "slope"
/// and "factor".
ModuleOp leakyTwice() {
    GraphMaker maker;
    const NodeId leaky = maker.node("LeakyRelu", "leaky", "cpu", {{"alpha", 0.1}});
    const NodeId two = maker.node("Constant", "two", "cpu", {{"value", 2.0}, {"dtype", std::string("f32")}});
    const NodeId twice = maker.node("Mul", "twice", "cpu", {}, {leaky, two});
    ModuleOp op;
    op.name = "Leaky twice";
    op.version = 3;
    op.doc = "Twice a leaky ReLU";
    op.fragment = copyOf(maker.graph(), {leaky, two, twice});
    op.inputs = {{"x", {leaky, 0}}};
    op.outputs = {{"y", {twice, 0}}};
    op.attributes = {{"slope", "the slope below zero", {{leaky, "alpha"}}}, {"factor", "", {{two, "value"}}}};
    frameFragment(op);
    return op;
}

/// A graph with one module of the op, fed by the numbers −1 and 2.
struct Used {
    Graph graph;
    FrameId module = FrameId::none;
    PortRef output;

    explicit Used(const ModuleOp& op) {
        DeltaBuilder builder(graph, "use");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        Node x;
        x.op = "Constant";
        x.name = "numbers";
        x.lane = cpu;
        x.attributes = {{"value", std::vector<double>{-1, 2}}, {"dtype", std::string("f32")}};
        const NodeId source = builder.addNode(x);
        std::vector<NodeId> added;
        paste(builder, op.fragment, {}, cpu, &added);
        const auto here = [&](PortRef port) {
            const auto at = std::ranges::find(op.fragment.nodes, port.node, &Node::id);
            return PortRef{added[static_cast<std::size_t>(at - op.fragment.nodes.begin())], port.port};
        };
        for (const ModuleOp::Port& port : op.inputs) builder.connect({{source, 0}, here(port.at)});
        output = here(op.outputs.at(0).at);
        graph.apply(builder.take());
        for (const Frame& frame : graph.frames())
            if (madeFrom(frame) == op.ref()) module = frame.id;
    }

    /// The module's output.
    Tensor run() const {
        DeviceMap devices;
        const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        if (analysis.hasErrors()) throw Error(ErrorCode::badGraph, analysis.diagnostics.front().message);
        CompileOptions compiling;
        compiling.keep.insert(output);
        const RunResult result = runToEnd(compile(graph, analysis, devices, nullptr, compiling), {});
        const Tensor* y = result.tensor(output);
        return y ? *y : Tensor();
    }
};

QString wrongValues(const Used& used, const std::vector<double>& wanted) {
    return difference(used.run(), {2}, wanted, {1e-6, 1e-6});
}

} // namespace

class TestModuleFiles : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    void write(const char* name, const std::string& text) const {
        writeFileAtomically(m_folder.filePath(QString::fromLatin1(name)).toStdString(), text);
    }
    std::filesystem::path folder() const { return m_folder.path().toStdString(); }

private Q_SLOTS:
    void cleanup() {
        for (const QString& file : QDir(m_folder.path()).entryList(QDir::Files))
            QFile::remove(m_folder.filePath(file));
    }

    void aModuleOpIsTheSameAfterItsFile() {
        const ModuleOp op = leakyTwice();
        const std::string text = toModuleText(op);
        const ModuleOp read = parseModuleOp(text, "a test", "other");
        QCOMPARE(read.fragment.nodes.size(), op.fragment.nodes.size());
        QCOMPARE(read.doc, op.doc);
        QVERIFY(read.attributes.at(1).sets == op.attributes[1].sets);
        QVERIFY(read.outputs.at(0).at == op.outputs[0].at);
        for (const Node& node : read.fragment.nodes) QCOMPARE(node.lane, LaneId::none); // goes to any lane
        QVERIFY(read.ref() == ModuleRef({"Leaky twice", 3}));
        QCOMPARE(read.attributes.at(0).doc, std::string("the slope below zero"));
        QCOMPARE(read.inputs.at(0).name, std::string("x"));
    }

    void itsAttributesSetThoseOfItsNodes() {
        const ModuleOp op = leakyTwice();
        Used used(op);
        QVERIFY(used.module != FrameId::none);
        QString wrong = wrongValues(used, {-0.2, 4});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        for (const ModuleOp::Attribute& attribute : op.attributes)
            used.graph.apply(setModuleAttribute(used.graph, used.module, op, attribute, 0.5));
        wrong = wrongValues(used, {-0.25, 1});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        // Without a value, the default of the module comes back.
        for (const ModuleOp::Attribute& attribute : op.attributes)
            used.graph.apply(setModuleAttribute(used.graph, used.module, op, attribute, std::nullopt));
        wrong = wrongValues(used, {-0.2, 4});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const std::optional<AttributeSpec> slope = specOf(op, op.attributes[0]);
        QVERIFY(slope && slope->type == AttributeType::number && slope->name == "slope");
        QVERIFY(slope->defaultValue == std::optional<AttributeValue>(0.1));
    }

    void aModuleWithOtherNodesHasNoAttributes() {
        const ModuleOp op = leakyTwice();
        Used used(op);
        const std::vector<NodeId> nodes = nodesMadeFrom(used.graph, used.module, op);
        QCOMPARE(nodes.size(), std::size_t(3));
        DeltaBuilder builder(used.graph, "edit");
        builder.removeNode(nodes.back());
        used.graph.apply(builder.take());
        QVERIFY(nodesMadeFrom(used.graph, used.module, op).empty());
        QVERIFY(setModuleAttribute(used.graph, used.module, op, op.attributes[0], 0.5).empty());
    }

    void aProjectNamesTheOpWithItsVersion() {
        const ModuleOp op = leakyTwice();
        const Used used(op);
        const std::string text = toProjectText(used.graph);
        QVERIFY2(text.find(R"("module": "Leaky twice@3")") != std::string::npos, text.c_str());
        const Graph read = parseProject(text, "a test");
        QVERIFY(read == used.graph);
        QCOMPARE(toProjectText(read), text);
        // So does a copy of the module.
        Graph copy;
        DeltaBuilder builder(copy, "paste");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        paste(builder, copyOf(used.graph, nodesMadeFrom(used.graph, used.module, op)), {}, cpu);
        copy.apply(builder.take());
        QVERIFY(std::ranges::any_of(copy.frames(),
                                    [&](const Frame& frame) { return madeFrom(frame) == op.ref(); }));
    }

    /// As a clipboard has it, and as older versions saved modules.
    void aFragmentAloneIsAModuleOp() {
        const ModuleOp whole = leakyTwice();
        write("my%2Fblock.twbmodule", toFragmentText(whole.fragment));
        const ModuleOps found = moduleOpsIn(folder());
        QVERIFY(found.problems.empty());
        const ModuleOp* op = found.find("my/block");
        QVERIFY(op);
        QCOMPARE(op->version, std::int64_t(1));
        QVERIFY(op->attributes.empty());
        QCOMPARE(op->inputs.size(), std::size_t(1));
        QVERIFY(op->inputs[0].at == whole.inputs[0].at);
        QVERIFY(op->outputs.at(0).at == whole.outputs[0].at);
    }

    void faultyFilesAreTold() {
        std::string text = toModuleText(leakyTwice());
        const auto told = [&](const char* from, const char* to) {
            std::string faulty = text;
            const std::size_t at = faulty.find(from);
            if (at == std::string::npos) return QStringLiteral("no such text");
            faulty.replace(at, std::string_view(from).size(), to);
            return refusal([&] { parseModuleOp(faulty, "m.twbmodule", "m"); });
        };
        QVERIFY(told("\"version\": 1", "\"version\": 2").contains(QLatin1String("newer version")));
        QVERIFY(told("\"op_version\": 3", "\"op_version\": 0").contains(QLatin1String("at least 1")));
        QVERIFY(told("\"name\": \"Leaky twice\"", "\"name\": 5").contains(QLatin1String("must be a string")));
        QVERIFY(told("\"at\": [1, 0]", "\"at\": [77, 0]").contains(QLatin1String("names node 77")));
        QVERIFY(told("[[1, \"alpha\"]]", "[]").contains(QLatin1String("attributes[0].sets")));
        QVERIFY(told("\"op\": \"Mul\"", "\"op\": 5").contains(QLatin1String("m.twbmodule")));
        QVERIFY(refusal([] { parseModuleOp("{", "m.twbmodule", "m"); }).size() > 10);
        const std::string deep = R"({"format":"tensor-workbench-module","version":1,"fragment":)" +
                                 std::string(200'000, '[') + std::string(200'000, ']') + "}";
        QVERIFY(refusal([&] { parseModuleOp(deep, "m.twbmodule", "m"); }).size() > 10);
    }

    void namesAreUnique() {
        ModuleOp op = leakyTwice();
        write("a.twbmodule", toModuleText(op));
        write("b.twbmodule", toModuleText(op));
        op.name = "Relu";
        write("c.twbmodule", toModuleText(op));
        const ModuleOps found = moduleOpsIn(folder());
        QCOMPARE(found.ops.size(), std::size_t(1));
        QCOMPARE(found.problems.size(), std::size_t(2));
        QVERIFY(found.problems[0].sentence.find("is already in") != std::string::npos);
        QVERIFY(found.problems[1].sentence.find("name of an op of the program") != std::string::npos);
    }

    void functionsOfAnOnnxModelAreOps() {
        onnx::ModelProto model = modelWithFunctions();
        addSwish(model, 5);
        write("ours.onnx", model.SerializeAsString());
        const ModuleOps found = moduleOpsIn(folder());
        QVERIFY2(found.problems.empty(), found.problems.empty() ? "" : found.problems[0].sentence.c_str());
        const ModuleOp* swish = found.find("ours.Swish");
        QVERIFY(swish);
        QCOMPARE(swish->version, std::int64_t(5));
        QCOMPARE(swish->doc, std::string("x · sigmoid(beta · x)"));
        // Two nodes read x, so an Identity gives it one port.
        QCOMPARE(swish->inputs.size(), std::size_t(1));
        QCOMPARE(swish->inputs[0].name, std::string("x"));
        QCOMPARE(swish->outputs.at(0).name, std::string("y"));
        QCOMPARE(swish->attributes.size(), std::size_t(1));
        QVERIFY(specOf(*swish, swish->attributes[0])->defaultValue == std::optional<AttributeValue>(1.0));
        Used used(*swish);
        const auto value = [](double x, double beta) { return x / (1 + std::exp(-beta * x)); };
        QString wrong = wrongValues(used, {value(-1, 1), value(2, 1)});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        used.graph.apply(setModuleAttribute(used.graph, used.module, *swish, swish->attributes[0], 3.0));
        wrong = wrongValues(used, {value(-1, 3), value(2, 3)});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// Two calls Leaky twice; Leaky's alpha has a default.
    void aFunctionThatCallsAnotherIsAnOp() {
        write("ours.onnx", modelWithFunctions().SerializeAsString());
        const ModuleOps found = moduleOpsIn(folder());
        const ModuleOp* two = found.find("ours.Two");
        const ModuleOp* leaky = found.find("ours.Leaky");
        QVERIFY(two && leaky);
        QVERIFY(two->attributes.empty());
        QCOMPARE(leaky->attributes.size(), std::size_t(1));
        QCOMPARE(leaky->attributes[0].name, std::string("alpha"));
        QVERIFY(specOf(*leaky, leaky->attributes[0])->defaultValue == std::optional<AttributeValue>(0.25));
        const Used used(*two);
        QString wrong = wrongValues(used, {-0.125, 2});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const OpHelp help = helpOf(*leaky);
        QCOMPARE(help.inputs.at(0).name, std::string("x"));
        QCOMPARE(help.attributes.at(0).value, std::string("= 0.25"));
        QVERIFY(help.shapes.starts_with("module, version 1, of 1 node: LeakyRelu"));
    }

    void aFunctionThatCannotBeAModuleIsTold() {
        onnx::ModelProto model = modelWithFunctions();
        onnx::FunctionProto& large = *model.add_functions();
        large.set_domain("ours");
        large.set_name("Large");
        large.add_output("y");
        large.add_opset_import()->set_version(17);
        auto& constant = *large.add_node() = node("", "Constant", "table", {}, {"y"});
        auto& value = *constant.add_attribute();
        value.set_name("value_floats");
        value.set_type(onnx::AttributeProto::FLOATS);
        for (int i = 0; i < 1000; ++i) value.add_floats(1);
        write("ours.onnx", model.SerializeAsString());
        write("torn.onnx", "no model");
        const ModuleOps found = moduleOpsIn(folder());
        QVERIFY(found.find("ours.Two"));
        QVERIFY(!found.find("ours.Large"));
        QCOMPARE(found.problems.size(), std::size_t(2));
        QVERIFY2(found.problems[0].sentence.find("function Large: it contains a tensor of 1000 elements") !=
                     std::string::npos,
                 found.problems[0].sentence.c_str());
        QVERIFY(found.problems[1].sentence.find("not an ONNX file") != std::string::npos);
    }
};

TWB_TEST_MAIN(TestModuleFiles)
#include "test_module_files.moc"
