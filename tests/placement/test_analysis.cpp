#include "placement/analysis.h"
#include "placement/fixes.h"
#include "support/graphs.h"
#include "support/insert_to.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <map>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::vector<std::string> codesOf(const Analysis& analysis, Severity least = Severity::error) {
    std::vector<std::string> codes;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity >= least) codes.push_back(d.code);
    return codes;
}

const Diagnostic* findCode(const Analysis& analysis, std::string_view code) {
    const auto at = std::find_if(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                                 [&](const Diagnostic& d) { return d.code == code; });
    return at == analysis.diagnostics.end() ? nullptr : &*at;
}

} // namespace

class TestAnalysis : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aCleanGraphHasNothingToSay();
    void typesAndOrder();
    void deviceMismatchInTheWordsOfPyTorch();
    void fixesMendAndArePriced();
    void oneToServesAllReaders();
    void zeroDimensionalScalars_data();
    void zeroDimensionalScalars();
    void implicitPolicyMakesOneCopyForEachDestination();
    void everyMismatchAtOnce();
    void aWrongDeviceDoesNotHideAWrongShape();
    void cycles();
    void aLongChainDoesNotExhaustTheStack();
    void unknownOpsAndPorts();
    void missingInputs();
    void badAttributes();
    void dtypes();
    void everyWrongInputOfANode();
    void hostValues();
    void tooLarge();
    void saveStaysOnTheHost();
    void autoSaysWhichItTook();
    void missingDevice();
    void toTheSamePlaceIsFine();
    void priceOfATransfer();
};

void TestAnalysis::aCleanGraphHasNothingToSay() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2, 3}}});
    const NodeId b = g.node("Relu", "b", "cpu", {}, {a});
    const NodeId to = g.node("To", "to", "cuda:0", {}, {b});
    g.node("Relu", "r", "cuda:0", {}, {to});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QVERIFY2(analysis.diagnostics.empty(),
             analysis.diagnostics.empty() ? "" : analysis.diagnostics[0].message.c_str());
    for (const NodeFacts& facts : analysis.nodes) QVERIFY(facts.fine);
}

void TestAnalysis::typesAndOrder() {
    GraphMaker g;
    const NodeId relu = g.node("Relu", "r"); // has a smaller id than its input
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2, 3}}});
    g.connect(a, relu, 0);
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QVERIFY(analysis.index.at(a) < analysis.index.at(relu));
    QCOMPARE(analysis.typeOf({relu, 0})->toString(), std::string("f32 2×3"));
}

void TestAnalysis::deviceMismatchInTheWordsOfPyTorch() {
    MemoryFiles files;
    files.put("test_images.npy", Tensor::onHost({DType::f32, {360, 64}}));
    GraphMaker g;
    const NodeId images = g.node("File", "images", "cpu", {{"path", std::string("test_images.npy")}});
    const NodeId weight = g.node("Zeros", "fc1.weight", "cuda:0", {{"shape", Ints{64, 128}}});
    const NodeId fc1 = g.node("Gemm", "fc1", "cuda:0", {}, {images, weight});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, &files);
    QCOMPARE(analysis.errorCount(), std::size_t{1});
    const Diagnostic& d = analysis.diagnostics.front();
    QCOMPARE(d.code, std::string("device-mismatch"));
    QCOMPARE(
        d.message,
        std::string("Expected all tensors to be on the same device, but got mat1 is on cpu, different from "
                    "other tensors on cuda:0 (when checking arguments of Gemm \"fc1\")"));
    QVERIFY(d.node == fc1);
    QCOMPARE(d.port, 0);
    QVERIFY(d.edge == Edge({images, 0}, {fc1, 0}));
    QCOMPARE(d.operands.size(), std::size_t{2});
    QCOMPARE(d.operands[0].argument, std::string("mat1"));
    QCOMPARE(d.operands[0].label, std::string("images"));
    QCOMPARE(d.operands[0].origin, std::string("from File \"test_images.npy\", created on cpu"));
    QCOMPARE(d.operands[1].argument, std::string("mat2"));
    QVERIFY(d.operands[1].origin.empty());
    QCOMPARE(insertToOf(d).title, std::string("insert To(cuda:0) on images -> fc1"));
    QCOMPARE(insertToOf(d).price.bytes, std::uint64_t{92160});
    QCOMPARE(insertToOf(d).price.ns, 10'000 + 92160 / 5.0); // latency and 5 GB/s from pageable memory
    QVERIFY(insertToOf(d).price.modelled);
}

