#include "core/tensor_statistics.h"
#include "support/test_main.h"
#include "widgets/inspector/tensor_table_model.h"

#include <limits>
#include <numeric>

using namespace twb;

class TestTensorStatistics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownFigures();
    void specialValuesAreCountedApart();
    void theWidestTensor();
    void emptyAndConstant();
    void tableShowsTheLastTwoAxes();
};

void TestTensorStatistics::knownFigures() {
    const TensorStatistics s = statisticsOf(Tensor::of<double>({4}, {2, 4, 4, 6}));
    QCOMPARE(s.min, 2.0);
    QCOMPARE(s.max, 6.0);
    QCOMPARE(s.mean, 4.0);
    QCOMPARE(s.std, std::sqrt(2.0));
    QCOMPARE(std::accumulate(s.histogram.begin(), s.histogram.end(), std::int64_t(0)), std::int64_t(4));
    QCOMPARE(s.histogram.front(), std::int64_t(1));
    QCOMPARE(s.histogram.back(), std::int64_t(1));
}

void TestTensorStatistics::specialValuesAreCountedApart() {
    const float inf = std::numeric_limits<float>::infinity();
    const TensorStatistics s = statisticsOf(
        Tensor::of<float>({6}, {0, -0.0F, std::numeric_limits<float>::quiet_NaN(), inf, -inf, 3}));
    QCOMPARE(s.nan, std::int64_t(1));
    QCOMPARE(s.infinite, std::int64_t(2));
    QCOMPARE(s.zero, std::int64_t(2));
    QCOMPARE(s.finite, std::int64_t(3));
    QCOMPARE(s.max, 3.0);
    QCOMPARE(s.mean, 1.0);
}

/// The difference of its ends is infinite.
void TestTensorStatistics::theWidestTensor() {
    const Tensor tensor = Tensor::of<double>({4}, {-1.7e308, -1e308, 1e308, 1.7e308});
    const TensorStatistics s = statisticsOf(tensor);
    QCOMPARE(s.histogram.front(), std::int64_t(1));
    QCOMPARE(s.histogram.back(), std::int64_t(1));
}

void TestTensorStatistics::emptyAndConstant() {
    QCOMPARE(statisticsOf(Tensor::onHost({DType::f32, Shape{0, 3}})).count, std::int64_t(0));
    const TensorStatistics s = statisticsOf(Tensor::of<std::int64_t>({3}, {7, 7, 7}));
    QCOMPARE(s.std, 0.0);
    QCOMPARE(s.histogram.front(), std::int64_t(3));
}

void TestTensorStatistics::tableShowsTheLastTwoAxes() {
    std::vector<std::int64_t> values(24);
    std::iota(values.begin(), values.end(), 0);
    TensorTableModel model;
    model.setTensor(Tensor::of<std::int64_t>({2, 3, 4}, std::span<const std::int64_t>(values)));
    QCOMPARE(model.sliceCount(), std::int64_t(2));
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.columnCount(), 4);
    QCOMPARE(model.index(2, 1).data().toString(), QStringLiteral("9"));
    model.setSlice(1);
    QCOMPARE(model.index(2, 1).data().toString(), QStringLiteral("21"));
    model.setTensor(Tensor::of<float>({}, {1.5F}));
    QCOMPARE(model.index(0, 0).data().toString(), QStringLiteral("1.5"));
    model.setTensor(Tensor::onHost({DType::f32, Shape{0, 4}}));
    QCOMPARE(model.rowCount(), 0);
}

TWB_TEST_MAIN(TestTensorStatistics)
#include "test_tensor_statistics.moc"
