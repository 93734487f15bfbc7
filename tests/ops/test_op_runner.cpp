#include "support/op_runner.h"
#include "support/test_main.h"

#include <limits>
#include <stdexcept>

using namespace twb;
using namespace twb::test;

/// Shows that the runner of the op tests detects errors.
class TestOpRunner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void layoutsHoldTheSameValues();
    void repeatsWithoutCopying();
    void differencesAreSeen();
    void inferErrorsAreSeen();
};

void TestOpRunner::layoutsHoldTheSameValues() {
    Dice dice(1);
    const Tensor dense = dice.tensor(DType::f32, {2, 3, 4}, -1, 1);
    int strided = 0;
    for (Layout layout : kLayouts) {
        const Tensor other = inLayout(dense, layout);
        QVERIFY(valuesOf(other) == valuesOf(dense));
        if (!other.view().isDense()) ++strided;
    }
    QCOMPARE(strided, 3);
    QVERIFY(inLayout(dense, Layout::reversed).strides()[0] < 0);
}

void TestOpRunner::repeatsWithoutCopying() {
    const Tensor row = tensorOf(DType::f32, {1, 2}, {3, 4});
    const Tensor repeated = repeatedTo(row, {2, 2});
    QCOMPARE(repeated.buffer().get(), row.buffer().get());
    QVERIFY(valuesOf(repeated) == (std::vector<double>{3, 4, 3, 4}));
}

void TestOpRunner::differencesAreSeen() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor got = tensorOf(DType::f32, {3}, {1, nan, inf});
    QVERIFY(difference(got, {3}, {1, nan, inf}, {}).isEmpty());
    QVERIFY(difference(got, {3}, {1.05, nan, inf}, {0.1, 0}).isEmpty());
    QVERIFY(!difference(got, {3}, {1.05, nan, inf}, {0.01, 0}).isEmpty());
    QVERIFY(!difference(got, {3}, {1, 0, inf}, {1, 1}).isEmpty());
    QVERIFY(!difference(got, {3}, {nan, nan, inf}, {1, 1}).isEmpty());
    QVERIFY(!difference(got, {3}, {1, nan, -inf}, {1, 1}).isEmpty());
    QVERIFY(!difference(got, {3}, {1, nan, 1e300}, {1, 1}).isEmpty());
    QVERIFY(!difference(got, {1, 3}, {1, nan, inf}, {}).isEmpty());
    // f64 results must be much more precise than f32 results.
    QVERIFY(!difference(tensorOf(DType::f64, {}, {1}), {}, {1.05}, {0.1, 0}).isEmpty());
}

void TestOpRunner::inferErrorsAreSeen() {
    QVERIFY(inferError([] {}).isEmpty());
    QCOMPARE(inferError([] { throw InferError("attribute", 0, "no"); }), QString("attribute: no"));
    QVERIFY_EXCEPTION_THROWN(runOp("NoSuchOp", {}, {}), std::logic_error);
}

TWB_TEST_MAIN(TestOpRunner)
#include "test_op_runner.moc"
