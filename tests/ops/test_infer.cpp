#include "support/op_tensors.h"
#include "support/test_main.h"

#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
TensorType f64(Shape shape) { return {DType::f64, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::i64, std::move(shape)}; }
using Types = std::vector<TensorType>;

/// Adds rows with an op, its attributes, its inputs and the expected result.
auto rows(const char* outcome) {
    QTest::addColumn<QString>("op");
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<Types>("inputs");
    QTest::addColumn<QString>(outcome);
    return [n = 0](const char* op, const Attributes& attributes, const Types& inputs,
                   const char* expected) mutable {
        QTest::addRow("%d %s", n++, op) << QString(op) << attributes << inputs << QString(expected);
    };
}

} // namespace

class TestInfer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void shapes_data();
    void shapes();
    void errors_data();
    void errors();
    void errorsNameThePort();
    void unsupportedDtypesAreRefused();
    void oneDtypeForOneVariable();
    void missingInputs();
    void hostValues();
    void hostValueErrors();
    void fileWithoutFolder();
    void unknownDimensions_data();
    void unknownDimensions();
};

void TestInfer::shapes_data() {
    auto row = rows("output");
    const auto axes = [](List list) { return AttributeValue(std::move(list)); };
    row("Add", {}, {f32({3, 1}), f32({4})}, "f32 3×4");
    row("Add", {}, {f32({}), f32({})}, "f32 scalar");
    row("Add", {}, {f32({0}), f32({1})}, "f32 0");
    row("Equal", {}, {i64({3}), i64({2, 1})}, "bool 2×3");
    row("Pow", {}, {f32({2}), i64({})}, "f32 2");
    row("MatMul", {}, {f32({2, 3}), f32({3, 4})}, "f32 2×4");
    row("MatMul", {}, {f32({3}), f32({3})}, "f32 scalar");
    row("MatMul", {}, {f32({3}), f32({3, 4})}, "f32 4");
    row("MatMul", {}, {f32({2, 3}), f32({3})}, "f32 2");
    row("MatMul", {}, {f32({5, 1, 2, 3}), f32({7, 3, 4})}, "f32 5×7×2×4");
    row("MatMul", {}, {f32({5, 2, 3}), f32({3})}, "f32 5×2");
    row("MatMul", {}, {f32({3}), f32({5, 3, 2})}, "f32 5×2");
    row("Gemm", {}, {f32({360, 64}), f32({64, 128}), f32({128})}, "f32 360×128");
    row("Gemm", {{"transA", true}, {"transB", true}}, {f32({64, 360}), f32({128, 64}), f32({360, 1})},
        "f32 360×128");
    row("Gemm", {}, {f32({2, 3}), f32({3, 4}), f32({})}, "f32 2×4");
    row("Gemm", {{"transB", true}}, {f32({5, 1, 2, 3}), f32({4, 3}), f32({5, 1, 1, 4})}, "f32 5×1×2×4");
    row("Softmax", {{"axis", std::int64_t{-1}}}, {f32({})}, "f32 scalar");
    row("ReduceSum", {}, {f32({2, 3})}, "f32 1×1");
    row("ReduceSum", {{"keepdims", false}}, {f32({2, 3})}, "f32 scalar");
    row("ReduceSum", {{"axes", axes({-1})}, {"keepdims", false}}, {f32({2, 3})}, "f32 2");
    row("ReduceMean", {{"axes", axes({0, 2})}}, {f32({2, 3, 4})}, "f32 1×3×1");
    row("ReduceMax", {{"axes", axes({})}}, {f32({2, 3})}, "f32 1×1");
    row("ReduceMax", {{"noop_with_empty_axes", true}}, {f32({2, 3})}, "f32 2×3");
    row("ReduceSum", {{"axes", axes({0})}}, {f32({})}, "f32 scalar");
    row("ArgMax", {{"axis", std::int64_t{1}}, {"keepdims", false}}, {f32({360, 10})}, "i64 360");
    row("ArgMax", {}, {f32({360, 10})}, "i64 1×10");
    row("ArgMax", {}, {f32({})}, "i64 scalar");
    row("Reshape", {{"shape", axes({-1})}}, {f32({2, 3})}, "f32 6");
    row("Reshape", {{"shape", axes({3, -1})}}, {f32({2, 3})}, "f32 3×2");
    row("Reshape", {{"shape", axes({0, -1})}}, {f32({2, 3, 4})}, "f32 2×12");
    row("Reshape", {{"shape", axes({0, 0, 4})}}, {f32({2, 3, 4})}, "f32 2×3×4");
    row("Reshape", {{"shape", axes({})}}, {f32({1, 1})}, "f32 scalar");
    row("Reshape", {{"shape", axes({1, 1})}}, {f32({})}, "f32 1×1");
    row("Reshape", {{"shape", axes({0, 7})}}, {f32({0, 7})}, "f32 0×7");
    row("Reshape", {{"shape", axes({5, 0})}, {"allowzero", true}}, {f32({0, 7})}, "f32 5×0");
    row("Reshape", {{"shape", axes({-1, 7})}}, {f32({0, 7})}, "f32 0×7");
    row("Transpose", {}, {f32({2, 3, 4})}, "f32 4×3×2");
    row("Transpose", {{"perm", axes({1, 2, 0})}}, {f32({2, 3, 4})}, "f32 3×4×2");
    row("Transpose", {}, {f32({})}, "f32 scalar");
    row("Concat", {{"axis", std::int64_t{-1}}}, {f32({2, 3}), f32({2, 0}), f32({2, 4})}, "f32 2×7");
    row("Concat", {}, {f32({5})}, "f32 5");
    row("Cast", {{"to", std::string("bool")}}, {f32({2})}, "bool 2");
    row("Where", {}, {{DType::boolean, {2, 1}}, i64({3}), i64({})}, "i64 2×3");
    row("To", {}, {f32({2})}, "f32 2");
    row("To", {{"dtype", std::string("f64")}}, {i64({2})}, "f64 2");
    row("To", {}, {{DType::bf16, {2}}}, "bf16 2");
    row("Zeros", {{"shape", axes({4, 0})}, {"dtype", std::string("i32")}}, {}, "i32 4×0");
    row("Ones", {{"shape", axes({})}}, {}, "f32 scalar");
    row("Constant", {{"value", std::int64_t{3}}}, {}, "f32 scalar");
    row("Constant", {{"value", axes({3, 4, 5})}, {"dtype", std::string("i64")}}, {}, "i64 3");
    row("Constant", {{"value", std::vector<double>{1, 2, 3, 4}}, {"shape", axes({2, 2})}}, {}, "f32 2×2");
    row("Constant", {{"value", 1.5}, {"shape", axes({2, 2})}}, {}, "f32 2×2");
    row("Constant", {{"value", axes({})}}, {}, "f32 0");
    row("Arange", {}, {}, "i64 10");
    row("Arange", {{"start", 0.0}, {"limit", 1.0}, {"delta", 0.3}, {"dtype", std::string("f32")}}, {},
        "f32 4");
    row("Arange", {{"start", 5.0}, {"limit", 0.0}}, {}, "i64 0");
    row("Arange", {{"start", 5.0}, {"limit", 0.0}, {"delta", -2.0}}, {}, "i64 3");
    row("RandomNormal", {{"shape", axes({2, 2})}, {"dtype", std::string("float64")}}, {}, "f64 2×2");
}

