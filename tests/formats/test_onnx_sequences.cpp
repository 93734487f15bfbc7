#include "core/error.h"
#include "formats/onnx/onnx_model.h"
#include "graph/constant_node.h"
#include "graph/rewrite.h"
#include "placement/analysis.h"
#include "runtime/executor.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <map>
#include <onnx/defs/parser.h>
#include <string>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

using Inputs = std::map<std::string, Tensor>;
using Sizes = std::map<std::string, std::int64_t>;

/// A model of opset 17 with this graph, in the syntax of ONNX's parser. That knows no types of sequences and
/// optionals: an input whose name starts with "seq_" or "opt_" becomes one of its tensor type.
onnx::ModelProto modelOf(const std::string& graph) {
    onnx::ModelProto model;
    const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph;
    const auto status = onnx::OnnxParser::Parse(model, text.c_str());
    if (!status.IsOK()) throw std::logic_error(status.ErrorMessage());
    for (auto& input : *model.mutable_graph()->mutable_input()) {
        const onnx::TypeProto element = input.type();
        if (input.name().starts_with("seq_"))
            *input.mutable_type()->mutable_sequence_type()->mutable_elem_type() = element;
        if (input.name().starts_with("opt_"))
            *input.mutable_type()->mutable_optional_type()->mutable_elem_type() = element;
    }
    return model;
}

ImportedModel import(const std::string& graph, const Inputs& inputs = {}, const Sizes& sizes = {}) {
    return parseOnnx(modelOf(graph).SerializeAsString(), "memory.onnx",
                     {.dimensions = sizes, .inputs = inputs});
}

/// The outputs of a run, by name.
std::map<std::string, std::vector<double>> outputsOf(const ImportedModel& model) {
    DeviceMap devices;
    const auto files = makeMemoryFiles(model.tensors);
    const Analysis analysis = analyze(model.graph, devices, Policy::strict, files.get());
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error) throw std::logic_error(d.message);
    CompileOptions options;
    for (const auto& output : model.outputs) options.keep.insert(output.from);
    const RunResult result = runToEnd(compile(model.graph, analysis, devices, files, options), {});
    std::map<std::string, std::vector<double>> out;
    for (const auto& output : model.outputs)
        if (const Tensor* tensor = result.tensor(output.from)) out[output.name] = valuesOf(*tensor);
    return out;
}

using Outputs = std::map<std::string, std::vector<double>>;

/// The outputs of a model whose import does not know the value of its input "x".
Outputs outputsWith(const Tensor& x, ImportedModel model) {
    Rewrite rewrite(model.graph);
    Node node = *model.graph.findByName("x");
    node.attributes = {};
    makeConstant(node, x);
    rewrite.change(std::move(node));
    rewrite.applyTo(model.graph);
    return outputsOf(model);
}

QString remarkOf(const std::string& graph, const Inputs& inputs = {}) {
    const ImportedModel model = import(graph, inputs);
    return model.remarks.empty() ? QString() : QString::fromStdString(model.remarks.front());
}

int countOf(const ImportedModel& model, const std::string& op) {
    int count = 0;
    for (const Node& node : model.graph.nodes()) count += node.op == op ? 1 : 0;
    return count;
}

const Tensor kOne = tensorOf(DType::f32, {2}, {1, 2});
const Tensor kTwo = tensorOf(DType::f32, {2}, {3, 4});
const Tensor kThree = tensorOf(DType::f32, {2}, {5, 6});

} // namespace

class TestOnnxSequences : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void constructedAndTakenApart();
    void inputsAndOutputsAreTensors();
    void splits();
    void splitsOfASizeThatTheRunDecides_data();
    void splitsOfASizeThatTheRunDecides();
    void loopsOfALengthThatTheRunDecides();
    void longLoopsAreNotUnrolled();
    void otherSplitsOfUnknownSizeArePlaceholders();
    void mapsOnceForEachElement();
    void optionals();
    void branchesOfOneLength();
    void theTakenBranch();
    void ifsThatSizesDecide();
    void loopsOverOneLength();
    void loopsThatGrow();
    void loopsOfUnknownLengthArePlaceholders();
    void positionsOutsideTheSequence();
    void sequencesOfTypesInBodies();
};