void TestAnalysis::fixesMendAndArePriced() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{8, 8}}});
    const NodeId b = g.node("Zeros", "b", "cuda:0", {{"shape", Ints{8, 8}}});
    g.node("MatMul", "m", "cuda:0", {}, {a, b});
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    QCOMPARE(analysis.errorCount(), std::size_t{1});
    const auto& fixes = analysis.diagnostics[0].fixes;
    QCOMPARE(fixes.size(), std::size_t{3});
    for (const Fix& fix : fixes) QVERIFY(fix.price.isKnown);
    QCOMPARE(fixes[0].title, std::string("create a on cuda:0")); // the cheapest comes first
    QCOMPARE(fixes[0].price.bytes, std::uint64_t{0});
    QCOMPARE(fixes[1].kind, Fix::Kind::insertTo);
    for (int i : {0, 1}) {
        Graph graph = g.graph();
        const Graph before = graph;
        const Delta delta = toDelta(graph, fixes[static_cast<std::size_t>(i)]);
        graph.apply(delta);
        QVERIFY(codesOf(analyze(graph, map, Policy::strict, nullptr), Severity::warning).empty());
        graph.apply(delta.inverse());
        QVERIFY(graph == before);
    }
    // If m moves to cpu, b must be copied.
    QCOMPARE(fixes[2].title, std::string("move m to cpu"));
    QCOMPARE(fixes[2].price.bytes, std::uint64_t{256});
}

void TestAnalysis::oneToServesAllReaders() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{8}}});
    for (int i = 0; i < 3; ++i) g.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {a});
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    QCOMPARE(analysis.errorCount(), std::size_t{3});
    std::vector<Fix> fixes;
    for (const Diagnostic& d : analysis.diagnostics) fixes.push_back(insertToOf(d));
    Graph graph = g.graph();
    graph.apply(toDelta(graph, fixes, "apply all"));
    QCOMPARE(graph.nodes().size(), std::size_t{5}); // one To
    QVERIFY(!analyze(graph, map, Policy::strict, nullptr).hasErrors());
}

void TestAnalysis::zeroDimensionalScalars_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<QString>("selfDevice");
    QTest::addColumn<QString>("otherDevice");
    QTest::addColumn<bool>("selfScalar");
    QTest::addColumn<bool>("otherScalar");
    QTest::addColumn<int>("errors"); // errors of the op on cuda:0, by PyTorch 2's rules
    QTest::newRow("cuda + cpu scalar") << "Add"
                                       << "cuda:0"
                                       << "cpu" << false << true << 0;
    QTest::newRow("cpu scalar + cuda") << "Mul"
                                       << "cpu"
                                       << "cuda:0" << true << false << 0;
    QTest::newRow("cuda + cpu matrix") << "Add"
                                       << "cuda:0"
                                       << "cpu" << false << false << 1;
    QTest::newRow("cuda scalar + cpu matrix") << "Add"
                                              << "cuda:0"
                                              << "cpu" << true << false << 1;
    QTest::newRow("cuda + cuda:1 scalar") << "Add"
                                          << "cuda:0"
                                          << "cuda:1" << false << true << 1;
    QTest::newRow("both cpu scalars") << "Sub"
                                      << "cpu"
                                      << "cpu" << true << true << 2;
    QTest::newRow("both cuda") << "Div"
                               << "cuda:0"
                               << "cuda:0" << false << false << 0;
    QTest::newRow("pow") << "Pow"
                         << "cuda:0"
                         << "cpu" << false << true << 0;
    QTest::newRow("equal") << "Equal"
                           << "cuda:0"
                           << "cpu" << false << true << 0;
    QTest::newRow("both cpu") << "Add"
                              << "cpu"
                              << "cpu" << false << false << 2;
}

