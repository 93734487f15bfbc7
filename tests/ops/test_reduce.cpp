#include "support/op_runner.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>

#ifdef _OPENMP
#include <omp.h>
#endif

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The elements of each result, in order; `isReduced` by axis.
std::vector<std::vector<double>> groups(const Tensor& in, const std::vector<bool>& isReduced) {
    const Shape& shape = in.shape();
    std::int64_t results = 1;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (!isReduced[static_cast<std::size_t>(axis)]) results *= shape[axis];
    std::vector<std::vector<double>> out(static_cast<std::size_t>(results));
    for (std::int64_t i = 0; i < in.elementCount(); ++i) {
        std::int64_t rest = i;
        std::int64_t result = 0;
        std::int64_t step = 1;
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            const std::int64_t place = rest % shape[axis];
            rest /= shape[axis];
            if (isReduced[static_cast<std::size_t>(axis)]) continue;
            result += place * step;
            step *= shape[axis];
        }
        out[static_cast<std::size_t>(result)].push_back(in.at(i));
    }
    return out;
}

Shape keptShape(const Shape& shape, const std::vector<bool>& isReduced, bool keepDims) {
    std::vector<std::int64_t> dims;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!isReduced[static_cast<std::size_t>(axis)])
            dims.push_back(shape[axis]);
        else if (keepDims)
            dims.push_back(1);
    }
    return Shape(std::move(dims));
}

double sumOf(const std::vector<double>& values) {
    long double sum = 0;
    for (double value : values) sum += value;
    return static_cast<double>(sum);
}

double exact(const std::string& op, DType dtype, const std::vector<double>& values) {
    if (op == "ReduceSum") return sumOf(values);
    if (op == "ReduceMean") {
        const double mean = sumOf(values) / static_cast<double>(values.size());
        return isFloating(dtype) ? mean : std::trunc(mean);
    }
    if (op == "ReduceProd") {
        double product = 1;
        for (double value : values) product *= value;
        return product;
    }
    std::vector<double> mapped = values;
    for (double& value : mapped)
        value = op == "ReduceL1"                              ? std::fabs(value)
                : op == "ReduceL2" || op == "ReduceSumSquare" ? value * value
                : op == "ReduceLogSumExp"                     ? std::exp(value)
                                                              : value;
    const auto whole = [&](double value) { return isFloating(dtype) ? value : std::trunc(value); };
    if (op == "ReduceL1" || op == "ReduceSumSquare") return sumOf(mapped);
    if (op == "ReduceL2") return whole(std::sqrt(sumOf(mapped)));
    if (op == "ReduceLogSumExp" || op == "ReduceLogSum") {
        const double logarithm = std::log(sumOf(mapped));
        if (isFloating(dtype)) return logarithm;
        // Saturates as a cast does.
        const double most = dtype == DType::i32 ? 0x1p31 : 0x1p63;
        return std::isnan(logarithm) ? 0 : std::max(-most, std::trunc(logarithm));
    }
    if (op == "ReduceMin") {
        if (!values.empty()) return *std::min_element(values.begin(), values.end());
        if (isFloating(dtype)) return kInf;
        return dtype == DType::i32 ? 0x1p31 - 1 : dtype == DType::i64 ? 0x1p63 : 1;
    }
    if (!values.empty()) return *std::max_element(values.begin(), values.end());
    if (isFloating(dtype)) return -kInf;
    return dtype == DType::i32 ? -0x1p31 : dtype == DType::i64 ? -0x1p63 : 0;
}

} // namespace

class TestReduce : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reductions_data();
    void reductions();
    void largeLayouts();
    void independentOfThreads();
    void nan();
    void emptyMeans();
    void longSumsStayExact();
    void integersWrap();
    void argMax();
    void argMaxTies();
    void argMin();
    void logarithmsOfExtremes();
    void cumulated_data();
    void cumulated();
    void cumSumOfBadAxes();
};

void TestReduce::reductions_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("dtype");
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                           "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
        for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean})
            if (findOp(op)->inputs[0].types.contains(dtype))
                QTest::addRow("%s %s", op, std::string(name(dtype)).c_str())
                    << QString(op) << static_cast<int>(dtype);
}

