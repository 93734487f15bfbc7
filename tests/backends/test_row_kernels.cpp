#include "backends/cuda/kernels/order_keys.h"
#include "backends/cuda/kernels/row_order.h"
#include "core/dtype.h"
#include "support/cuda_op_runner.h"
#include "support/host_queue.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

/// NaN sorts after all numbers, as in NumPy.
bool isBefore(double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; }

template <class T> void keysAreInOrder(const std::vector<T>& values) {
    for (const T a : values)
        for (const T b : values) {
            const auto x = static_cast<double>(a);
            const auto y = static_cast<double>(b);
            QCOMPARE(cuda::keyOf(a) < cuda::keyOf(b), isBefore(x, y));
            QCOMPARE(cuda::descendingKeyOf(a) < cuda::descendingKeyOf(b), isBefore(y, x));
        }
}

template <class T> std::vector<T> floats() {
    using Limits = std::numeric_limits<T>;
    return {-Limits::infinity(),
            Limits::lowest(),
            T(-2.5),
            T(-1),
            -Limits::min(),
            -Limits::denorm_min(),
            T(-0.0),
            T(0),
            Limits::denorm_min(),
            Limits::min(),
            T(1),
            T(2.5),
            Limits::max(),
            Limits::infinity(),
            Limits::quiet_NaN(),
            -Limits::quiet_NaN()};
}

template <class T> std::vector<T> integers() {
    using Limits = std::numeric_limits<T>;
    return {Limits::min(),
            static_cast<T>(Limits::min() + 1),
            static_cast<T>(-1),
            0,
            1,
            static_cast<T>(Limits::max() - 1),
            Limits::max()};
}

void compare(std::string_view op, const Attributes& attributes, const std::vector<Tensor>& inputs,
             Tolerance tolerance) {
    const std::vector<Tensor> wanted = runOp(op, attributes, inputs);
    const std::vector<Tensor> got = runOpByCuda(op, attributes, inputs);
    QCOMPARE(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        const QString problem = difference(got[i], wanted[i].shape(), valuesOf(wanted[i]), tolerance);
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
}

} // namespace

/// GPU kernels on rows that exceed one team's share, and their sort keys.
class TestRowKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keysHaveTheOrderOfElements() {
        keysAreInOrder(floats<float>());
        keysAreInOrder(floats<double>());
        keysAreInOrder(integers<std::int8_t>());
        keysAreInOrder(integers<std::int32_t>());
        keysAreInOrder(std::vector<std::uint8_t>{0, 1, 127, 128, 255});
        keysAreInOrder(std::vector<std::uint32_t>{0, 1, 0x7fffffff, 0x80000000, 0xffffffff});
        // Integers that doubles cannot tell apart.
        const std::vector<std::int64_t> wide = integers<std::int64_t>();
        for (std::size_t i = 1; i < wide.size(); ++i)
            QVERIFY(wide[i - 1] < wide[i] && cuda::keyOf(wide[i - 1]) < cuda::keyOf(wide[i]));
        QCOMPARE(cuda::keyOf(-0.0), cuda::keyOf(0.0));
    }

    void equalKeysKeepTheirOrder() {
        HostQueue queue("TopK");
        cuda::RowOrder<std::uint32_t> order(queue, 2, 5);
        const std::vector<std::uint32_t> keys{3, 1, 3, 0, 1, 9, 9, 9, 0, 9};
        std::copy(keys.begin(), keys.end(), order.keys());
        order.find();
        QCOMPARE(std::vector<std::uint32_t>(order.places(), order.places() + 10),
                 (std::vector<std::uint32_t>{3, 1, 4, 0, 2, 3, 0, 1, 2, 4}));
        QVERIFY_EXCEPTION_THROWN(cuda::RowOrder<std::uint32_t>(queue, 0, std::int64_t{1} << 32), Error);
    }

    void longRowsAreSummedInParts_data() {
        QTest::addColumn<int>("axis");
        QTest::addColumn<bool>("reverse");
        QTest::addColumn<bool>("exclusive");
        for (const int axis : {0, 1})
            for (const bool reverse : {false, true})
                for (const bool exclusive : {false, true})
                    QTest::addRow("axis %d%s%s", axis, reverse ? ", reverse" : "",
                                  exclusive ? ", exclusive" : "")
                        << axis << reverse << exclusive;
    }

    void longRowsAreSummedInParts() {
        QFETCH(int, axis);
        QFETCH(bool, reverse);
        QFETCH(bool, exclusive);
        const Attributes attributes{
            {"axis", std::int64_t{axis}}, {"reverse", reverse}, {"exclusive", exclusive}};
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
            Dice dice(static_cast<std::uint32_t>(dtype));
            // Sums by blocks, and by single threads where rows are interleaved. The last block is partial.
            for (const Shape& shape : {axis == 1 ? Shape{3, 9001} : Shape{9001, 3},
                                       axis == 1 ? Shape{3, 4096} : Shape{1025, 32}}) {
                const Tensor in = inLayout(dice.tensor(dtype, shape, -4, 4), dice.layout());
                compare("CumSum", attributes, {in}, {1e-6, 1e-2});
                if (QTest::currentTestFailed()) return;
            }
        }
    }

    void longRowsAreOrdered() {
        Dice dice(7);
        for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64})
            for (const bool largest : {true, false}) {
                // Few distinct values, so that many are equal.
                const Tensor in = dice.tensor(dtype, {2, 3000, 2}, -20, 20);
                compare("TopK", {{"axis", std::int64_t{1}}, {"K", std::int64_t{1000}}, {"largest", largest}},
                        {in}, {});
                if (QTest::currentTestFailed()) return;
            }
    }

    void manyBoxesAreSuppressed() {
        for (std::uint32_t seed = 0; seed < 6; ++seed) {
            Dice dice(seed);
            const std::int64_t count = dice.integer(200, 600);
            const Tensor boxes = dice.tensor(DType::f32, {2, count, 4}, 0, 1);
            // Scores with one digit: many are equal, and the first of them wins.
            const Tensor scores = Tensor::onHost({DType::f32, {2, 3, count}});
            for (float& score : scores.values<float>())
                score = static_cast<float>(dice.integer(0, 9)) / 10.0F;
            compare("NonMaxSuppression", {},
                    {boxes, scores, Tensor::of<std::int64_t>({}, {100}), tensorOf(DType::f32, {}, {0.3}),
                     tensorOf(DType::f32, {}, {0.15})},
                    {});
            if (QTest::currentTestFailed()) return;
        }
    }
};

TWB_TEST_MAIN(TestRowKernels)
#include "test_row_kernels.moc"