void TestAnalysis::zeroDimensionalScalars() {
    QFETCH(QString, op);
    QFETCH(QString, selfDevice);
    QFETCH(QString, otherDevice);
    QFETCH(bool, selfScalar);
    QFETCH(bool, otherScalar);
    QFETCH(int, errors);
    GraphMaker g;
    const NodeId self =
        g.node("Zeros", "self", selfDevice.toStdString(), {{"shape", selfScalar ? Ints{} : Ints{2, 2}}});
    const NodeId other =
        g.node("Zeros", "other", otherDevice.toStdString(), {{"shape", otherScalar ? Ints{} : Ints{2, 2}}});
    g.node(op.toStdString(), "op", "cuda:0", {}, {self, other});
    const Analysis analysis = analyze(g.graph(), simulatedMap(2), Policy::strict, nullptr);
    QCOMPARE(static_cast<int>(analysis.errorCount()), errors);
    for (const Diagnostic& d : analysis.diagnostics) QCOMPARE(d.code, std::string("device-mismatch"));
}

void TestAnalysis::implicitPolicyMakesOneCopyForEachDestination() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{8}}});
    const NodeId r0 = g.node("Relu", "r0", "cuda:0", {}, {a});
    g.node("Relu", "r1", "cuda:0", {}, {a});
    g.node("Relu", "r2", "cuda:1", {}, {a});
    const NodeId back = g.node("Relu", "back", "cpu", {}, {r0});
    const Analysis analysis = analyze(g.graph(), simulatedMap(2), Policy::implicit, nullptr);
    QCOMPARE(analysis.errorCount(), std::size_t{0});
    QCOMPARE(analysis.implicitCopies.size(), std::size_t{3});
    QCOMPARE(codesOf(analysis, Severity::warning).size(), std::size_t{3});
    std::size_t edges = 0;
    for (const ImplicitCopy& copy : analysis.implicitCopies) {
        edges += copy.edges.size();
        QVERIFY(copy.price.isKnown);
        QCOMPARE(copy.hoisted, copy.from.node == a);
        if (copy.edges.front().to.node == back) QVERIFY(copy.target.isCpu());
    }
    QCOMPARE(edges, std::size_t{4});
}

void TestAnalysis::everyMismatchAtOnce() {
    // Twenty independent faults give exactly twenty errors.
    GraphMaker g;
    std::set<std::uint64_t> faulty;
    for (int i = 0; i < 20; ++i) {
        const NodeId a = g.node("Zeros", "a" + std::to_string(i), "cpu", {{"shape", Ints{2, 3}}});
        const NodeId b = g.node("Zeros", "b" + std::to_string(i), i % 2 ? "cpu" : "cuda:0",
                                {{"shape", Ints{i % 2 ? 4 : 3, 5}}});
        faulty.insert(value(g.node("MatMul", "m" + std::to_string(i), i % 2 ? "cpu" : "cuda:0", {}, {a, b})));
    }
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QCOMPARE(analysis.errorCount(), std::size_t{20});
    for (const Diagnostic& d : analysis.diagnostics) QVERIFY(faulty.erase(value(d.node)) == 1);
}

void TestAnalysis::aWrongDeviceDoesNotHideAWrongShape() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2, 3}}});
    const NodeId b = g.node("Zeros", "b", "cuda:0", {{"shape", Ints{4, 5}}});
    const NodeId m = g.node("MatMul", "m", "cuda:0", {}, {a, b});
    const NodeId c = g.node("Zeros", "c", "cuda:0", {{"shape", Ints{7, 7}}});
    const NodeId d = g.node("Relu", "d", "cpu", {}, {c});
    g.node("MatMul", "after", "cpu", {}, {d, a}); // 7×7 by 2×3: a shape error behind a device error
    QVERIFY(value(m));
    auto codes = codesOf(analyze(g.graph(), simulatedMap(), Policy::strict, nullptr));
    std::sort(codes.begin(), codes.end());
    QCOMPARE(codes, (std::vector<std::string>{"device-mismatch", "device-mismatch", "shape-mismatch",
                                              "shape-mismatch"}));
}