void TestOnnxSequences::constructedAndTakenApart() {
    const ImportedModel model = import(R"(
        g (float[2] a, float[2] b, float[2] c) => (float[n] joined, float[k, 2] stacked, float[2] last, int64 count) {
            two = SequenceConstruct (a, b)
            minusOne = Constant <value: tensor = int64 {-1}> ()
            zero = Constant <value: tensor = int64 {0}> ()
            three = SequenceInsert (two, c, zero)
            rest = SequenceErase (three, minusOne)
            joined = ConcatFromSequence <axis: int = 0> (three)
            stacked = ConcatFromSequence <axis: int = 0, new_axis: int = 1> (rest)
            last = SequenceAt (three, minusOne)
            count = SequenceLength (rest)
        })",
                                       {{"a", kOne}, {"b", kTwo}, {"c", kThree}});
    QVERIFY(model.remarks.empty());
    QVERIFY(
        outputsOf(model) ==
        (Outputs{
            {"joined", {5, 6, 1, 2, 3, 4}}, {"stacked", {5, 6, 1, 2}}, {"last", {3, 4}}, {"count", {2}}}));
}

void TestOnnxSequences::inputsAndOutputsAreTensors() {
    const std::string graph = R"(
        g (float[2] seq_x, float[2] y) => (float[2] z) { z = SequenceInsert (seq_x, y) })";
    const ImportedModel model =
        import(graph, {{"seq_x[0]", kOne}, {"seq_x[1]", kTwo}, {"y", kThree}}, {{"seq_x", 2}});
    QVERIFY(outputsOf(model) == (Outputs{{"z[0]", {1, 2}}, {"z[1]", {3, 4}}, {"z[2]", {5, 6}}}));
    // Without a given length, there is one element.
    const ImportedModel open = import(graph);
    QVERIFY(open.graph.findByName("seq_x[0]") && open.graph.findByName("seq_x[0]")->op == "Input");
    QVERIFY(!open.graph.findByName("seq_x[1]"));
    QCOMPARE(open.outputs.size(), std::size_t{2});
}

void TestOnnxSequences::splits() {
    const Tensor x = tensorOf(DType::f32, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    const auto parts = [&](const std::string& attributes, const std::string& second) {
        return outputsOf(import("g (float[5, 2] x) => (float y) {\n" + second + "y = SplitToSequence <" +
                                    attributes + "> (x" + (second.empty() ? "" : ", parts") + ")\n}",
                                {{"x", x}}));
    };
    const auto ones = parts("axis: int = -2, keepdims: int = 0", "");
    QCOMPARE(ones.size(), std::size_t{5});
    QCOMPARE(ones.at("y[4]"), (std::vector<double>{8, 9}));
    const auto twos = parts("axis: int = 0", "parts = Constant <value: tensor = int64 {2}> ()\n");
    QCOMPARE(twos.size(), std::size_t{3});
    QCOMPARE(twos.at("y[2]"), (std::vector<double>{8, 9}));
    const auto uneven = parts("axis: int = 0", "parts = Constant <value: tensor = int64[2] {1, 4}> ()\n");
    QCOMPARE(uneven.at("y[0]"), (std::vector<double>{0, 1}));
    QCOMPARE(uneven.at("y[1]").size(), std::size_t{8});
    // The size may follow from other ops.
    const ImportedModel made = import(R"(
        g (float[5, 2] x) => (float[n] y) {
            t = Transpose (x)
            s = SplitToSequence <axis: int = 0, keepdims: int = 0> (t)
            one = Constant <value: tensor = int64 {1}> ()
            y = SequenceAt (s, one)
        })",
                                      {{"x", x}});
    QVERIFY(outputsOf(made) == (Outputs{{"y", {1, 3, 5, 7, 9}}}));
}

