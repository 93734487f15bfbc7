#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace twb;
using namespace twb::test;

class TestOpTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void carriesWhatIsPromised();
    void namesAreUnique();
    void everyEntryIsComplete();
    void categoriesStandTogether();
    void defaultsAreValid();
    void rolesAreRight();
    void ports();
    void findsByName();
    void fillsInDefaults();
    void refusesBadAttributes_data();
    void refusesBadAttributes();
    void keepsDtypesByShortName();
    void costs();
};

void TestOpTable::carriesWhatIsPromised() {
    for (const char* name :
         {"MatMul",   "Gemm",      "Add",     "Sub",       "Mul",        "Div",          "Pow",
          "Neg",      "Abs",       "Exp",     "Log",       "Sqrt",       "Relu",         "Sigmoid",
          "Tanh",     "Gelu",      "Softmax", "ReduceSum", "ReduceMean", "ReduceMax",    "ArgMax",
          "Reshape",  "Transpose", "Concat",  "Cast",      "Equal",      "Where",        "File",
          "Constant", "Zeros",     "Ones",    "Full",      "Arange",     "RandomNormal", "RandomUniform",
          "To",       "Save",      "Probe"})
        QVERIFY2(findOp(name), name);
}

void TestOpTable::namesAreUnique() {
    std::set<std::string> names;
    for (const Op& op : opTable()) QVERIFY2(names.insert(op.name).second, op.name.c_str());
}

void TestOpTable::everyEntryIsComplete() {
    for (const Op& op : opTable()) {
        const char* name = op.name.c_str();
        QVERIFY2(!op.name.empty() && !op.category.empty(), name);
        QVERIFY2(!op.doc.empty() && op.doc.find('\n') == std::string::npos, name);
        QVERIFY2(op.infer, name);
        QVERIFY2(op.opset >= 0 && op.opset <= kOnnxOpset, name);
        // To becomes copies and a Cast, and the executor runs bodies; all other ops have kernels.
        const bool isRun =
            op.role != OpRole::transfer && op.role != OpRole::control && op.role != OpRole::state;
        QVERIFY2((op.kernel != nullptr) == isRun, name);
        QVERIFY2(op.bodies.empty() == (op.role != OpRole::control), name);
        std::set<std::string> words;
        for (const auto* ports : {&op.inputs, &op.outputs})
            for (const PortSpec& port : *ports) {
                QVERIFY2(!port.name.empty(), name);
                QVERIFY2(port.types.size() > 0, name);
                QVERIFY2(words.insert(port.name).second, name);
            }
        std::set<std::string> attributes;
        for (const AttributeSpec& spec : op.attributes) {
            QVERIFY2(attributes.insert(spec.name).second, name);
            QVERIFY2(!spec.doc.empty(), name);
            QVERIFY2(spec.type != AttributeType::enumeration || !spec.choices.empty(), name);
            QVERIFY2(spec.type != AttributeType::dtype || !spec.choices.empty(), name);
        }
        for (const PortSpec& port : op.inputs)
            if (port.hostValue) QVERIFY2(op.attribute(port.name), name);
        for (std::size_t i = 0; i + 1 < op.inputs.size(); ++i) QVERIFY2(!op.inputs[i].variadic, name);
        for (int port : op.inPlace) {
            QVERIFY2(port >= 0 && port < static_cast<int>(op.inputs.size()), name);
            QVERIFY2(!op.inputs[static_cast<std::size_t>(port)].hostValue, name);
        }
        QVERIFY2(op.tolerance.rtol >= 0 && op.tolerance.atol >= 0, name);
    }
}

void TestOpTable::categoriesStandTogether() {
    std::vector<std::string> seen;
    for (const Op& op : opTable()) {
        if (!seen.empty() && seen.back() == op.category) continue;
        QVERIFY2(std::find(seen.begin(), seen.end(), op.category) == seen.end(), op.name.c_str());
        seen.push_back(op.category);
    }
    QCOMPARE(seen.front(), std::string("Tensors"));
}

void TestOpTable::defaultsAreValid() {
    for (const Op& op : opTable()) {
        const Attributes complete = completeAttributes(op, requiredAttributes(op));
        for (const AttributeSpec& spec : op.attributes)
            if (spec.defaultValue) QVERIFY2(complete.has(spec.name), op.name.c_str());
        QVERIFY2(completeAttributes(op, complete) == complete, op.name.c_str());
    }
}