void TestInfer::shapes() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(Types, inputs);
    QFETCH(QString, output);
    const Types types = inferTypes(op.toStdString(), attributes, inputs);
    QCOMPARE(types.size(), std::size_t{1});
    QCOMPARE(QString::fromStdString(types[0].toString()), output);
}

void TestInfer::errors_data() {
    auto row = rows("error");
    const auto axes = [](List list) { return AttributeValue(std::move(list)); };
    row("Add", {}, {f32({2, 3}), f32({2, 4})},
        "shape-mismatch: The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
        "dimension 1");
    row("Add", {}, {f32({5, 2, 3}), f32({4, 3})},
        "shape-mismatch: The size of tensor a (2) must match the size of tensor b (4) at non-singleton "
        "dimension 1");
    row("Gemm", {}, {f32({360, 64}), f32({10, 128})},
        "shape-mismatch: mat1 and mat2 shapes cannot be multiplied (360x64 and 10x128)");
    row("Gemm", {{"transA", true}}, {f32({64, 360}), f32({10, 128})},
        "shape-mismatch: mat1 and mat2 shapes cannot be multiplied (360x64 and 10x128)");
    row("Gemm", {}, {f32({64}), f32({64, 128})}, "shape-mismatch: mat1 must be a matrix, got 1-D tensor");
    row("Gemm", {{"transA", true}}, {f32({2, 64, 360}), f32({64, 128})},
        "shape-mismatch: mat1 must be a matrix, got 3-D tensor; transA takes two axes");
    row("Gemm", {{"transB", true}}, {f32({2, 3, 64}), f32({10, 128})},
        "shape-mismatch: mat1 and mat2 shapes cannot be multiplied (6x64 and 128x10)");
    row("Gemm", {}, {f32({360, 64}), f32({2, 64, 128})},
        "shape-mismatch: mat2 must be a matrix, got 3-D tensor");
    row("Gemm", {}, {f32({2, 3, 64}), f32({64, 128}), f32({2, 1, 1, 128})},
        "shape-mismatch: expand: the number of sizes provided (3) must be greater or equal to the number of "
        "dimensions in the tensor (4)");
    row("Gemm", {}, {f32({360, 64}), f32({64, 128}), f32({10})},
        "shape-mismatch: The expanded size of the tensor (128) must match the existing size (10) at "
        "non-singleton "
        "dimension 1.  Target sizes: [360, 128].  Tensor sizes: [10]");
    row("Gemm", {}, {f32({1, 2}), f32({2, 3}), f32({4, 3})},
        "shape-mismatch: The expanded size of the tensor (1) must match the existing size (4) at "
        "non-singleton "
        "dimension 0.  Target sizes: [1, 3].  Tensor sizes: [4, 3]");
    row("Gemm", {}, {f32({2, 2}), f64({2, 2})},
        "dtype-mismatch: mat1 and mat2 must have the same dtype, but got Float and Double");
    row("Gemm", {}, {f64({2, 2}), f64({2, 2}), f32({2})},
        "dtype-mismatch: mat1 and bias must have the same dtype, but got Double and Float");
    row("Add", {}, {f32({2}), i64({2})},
        "dtype-mismatch: self and other must have the same dtype, but got Float and Long; PyTorch would "
        "promote them, but here you must insert a Cast");
    row("MatMul", {}, {i64({2, 2}), f32({2, 2})},
        "dtype-mismatch: expected m1 and m2 to have the same dtype, but got: long int != float");
    row("MatMul", {}, {f32({2, 3}), f32({4, 5})},
        "shape-mismatch: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
    row("MatMul", {}, {f32({3}), f32({4})},
        "shape-mismatch: inconsistent tensor size, expected tensor [3] and src [4] to have the same number "
        "of elements, "
        "but got 3 and 4 elements respectively");
    row("MatMul", {}, {f32({2, 3}), f32({4})},
        "shape-mismatch: size mismatch, got input (2), mat (2x3), vec (4)");
    row("MatMul", {}, {f32({2, 3, 4}), f32({2, 5, 6})},
        "shape-mismatch: Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, "
        "5].");
    row("MatMul", {}, {f32({2, 3, 4}), f32({3, 4, 6})},
        "shape-mismatch: The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
        "dimension 0");
    row("MatMul", {}, {f32({}), f32({2, 2})},
        "shape-mismatch: both arguments to matmul need to be at least 1D, but they are 0D and 2D");
    row("Where", {}, {{DType::boolean, {2}}, f32({3}), f32({})},
        "shape-mismatch: The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
        "dimension 0");
    row("Where", {}, {f32({2}), f32({2}), f32({2})},
        "dtype-mismatch: Where is not implemented for f32: its input condition takes bool");
    row("Concat", {}, {f32({3}), f32({2, 3})},
        "shape-mismatch: Tensors must have same number of dimensions: got 1 and 2");
    row("Concat", {}, {f32({2, 3}), f32({2, 4})},
        "shape-mismatch: Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 "
        "for tensor "
        "number 1 in the list.");
    row("Concat", {}, {f32({3}), f32({})},
        "shape-mismatch: zero-dimensional tensor (at position 1) cannot be concatenated");
    row("Concat", {}, {f32({kHuge}), f32({kHuge})},
        "too-large: the size of the result along dimension 0 does not fit in 64 bits");
    row("Softmax", {{"axis", std::int64_t{2}}}, {f32({2, 3})},
        "attribute: Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    row("ArgMax", {{"axis", std::int64_t{-3}}}, {f32({2, 3})},
        "attribute: Dimension out of range (expected to be in range of [-2, 1], but got -3)");
    row("ArgMax", {}, {f32({0, 3})},
        "shape-mismatch: argmax(): Expected reduction dim 0 to have non-zero size.");
    row("ReduceSum", {{"axes", axes({0, -2})}}, {f32({2, 3})},
        "attribute: dim 0 appears multiple times in the list of dims");
    row("ReduceSum", {{"axes", axes({2})}}, {f32({2, 3})},
        "attribute: Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    row("Reshape", {}, {f32({2, 3})},
        "attribute: Reshape needs a shape: connect one, or set the attribute \"shape\"");
    row("Reshape", {{"shape", axes({2, 5})}}, {f32({3, 4})},
        "attribute: shape '[2, 5]' is invalid for input of size 12");
    row("Reshape", {{"shape", axes({5, -1})}}, {f32({3, 4})},
        "attribute: shape '[5, -1]' is invalid for input of size 12");
    row("Reshape", {{"shape", axes({-1, -1})}}, {f32({3, 4})},
        "attribute: only one dimension can be inferred");
    row("Reshape", {{"shape", axes({0, -1})}, {"allowzero", true}}, {f32({0, 4})},
        "attribute: cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension "
        "size -1 can "
        "be any value and is ambiguous");
    row("Reshape", {{"shape", axes({0, -1})}, {"allowzero", true}}, {f32({3, 4})},
        "attribute: shape '[0, -1]' is invalid for input of size 12");
    row("Reshape", {{"shape", axes({3, 4, 0})}}, {f32({3, 4})},
        "attribute: shape '[3, 4, 0]' copies dimension 2 of its input, which has 2 dimensions; set allowzero "
        "for a size "
        "of 0");
    row("Reshape", {{"shape", axes({kHuge, 8})}}, {f32({3, 4})},
        "attribute: the shape [4611686018427387904, 8] has more elements than 64 bits can count");
    row("Transpose", {{"perm", axes({0, 1})}}, {f32({2, 3, 4})},
        "attribute: permute(sparse_coo): number of dimensions in the tensor input does not match the length "
        "of the "
        "desired ordering of dimensions i.e. input.dim() = 3 is not equal to len(dims) = 2");
    row("Transpose", {{"perm", axes({0, 0})}}, {f32({2, 3})},
        "attribute: permute(): duplicate dims are not allowed.");
    row("Zeros", {{"shape", axes({kHuge, 8})}}, {},
        "too-large: the result of Zeros: the shape [4611686018427387904, 8] has more elements than 64 "
        "bits can "
        "count");
    row("Zeros", {{"shape", axes({kHuge})}}, {},
        "too-large: the result of Zeros: a tensor of shape [4611686018427387904] and dtype f32 has more "
        "bytes than "
        "64 bits can count");
    row("Zeros", {{"shape", List(65, 1)}}, {},
        "shape-mismatch: the result of Zeros has 65 dimensions, but a tensor has 64 at most");
    row("MatMul", {}, {f32({kHuge, 1}), f32({1, 4})},
        "too-large: the result of MatMul: the shape [4611686018427387904, 4] has more elements than 64 "
        "bits can "
        "count");
    row("Add", {}, {f32({std::int64_t{1} << 31, 1}), f32({1, std::int64_t{1} << 31})},
        "too-large: the result of Add: a tensor of shape [2147483648, 2147483648] and dtype f32 has "
        "more bytes than "
        "64 bits can count");
    row("Constant", {{"value", std::vector<double>{1, 2, 3}}, {"shape", axes({2, 2})}}, {},
        "attribute: Constant has 3 values, but its shape [2, 2] holds 4; list as many values as the shape "
        "holds, or a "
        "single one to fill it with");
    row("Arange", {{"delta", 0.0}}, {},
        "attribute: step must be nonzero: set the attribute \"delta\" of Arange");
    row("Arange", {{"limit", std::numeric_limits<double>::infinity()}}, {},
        "attribute: unsupported range: 0 -> inf by 1");
    row("Arange", {{"limit", 2.5}}, {},
        "attribute: an Arange of integers needs whole numbers, but its attribute \"limit\" is 2.5; round it "
        "or choose a "
        "floating dtype");
    row("Arange",
        {{"start", std::numeric_limits<std::int64_t>::min()},
         {"limit", std::numeric_limits<std::int64_t>::max()}},
        {},
        "too-large: an Arange from -9.223372036854776e+18 to 9.223372036854776e+18 by 1 has more "
        "elements than 64 "
        "bits can count");
}

void TestInfer::errors() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(Types, inputs);
    QFETCH(QString, error);
    QCOMPARE(inferError([&] { inferTypes(op.toStdString(), attributes, inputs); }), error);
}