/// Such a graph opens, and says why.
void TestOnnxSequences::splitsOfASizeThatTheRunDecides_data() {
    QTest::addColumn<QString>("split");
    QTest::addColumn<QString>("ops");
    QTest::addColumn<QVector<double>>("y");
    const auto row = [](const char* name, const char* split, const char* ops, const QVector<double>& y) {
        QTest::newRow(name) << QString(split) << QString(ops) << y;
    };
    // `at` is [[0, 1, 1], [1, 0, 2]]: the positions of the elements that are not 0.
    const char* const columns = "SplitToSequence <axis: int = 1, keepdims: int = 0> (at)";
    const char* const kept = "SplitToSequence <axis: int = 1> (at)";
    row("length", kept, "y = SequenceLength (s)", {3});
    row("an element", columns, "y = SequenceAt (s, one)", {1, 0});
    row("from the end", columns, "y = SequenceAt (s, minus)", {1, 2});
    row("an element with its axis", kept, "y = SequenceAt (s, one)", {1, 0});
    row("joined", kept, "y = ConcatFromSequence <axis: int = 1> (s)", {0, 1, 1, 1, 0, 2});
    row("joined along another axis", kept, "y = ConcatFromSequence <axis: int = 0> (s)", {0, 1, 1, 0, 1, 2});
    row("joined along a new axis", columns, "y = ConcatFromSequence <axis: int = -1, new_axis: int = 1> (s)",
        {0, 1, 1, 1, 0, 2});
    row("joined along the first axis", columns, "y = ConcatFromSequence <axis: int = 0> (s)",
        {0, 1, 1, 0, 1, 2});
    row("mapped", columns, R"(
        m = SequenceMap <body: graph = body (int64[2] a, int64 b) => (int64[2] c) { c = Add (a, b) }> (s, one)
        y = ConcatFromSequence <axis: int = 1, new_axis: int = 1> (m))",
        {1, 2, 2, 2, 1, 3});
    row("mapped with sequences inside", columns, R"(
        m = SequenceMap <body: graph = body (int64[2] a, int64[2] b) => (int64[4] c) {
            pair = SequenceConstruct (a, b)
            c = ConcatFromSequence <axis: int = 0> (pair)
        }> (s, s)
        y = ConcatFromSequence <axis: int = 0> (m))",
        {0, 1, 0, 1, 1, 0, 1, 0, 1, 2, 1, 2});
    row("in a loop", columns, R"(
        n = SequenceLength (s)
        y = Loop (n, , start) <body: graph = body (int64 i, bool c, int64[2] before) => (bool d, int64[2] after) {
            d = Identity (c)
            each = SequenceAt (s, i)
            after = Add (before, each)
        }>)",
        {2, 3});
}
void TestOnnxSequences::splitsOfASizeThatTheRunDecides() {
    QFETCH(QString, split);
    QFETCH(QString, ops);
    QFETCH(QVector<double>, y);
    const std::string graph = R"(
        g (float[2, 3] x) => (int64[k] y) {
            at = NonZero (x)
            one = Constant <value: tensor = int64 {1}> ()
            minus = Constant <value: tensor = int64 {-1}> ()
            start = Constant <value: tensor = int64[2] {0, 0}> ()
            s = )" + split.toStdString() +
                              "\n" + ops.toStdString() + "\n}";
    const ImportedModel model = import(graph);
    QVERIFY2(model.remarks.empty(), model.remarks.empty() ? "" : model.remarks[0].c_str());
    const Outputs outputs = outputsWith(tensorOf(DType::f32, {2, 3}, {0, 5, 0, 6, 0, 7}), model);
    QVERIFY(outputs.contains("y"));
    QCOMPARE(QVector<double>(outputs.at("y").begin(), outputs.at("y").end()), y);
}

void TestOnnxSequences::longLoopsAreNotUnrolled() {
    const std::string graph = R"(
        g (int64 trips, float[2] x) => (int64 n) {
            e = SequenceEmpty ()
            z = Loop (trips, , e) <body: graph = body (int64 i, bool c, float before) => (bool d, float after) {
                d = Identity (c)
                after = SequenceInsert (before, x)
            }>
            n = SequenceLength (z)
        })";
    const ImportedModel model = import(graph, {{"trips", tensorOf(DType::i64, {}, {5000})}, {"x", kOne}});
    QCOMPARE(countOf(model, "Loop"), 1);
    QVERIFY(outputsOf(model) == (Outputs{{"n", {5000}}}));
}