void TestAnalysis::cycles() {
    GraphMaker g;
    const NodeId a = g.node("Relu", "a");
    const NodeId b = g.node("Relu", "b", "cpu", {}, {a});
    g.connect(b, a, 0);
    const NodeId self = g.node("Relu", "self");
    g.connect(self, self, 0);
    g.node("Relu", "behind", "cpu", {}, {b}); // not part of a cycle, so it has no error of its own
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QCOMPARE(codesOf(analysis), (std::vector<std::string>{"cycle", "cycle"}));
    QVERIFY(QString::fromStdString(analysis.diagnostics[0].message).contains(QStringLiteral("a -> b -> a")) ||
            QString::fromStdString(analysis.diagnostics[1].message).contains(QStringLiteral("a -> b -> a")));
    Graph graph = g.graph();
    for (const Diagnostic& d : analysis.diagnostics) graph.apply(toDelta(graph, d.fixes.at(0)));
    for (const std::string& code : codesOf(analyze(graph, simulatedMap(), Policy::strict, nullptr)))
        QCOMPARE(code, std::string("missing-input"));
}

void TestAnalysis::aLongChainDoesNotExhaustTheStack() {
    // One cycle through 200,000 nodes.
    Graph graph;
    Delta delta;
    delta.lanes.push_back({std::nullopt, Lane{LaneId(1), Device::cpu(), "", 0, 0}});
    constexpr std::uint64_t count = 200'000;
    for (std::uint64_t i = 1; i <= count; ++i) {
        Node node;
        node.id = NodeId(i);
        node.op = "Relu";
        node.lane = LaneId(1);
        delta.nodes.push_back({std::nullopt, std::move(node)});
        delta.edgesAdded.push_back({{NodeId(i), 0}, {NodeId(i % count + 1), 0}});
    }
    graph.apply(delta);
    QCOMPARE(codesOf(analyze(graph, simulatedMap(), Policy::strict, nullptr)),
             (std::vector<std::string>{"cycle"}));
}

void TestAnalysis::unknownOpsAndPorts() {
    GraphMaker g;
    const NodeId odd = g.node("FancyOp", "odd");
    const NodeId relu = g.node("Relu", "r");
    g.connect(odd, relu, 0, 3);
    const NodeId zeros = g.node("Zeros", "z", "cpu", {{"shape", Ints{2}}});
    g.connect(zeros, relu, 5);
    const NodeId sink = g.node("Relu", "s");
    g.connect(zeros, sink, 0, 7);
    auto codes = codesOf(analyze(g.graph(), simulatedMap(), Policy::strict, nullptr));
    std::sort(codes.begin(), codes.end());
    QCOMPARE(codes, (std::vector<std::string>{"unknown-op", "unknown-port", "unknown-port"}));
}

void TestAnalysis::missingInputs() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2, 2}}});
    g.node("Gemm", "fc", "cpu", {}, {a});
    g.node("Concat", "none", "cpu", {{"axis", std::int64_t{0}}});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QCOMPARE(codesOf(analysis), (std::vector<std::string>{"missing-input", "missing-input"}));
    QCOMPARE(
        analysis.diagnostics[1].message,
        std::string(
            "input B (mat2) is missing: connect a tensor to it (when checking arguments of Gemm \"fc\")"));
}

void TestAnalysis::badAttributes() {
    GraphMaker g;
    g.node("Zeros", "a", "cpu", {{"shape", std::string("wide")}});
    g.node("Zeros", "b", "cpu", {{"shap", Ints{2}}});
    g.node("Zeros", "c", "cpu", {{"shape", Ints{2}}, {"dtype", std::string("f33")}});
    QCOMPARE(codesOf(analyze(g.graph(), simulatedMap(), Policy::strict, nullptr)),
             (std::vector<std::string>{"attribute", "attribute", "attribute"}));
}