void TestInfer::errorsNameThePort() {
    const auto portOf = [](const char* op, const Types& inputs) {
        try {
            inferTypes(op, {}, inputs);
        } catch (const InferError& error) {
            return error.port();
        }
        return -2;
    };
    QCOMPARE(portOf("Gemm", {f32({2, 3}), f32({4, 5})}), 1);
    QCOMPARE(portOf("Gemm", {f32({2, 3}), f32({3, 5}), f32({4})}), 2);
    QCOMPARE(portOf("Concat", {f32({2, 3}), f32({2, 3}), f32({2, 4})}), 2);
    QCOMPARE(portOf("Concat", {f32({2, 3}), f32({2, 3}), f64({2, 3})}), 2);
    QCOMPARE(portOf("MatMul", {f32({}), f32({2, 2})}), 0);
}

/// Every op rejects every dtype that its ports do not list, and accepts every one that they do.
void TestInfer::unsupportedDtypesAreRefused() {
    int refused = 0;
    for (const Op& op : opTable()) {
        if (op.inputs.empty()) continue;
        for (std::size_t at = 0; at < op.inputs.size(); ++at)
            for (DType dtype : kWideDTypes) {
                if (op.name == "AllReduce" && dtype == DType::boolean) continue; // max only, not the sum
                Types inputs;
                for (std::size_t i = 0; i < op.inputs.size(); ++i) {
                    const PortSpec& spec = op.inputs[i];
                    DType fits = DType::f32;
                    for (DType d : kWideDTypes)
                        if (!spec.types.contains(fits) && spec.types.contains(d)) fits = d;
                    const bool follows =
                        !spec.typeVariable.empty() && spec.typeVariable == op.inputs[at].typeVariable;
                    inputs.push_back(
                        {i == at || follows ? dtype : fits, spec.hostValue ? Shape{1} : Shape{2, 2}});
                }
                const QString error =
                    inferError([&] { inferTypes(op.name, requiredAttributes(op), inputs); });
                const bool accepted = op.inputs[at].types.contains(dtype);
                if (!accepted) {
                    ++refused;
                    QVERIFY2(error.startsWith("dtype-mismatch: "),
                             qPrintable(QString::fromStdString(op.name) + error));
                    QVERIFY(error.contains(
                        QString::fromUtf8(name(dtype).data(), static_cast<int>(name(dtype).size()))));
                } else {
                    QVERIFY2(!error.startsWith("dtype-mismatch"), qPrintable(error));
                }
            }
    }
    QVERIFY(refused > 100);
}

