#include "backends/cpu/max_pool.h"
#include "backends/cpu/max_pool_loops.h"
#include "backends/cpu/strided.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <limits>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Build {
    const char* name;
    const MaxPoolKernels* kernels;
};

std::vector<Build> builds() {
    std::vector<Build> out;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out.push_back({"AVX2", &avx2::maxPoolKernels});
    if (__builtin_cpu_supports("avx512f")) out.push_back({"AVX-512", &avx512::maxPoolKernels});
    return out;
}

/// Numbers, some of them NaN, infinities and zeros of both signs.
float some(Dice& dice) {
    constexpr float kSpecial[] = {kNaN, -kInf, kInf, 0.0F, -0.0F};
    return dice.one(12) ? kSpecial[dice.integer(0, 4)] : static_cast<float>(dice.integer(-500, 500)) / 8;
}

WindowAxis axisOf(Dice& dice, std::int64_t most) {
    WindowAxis axis;
    axis.kernel = dice.integer(1, 4);
    axis.stride = dice.integer(1, 3);
    axis.dilation = dice.integer(1, 2);
    axis.padBegin = axis.kernel == 1 ? 0 : dice.integer(0, axis.kernel - 1) * axis.dilation / 2;
    axis.in = std::max(dice.integer(1, most), axis.reach());
    axis.out = (axis.in + axis.padBegin - 1) / axis.stride + 1; // the last windows reach beyond the end
    return axis;
}

/// NaN wins.
float largest(const std::vector<float>& x, const Window& window, std::int64_t channels, std::int64_t image,
              std::int64_t row, std::int64_t column, std::int64_t channel) {
    const WindowAxis& down = window.axes[0];
    const WindowAxis& across = window.axes[1];
    float most = -kInf;
    for (std::int64_t i = 0; i < down.kernel; ++i)
        for (std::int64_t j = 0; j < across.kernel; ++j) {
            const std::int64_t h = down.start(row) + i * down.dilation;
            const std::int64_t w = across.start(column) + j * across.dilation;
            if (h < 0 || h >= down.in || w < 0 || w >= across.in) continue;
            const float value =
                x[static_cast<std::size_t>(((image * down.in + h) * across.in + w) * channels + channel)];
            if (std::isnan(value)) return kNaN;
            most = std::max(most, value);
        }
    return most;
}

bool isSame(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

} // namespace

/// Max pooling of channels-last tensors against its definition.
class TestMaxPool : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rowsOfEachBuildAreExact() {
        Dice dice(1);
        for (const Build& build : builds())
            for (const std::int64_t channels : {1, 7, 8, 16, 19, 33, 64, 85, 130}) {
                const Window window{{axisOf(dice, 5), axisOf(dice, 9)}};
                const WindowAxis& down = window.axes[0];
                const WindowAxis& across = window.axes[1];
                std::vector<float> x(static_cast<std::size_t>(down.in * across.in * channels));
                for (float& value : x) value = some(dice);
                std::vector<PoolTaps> columns;
                for (std::int64_t o = 0; o < across.out; ++o)
                    columns.push_back(
                        {across.start(o) + across.taps(o).begin * across.dilation, across.taps(o).count()});
                for (std::int64_t row = 0; row < down.out; ++row) {
                    std::vector<float> y(static_cast<std::size_t>(across.out * channels) + 1, 77);
                    build.kernels->row(
                        x.data(), channels, across.in,
                        {down.start(row) + down.taps(row).begin * down.dilation, down.taps(row).count()},
                        columns.data(), across.out, down.dilation * across.in * channels,
                        across.dilation * channels, y.data());
                    QCOMPARE(y.back(), 77.0F);
                    for (std::int64_t o = 0; o < across.out; ++o)
                        for (std::int64_t c = 0; c < channels; ++c)
                            QVERIFY2(isSame(y[static_cast<std::size_t>(o * channels + c)],
                                            largest(x, window, channels, 0, row, o, c)),
                                     build.name);
                }
            }
    }

    void tensorsAreExact() {
        Dice dice(2);
        int computed = 0;
        for (int i = 0; i < 60; ++i) {
            const Window window{{axisOf(dice, 9), axisOf(dice, 40)}};
            const std::int64_t batch = dice.integer(1, 3);
            const std::int64_t channels = dice.integer(2, 80);
            const auto last = [&](std::int64_t WindowAxis::*size) {
                const Shape shape{batch, channels, window.axes[0].*size, window.axes[1].*size};
                return Tensor(Tensor::onHost({DType::f32, shape}).buffer(), {DType::f32, shape},
                              channelsLastStrides(shape), 0);
            };
            const Tensor x = last(&WindowAxis::in);
            const Tensor y = last(&WindowAxis::out);
            std::vector<float> values(static_cast<std::size_t>(x.elementCount()));
            for (float& value : values) value = some(dice);
            std::ranges::copy(values, x.view().as<float>());
            if (!maxPoolChannelsLast(window, x.view(), y.view())) continue;
            ++computed;
            std::int64_t at = 0;
            for (std::int64_t n = 0; n < batch; ++n)
                for (std::int64_t row = 0; row < window.axes[0].out; ++row)
                    for (std::int64_t o = 0; o < window.axes[1].out; ++o)
                        for (std::int64_t c = 0; c < channels; ++c, ++at)
                            QVERIFY(isSame(y.view().as<float>()[at],
                                           largest(values, window, channels, n, row, o, c)));
        }
        if (!builds().empty()) QVERIFY2(computed > 30, qPrintable(QString::number(computed)));
    }

    /// Other layouts and types, and windows without an element, are left to others.
    void othersAreRefused() {
        const WindowAxis axis{.in = 4, .out = 2, .kernel = 2, .stride = 2};
        const Window window{{axis, axis}};
        const Shape in{1, 3, 4, 4};
        const Shape out{1, 3, 2, 2};
        const auto last = [](DType dtype, const Shape& shape) {
            return Tensor(Tensor::onHost({dtype, shape}).buffer(), {dtype, shape}, channelsLastStrides(shape),
                          0);
        };
        const Tensor x = last(DType::f32, in);
        const Tensor y = last(DType::f32, out);
        std::fill_n(x.view().as<float>(), in.elementCount(), 1.0F);
        if (!builds().empty()) QVERIFY(maxPoolChannelsLast(window, x.view(), y.view()));
        QVERIFY(!maxPoolChannelsLast(window, Tensor::onHost(x.type()).view(), y.view()));
        QVERIFY(!maxPoolChannelsLast(window, x.view(), Tensor::onHost(y.type()).view()));
        QVERIFY(!maxPoolChannelsLast(window, last(DType::f64, in).view(), last(DType::f64, out).view()));
        Window outside = window;
        outside.axes[0].padBegin = 2; // the first windows lie in the padding
        QVERIFY(!maxPoolChannelsLast(outside, x.view(), y.view()));
    }
};

TWB_TEST_MAIN(TestMaxPool)
#include "test_max_pool.moc"
