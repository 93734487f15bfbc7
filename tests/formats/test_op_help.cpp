#include "formats/op_help.h"
#include "graph/composites.h"
#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <cmath>
#include <set>

using namespace twb;
using namespace twb::test;

class TestOpHelp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyExampleRuns_data();
    void everyExampleRuns();
    void opsWithoutExampleSayWhy();
    void everyOpHasAFormulaOrAShape();
    void namesOfPyTorchAndOnnx();
    void constraintsAreNamed();
};

namespace {

/// A Batches, a File and an Opaque need something of the user.
const std::set<std::string> kWithout{"File", "Batches", "Opaque"};

QString line(const std::string& text) { return QString::fromStdString(text); }

} // namespace

void TestOpHelp::everyExampleRuns_data() {
    QTest::addColumn<QString>("op");
    for (const Op& op : opTable())
        if (!kWithout.contains(op.name)) QTest::newRow(op.name.c_str()) << line(op.name);
}

/// It has no problems on a CPU and on a GPU, and all of its results are finite.
void TestOpHelp::everyExampleRuns() {
    QFETCH(QString, op);
    const Composite* example = exampleOf(op.toStdString());
    QVERIFY(example);
    QCOMPARE(findComposite(example->name), example);
    const auto files = std::make_shared<MemoryFiles>();
    for (const char* device : {"cpu", "cuda:0"}) {
        if (op == QLatin1String("Save") && device != std::string_view("cpu"))
            continue; // files are written there
        Graph graph;
        DeltaBuilder builder(graph, "paste");
        const LaneId lane = builder.addLane({LaneId::none, *Device::parse(device), "", 0, 0});
        builder.addLane({LaneId::none, Device::cpu(), "", 1, 0}); // for operands that the host reads
        std::vector<NodeId> added;
        paste(builder, example->fragment, {}, lane, &added);
        graph.apply(builder.take());
        bool isThere = false;
        for (const Node& node : graph.nodes()) isThere |= node.op == op.toStdString();
        QVERIFY(isThere);
        const DeviceMap map = simulatedMap();
        const Analysis analysis = analyze(graph, map, Policy::strict, files.get());
        for (const Diagnostic& d : analysis.diagnostics)
            QVERIFY2(d.severity != Severity::error, d.message.c_str());
        const RunResult result =
            runToEnd(compile(graph, analysis, map, files, {.keepAll = true}), {.iterations = 1});
        QVERIFY2(result.errors.empty(), result.errors.empty() ? "" : result.errors[0].message.c_str());
        QCOMPARE(result.status, RunStatus::finished);
        for (const NodeFacts& facts : analysis.nodes)
            for (int port = 0; port < static_cast<int>(facts.outputs.size()); ++port) {
                const Tensor* tensor = result.tensor({facts.id, port});
                if (!tensor || !isFloating(tensor->dtype())) continue;
                const Tensor host = toHost(*tensor, map);
                for (std::int64_t i = 0; i < host.elementCount(); ++i)
                    QVERIFY2(std::isfinite(host.at(i)), graph.find(facts.id)->name.c_str());
            }
    }
}

void TestOpHelp::opsWithoutExampleSayWhy() {
    for (const Op& op : opTable()) {
        const OpHelp help = helpOf(op);
        QCOMPARE(help.exampleEntry.empty(), kWithout.contains(op.name));
        if (help.exampleEntry.empty()) {
            QVERIFY(!exampleOf(op.name));
            QVERIFY2(line(help.example).startsWith(line("none: " + op.name + " ")), help.example.c_str());
        } else {
            QVERIFY2(line(help.example).contains(QChar(0x2192)), op.name.c_str()); // an arrow
            QVERIFY2(!line(help.example).contains('?'), op.name.c_str());
        }
    }
}

void TestOpHelp::everyOpHasAFormulaOrAShape() {
    for (const Op& op : opTable()) {
        if (op.role != OpRole::compute || op.name == "Opaque") continue;
        QVERIFY2(!op.formula.empty(), op.name.c_str());
        QVERIFY2(!op.shapes.empty(), op.name.c_str());
    }
}

void TestOpHelp::namesOfPyTorchAndOnnx() {
    const OpHelp gemm = helpOf(*findOp("Gemm"));
    QCOMPARE(gemm.onnx, std::string("as in ONNX opset 13"));
    QCOMPARE(gemm.onnxVersions, (std::vector<int>{1, 6, 7, 9, 11, 13}));
    QVERIFY2(line(gemm.torch).contains("addmm(C, A, B)"), gemm.torch.c_str());
    QCOMPARE(helpOf(*findOp("Relu")).torch, std::string("torch.relu(X)"));
    QCOMPARE(helpOf(*findOp("Scaler")).onnx, std::string("as in ai.onnx.ml 1 of ONNX"));
    QCOMPARE(helpOf(*findOp("Detach")).onnxVersions.size(), std::size_t(0));
    // Each ONNX op names at least the opset whose semantics it has, and most ops have a name in PyTorch.
    int torch = 0;
    int compute = 0;
    for (const Op& op : opTable()) {
        const OpHelp help = helpOf(op);
        if (op.opset > 0)
            QVERIFY2(std::ranges::find(help.onnxVersions, op.opset) != help.onnxVersions.end(),
                     op.name.c_str());
        compute += op.role == OpRole::compute ? 1 : 0;
        torch += op.role == OpRole::compute && !help.torch.empty() ? 1 : 0;
    }
    QVERIFY2(torch * 10 > compute * 8, qPrintable(QString("%1 of %2").arg(torch).arg(compute)));
}

void TestOpHelp::constraintsAreNamed() {
    const OpHelp conv = helpOf(*findOp("Conv"));
    QCOMPARE(conv.inputs.size(), std::size_t(3));
    QCOMPARE(conv.inputs[1].note, std::string("same dtype as X"));
    QCOMPARE(conv.inputs[2].note, std::string("optional, same dtype as X"));
    QCOMPARE(conv.inputs[0].dtypes, std::string("f32 f64 f16 bf16"));
    QCOMPARE(conv.outputs[0].note, std::string("same dtype as X"));
    QCOMPARE(helpOf(*findOp("SGDUpdate")).inputs[0].note, std::string("written in place"));
    QVERIFY(line(helpOf(*findOp("Reshape")).inputs[1].note).contains("read on the host"));
    QCOMPARE(helpOf(*findOp("Concat")).inputs[0].note, std::string("one or more"));
    const auto axis = helpOf(*findOp("Softmax")).attributes[0];
    QCOMPARE(axis.name + ' ' + axis.type + ' ' + axis.value, std::string("axis integer = -1"));
    QCOMPARE(helpOf(*findOp("ArgMax")).gradient, std::string("no gradient: it gives indices"));
}

TWB_TEST_MAIN(TestOpHelp)
#include "test_op_help.moc"