void TestInfer::oneDtypeForOneVariable() {
    for (const Op& op : opTable())
        for (std::size_t at = 1; at < op.inputs.size(); ++at) {
            if (op.inputs[at].typeVariable.empty()) continue;
            std::size_t first = 0;
            while (op.inputs[first].typeVariable != op.inputs[at].typeVariable) ++first;
            if (first == at || op.inputs[at].types.size() < 2) continue;
            // The first dtype that a port accepts, or another one for the port that must be rejected.
            const auto accepted = [&](const PortSpec& spec, int skip) {
                for (DType dtype : kWideDTypes)
                    if (spec.types.contains(dtype) && skip-- == 0) return dtype;
                return DType::f32;
            };
            Types inputs;
            for (std::size_t i = 0; i <= at; ++i)
                inputs.push_back({accepted(op.inputs[i], i == at ? 1 : 0), Shape{2, 2}});
            const QString error = inferError([&] { inferTypes(op.name, requiredAttributes(op), inputs); });
            QVERIFY2(error.contains("have the same dtype, but got"),
                     qPrintable(QString::fromStdString(op.name) + ": " + error));
        }
}

void TestInfer::missingInputs() {
    for (const Op& op : opTable()) {
        if (op.minimumInputs() == 0) continue;
        const QString error = inferError([&] { inferTypes(op.name, requiredAttributes(op), Types{}); });
        QVERIFY2(error.startsWith("missing-input: "), qPrintable(error));
    }
}

