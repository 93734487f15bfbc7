#include "backends/cpu/strided.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

/// Element by element over the broadcast batch, by NumPy's definition of matmul.
std::vector<double> exactMatMul(const Tensor& a, const Tensor& b, const Shape& result) {
    const Shape& sa = a.shape();
    const Shape& sb = b.shape();
    const bool rowVector = sa.rank() == 1;
    const bool columnVector = sb.rank() == 1;
    const std::int64_t m = rowVector ? 1 : sa[sa.rank() - 2];
    const std::int64_t k = sa[sa.rank() - 1];
    const std::int64_t n = columnVector ? 1 : sb[sb.rank() - 1];
    const int batchRank = result.rank() - (rowVector ? 0 : 1) - (columnVector ? 0 : 1);
    const std::vector<double> left = valuesOf(a);
    const std::vector<double> right = valuesOf(b);
    std::vector<double> out(static_cast<std::size_t>(result.elementCount()));
    for (std::size_t i = 0; i < out.size(); ++i) {
        auto rest = static_cast<std::int64_t>(i);
        const std::int64_t column = rest % n;
        rest /= n;
        const std::int64_t row = rest % m;
        rest /= m;
        std::int64_t batchA = 0;
        std::int64_t batchB = 0;
        std::int64_t stepA = 1;
        std::int64_t stepB = 1;
        for (int axis = batchRank - 1; axis >= 0; --axis) {
            const std::int64_t place = rest % result[axis];
            rest /= result[axis];
            const int ia = axis - (batchRank - (sa.rank() - 2));
            const int ib = axis - (batchRank - (sb.rank() - 2));
            if (!rowVector && ia >= 0) {
                if (sa[ia] != 1) batchA += place * stepA;
                stepA *= sa[ia];
            }
            if (!columnVector && ib >= 0) {
                if (sb[ib] != 1) batchB += place * stepB;
                stepB *= sb[ib];
            }
        }
        long double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
            sum += static_cast<long double>(left[static_cast<std::size_t>((batchA * m + row) * k + p)]) *
                   right[static_cast<std::size_t>((batchB * k + p) * n + column)];
        out[i] = static_cast<double>(sum);
    }
    return out;
}

std::vector<std::int64_t> batchFrom(Dice& dice, const std::vector<std::int64_t>& batch) {
    std::vector<std::int64_t> dims = batch;
    for (std::int64_t& size : dims)
        if (dice.one(3)) size = 1;
    const auto cut = static_cast<std::ptrdiff_t>(dice.integer(0, static_cast<std::int64_t>(dims.size())));
    if (dice.one(2)) dims.erase(dims.begin(), dims.begin() + cut);
    return dims;
}

const DType kTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64};

} // namespace

class TestLinearAlgebra : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void matMul();
    void matMulLarge();
    void matMulOfNothing();
    void gemm();
    void gemmOfStacks();
    void gemmIntegers();
    void integersWrap();
    void nanAndBeta();
    void constantMatricesArePackedOnce();
    void repeatedOperands();
    void largeDeterminants();
};

