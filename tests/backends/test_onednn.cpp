#include "backends/cpu/onednn.h"
#include "backends/cpu/strided.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A tensor with a batch axis, a channel axis and two more, in the given layout.
struct Image {
    Tensor dense;
    Tensor last; ///< the same, channels-last
    bool channelsLast = false;

    Image(Dice& dice, DType dtype, const Shape& shape, bool channelsLast)
        : Image(dice.tensor(dtype, shape, -3, 3), channelsLast) {}
    Image(Tensor values, bool channelsLast)
        : dense(std::move(values)), last(Tensor::onHost(dense.type())), channelsLast(channelsLast) {
        copyElements(dense.view(), viewOf(last));
    }
    TensorView view() const { return channelsLast ? viewOf(last) : dense.view(); }
    std::vector<double> values() const {
        const Tensor out = Tensor::onHost(dense.type());
        copyElements(view(), out.view());
        return valuesOf(out);
    }

private:
    static TensorView viewOf(const Tensor& tensor) {
        return {tensor.data(), tensor.dtype(), tensor.shape(), channelsLastStrides(tensor.shape())};
    }
};

QString differenceOf(const Image& got, const std::vector<double>& expected) {
    // bf16 has 8 significant bits.
    const Tolerance tolerance =
        got.dense.dtype() == DType::bf16 ? Tolerance{1e-2, 1e-2} : Tolerance{1e-5, 1e-5};
    const auto values = got.values();
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(values[i] - expected[i]) <= tolerance.atol + tolerance.rtol * std::abs(expected[i])))
            return QString("element %1 is %2, expected %3").arg(i).arg(values[i]).arg(expected[i]);
    return {};
}

} // namespace

/// The results follow the definitions in each layout, and oneDNN is not used where its results would differ.
class TestOneDnn : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void layouts_data();
    void pooling_data() { layouts_data(); }
    void pooling();
    void maximumOfSpecialValues();
    void channels();
    void rows_data();
    void rows();
    void neighbours();
};

void TestOneDnn::layouts_data() {
    QTest::addColumn<int>("dtype");
    QTest::addColumn<bool>("channelsLast");
    for (DType dtype : {DType::f32, DType::bf16})
        for (bool last : {false, true})
            QTest::addRow("%s %s", std::string(name(dtype)).c_str(), last ? "channels last" : "row-major")
                << static_cast<int>(dtype) << last;
}

void TestOneDnn::pooling() {
    QFETCH(int, dtype);
    QFETCH(bool, channelsLast);
    using enum onednn::Pooling;
    Dice dice(301);
    int served = 0;
    for (int round = 0; round < 90; ++round) {
        const auto kind = std::array{max, average, averageWithPadding}[static_cast<std::size_t>(round % 3)];
        Window window;
        for (int a = 0; a < 2; ++a) {
            WindowAxis axis;
            axis.kernel = dice.integer(1, 4);
            axis.stride = dice.integer(1, 3);
            axis.padBegin = dice.integer(0, axis.kernel - 1);
            axis.padEnd = dice.integer(0, axis.kernel - 1);
            axis.in = dice.integer(axis.kernel, 11);
            axis.out = (axis.in + axis.padBegin + axis.padEnd - axis.kernel) / axis.stride + 1;
            window.axes.push_back(axis);
        }
        const std::int64_t batch = dice.integer(1, 2);
        const std::int64_t channels = dice.integer(1, 40);
        const WindowAxis& h = window.axes[0];
        const WindowAxis& w = window.axes[1];
        const Image x(dice, static_cast<DType>(dtype), {batch, channels, h.in, w.in}, channelsLast);
        const Image y(dice, static_cast<DType>(dtype), {batch, channels, h.out, w.out}, channelsLast);
        if (!onednn::pool(kind, window, x.view(), y.view())) continue;
        ++served;
        std::vector<double> expected;
        for (std::int64_t plane = 0; plane < batch * channels; ++plane)
            for (std::int64_t oh = 0; oh < h.out; ++oh)
                for (std::int64_t ow = 0; ow < w.out; ++ow) {
                    double most = -kInf;
                    double sum = 0;
                    double count = 0;
                    for (std::int64_t kh = 0; kh < h.kernel; ++kh)
                        for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
                            const std::int64_t i = h.start(oh) + kh;
                            const std::int64_t j = w.start(ow) + kw;
                            if (i < 0 || j < 0 || i >= h.in || j >= w.in) continue;
                            const double value = x.dense.at((plane * h.in + i) * w.in + j);
                            most = std::max(most, value);
                            sum += value;
                            ++count;
                        }
                    if (kind == averageWithPadding) count = static_cast<double>(h.kernel * w.kernel);
                    expected.push_back(kind == max ? most : sum / count);
                }
        const QString wrong = differenceOf(y, expected);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    if (served == 0) QSKIP("oneDNN has no pooling for this machine");
}