/// Also with a state that is no sequence, and with stacked results of its own.
void TestOnnxSequences::loopsOfALengthThatTheRunDecides() {
    const std::string graph = R"(
        g (float[4] x) => (float[2] sum, float[k, 2] all, float[m, 2] own) {
            e = SequenceEmpty ()
            at = NonZero (x)
            s = SplitToSequence <axis: int = 1> (at)
            trips = SequenceLength (s)
            start = Constant <value: tensor = float[2] {1, 2}> ()
            z, sum, own = Loop (trips, , e, start) <body: graph = body (int64 i, bool c, float before, float[2] old) => (bool d, float after, float[2] new, float[2] twice) {
                d = Identity (c)
                new = Add (old, old)
                twice = Add (new, new)
                after = SequenceInsert (before, new)
            }>
            all = ConcatFromSequence <axis: int = 0, new_axis: int = 1> (z)
        })";
    const ImportedModel model = import(graph);
    QVERIFY2(model.remarks.empty(), model.remarks.empty() ? "" : model.remarks[0].c_str());
    QCOMPARE(countOf(model, "Loop"), 1);
    QVERIFY(outputsWith(tensorOf(DType::f32, {4}, {1, 0, 1, 0}), model) ==
            (Outputs{{"sum", {4, 8}}, {"all", {2, 4, 4, 8}}, {"own", {4, 8, 8, 16}}}));
}

void TestOnnxSequences::otherSplitsOfUnknownSizeArePlaceholders() {
    const std::string graph = R"(
        g (float[2] x) => (int64 y) {
            at = NonZero (x)
            two = Constant <value: tensor = int64 {2}> ()
            s = SplitToSequence <axis: int = 1> (at, two)
            y = SequenceLength (s)
        })";
    QVERIFY(remarkOf(graph).contains(
        "the SplitToSequence that makes \"s\" splits an axis whose size is not known"));
    QCOMPARE(countOf(import(graph), "SplitToSequence"), 1);
    QVERIFY(remarkOf(R"(
        g (float[2] x) => (int64 y) {
            at = NonZero (x)
            one = Constant <value: tensor = int64 {1}> ()
            s = SplitToSequence <axis: int = 1> (at)
            t = SequenceInsert (s, one)
            y = SequenceLength (t)
        })")
                .contains("changes a sequence whose length is not known before the run"));
}

void TestOnnxSequences::mapsOnceForEachElement() {
    const ImportedModel model =
        import(R"(
        g (float[2] seq_x, float[2] y) => (float[2] sums, int64[1] shapes) {
            sums, shapes = SequenceMap <body: graph = body (float[2] a, float[2] b) => (float[2] c, int64[1] d) {
                c = Add (a, b)
                d = Shape (c)
            }> (seq_x, y)
        })",
               {{"seq_x[0]", kOne}, {"seq_x[1]", kTwo}, {"y", kThree}}, {{"seq_x", 2}});
    QVERIFY(outputsOf(model) ==
            (Outputs{{"sums[0]", {6, 8}}, {"sums[1]", {8, 10}}, {"shapes[0]", {2}}, {"shapes[1]", {2}}}));
    QCOMPARE(countOf(model, "Add"), 2);
}

void TestOnnxSequences::optionals() {
    const std::string graph = R"(
        g (float[2] opt_x) => (bool has, bool none) {
            has = OptionalHasElement (opt_x)
            none = OptionalHasElement ()
        })";
    QVERIFY(outputsOf(import(graph, {{"opt_x", kOne}})) == (Outputs{{"has", {1}}, {"none", {0}}}));
    QVERIFY(outputsOf(import(graph, {}, {{"opt_x", 0}})) == (Outputs{{"has", {0}}, {"none", {0}}}));
    const ImportedModel model = import(R"(
        g (float[2] x) => (float[2] y, float[2] z) {
            s = SequenceConstruct (x, x)
            o = Optional (s)
            y = Identity (o)
            t = Optional (x)
            z = OptionalGetElement (t)
        })",
                                       {{"x", kOne}});
    QVERIFY(outputsOf(model) == (Outputs{{"y[0]", {1, 2}}, {"y[1]", {1, 2}}, {"z", {1, 2}}}));
}