void TestInfer::hostValues() {
    const Tensor data = Tensor::onHost(f32({2, 3, 4}));
    // The edge takes precedence over the attribute.
    const Attributes other{{"shape", List{24}}, {"allowzero", false}};
    QCOMPARE(inferTypes("Reshape", other, {data, listOf({4, -1})})[0].toString(), std::string("f32 4×6"));
    QCOMPARE(inferTypes("Reshape", {}, {data, inLayout(listOf({4, -1}), Layout::reversed)})[0].toString(),
             std::string("f32 4×6"));
    QCOMPARE(inferTypes("Reshape", {}, {data, listOf({4, -1})}, nullptr, true)[0].toString(),
             std::string("f32 ?×?"));
    QCOMPARE(inferTypes("ReduceSum", {}, {data, listOf({1})})[0].toString(), std::string("f32 2×1×4"));
    QCOMPARE(inferTypes("ReduceSum", {}, {data, listOf({1})}, nullptr, true)[0].toString(),
             std::string("f32 ?×?×?"));
    QCOMPARE(inferTypes("ReduceSum", {{"keepdims", false}}, {data, listOf({1})}, nullptr, true)[0].toString(),
             std::string("f32 ?×?"));
    // The length of an empty list determines its value.
    QCOMPARE(inferTypes("ReduceSum", {}, {data, listOf({})}, nullptr, true)[0].toString(),
             std::string("f32 1×1×1"));
}