/// oneDNN's maximum ignores NaN, and gives the lowest finite number for a window of −∞.
void TestOneDnn::maximumOfSpecialValues() {
    WindowAxis axis{.in = 4, .out = 2, .kernel = 2, .stride = 2};
    const Window window{{axis, axis}};
    for (double special : {kNaN, -kInf})
        for (DType dtype : {DType::f32, DType::bf16}) {
            Dice dice(302);
            const Tensor x = dice.tensor(dtype, {1, 16, 4, 4}, -3, 3);
            const Image plain(x, false);
            const Image served(dice, dtype, {1, 16, 2, 2}, false);
            if (!onednn::pool(onednn::Pooling::max, window, plain.view(), served.view())) {
                QVERIFY(dtype == DType::bf16); // which oneDNN does not pool without AVX-512
                continue;
            }
            auto values = valuesOf(x);
            for (const std::size_t i : {96, 97, 100, 101}) values[i] = special; // one window
            const Image given(tensorOf(dtype, x.shape(), values), false);
            const Image y(dice, dtype, {1, 16, 2, 2}, false);
            QVERIFY(!onednn::pool(onednn::Pooling::max, window, given.view(), y.view()));
            // Beside a number, −∞ is smaller, but NaN remains.
            values[96] = 0.5;
            const Image mixed(tensorOf(dtype, x.shape(), values), false);
            QCOMPARE(onednn::pool(onednn::Pooling::max, window, mixed.view(), y.view()), special == -kInf);
        }
}