/// An If whose condition is known only in the run returns the elements.
void TestOnnxSequences::branchesOfOneLength() {
    const std::string graph = R"(
        g (float[2] x, float[2] y, float limit) => (float[2] z) {
            total = ReduceSum <keepdims: int = 0> (x)
            cond = Less (total, limit)
            s = If (cond) <then_branch: graph = then () => (float[2] a) { a = SequenceConstruct (x, y) },
                           else_branch: graph = other () => (float[2] b) { b = SequenceConstruct (y, x) }>
            zero = Constant <value: tensor = int64 {0}> ()
            z = SequenceAt (s, zero)
        })";
    const ImportedModel open = import(graph);
    QVERIFY(open.remarks.empty());
    QCOMPARE(countOf(open, "If"), 1);
    for (const double limit : {0.0, 10.0}) {
        const ImportedModel model =
            import(graph, {{"x", kOne}, {"y", kTwo}, {"limit", tensorOf(DType::f32, {}, {limit})}});
        QVERIFY(outputsOf(model) == (Outputs{{"z", limit > 3 ? valuesOf(kOne) : valuesOf(kTwo)}}));
    }
    QVERIFY(remarkOf(R"(
        g (float[2] x, bool cond) => (int64 n) {
            s = If (cond) <then_branch: graph = then () => (float[2] a) { a = SequenceConstruct (x, x) },
                           else_branch: graph = other () => (float[2] b) { b = SequenceConstruct (x) }>
            n = SequenceLength (s)
        })")
                .contains("has branches that return different numbers of tensors"));
}

void TestOnnxSequences::theTakenBranch() {
    const std::string graph = R"(
        g (float[2] x, bool cond) => (float[2] s) {
            s = If (cond) <then_branch: graph = then () => (float[2] a) { a = SequenceConstruct (x, x) },
                           else_branch: graph = other () => (float[2] b) { t = Neg (x) b = SequenceConstruct (t) }>
        })";
    const ImportedModel yes = import(graph, {{"x", kOne}, {"cond", tensorOf(DType::boolean, {}, {1})}});
    QCOMPARE(outputsOf(yes).size(), std::size_t{2});
    const ImportedModel no = import(graph, {{"x", kOne}, {"cond", tensorOf(DType::boolean, {}, {0})}});
    QVERIFY(outputsOf(no) == (Outputs{{"s[0]", {-1, -2}}}));
}

/// Branches may return other numbers of axes. What depends on data stays an If, also if the data are given.
void TestOnnxSequences::ifsThatSizesDecide() {
    const ImportedModel model = import(R"(
        g (float[2] x) => (float[n] y) {
            size = Size (x)
            two = Constant <value: tensor = int64 {2}> ()
            cond = Equal (size, two)
            y = If (cond) <then_branch: graph = then () => (float[2] a) { a = Neg (x) },
                           else_branch: graph = other () => (float b) { b = ReduceSum <keepdims: int = 0> (x) }>
        })",
                                       {{"x", kOne}});
    QCOMPARE(countOf(model, "If"), 0);
    QVERIFY(outputsOf(model) == (Outputs{{"y", {-1, -2}}}));
    const ImportedModel byData = import(R"(
        g (float[2] x, bool cond) => (float[2] y) {
            y = If (cond) <then_branch: graph = then () => (float[2] a) { a = Neg (x) },
                           else_branch: graph = other () => (float[2] b) { b = Abs (x) }>
        })",
                                        {{"x", kOne}, {"cond", tensorOf(DType::boolean, {}, {1})}});
    QCOMPARE(countOf(byData, "If"), 1);
    QVERIFY(outputsOf(byData) == (Outputs{{"y", {-1, -2}}}));
}