void TestAnalysis::dtypes() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2}}});
    const NodeId b = g.node("Zeros", "b", "cpu", {{"shape", Ints{2}}, {"dtype", std::string("i64")}});
    g.node("Add", "add", "cpu", {}, {a, b});
    g.node("Sqrt", "sqrt", "cpu", {}, {b});
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    QCOMPARE(codesOf(analysis), (std::vector<std::string>{"dtype-mismatch", "dtype-mismatch"}));
    Graph graph = g.graph();
    for (const Diagnostic& d : analysis.diagnostics) graph.apply(toDelta(graph, d.fixes.at(0)));
    const Analysis mended = analyze(graph, map, Policy::strict, nullptr);
    QVERIFY2(!mended.hasErrors(), mended.hasErrors() ? mended.diagnostics[0].message.c_str() : "");
}

void TestAnalysis::everyWrongInputOfANode() {
    GraphMaker g;
    const auto zeros = [&](const char* dtype) {
        return g.node("Zeros", dtype, "cpu", {{"shape", Ints{2, 2}}, {"dtype", std::string(dtype)}});
    };
    const NodeId f32 = zeros("f32");
    const NodeId f64 = zeros("f64");
    const NodeId i64 = zeros("i64");
    const NodeId where = g.node("Where", "where", "cpu", {}, {f32, f64, i64});
    const NodeId gemm = g.node("Gemm", "gemm", "cpu", {}, {f64, f32, i64});
    const NodeId relu = g.node("Relu", "behind what is not known", "cpu", {}, {where});
    const NodeId gap = g.node("Concat", "gap");
    g.connect(f32, gap, 0);
    g.connect(f64, gap, 2);
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    std::map<NodeId, std::vector<std::string>> by;
    for (const Diagnostic& d : analysis.diagnostics) by[d.node].push_back(d.message);
    const std::string promoted =
        "; PyTorch would promote them, but here you must insert a Cast (when checking arguments of ";
    QCOMPARE(by[where],
             (std::vector<std::string>{
                 "Where is not implemented for f32: its input condition takes bool (when checking arguments "
                 "of Where \"where\")",
                 "self and other must have the same dtype, but got Double and Long" + promoted +
                     "Where \"where\")"}));
    QCOMPARE(
        by[gemm],
        (std::vector<std::string>{
            "mat1 and mat2 must have the same dtype, but got Double and Float (when checking arguments "
            "of Gemm \"gemm\")",
            "mat1 and bias must have the same dtype, but got Double and Long (when checking arguments of "
            "Gemm \"gemm\")"}));
    QVERIFY(by[relu].empty());
    QCOMPARE(by[gap].size(), std::size_t{2});
    QCOMPARE(analysis.errorCount(), std::size_t{6});
    // Each mismatch offers the Cast that fixes it.
    Graph graph = g.graph();
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.code == "dtype-mismatch") graph.apply(toDelta(graph, d.fixes.at(0)));
    QCOMPARE(codesOf(analyze(graph, map, Policy::strict, nullptr)),
             (std::vector<std::string>{"missing-input"}));
}

void TestAnalysis::hostValues() {
    GraphMaker g;
    const NodeId data = g.node("Zeros", "data", "cuda:0", {{"shape", Ints{6, 4}}});
    const Attributes three{{"value", Ints{3, 8}}, {"shape", Ints{2}}, {"dtype", std::string("i64")}};
    const NodeId onHost = g.node("Constant", "shape", "cpu", three);
    const NodeId good = g.node("Reshape", "good", "cuda:0", {}, {data, onHost});
    const NodeId onGpu = g.node("Constant", "gpu shape", "cuda:0", three);
    const NodeId bad = g.node("Reshape", "bad", "cuda:0", {}, {data, onGpu});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QCOMPARE(codesOf(analysis), (std::vector<std::string>{"device-mismatch"}));
    QVERIFY(analysis.diagnostics[0].node == bad);
    QCOMPARE(insertToOf(analysis.diagnostics[0]).title, std::string("insert To(cpu) on gpu shape -> bad"));
    QCOMPARE(analysis.typeOf({good, 0})->shape, Shape({3, 8}));
}