void TestOneDnn::channels() {
    Dice dice(303);
    int served = 0;
    for (int round = 0; round < 40; ++round) {
        const DType dtype = dice.one(2) ? DType::f32 : DType::bf16;
        const Shape shape{dice.integer(1, 2), dice.integer(1, 40), dice.integer(1, 6), dice.integer(1, 6)};
        const Image x(dice, dtype, shape, true);
        const Image y(dice, dtype, shape, true);
        onednn::ChannelFactors f;
        for (std::int64_t c = 0; c < shape[1]; ++c) {
            f.mean.push_back(static_cast<float>(dice.real(-1, 1)));
            f.variance.push_back(static_cast<float>(dice.real(0.1, 2)));
            f.scale.push_back(static_cast<float>(dice.real(-2, 2)));
            f.bias.push_back(static_cast<float>(dice.real(-2, 2)));
        }
        if (!onednn::normalizeChannels(x.view(), f, 1e-5, y.view())) continue;
        ++served;
        std::vector<double> expected;
        for (std::int64_t i = 0; i < x.dense.elementCount(); ++i) {
            const auto c = static_cast<std::size_t>(i / (shape[2] * shape[3]) % shape[1]);
            expected.push_back((x.dense.at(i) - f.mean[c]) / std::sqrt(f.variance[c] + 1e-5) * f.scale[c] +
                               f.bias[c]);
        }
        const QString wrong = differenceOf(y, expected);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    if (served == 0) QSKIP("oneDNN has no batch normalisation for this machine");
}

void TestOneDnn::rows_data() {
    QTest::addColumn<int>("dtype");
    QTest::addColumn<bool>("hasBias");
    for (DType dtype : {DType::f32, DType::bf16})
        for (bool bias : {false, true})
            QTest::addRow("%s%s", std::string(name(dtype)).c_str(), bias ? " with bias" : "")
                << static_cast<int>(dtype) << bias;
}

void TestOneDnn::rows() {
    QFETCH(int, dtype);
    QFETCH(bool, hasBias);
    Dice dice(304);
    int served = 0;
    for (int round = 0; round < 40; ++round) {
        const std::int64_t rows = dice.integer(1, 9);
        const std::int64_t length = dice.integer(1, 70);
        const Image x(dice, static_cast<DType>(dtype), {1, 1, rows, length}, false);
        const Image y(dice, static_cast<DType>(dtype), {1, 1, rows, length}, false);
        std::vector<float> scale;
        std::vector<float> bias;
        for (std::int64_t i = 0; i < length; ++i) {
            scale.push_back(static_cast<float>(dice.real(-2, 2)));
            bias.push_back(static_cast<float>(dice.real(-2, 2)));
        }
        if (!onednn::normalizeRows(static_cast<DType>(dtype), rows, length, x.view().data, scale.data(),
                                   hasBias ? bias.data() : nullptr, 1e-3, y.view().data))
            continue;
        ++served;
        std::vector<double> expected;
        for (std::int64_t row = 0; row < rows; ++row) {
            double mean = 0;
            double variance = 0;
            for (std::int64_t i = 0; i < length; ++i)
                mean += x.dense.at(row * length + i) / static_cast<double>(length);
            for (std::int64_t i = 0; i < length; ++i)
                variance += std::pow(x.dense.at(row * length + i) - mean, 2) / static_cast<double>(length);
            for (std::int64_t i = 0; i < length; ++i) {
                const auto at = static_cast<std::size_t>(i);
                expected.push_back((x.dense.at(row * length + i) - mean) / std::sqrt(variance + 1e-3) *
                                       scale[at] +
                                   (hasBias ? bias[at] : 0));
            }
        }
        const QString wrong = differenceOf(y, expected);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    if (served == 0) QSKIP("oneDNN has no layer normalisation for this machine");
}

void TestOneDnn::neighbours() {
    Dice dice(305);
    int served = 0;
    for (int round = 0; round < 60; ++round) {
        const DType dtype = dice.one(3) ? DType::bf16 : DType::f32;
        const Shape shape{dice.integer(1, 2), dice.integer(1, 40), dice.integer(1, 6), dice.integer(1, 6)};
        const Image x(dice, dtype, shape, false);
        const Image y(dice, dtype, shape, false);
        const onednn::LocalResponse r{.size = dice.integer(1, 6), .alpha = 0.3, .beta = 0.75, .bias = 1.5};
        if (!onednn::normalizeAcrossChannels(r, x.view(), y.view())) continue;
        ++served;
        const std::int64_t plane = shape[2] * shape[3];
        std::vector<double> expected;
        for (std::int64_t i = 0; i < x.dense.elementCount(); ++i) {
            const std::int64_t c = i / plane % shape[1];
            double squares = 0;
            for (std::int64_t k = c - (r.size - 1) / 2; k <= c + r.size / 2; ++k)
                if (k >= 0 && k < shape[1]) squares += std::pow(x.dense.at(i + (k - c) * plane), 2);
            expected.push_back(x.dense.at(i) /
                               std::pow(r.bias + r.alpha / static_cast<double>(r.size) * squares, r.beta));
        }
        const QString wrong = differenceOf(y, expected);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    if (served == 0) QSKIP("oneDNN has no local response normalisation for this machine");
}

TWB_TEST_MAIN(TestOneDnn)
#include "test_onednn.moc"