void TestInfer::hostValueErrors() {
    const auto error = [](const char* op, const Types& inputs) {
        return inferError([&] { inferTypes(op, {}, inputs); });
    };
    QCOMPARE(error("Reshape", {f32({2}), i64({2, 2})}),
             QString("shape-mismatch: shape must be a list of integers, but has the shape [2, 2]"));
    QVERIFY(error("Reshape", {f32({2}), i64({kUnknownDim})})
                .contains("the length of shape is not known before the run"));
    QVERIFY(error("Reshape", {f32({2}), i64({kHuge})}).contains("shape has 4611686018427387904 entries"));
    QVERIFY(error("Reshape", {f32({2}), f32({1})}).startsWith("dtype-mismatch"));
    QVERIFY(inferError([] {
                inferTypes("ReduceSum", {{"keepdims", false}}, {Tensor::onHost(f32({2})), listOf({0, 1})},
                           nullptr, true);
            }).contains("axes has 2 entries, but data has 1 dimensions"));
    const Tensor data = Tensor::onHost(f32({2, 3}));
    QCOMPARE(
        inferError([&] {
            inferTypes("ReduceSum", {}, {data, listOf({5})});
        }),
        QString("shape-mismatch: Dimension out of range (expected to be in range of [-2, 1], but got 5)"));
    QCOMPARE(inferError([&] {
                 inferTypes("Reshape", {}, {data, listOf({5})});
             }),
             QString("shape-mismatch: shape '[5]' is invalid for input of size 6"));
}