void TestOpTable::rolesAreRight() {
    for (const Op& op : opTable()) {
        if (op.role == OpRole::source) QVERIFY(op.inputs.empty() && op.outputs.size() == 1);
        if (op.role == OpRole::sink) QVERIFY(op.inputs.size() == 1 && op.outputs.empty());
        if (op.role == OpRole::compute)
            QVERIFY((!op.inputs.empty() || op.readsIteration) && !op.outputs.empty());
    }
    for (const char* name : {"Add", "Sub", "Mul", "Div", "Pow", "Equal", "Where"})
        QVERIFY(findOp(name)->elementwise);
    for (const char* name : {"MatMul", "Gemm", "Concat", "Relu", "ReduceSum"})
        QVERIFY(!findOp(name)->elementwise);
}

void TestOpTable::ports() {
    const Op& gemm = *findOp("Gemm");
    QCOMPARE(gemm.minimumInputs(), 2);
    QCOMPARE(gemm.inputAt(0).argument, std::string("mat1"));
    QCOMPARE(gemm.inputAt(2).argument, std::string("bias"));
    QVERIFY(gemm.inputAt(3).name.empty());
    QVERIFY(gemm.inputAt(-1).name.empty());
    const Op& concat = *findOp("Concat");
    QVERIFY(concat.isVariadic());
    QCOMPARE(concat.minimumInputs(), 1);
    QCOMPARE(concat.inputAt(1000).argument, std::string("tensors"));
    QCOMPARE(findOp("Reshape")->minimumInputs(), 1);
    QCOMPARE(findOp("File")->minimumInputs(), 0);
    QVERIFY(findOp("File")->inputAt(0).name.empty());
    QVERIFY(gemm.attribute("alpha"));
    QVERIFY(!gemm.attribute("Alpha"));
}

void TestOpTable::findsByName() {
    for (const Op& op : opTable()) QCOMPARE(findOp(op.name), &op);
    QVERIFY(!findOp(""));
    QVERIFY(!findOp("gemm"));
    QVERIFY(!findOp("Gemm "));
}

void TestOpTable::fillsInDefaults() {
    const Attributes complete = completeAttributes(*findOp("Gemm"), {{"alpha", std::int64_t{2}}});
    QCOMPARE(complete.number("alpha"), 2.0);
    QCOMPARE(complete.number("beta"), 1.0);
    QVERIFY(!complete.flag("transA"));
    QVERIFY(!completeAttributes(*findOp("ReduceSum"), {}).has("axes"));
    // An empty list is valid for every kind of list.
    for (const AttributeValue& empty :
         {AttributeValue(std::vector<double>{}), AttributeValue(std::vector<std::string>{}),
          AttributeValue(std::vector<std::int64_t>{})})
        QVERIFY(completeAttributes(*findOp("Zeros"), {{"shape", empty}}).integers("shape").empty());
}

