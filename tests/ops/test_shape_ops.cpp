#include "support/op_runner.h"
#include "support/places.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using List = std::vector<std::int64_t>;

/// One dtype of each size, and the dtypes with a special bit pattern.
const DType kTypes[] = {DType::u8, DType::i16, DType::f32, DType::f64, DType::i64, DType::boolean};

} // namespace

class TestShapeOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reshape();
    void reshapeByHostValue();
    void transpose();
    void transposeLarge();
    void concat();
    void concatLarge();
    void castAll_data();
    void castAll();
    void castFloatsToIntegers();
    void castIntegersToNarrower();
    void bitCast();
    void castToBool();
    void halfPrecisionIsMoved();
};

void TestShapeOps::reshape() {
    Dice dice(41);
    for (DType dtype : kTypes)
        for (int round = 0; round < 60; ++round) {
            const Shape shape = dice.shape(4, 6);
            const Tensor in = inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            const Attributes attributes{{"shape", List{shape.elementCount(), 1}}, {"allowzero", true}};
            const QString wrong = difference(runOp("Reshape", attributes, {in})[0], {shape.elementCount(), 1},
                                             valuesOf(in), {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestShapeOps::reshapeByHostValue() {
    Dice dice(42);
    const Tensor in = dice.tensor(DType::f32, {2, 3, 4}, -1, 1);
    const Tensor shape = inLayout(Tensor::of<std::int64_t>({2}, {-1, 8}), Layout::gaps);
    QVERIFY(difference(runOp("Reshape", {}, {in, shape})[0], {3, 8}, valuesOf(in), {}).isEmpty());
}

void TestShapeOps::transpose() {
    Dice dice(43);
    for (DType dtype : kTypes)
        for (int round = 0; round < 80; ++round) {
            const Shape shape = dice.shape(5, 7);
            const int rank = shape.rank();
            const Tensor in = inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            List perm(static_cast<std::size_t>(rank));
            std::iota(perm.begin(), perm.end(), 0);
            for (std::size_t i = perm.size(); i > 1; --i)
                std::swap(perm[i - 1],
                          perm[static_cast<std::size_t>(dice.integer(0, static_cast<std::int64_t>(i) - 1))]);
            Attributes attributes{{"perm", perm}};
            if (dice.one(3)) {
                attributes = {};
                for (int i = 0; i < rank; ++i) perm[static_cast<std::size_t>(i)] = rank - 1 - i;
            }
            std::vector<std::int64_t> dims;
            for (std::int64_t axis : perm) dims.push_back(shape[static_cast<int>(axis)]);
            const Shape result(dims);
            std::vector<double> expected(static_cast<std::size_t>(in.elementCount()));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const List place = placeOf(result, static_cast<std::int64_t>(i));
                List source(place.size());
                for (std::size_t axis = 0; axis < perm.size(); ++axis)
                    source[static_cast<std::size_t>(perm[axis])] = place[axis];
                expected[i] = in.at(indexOf(shape, source));
            }
            const QString wrong = difference(runOp("Transpose", attributes, {in})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

/// Partial tiles at the edges, in parallel.
void TestShapeOps::transposeLarge() {
    Dice dice(44);
    for (DType dtype : kTypes)
        for (const Shape& shape : {Shape{250, 333}, Shape{3, 130, 95}, Shape{5, 40000}, Shape{40000, 5}}) {
            const Tensor in = inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            const std::vector<double> values = valuesOf(in);
            const std::int64_t rows = shape[shape.rank() - 2];
            const std::int64_t columns = shape[shape.rank() - 1];
            List perm(static_cast<std::size_t>(shape.rank()));
            std::iota(perm.begin(), perm.end(), 0);
            std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
            std::vector<double> expected;
            for (std::int64_t b = 0; b < in.elementCount() / (rows * columns); ++b)
                for (std::int64_t c = 0; c < columns; ++c)
                    for (std::int64_t r = 0; r < rows; ++r)
                        expected.push_back(values[static_cast<std::size_t>((b * rows + r) * columns + c)]);
            Shape result = shape;
            std::swap(result[shape.rank() - 1], result[shape.rank() - 2]);
            const QString wrong =
                difference(runOp("Transpose", {{"perm", perm}}, {in})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestShapeOps::concat() {
    Dice dice(45);
    for (DType dtype : kTypes)
        for (int round = 0; round < 80; ++round) {
            Shape shape = dice.shape(4, 5);
            if (shape.rank() == 0) shape = Shape{3};
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            std::vector<Tensor> inputs;
            std::int64_t length = 0;
            for (std::int64_t n = dice.integer(1, 5); n > 0; --n) {
                Shape part = shape;
                part[axis] = dice.integer(0, 4);
                length += part[axis];
                inputs.push_back(inLayout(dice.tensor(dtype, part, 0, 100), dice.layout()));
            }
            Shape result = shape;
            result[axis] = length;
            std::vector<double> expected(static_cast<std::size_t>(result.elementCount()));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                List place = placeOf(result, static_cast<std::int64_t>(i));
                std::int64_t& along = place[static_cast<std::size_t>(axis)];
                std::size_t part = 0;
                while (along >= inputs[part].shape()[axis]) along -= inputs[part++].shape()[axis];
                expected[i] = inputs[part].at(indexOf(inputs[part].shape(), place));
            }
            const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}}};
            const QString wrong = difference(runOp("Concat", attributes, inputs)[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestShapeOps::concatLarge() {
    Dice dice(46);
    const Tensor a = dice.tensor(DType::f32, {300, 200}, -1, 1);
    const Tensor b = dice.tensor(DType::f32, {300, 150}, -1, 1);
    const std::vector<double> left = valuesOf(a);
    const std::vector<double> right = valuesOf(b);
    std::vector<double> expected;
    for (std::ptrdiff_t row = 0; row < 300; ++row) {
        expected.insert(expected.end(), left.begin() + row * 200, left.begin() + (row + 1) * 200);
        expected.insert(expected.end(), right.begin() + row * 150, right.begin() + (row + 1) * 150);
    }
    QVERIFY(difference(runOp("Concat", {{"axis", std::int64_t{1}}}, {a, b})[0], {300, 350}, expected, {})
                .isEmpty());
}

void TestShapeOps::castAll_data() {
    QTest::addColumn<int>("from");
    QTest::addColumn<int>("to");
    for (DType from : kWideDTypes)
        for (DType to : kWideDTypes)
            if (sizeOf(from) != 2 || isInteger(from))
                if (sizeOf(to) != 2 || isInteger(to))
                    QTest::addRow("%s to %s", std::string(name(from)).c_str(), std::string(name(to)).c_str())
                        << static_cast<int>(from) << static_cast<int>(to);
}

/// Values that every dtype represents exactly.
void TestShapeOps::castAll() {
    QFETCH(int, from);
    QFETCH(int, to);
    const auto target = static_cast<DType>(to);
    Dice dice(47);
    for (int round = 0; round < 10; ++round) {
        const Shape shape = dice.shape(3, 6);
        const Tensor in = inLayout(dice.tensor(static_cast<DType>(from), shape, 0, 100), dice.layout());
        std::vector<double> expected = valuesOf(in);
        for (double& value : expected) {
            if (target == DType::boolean)
                value = value != 0 ? 1 : 0;
            else if (!isFloating(target))
                value = std::trunc(value);
        }
        const Tensor out = runOp("Cast", {{"to", std::string(name(target))}}, {in})[0];
        QCOMPARE(out.dtype(), target);
        const QString wrong = difference(out, shape, expected, {1.2e-7, 0});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestShapeOps::castFloatsToIntegers() {
    for (DType from : {DType::f32, DType::f64}) {
        const Tensor in = tensorOf(from, {8}, {1.9, -1.9, 3e9, -3e9, 1e30, -1e30, kInf, kNaN});
        const auto to = [&](const char* dtype) {
            return runOp("Cast", {{"to", std::string(dtype)}}, {in})[0];
        };
        const double most = 2147483647;
        const double least = -2147483648.0;
        QCOMPARE(valuesOf(to("i32")), (std::vector<double>{1, -1, most, least, most, least, most, 0}));
        const Tensor wide = to("i64");
        const auto* values = static_cast<const std::int64_t*>(wide.data());
        QCOMPARE(values[2], std::int64_t{3000000000});
        QCOMPARE(values[4], std::numeric_limits<std::int64_t>::max());
        QCOMPARE(values[5], std::numeric_limits<std::int64_t>::min());
        QCOMPARE(values[7], std::int64_t{0});
        QCOMPARE(valuesOf(to("u8")), (std::vector<double>{1, 0, 255, 0, 255, 0, 255, 0}));
    }
    // The largest double below 2^63 fits; 2^63 does not.
    const Tensor edge = tensorOf(DType::f64, {2}, {0x1.fffffffffffffp62, 0x1p63});
    const Tensor out = runOp("Cast", {{"to", std::string("i64")}}, {edge})[0];
    QCOMPARE(static_cast<const std::int64_t*>(out.data())[0], std::int64_t{0x7ffffffffffffc00});
    QCOMPARE(static_cast<const std::int64_t*>(out.data())[1], std::numeric_limits<std::int64_t>::max());
}

void TestShapeOps::bitCast() {
    const auto bits = [](DType to, const Tensor& x) {
        return runOp("BitCast", {{"to", std::string(name(to))}}, {x})[0];
    };
    QCOMPARE(valuesOf(bits(DType::i32, tensorOf(DType::f32, {2}, {1, -0.0}))),
             (std::vector<double>{0x3f800000, -0x1p31}));
    QCOMPARE(bits(DType::f16, tensorOf(DType::u16, {}, {0x3c00})).at(0), 1.0);
    QCOMPARE(bits(DType::bf16, tensorOf(DType::u16, {}, {0x3f80})).at(0), 1.0);
    QCOMPARE(valuesOf(bits(DType::u8, tensorOf(DType::i8, {2}, {-1, 5}))), (std::vector<double>{255, 5}));
    QCOMPARE(valuesOf(bits(DType::u8, tensorOf(DType::boolean, {2}, {1, 0}))), (std::vector<double>{1, 0}));
    QCOMPARE(valuesOf(bits(DType::boolean, tensorOf(DType::u8, {2}, {7, 0}))), (std::vector<double>{1, 0}));
    Dice dice(48);
    for (DType from : kWideDTypes)
        for (DType to : kWideDTypes) {
            if (sizeOf(from) != sizeOf(to)) {
                QVERIFY(inferError([&] {
                            bits(to, tensorOf(from, {}, {1}));
                        }).contains("choose a dtype of the same size"));
                continue;
            }
            const Tensor x = dice.tensor(from, dice.shape(3, 5), 0, 1);
            const Tensor there = bits(to, inLayout(x, dice.layout()));
            QCOMPARE(there.dtype(), to);
            if (to != DType::boolean) QCOMPARE(valuesOf(bits(from, there)), valuesOf(x));
        }
}

void TestShapeOps::castIntegersToNarrower() {
    // ONNX's example: 200 (int16) becomes -56 (int8).
    QCOMPARE(runOp("Cast", {{"to", std::string("i8")}}, {tensorOf(DType::i16, {}, {200})})[0].at(0), -56.0);
    QCOMPARE(runOp("Cast", {{"to", std::string("u32")}}, {tensorOf(DType::i32, {}, {-1})})[0].at(0),
             4294967295.0);
    const Tensor large = Tensor::of<std::int64_t>({1}, {(std::int64_t{1} << 53) + 1});
    const Tensor same = runOp("Cast", {{"to", std::string("i64")}}, {large})[0];
    QCOMPARE(static_cast<const std::int64_t*>(same.data())[0], (std::int64_t{1} << 53) + 1);
    QCOMPARE(runOp("Cast", {{"to", std::string("f64")}}, {large})[0].at(0), 0x1p53);
}

void TestShapeOps::castToBool() {
    const Tensor in = tensorOf(DType::f64, {6}, {0.0, -0.0, 1e-300, -2, kNaN, kInf});
    QCOMPARE(valuesOf(runOp("Cast", {{"to", std::string("bool")}}, {in})[0]),
             (std::vector<double>{0, 0, 1, 1, 1, 1}));
    QCOMPARE(
        valuesOf(runOp("Cast", {{"to", std::string("f32")}}, {tensorOf(DType::boolean, {2}, {0, 1})})[0]),
        (std::vector<double>{0, 1}));
    QCOMPARE(runOp("Cast", {{"to", std::string("f32")}}, {tensorOf(DType::f64, {}, {1e300})})[0].at(0), kInf);
}

/// Ops that only move elements accept f16.
void TestShapeOps::halfPrecisionIsMoved() {
    const Tensor in = Tensor::onHost({DType::f16, Shape{2, 3}});
    auto* bits = static_cast<std::uint16_t*>(in.data());
    for (int i = 0; i < 6; ++i) bits[i] = static_cast<std::uint16_t>(1000 + i);
    const auto read = [](const Tensor& tensor, int i) {
        return static_cast<const std::uint16_t*>(tensor.data())[i];
    };
    QCOMPARE(read(runOp("Transpose", {}, {in})[0], 1), std::uint16_t{1003});
    QCOMPARE(read(runOp("Reshape", {{"shape", List{6}}}, {in})[0], 5), std::uint16_t{1005});
    QCOMPARE(read(runOp("Concat", {}, {in, in})[0], 7), std::uint16_t{1001});
    const Tensor chosen = runOp("Where", {}, {tensorOf(DType::boolean, {}, {1}), in, in})[0];
    QCOMPARE(read(chosen, 4), std::uint16_t{1004});
}

TWB_TEST_MAIN(TestShapeOps)
#include "test_shape_ops.moc"