void TestReduce::reductions() {
    QFETCH(QString, op);
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    const std::string opName = op.toStdString();
    Dice dice(21);
    for (int round = 0; round < 200; ++round) {
        const Shape shape = dice.shape(5, 6);
        // Values whose products fit into i32, or whose sums have a logarithm.
        const bool isProduct = opName == "ReduceProd";
        const double low = isProduct ? -1 : opName == "ReduceLogSum" ? 1 : -20;
        const Tensor in = inLayout(dice.tensor(type, shape, low, isProduct ? 1 : 20), dice.layout());
        std::vector<bool> isReduced(static_cast<std::size_t>(shape.rank()));
        std::vector<std::int64_t> axes;
        for (int axis = 0; axis < shape.rank(); ++axis)
            if (dice.one(2)) {
                isReduced[static_cast<std::size_t>(axis)] = true;
                axes.push_back(dice.one(2) ? axis : axis - shape.rank());
            }
        const bool keepDims = dice.one(2);
        const bool noop = dice.one(2);
        Attributes attributes{{"keepdims", keepDims}, {"noop_with_empty_axes", noop}};
        std::vector<Tensor> inputs{in};
        if (dice.one(2))
            attributes.set("axes", axes);
        else if (!axes.empty() || dice.one(2)) {
            const Tensor list = Tensor::of<std::int64_t>({static_cast<std::int64_t>(axes.size())},
                                                         std::span<const std::int64_t>(axes));
            inputs.push_back(inLayout(list, dice.layout()));
        }
        if (axes.empty() && !noop) isReduced.assign(isReduced.size(), true);
        std::vector<double> expected;
        bool meansNothing = false;
        for (const auto& group : groups(in, isReduced)) {
            meansNothing = meansNothing || (group.empty() && opName == "ReduceMean");
            expected.push_back(exact(opName, type, group));
        }
        if (meansNothing && !isFloating(type)) {
            QVERIFY_EXCEPTION_THROWN(runOp(opName, attributes, inputs), Error);
            continue;
        }
        // A sum's rounding error grows with its terms, not with its result.
        Tolerance tolerance = isFloating(type) ? findOp(opName)->tolerance : Tolerance{};
        tolerance.atol *= opName == "ReduceSumSquare" ? 400 : 20;
        const QString wrong = difference(runOp(opName, attributes, inputs)[0],
                                         keptShape(shape, isReduced, keepDims), expected, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

/// Larger than a chunk, in parallel, along rows and along columns.
void TestReduce::largeLayouts() {
    Dice dice(22);
    const Shape shapes[] = {{100000}, {9000, 5}, {5, 9000}, {300, 200}, {3, 70, 400}, {2, 5000, 13}};
    for (DType type : {DType::f32, DType::f64, DType::i32})
        for (const Shape& shape : shapes)
            for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
                const Tensor in = inLayout(dice.tensor(type, shape, -20, 20), dice.layout());
                std::vector<bool> isReduced(static_cast<std::size_t>(shape.rank()));
                isReduced[static_cast<std::size_t>(axis)] = true;
                for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax"}) {
                    std::vector<double> expected;
                    for (const auto& group : groups(in, isReduced))
                        expected.push_back(exact(op, type, group));
                    Tolerance tolerance = isFloating(type) ? findOp(op)->tolerance : Tolerance{};
                    tolerance.atol *= std::string_view(op) == "ReduceSum" ? 1000 : 10;
                    const QString wrong =
                        difference(runOp(op, {{"axes", std::vector<std::int64_t>{axis}}}, {in})[0],
                                   keptShape(shape, isReduced, true), expected, tolerance);
                    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                }
            }
}

/// Bit by bit, whatever the number of threads.
void TestReduce::independentOfThreads() {
#ifdef _OPENMP
    Dice dice(23);
    const std::vector<Shape> shapes{{300000},     {70, 9001}, {9001, 70},
                                    {9001, 1500}, {20000, 3}, {3, 5000, 40}};
    for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
        const Shape& shape = shapes[i / 2];
        const Tensor in = dice.tensor(i % 2 == 0 ? DType::f64 : DType::f32, shape, -1, 1);
        for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
            const Attributes attributes{{"axes", std::vector<std::int64_t>{axis}}};
            const int threads = omp_get_max_threads();
            omp_set_num_threads(1);
            const auto alone = valuesOf(runOp("ReduceSum", attributes, {in})[0]);
            omp_set_num_threads(7);
            const auto together = valuesOf(runOp("ReduceSum", attributes, {in})[0]);
            omp_set_num_threads(threads);
            QVERIFY(alone == together);
        }
    }