/// A Loop that keeps the length of its sequence stays a Loop, whatever the number of its iterations.
void TestOnnxSequences::loopsOverOneLength() {
    const std::string graph = R"(
        g (int64 trips, float[2] x, float[2] y) => (float[2] z) {
            s = SequenceConstruct (x, y)
            z = Loop (trips, , s) <body: graph = body (int64 i, bool c, float[2] before) => (bool d, float[2] after) {
                d = Identity (c)
                zero = Constant <value: tensor = int64 {0}> ()
                one = Constant <value: tensor = int64 {1}> ()
                first = SequenceAt (before, zero)
                second = SequenceAt (before, one)
                sum = Add (first, second)
                after = SequenceConstruct (second, sum)
            }>
        })";
    const ImportedModel open = import(graph);
    QVERIFY(open.remarks.empty());
    QCOMPARE(countOf(open, "Loop"), 1);
    const ImportedModel model =
        import(graph, {{"trips", tensorOf(DType::i64, {}, {3})}, {"x", kOne}, {"y", kTwo}});
    QVERIFY(outputsOf(model) == (Outputs{{"z[0]", {7, 10}}, {"z[1]", {11, 16}}}));
}

/// Other Loops are unrolled, with their stacked results.
void TestOnnxSequences::loopsThatGrow() {
    const std::string graph = R"(
        g (int64 trips, float[2] x) => (float[2] z, float[k, 2] all) {
            e = SequenceEmpty ()
            z, all = Loop (trips, , e) <body: graph = body (int64 i, bool c, float before) => (bool d, float after, float[2] each) {
                d = Identity (c)
                f = Cast <to: int = 1> (i)
                each = Add (f, x)
                after = SequenceInsert (before, each)
            }>
        })";
    const ImportedModel model = import(graph, {{"trips", tensorOf(DType::i64, {}, {3})}, {"x", kOne}});
    QVERIFY(outputsOf(model) ==
            (Outputs{{"z[0]", {1, 2}}, {"z[1]", {2, 3}}, {"z[2]", {3, 4}}, {"all", {1, 2, 2, 3, 3, 4}}}));
    QCOMPARE(countOf(model, "Loop"), 0);
}

void TestOnnxSequences::loopsOfUnknownLengthArePlaceholders() {
    const std::string graph = R"(
        g (int64 trips, float[2] x) => (int64 n) {
            e = SequenceEmpty ()
            z = Loop (trips, , e) <body: graph = body (int64 i, bool c, float before) => (bool d, float after) {
                d = Identity (c)
                zero = Constant <value: tensor = int64 {0}> ()
                after = SequenceInsert (before, x, zero)
            }>
            n = SequenceLength (z)
        })";
    const QString remark = remarkOf(graph);
    QVERIFY2(
        remark.contains("changes the length of a sequence, and the number of its iterations is not known"),
        qPrintable(remark));
    const Tensor many = tensorOf(DType::i64, {}, {5000});
    QVERIFY(remarkOf(graph, {{"trips", many}}).contains("has more than 1000 iterations"));
}

void TestOnnxSequences::positionsOutsideTheSequence() {
    QVERIFY(remarkOf(R"(
        g (float[2] x) => (float[2] y) {
            s = SequenceConstruct (x)
            one = Constant <value: tensor = int64 {1}> ()
            y = SequenceAt (s, one)
        })")
                .contains("reads position 1 of a sequence of 1"));
}

/// Bodies of Scan and nested Ifs may use sequences of their own.
void TestOnnxSequences::sequencesOfTypesInBodies() {
    const ImportedModel model = import(R"(
        g (float[3, 2] x, bool cond) => (float[3, 4] y) {
            y = Scan <num_scan_inputs: int = 1, body: graph = body (float[2] row) => (float[4] out) {
                s = SequenceConstruct (row, row)
                out = ConcatFromSequence <axis: int = 0> (s)
            }> (x)
        })",
                                       {{"x", tensorOf(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6})}});
    QVERIFY(model.remarks.empty());
    QVERIFY(outputsOf(model) == (Outputs{{"y", {1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6}}}));
}

TWB_TEST_MAIN(TestOnnxSequences)
#include "test_onnx_sequences.moc"