void TestAnalysis::tooLarge() {
    GraphMaker g;
    g.node("Zeros", "huge", "cuda:0", {{"shape", Ints{1 << 20, 1 << 20}}});
    g.node("Zeros", "overflow", "cpu", {{"shape", Ints{std::int64_t{1} << 40, std::int64_t{1} << 40}}});
    QCOMPARE(codesOf(analyze(g.graph(), simulatedMap(), Policy::strict, nullptr)),
             (std::vector<std::string>{"too-large", "too-large"}));
}

void TestAnalysis::saveStaysOnTheHost() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cuda:0", {{"shape", Ints{2}}});
    g.node("Save", "s", "cpu", {{"path", std::string("out.npy")}}, {a});
    const NodeId gpuSave = g.node("Save", "t", "cuda:0", {{"path", std::string("out2.npy")}}, {a});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QVERIFY(QString::fromStdString(findCode(analysis, "device-mismatch")->message)
                .startsWith(
                    QStringLiteral("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")));
    QVERIFY(findCode(analysis, "unsupported")->node == gpuSave);
    QCOMPARE(analysis.errorCount(), std::size_t{2});
}

void TestAnalysis::autoSaysWhichItTook() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "auto", {{"shape", Ints{2}}});
    const Analysis with = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QVERIFY(with.find(a)->device == Device::cuda(0));
    QVERIFY(
        QString::fromStdString(findCode(with, "auto-device")->message).contains(QStringLiteral("cuda:0")));
    const Analysis without = analyze(g.graph(), DeviceMap(), Policy::strict, nullptr);
    QVERIFY(without.find(a)->device == Device::cpu());
    QVERIFY(QString::fromStdString(findCode(without, "auto-device")->message)
                .startsWith(QStringLiteral("auto resolved to cpu")));
    QVERIFY(!without.hasErrors());
}

void TestAnalysis::missingDevice() {
    GraphMaker g;
    g.node("Zeros", "a", "cuda:3", {{"shape", Ints{2}}});
    const Analysis analysis = analyze(g.graph(), DeviceMap(), Policy::strict, nullptr);
    QCOMPARE(codesOf(analysis), (std::vector<std::string>{"missing-device"}));
}

void TestAnalysis::toTheSamePlaceIsFine() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{2}}});
    const NodeId to = g.node("To", "to", "cpu", {}, {a});
    const NodeId cast = g.node("To", "cast", "cpu", {{"dtype", std::string("f64")}}, {to});
    const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    QVERIFY(!analysis.hasErrors());
    QCOMPARE(analysis.typeOf({cast, 0})->dtype, DType::f64);
}

void TestAnalysis::priceOfATransfer() {
    const DeviceMap map = simulatedMap(2);
    const TensorType type{DType::f32, {1000, 250}}; // 10^6 bytes
    QCOMPARE(priceOfTransfer(type, Device::cpu(), Device::cuda(0), true, map).ns, 10'000 + 1e6 / 10);
    QCOMPARE(priceOfTransfer(type, Device::cuda(0), Device::cpu(), false, map).ns, 10'000 + 1e6 / 5);
    QCOMPARE(priceOfTransfer(type, Device::cpu(), Device::cpu(), false, map).ns, 0.0);
    // Without a peer link, the copy is staged through the host and takes twice the time.
    QCOMPARE(priceOfTransfer(type, Device::cuda(0), Device::cuda(1), true, map).ns, 2 * (10'000 + 1e6 / 10));
    QVERIFY(!priceOfTransfer({DType::f32, {kUnknownDim}}, Device::cpu(), Device::cuda(0), true, map).isKnown);
}

TWB_TEST_MAIN(TestAnalysis)
#include "test_analysis.moc"