#else
    QSKIP("built without OpenMP: there is one thread");
#endif
}

void TestReduce::nan() {
    for (DType type : {DType::f32, DType::f64}) {
        for (std::int64_t at : {0, 1, 30, 39}) {
            std::vector<double> values(40, 1.0);
            values[static_cast<std::size_t>(at)] = kNaN;
            values[20] = kInf;
            const Tensor in = tensorOf(type, {40}, values);
            for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax"})
                QVERIFY(std::isnan(runOp(op, {}, {in})[0].at(0)));
            QCOMPARE(runOp("ArgMax", {}, {in})[0].at(0), static_cast<double>(at));
            const Tensor columns = repeatedTo(tensorOf(type, {40, 1}, values), {40, 3});
            QVERIFY(std::isnan(runOp("ReduceMax", {{"axes", std::int64_t{0}}}, {columns})[0].at(2)));
        }
        QCOMPARE(runOp("ReduceMax", {}, {tensorOf(type, {2}, {-kInf, -kInf})})[0].at(0), -kInf);
        QVERIFY(std::isnan(runOp("ReduceSum", {}, {tensorOf(type, {2}, {-kInf, kInf})})[0].at(0)));
    }
}

void TestReduce::emptyMeans() {
    QVERIFY(std::isnan(runOp("ReduceMean", {}, {Tensor::onHost({DType::f32, Shape{0}})})[0].at(0)));
    QCOMPARE(runOp("ReduceSum", {}, {Tensor::onHost({DType::f32, Shape{0, 4}})})[0].at(0), 0.0);
    try {
        runOp("ReduceMean", {}, {Tensor::onHost({DType::i32, Shape{0}})});
        QFAIL("the mean of no integers must be an error");
    } catch (const Error& error) {
        QVERIFY(QString(error.what()).contains("division by zero"));
    }
}

/// In f32, the sum of a million times 0.1 would be wrong in the third digit.
void TestReduce::longSumsStayExact() {
    const Tensor in = Tensor::onHost({DType::f32, Shape{1000000}});
    for (float& value : in.values<float>()) value = 0.1F;
    QCOMPARE(runOp("ReduceSum", {}, {in})[0].at(0), double(float(1e6 * double(0.1F))));
    const Tensor columns = repeatedTo(tensorOf(DType::f32, {1, 2}, {0.1F, 0.2F}), {1000000, 2});
    const Tensor sums = runOp("ReduceSum", {{"axes", std::int64_t{0}}}, {columns})[0];
    QCOMPARE(sums.at(1), double(float(1e6 * double(0.2F))));
}

void TestReduce::integersWrap() {
    const Tensor in = Tensor::of<std::int32_t>({2}, {std::numeric_limits<std::int32_t>::max(), 1});
    QCOMPARE(runOp("ReduceSum", {}, {in})[0].at(0), -2147483648.0);
    // The mean does not wrap, since it is computed in 64 bits.
    QCOMPARE(runOp("ReduceMean", {}, {in})[0].at(0), 1073741824.0);
    const Tensor negative = Tensor::of<std::int64_t>({2}, {-3, -4});
    QCOMPARE(runOp("ReduceMean", {}, {negative})[0].at(0), -3.0);
    // Exact beyond the 53 bits of a double, and where the sum exceeds 64 bits.
    const std::int64_t large = (std::int64_t{1} << 62) + 3;
    const Tensor wide = Tensor::of<std::int64_t>({4}, {large, large, large + 2, large + 6});
    QCOMPARE(runOp("ReduceMean", {}, {wide})[0].toIntegers(), (std::vector<std::int64_t>{large + 2}));
    const std::uint64_t most = ~std::uint64_t{0};
    const Tensor all = runOp("ReduceMean", {}, {Tensor::of<std::uint64_t>({3}, {most, most, most - 3})})[0];
    QCOMPARE(all.values<std::uint64_t>()[0], most - 1);
}