void TestLinearAlgebra::matMul() {
    Dice dice(11);
    for (DType dtype : kTypes)
        for (int round = 0; round < 150; ++round) {
            std::vector<std::int64_t> batch(static_cast<std::size_t>(dice.integer(0, 3)));
            for (std::int64_t& size : batch) size = dice.integer(1, 4);
            const std::int64_t m = dice.integer(1, 9);
            const std::int64_t k = dice.one(10) ? 0 : dice.integer(1, 9);
            const std::int64_t n = dice.integer(1, 9);
            std::vector<std::int64_t> a = batchFrom(dice, batch);
            std::vector<std::int64_t> b = batchFrom(dice, batch);
            if (dice.one(6))
                a = {k};
            else
                a.insert(a.end(), {m, k});
            if (dice.one(6))
                b = {k};
            else
                b.insert(b.end(), {k, n});
            const Tensor left = inLayout(dice.tensor(dtype, Shape(a), -5, 5), dice.layout());
            const Tensor right = inLayout(dice.tensor(dtype, Shape(b), -5, 5), dice.layout());
            const Tensor out = runOp("MatMul", {}, {left, right})[0];
            const QString wrong = difference(out, out.shape(), exactMatMul(left, right, out.shape()),
                                             isFloating(dtype) ? findOp("MatMul")->tolerance : Tolerance{});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestLinearAlgebra::matMulLarge() {
    Dice dice(12);
    const std::pair<Shape, Shape> pairs[] = {{{130, 257}, {257, 65}},
                                             {{6, 40, 70}, {70, 30}},
                                             {{300, 3, 5}, {300, 5, 4}},
                                             {{4, 1, 70, 80}, {3, 80, 70}}};
    for (DType dtype : kTypes)
        for (const auto& [a, b] : pairs)
            for (Layout layout : kLayouts) {
                const Tensor left = inLayout(dice.tensor(dtype, a, -1, 1), layout);
                const Tensor right = inLayout(dice.tensor(dtype, b, -1, 1), dice.layout());
                const Tensor out = runOp("MatMul", {}, {left, right})[0];
                const QString wrong =
                    difference(out, out.shape(), exactMatMul(left, right, out.shape()),
                               isFloating(dtype) ? findOp("MatMul")->tolerance : Tolerance{});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
}

void TestLinearAlgebra::matMulOfNothing() {
    for (DType dtype : kTypes) {
        const Tensor a = Tensor::onHost({dtype, Shape{2, 0}});
        const Tensor b = Tensor::onHost({dtype, Shape{0, 3}});
        QVERIFY(
            difference(runOp("MatMul", {}, {a, b})[0], {2, 3}, std::vector<double>(6, 0.0), {}).isEmpty());
        QCOMPARE(runOp("MatMul", {}, {b, Tensor::onHost({dtype, Shape{3, 5}})})[0].shape(), (Shape{0, 5}));
        const Tensor c = tensorOf(dtype, {3}, {1, 2, 3});
        QVERIFY(difference(runOp("Gemm", {}, {a, b, c})[0], {2, 3}, {1, 2, 3, 1, 2, 3}, {}).isEmpty());
    }
}

void TestLinearAlgebra::gemm() {
    Dice dice(13);
    for (DType dtype : {DType::f32, DType::f64})
        for (int round = 0; round < 300; ++round) {
            const std::int64_t m = dice.integer(1, 12);
            const std::int64_t k = dice.integer(1, 12);
            const std::int64_t n = dice.integer(1, 12);
            const bool transA = dice.one(2);
            const bool transB = dice.one(2);
            const double alpha = dice.one(2) ? 1 : dice.real(-2, 2);
            const double beta = dice.one(2) ? 1 : dice.real(-2, 2);
            const Tensor a =
                inLayout(dice.tensor(dtype, transA ? Shape{k, m} : Shape{m, k}, -3, 3), dice.layout());
            const Tensor b =
                inLayout(dice.tensor(dtype, transB ? Shape{n, k} : Shape{k, n}, -3, 3), dice.layout());
            const Shape shapesOfC[] = {{}, {1}, {n}, {1, n}, {m, 1}, {m, n}, {1, 1}};
            Tensor c;
            if (!dice.one(4))
                c = inLayout(dice.tensor(dtype, shapesOfC[dice.integer(0, 6)], -3, 3), dice.layout());
            std::vector<double> expected;
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    long double sum = 0;
                    for (std::int64_t p = 0; p < k; ++p)
                        sum += static_cast<long double>(a.at(transA ? p * m + i : i * k + p)) *
                               b.at(transB ? j * k + p : p * n + j);
                    double bias = 0;
                    if (c) {
                        const Shape& s = c.shape();
                        const std::int64_t columns = s.rank() > 0 ? s[s.rank() - 1] : 1;
                        const std::int64_t rows = s.rank() > 1 ? s[0] : 1;
                        bias = c.at((rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j));
                    }
                    expected.push_back(static_cast<double>(alpha * sum + beta * bias));
                }
            const Attributes attributes{
                {"alpha", alpha}, {"beta", beta}, {"transA", transA}, {"transB", transB}};
            // An input may be left out or be an empty view.
            const std::vector<Tensor> inputs =
                c || dice.one(2) ? std::vector<Tensor>{a, b, c} : std::vector<Tensor>{a, b};
            const QString wrong =
                difference(runOp("Gemm", attributes, inputs)[0], {m, n}, expected, findOp("Gemm")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

/// The products of all matrices of a stack, and a C that broadcasts to all of them.
void TestLinearAlgebra::gemmOfStacks() {
    Dice dice(29);
    const Shape shapesOfC[] = {{}, {6}, {4, 1}, {4, 6}, {3, 1, 1}, {2, 1, 4, 1}, {2, 3, 4, 6}};
    for (DType dtype : kTypes)
        for (const std::int64_t k : {5, 0})
            for (const Shape& ofC : shapesOfC)
                for (Layout layout : kLayouts) {
                    const Tensor a = inLayout(dice.tensor(dtype, {2, 3, 4, k}, -3, 3), layout);
                    const Tensor b = inLayout(dice.tensor(dtype, {k, 6}, -3, 3), dice.layout());
                    const Tensor c = inLayout(dice.tensor(dtype, ofC, -3, 3), dice.layout());
                    const Tensor sum = runOp("Add", {}, {runOp("MatMul", {}, {a, b})[0], c})[0];
                    const QString wrong =
                        difference(runOp("Gemm", {}, {a, b, c})[0], {2, 3, 4, 6}, valuesOf(sum),
                                   isFloating(dtype) ? findOp("Gemm")->tolerance : Tolerance{});
                    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                }
    const Tensor a = tensorOf(DType::f32, {2, 1, 2}, {1, 2, 3, 4});
    const Tensor b = tensorOf(DType::f32, {1, 2}, {5, 6});
    QCOMPARE(valuesOf(runOp("Gemm", {{"transB", true}, {"alpha", 0.5}}, {a, b})[0]),
             (std::vector<double>{8.5, 19.5}));
}

void TestLinearAlgebra::gemmIntegers() {
    for (DType dtype : {DType::i32, DType::i64}) {
        const Tensor a = tensorOf(dtype, {2, 2}, {1, 2, 3, 4});
        const Tensor b = tensorOf(dtype, {2, 2}, {5, 6, 7, 8});
        const Tensor c = tensorOf(dtype, {2}, {10, -20});
        QCOMPARE(valuesOf(runOp("Gemm", {}, {a, b, c})[0]), (std::vector<double>{29, 2, 53, 30}));
        QCOMPARE(valuesOf(runOp("Gemm", {{"alpha", 0.5}, {"beta", 0.25}}, {a, b, c})[0]),
                 (std::vector<double>{12, 6, 24, 20})); // 9.5 + 2.5, 11 - 5, 21.5 + 2.5, 25 - 5
        QCOMPARE(valuesOf(runOp("Gemm", {{"alpha", 0.5}}, {a, b})[0]), (std::vector<double>{9, 11, 21, 25}));
        QCOMPARE(valuesOf(runOp("Gemm", {{"beta", 0.0}}, {a, b, c})[0]),
                 (std::vector<double>{19, 22, 43, 50}));
        QCOMPARE(valuesOf(runOp("Gemm", {{"transA", true}, {"transB", true}}, {a, b})[0]),
                 (std::vector<double>{23, 31, 34, 46}));
    }
}

void TestLinearAlgebra::integersWrap() {
    const Tensor a = Tensor::of<std::int32_t>({1, 2}, {std::numeric_limits<std::int32_t>::max(), 3});
    const Tensor b = Tensor::of<std::int32_t>({2, 1}, {2, 5});
    QCOMPARE(valuesOf(runOp("MatMul", {}, {a, b})[0]), (std::vector<double>{13}));
}

void TestLinearAlgebra::nanAndBeta() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor a = tensorOf(DType::f32, {1, 2}, {1, nan});
    const Tensor b = tensorOf(DType::f32, {2, 1}, {1, 0});
    QVERIFY(std::isnan(runOp("MatMul", {}, {a, b})[0].at(0)));
    // As in PyTorch, C is not read if beta is 0.
    const Tensor ones = tensorOf(DType::f32, {1, 1}, {1});
    const Tensor c = tensorOf(DType::f32, {1, 1}, {nan});
    QCOMPARE(runOp("Gemm", {{"beta", 0.0}}, {ones, ones, c})[0].at(0), 1.0);
    QVERIFY(std::isnan(runOp("Gemm", {}, {ones, ones, c})[0].at(0)));
}

/// The step's memory keeps the packed form of a constant second matrix.
void TestLinearAlgebra::constantMatricesArePackedOnce() {
    Dice dice(23);
    struct Case {
        const char* op;
        Shape a, b, bias;
        bool transB;
        bool isPacked;
    };
    const Case cases[] = {{"MatMul", {64, 80}, {80, 96}, {}, false, true},
                          {"MatMul", {2, 3, 33, 81}, {81, 97}, {}, false, true},
                          {"MatMul", {1, 400}, {400, 900}, {}, false, false}, // a matrix-vector product
                          {"MatMul", {3, 64, 80}, {3, 80, 96}, {}, false, false},
                          {"MatMul", {4, 5}, {5, 6}, {}, false, false},
                          {"Gemm", {64, 80}, {96, 80}, {96}, true, true},
                          {"Gemm", {64, 80}, {80, 96}, {1, 96}, false, true},
                          {"Gemm", {2, 3, 33, 81}, {81, 97}, {97}, false, true},
                          {"Gemm", {96, 80}, {80, 96}, {96, 1}, false, false},
                          {"Gemm", {64, 80}, {80, 96}, {64, 96}, false, false},
                          {"Gemm", {64, 80}, {80, 96}, {1}, false, false}};
    for (const Case& c : cases) {
        const Op& op = *findOp(c.op);
        const bool isGemm = std::string_view(c.op) == "Gemm";
        Attributes given;
        if (isGemm) given.set("transB", c.transB);
        const Attributes attributes = completeAttributes(op, given);
        std::vector<Tensor> inputs{dice.tensor(DType::f32, c.a, -1, 1), dice.tensor(DType::f32, c.b, -1, 1)};
        if (isGemm) inputs.push_back(dice.tensor(DType::f32, c.bias, -1, 1));
        const auto exact = [&] {
            std::vector<Tensor> wide;
            for (const Tensor& input : inputs)
                wide.push_back(runOp("Cast", {{"to", std::string("f64")}}, {input})[0]);
            return runOp(c.op, given, wide)[0];
        };
        const Tensor wanted = exact();
        const Tensor y = Tensor::onHost({DType::f32, wanted.shape()});
        std::vector<TensorView> views;
        for (const Tensor& input : inputs) views.push_back(input.view());
        const std::vector<TensorView> outputs{y.view()};
        StepMemory memory{nullptr, 0b10};
        for (int launch = 0; launch < 2; ++launch) {
            op.kernel({views, outputs, attributes, nullptr, &memory});
            QCOMPARE(difference(y, wanted.shape(), valuesOf(wanted), {1e-5, 1e-5}), QString());
            QCOMPARE(memory.state != nullptr, c.isPacked);
        }
        // Weights declared constant are not read again, so a change has no effect.
        copyElements(dice.tensor(DType::f32, c.b, -1, 1).view(), inputs[1].view());
        const Tensor& now = c.isPacked ? wanted : exact();
        op.kernel({views, outputs, attributes, nullptr, &memory});
        QCOMPARE(difference(y, now.shape(), valuesOf(now), {1e-5, 1e-5}), QString());
        // Other weights are never packed.
        StepMemory changing;
        op.kernel({views, outputs, attributes, nullptr, &changing});
        QVERIFY(!changing.state);
        QCOMPARE(difference(y, wanted.shape(), valuesOf(exact()), {1e-5, 1e-5}), QString());
    }
}

/// Stride 0, which BLAS does not support.
void TestLinearAlgebra::repeatedOperands() {
    Dice dice(14);
    for (DType dtype : kTypes) {
        const Tensor row = repeatedTo(dice.tensor(dtype, {1, 7}, -3, 3), {5, 7});
        const Tensor column = repeatedTo(dice.tensor(dtype, {7, 1}, -3, 3), {7, 4});
        const Tensor out = runOp("MatMul", {}, {row, column})[0];
        const QString wrong = difference(out, {5, 4}, exactMatMul(row, column, out.shape()),
                                         isFloating(dtype) ? Tolerance{1e-5, 1e-5} : Tolerance{});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const Tensor batch = repeatedTo(dice.tensor(dtype, {1, 2, 7}, -3, 3), {6, 2, 7});
        const Tensor other = dice.tensor(dtype, {7, 3}, -3, 3);
        const Tensor products = runOp("MatMul", {}, {batch, other})[0];
        QVERIFY(difference(products, {6, 2, 3}, exactMatMul(batch, other, products.shape()),
                           isFloating(dtype) ? Tolerance{1e-5, 1e-5} : Tolerance{})
                    .isEmpty());
    }
}

/// The product L·U with its rows reversed, large enough for several threads.
void TestLinearAlgebra::largeDeterminants() {
    Dice dice(19);
    for (const std::int64_t n : {32, 33, 50, 71}) {
        const Tensor x = Tensor::onHost({DType::f64, {2, n, n}});
        std::span<double> values = x.values<double>();
        std::vector<double> expected;
        for (std::size_t matrix = 0; matrix < 2; ++matrix) {
            const auto size = static_cast<std::size_t>(n);
            std::vector<double> lower(size * size);
            std::vector<double> upper(size * size);
            double product = n / 2 % 2 == 0 ? 1 : -1;
            for (std::size_t r = 0; r < size; ++r)
                for (std::size_t c = 0; c < size; ++c) {
                    if (c < r) lower[r * size + c] = dice.real(-0.5, 0.5);
                    if (c == r) lower[r * size + c] = 1;
                    if (c > r) upper[r * size + c] = dice.real(-0.5, 0.5);
                    if (c == r) product *= upper[r * size + c] = dice.real(0.5, 2);
                }
            for (std::size_t r = 0; r < size; ++r)
                for (std::size_t c = 0; c < size; ++c) {
                    double sum = 0;
                    for (std::size_t k = 0; k < size; ++k) sum += lower[r * size + k] * upper[k * size + c];
                    values[(matrix * size + size - 1 - r) * size + c] = sum;
                }
            expected.push_back(product);
        }
        const Tensor y = runOp("Det", {}, {x})[0];
        for (std::size_t i = 0; i < 2; ++i)
            QVERIFY2(std::abs(valuesOf(y)[i] / expected[i] - 1) < 1e-9, qPrintable(QString::number(n)));
        // The first matrix has a row of zeros, the second one a NaN.
        for (std::size_t c = 0; c < static_cast<std::size_t>(n); ++c) values[c] = 0;
        values[values.size() - 1] = std::numeric_limits<double>::quiet_NaN();
        const std::vector<double> special = valuesOf(runOp("Det", {}, {x})[0]);
        QCOMPARE(special[0], 0.0);
        QVERIFY(std::isnan(special[1]));
    }
}

TWB_TEST_MAIN(TestLinearAlgebra)
#include "test_linear_algebra.moc"