void TestInfer::fileWithoutFolder() {
    const QString error = inferError([] { inferTypes("File", {{"path", std::string("a.npy")}}, Types{}); });
    QVERIFY2(error.startsWith("file: "), qPrintable(error));
}

void TestInfer::unknownDimensions_data() {
    auto row = rows("output");
    constexpr std::int64_t u = kUnknownDim;
    row("Add", {}, {f32({u, 3}), f32({2, 1})}, "f32 2×3");
    row("Add", {}, {f32({u}), f32({1})}, "f32 ?");
    row("Gemm", {}, {f32({u, 64}), f32({64, 10}), f32({10})}, "f32 ?×10");
    row("Gemm", {}, {f32({u, 7, 64}), f32({64, 10}), f32({10})}, "f32 ?×7×10");
    row("Gemm", {}, {f32({5, u}), f32({64, u}), f32({10})}, "f32 5×?");
    row("MatMul", {}, {f32({u, 2, 3}), f32({3, 4})}, "f32 ?×2×4");
    row("MatMul", {}, {f32({2, u}), f32({3, 4})}, "f32 2×4");
    row("Softmax", {}, {f32({u, 3})}, "f32 ?×3");
    row("ReduceSum", {{"axes", List{0}}}, {f32({u, 3})}, "f32 1×3");
    row("ReduceSum", {{"axes", List{1}}}, {f32({u, 3})}, "f32 ?×1");
    row("ArgMax", {{"keepdims", false}}, {f32({u, 3})}, "i64 3");
    row("Reshape", {{"shape", List{0, -1}}}, {f32({u, 8, 8})}, "f32 ?×64");
    row("Reshape", {{"shape", List{-1, 64}}}, {f32({u, 8, 8})}, "f32 ?×64");
    row("Reshape", {{"shape", List{6}}}, {f32({u, 3})}, "f32 6");
    row("Transpose", {}, {f32({u, 3})}, "f32 3×?");
    row("Concat", {}, {f32({u, 3}), f32({2, u})}, "f32 ?×3");
    row("Concat", {{"axis", std::int64_t{1}}}, {f32({u, 3}), f32({2, 4})}, "f32 2×7");
    row("Cast", {}, {i64({u})}, "f32 ?");
    row("Where", {}, {{DType::boolean, {u}}, f32({4}), f32({})}, "f32 4");
}

void TestInfer::unknownDimensions() { shapes(); }

TWB_TEST_MAIN(TestInfer)
#include "test_infer.moc"