void TestOpTable::refusesBadAttributes_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const char* op, const Attributes& attributes, const char* says) {
        QTest::addRow("%s", tag) << QString(op) << attributes << QString(says);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    row("unknown", "Gemm", {{"alhpa", 1.0}},
        "Gemm has no attribute \"alhpa\"; it has transA, transB, alpha, beta");
    row("none to have", "Relu", {{"x", 1.0}}, "it has none");
    row("text for a number", "Gemm", {{"alpha", std::string("big")}}, "attribute \"alpha\" must be a number");
    row("number for a flag", "Gemm", {{"transA", 0.5}}, "attribute \"transA\" must be true or false");
    row("integer 2 for a flag", "Gemm", {{"transA", std::int64_t{2}}}, "must be true or false");
    row("number for an integer", "Softmax", {{"axis", 1.5}}, "attribute \"axis\" must be an integer");
    row("NaN for an integer", "Softmax", {{"axis", nan}}, "attribute \"axis\" must be an integer");
    row("required", "File", {}, "File needs a value for its attribute \"path\"");
    row("empty path", "Save", {{"path", std::string()}}, "attribute \"path\" is empty");
    row("number for a path", "Save", {{"path", 1.0}}, "attribute \"path\" must be a string");
    row("choice", "Gelu", {{"approximate", std::string("fast")}},
        "attribute \"approximate\" must be one of none, tanh, but is \"fast\"");
    row("no dtype", "Zeros", {{"dtype", std::string("f31")}},
        "must be a dtype such as f32 or int64, but is \"f31\"");
    row("dtype not offered", "RandomNormal", {{"dtype", std::string("i64")}}, "must be one of f32, f64");
    row("no number", "RandomUniform", {{"dtype", std::string("bool")}}, "must be one of f32, f64, f16, bf16");
    row("negative size", "Zeros", {{"shape", std::vector<std::int64_t>{2, -1}}},
        "attribute \"shape\" must be 0 or more, but is -1");
    row("fractional size", "Zeros", {{"shape", std::vector<double>{2.5}}}, "must be a list of integers");
    row("size below -1", "Reshape", {{"shape", std::vector<std::int64_t>{-2}}},
        "must be -1 or more, but is -2");
    row("negative scale", "RandomNormal", {{"scale", -1.0}},
        "attribute \"scale\" must be 0 or more, but is -1");
    row("NaN scale", "RandomNormal", {{"scale", nan}}, "attribute \"scale\" must be 0 or more");
    row("texts for numbers", "Constant", {{"value", std::vector<std::string>{"a"}}},
        "must be a list of numbers");
    row("raw JSON", "Constant", {{"value", RawJson{"{}"}}}, "attribute \"value\" must be");
}

void TestOpTable::refusesBadAttributes() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(QString, says);
    const QString error = inferError([&] { completeAttributes(*findOp(op.toStdString()), attributes); });
    QVERIFY2(error.startsWith("attribute: " + op), qPrintable(error));
    QVERIFY2(error.contains(says), qPrintable(error));
}

void TestOpTable::keepsDtypesByShortName() {
    QCOMPARE(completeAttributes(*findOp("Cast"), {{"to", std::string("float64")}}).text("to"),
             std::string("f64"));
    QCOMPARE(completeAttributes(*findOp("Cast"), {{"to", std::string("i32")}}).text("to"),
             std::string("i32"));
}

void TestOpTable::costs() {
    const auto cost = [](const char* op, std::vector<TensorType> inputs, std::vector<TensorType> outputs,
                         const Attributes& attributes = {}) {
        return costOf(*findOp(op), inputs, outputs, completeAttributes(*findOp(op), attributes));
    };
    const TensorType a{DType::f32, {360, 64}};
    const TensorType b{DType::f32, {64, 128}};
    const TensorType y{DType::f32, {360, 128}};
    QCOMPARE(cost("Gemm", {a, b}, {y}).flops, 2.0 * 360 * 64 * 128);
    QCOMPARE(cost("Gemm", {a, b}, {y}).bytes, 4.0 * (360 * 64 + 64 * 128 + 360 * 128));
    QCOMPARE(cost("Gemm", {b, b}, {{DType::f32, {128, 128}}}, {{"transA", true}}).flops,
             2.0 * 128 * 64 * 128);
    QCOMPARE(cost("MatMul", {a, b}, {y}).flops, 2.0 * 360 * 64 * 128);
    QCOMPARE(cost("Add", {a, a}, {a}).flops, 360.0 * 64);
    QCOMPARE(cost("ReduceSum", {a}, {{DType::f32, {360, 1}}}).flops, 360.0 * 64);
    QCOMPARE(cost("Add", {{DType::f64, {2}}, {DType::f64, {2}}}, {{DType::f64, {2}}}).dtype, DType::f64);
    QCOMPARE(cost("Zeros", {}, {a}).bytes, 4.0 * 360 * 64);
    QCOMPARE(cost("Reshape", {a}, {a}, {{"shape", std::vector<std::int64_t>{360, 64}}}).flops, 0.0);
    // The cost of sizes beyond every machine is computed without overflow.
    const TensorType huge{DType::f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}};
    QCOMPARE(cost("Relu", {huge}, {huge}).flops, 0x1p80);
    for (const Op& op : opTable())
        if (op.role == OpRole::sink) QVERIFY(costOf(op, std::span(&a, 1), {}, {}).bytes > 0);
}

TWB_TEST_MAIN(TestOpTable)
#include "test_op_table.moc"