void TestReduce::argMax() {
    Dice dice(24);
    for (DType type : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (int round = 0; round < 150; ++round) {
            Shape shape = dice.shape(4, 7);
            if (round < 6) shape = round % 2 == 0 ? Shape{9000, 6} : Shape{6, 9000};
            const int rank = std::max(shape.rank(), 1);
            const std::int64_t axis = dice.integer(-rank, rank - 1);
            const std::int64_t at = axis < 0 ? axis + rank : axis;
            if (shape.rank() > 0 && shape[static_cast<int>(at)] == 0) continue;
            const bool last = dice.one(2);
            const bool keepDims = dice.one(2);
            const Tensor in = inLayout(dice.tensor(type, shape, -4, 4), dice.layout());
            std::vector<bool> isReduced(static_cast<std::size_t>(rank));
            isReduced[static_cast<std::size_t>(at)] = true;
            std::vector<double> expected;
            for (const auto& group : groups(in, isReduced)) {
                const auto most = std::max_element(group.begin(), group.end());
                std::size_t index = static_cast<std::size_t>(most - group.begin());
                for (std::size_t i = index; last && i < group.size(); ++i)
                    if (group[i] == *most) index = i;
                expected.push_back(static_cast<double>(index));
            }
            const Tensor out = runOp(
                "ArgMax", {{"axis", axis}, {"keepdims", keepDims}, {"select_last_index", last}}, {in})[0];
            QCOMPARE(out.dtype(), DType::i64);
            const QString wrong = difference(out, keptShape(shape, isReduced, keepDims), expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestReduce::argMaxTies() {
    const Tensor in = tensorOf(DType::f32, {5}, {3, 7, 7, kNaN, kNaN});
    const Attributes last{{"select_last_index", true}, {"keepdims", false}};
    QCOMPARE(runOp("ArgMax", {}, {in})[0].at(0), 3.0);
    QCOMPARE(runOp("ArgMax", last, {in})[0].at(0), 4.0);
    const Tensor least = tensorOf(DType::f32, {3}, {-kInf, -kInf, -kInf});
    QCOMPARE(runOp("ArgMax", {}, {least})[0].at(0), 0.0);
    QCOMPARE(runOp("ArgMax", last, {least})[0].at(0), 2.0);
    const Tensor first = tensorOf(DType::f32, {3}, {kNaN, 1, 2});
    QCOMPARE(runOp("ArgMax", {}, {first})[0].at(0), 0.0);
    QCOMPARE(runOp("ArgMax", last, {first})[0].at(0), 0.0);
}

void TestReduce::argMin() {
    Dice dice(25);
    for (DType type : {DType::f32, DType::i32, DType::u8})
        for (int round = 0; round < 60; ++round) {
            const Tensor in = inLayout(dice.tensor(type, {4, 6}, 0, 5), dice.layout());
            const bool last = dice.one(2);
            std::vector<double> expected;
            for (const auto& group : groups(in, {false, true})) {
                const auto least = std::min_element(group.begin(), group.end());
                auto index = static_cast<std::size_t>(least - group.begin());
                for (std::size_t i = index; last && i < group.size(); ++i)
                    if (group[i] == *least) index = i;
                expected.push_back(static_cast<double>(index));
            }
            const Tensor out =
                runOp("ArgMin", {{"axis", std::int64_t{1}}, {"select_last_index", last}}, {in})[0];
            QVERIFY(difference(out, {4, 1}, expected, {}).isEmpty());
        }
    QCOMPARE(runOp("ArgMin", {}, {tensorOf(DType::f32, {4}, {1, kNaN, -kInf, kNaN})})[0].at(0), 1.0);
}

void TestReduce::logarithmsOfExtremes() {
    const auto logSumExp = [](const std::vector<double>& values) {
        return runOp("ReduceLogSumExp", {},
                     {tensorOf(DType::f32, {static_cast<std::int64_t>(values.size())}, values)})[0]
            .at(0);
    };
    QCOMPARE(logSumExp({1000, 1000}), double(float(1000 + std::log(2.0))));
    QCOMPARE(logSumExp({-1000, -kInf}), -1000.0);
    QCOMPARE(logSumExp({-kInf, -kInf}), -kInf);
    QCOMPARE(logSumExp({kInf, 3, kInf}), kInf);
    QCOMPARE(logSumExp({}), -kInf);
    QVERIFY(std::isnan(logSumExp({1, kNaN, 5})));
    QCOMPARE(runOp("ReduceLogSum", {}, {Tensor::onHost({DType::f32, Shape{0}})})[0].at(0), -kInf);
    QCOMPARE(runOp("ReduceProd", {}, {Tensor::onHost({DType::i32, Shape{0}})})[0].at(0), 1.0);
    QVERIFY(std::isnan(runOp("ReduceMin", {}, {tensorOf(DType::f32, {3}, {1, kNaN, -kInf})})[0].at(0)));
}

void TestReduce::cumulated_data() {
    QTest::addColumn<QString>("op");
    for (const char* op : {"CumSum", "CumProd"}) QTest::newRow(op) << op;
}

void TestReduce::cumulated() {
    QFETCH(QString, op);
    const bool isSum = op == "CumSum";
    Dice dice(26);
    for (DType type : {DType::f32, DType::f64, DType::f16, DType::i32, DType::i64, DType::u32})
        for (int round = 0; round < 60; ++round) {
            const Shape shape = round == 0 ? Shape{3, 200, 150} : dice.shape(4, 6);
            const int rank = std::max(shape.rank(), 1);
            const std::int64_t axis = dice.integer(-rank, rank - 1);
            const bool reverse = dice.one(2);
            const bool exclusive = dice.one(2);
            // Products of long lines stay near 1.
            const bool isLong = round == 0 && !isSum;
            const double least = isLong ? (isFloating(type) ? 0.99 : 1) : 0;
            const double most = isLong ? (isFloating(type) ? 1.01 : 1) : 5;
            const Tensor in = inLayout(dice.tensor(type, shape, least, most), dice.layout());
            const std::vector<double> expected =
                eachLine(shape, axis, valuesOf(in), [&](std::vector<double>& line) {
                    if (reverse) std::reverse(line.begin(), line.end());
                    double total = isSum ? 0 : 1;
                    for (double& value : line) {
                        const double before = total;
                        total = isSum ? total + value : total * value;
                        value = exclusive ? before : total;
                    }
                    if (reverse) std::reverse(line.begin(), line.end());
                });
            Attributes attributes{{"reverse", reverse}, {"exclusive", exclusive}};
            std::vector<Tensor> inputs{in};
            if (dice.one(2))
                attributes.set("axis", axis);
            else
                inputs.push_back(dice.one(2) ? Tensor::of<std::int64_t>({}, {axis})
                                             : tensorOf(DType::i32, {}, {static_cast<double>(axis)}));
            const QString wrong =
                difference(runOp(op.toStdString(), attributes, inputs)[0], shape, expected, {1e-6, 1e-4});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestReduce::cumSumOfBadAxes() {
    const Tensor in = Tensor::of<float>({2}, {1, 2});
    QVERIFY(inferError([&] {
                runOp("CumSum", {{"axis", std::int64_t{1}}}, {in});
            }).contains("Dimension out of range"));
    QVERIFY(inferError([&] {
                runOp("CumSum", {}, {in, Tensor::of<std::int64_t>({2}, {0, 1})});
            }).contains("axis must be a single number"));
}

TWB_TEST_MAIN(TestReduce)
#include "test_reduce.moc"
