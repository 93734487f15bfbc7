#include "backends/cpu/direct_loops.h"
#include "backends/cpu/instruction_set.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kUntouched = 12345;

struct Build {
    const char* name;
    const DirectKernels* kernels;
};

std::vector<Build> builds() {
    std::vector<Build> out;
    if (hasAvx2()) out.push_back({"AVX2", &avx2::directKernels});
    if (hasAvx512()) out.push_back({"AVX-512", &avx512::directKernels});
    return out;
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<float> numbers(Dice& dice, std::int64_t count) {
    std::vector<float> out(at(count));
    for (float& x : out) x = static_cast<float>(dice.integer(-64, 64)) / 64;
    return out;
}

/// A convolution with weights of columns × taps × inner, and what it should give.
struct Case {
    DirectSizes sizes;
    std::int64_t batch = 1;
    bool hasBias = false, isAdded = false, isLimited = false;
    std::vector<float> x, w, bias, added;

    std::int64_t taps() const { return sizes.kernelHeight * sizes.kernelWidth; }
    std::int64_t positions() const { return batch * sizes.outHeight * sizes.outWidth; }

    Case(Dice& dice, const DirectSizes& given, std::int64_t images) : sizes(given), batch(images) {
        sizes.panel = directPanel(sizes.columns);
        sizes.step = sizes.columns + (dice.one(2) ? dice.integer(1, 40) : 0);
        hasBias = !dice.one(4);
        isAdded = dice.one(2);
        isLimited = dice.one(2);
        x = numbers(dice, batch * sizes.height * sizes.width * sizes.inner);
        w = numbers(dice, sizes.columns * taps() * sizes.inner);
        bias = numbers(dice, sizes.columns);
        added = numbers(dice, positions() * sizes.columns);
    }

    std::vector<float> packed() const {
        const DirectSizes& s = sizes;
        std::vector<float> out;
        for (std::int64_t first = 0; first < s.columns; first += s.panel) {
            const std::int64_t rest = s.columns - first;
            const std::int64_t width =
                std::min(s.panel, (rest + kChannelLanes - 1) / kChannelLanes * kChannelLanes);
            for (std::int64_t k = 0; k < taps() * s.inner; ++k)
                for (std::int64_t c = first; c < first + width; ++c)
                    out.push_back(c < s.columns ? w[at(c * taps() * s.inner + k)] : 0.0F);
        }
        return out;
    }

    ChannelsEnding ending() const {
        ChannelsEnding out;
        if (hasBias) out.bias = bias.data();
        if (isAdded) out.added = added.data();
        if (isLimited) {
            out.least = -0.5F;
            out.most = 3;
        }
        return out;
    }

    double expected(std::int64_t position, std::int64_t column) const {
        const DirectSizes& s = sizes;
        const std::int64_t row = position / s.outWidth;
        const std::int64_t top = row % s.outHeight * s.down - s.padTop;
        const std::int64_t left = position % s.outWidth * s.across - s.padLeft;
        double sum = hasBias ? double{bias[at(column)]} : 0;
        for (std::int64_t tap = 0; tap < taps(); ++tap) {
            const std::int64_t h = top + tap / s.kernelWidth;
            const std::int64_t v = left + tap % s.kernelWidth;
            if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
            const std::int64_t from = ((row / s.outHeight * s.height + h) * s.width + v) * s.inner;
            for (std::int64_t c = 0; c < s.inner; ++c)
                sum += double{x[at(from + c)]} * double{w[at((column * taps() + tap) * s.inner + c)]};
        }
        if (isAdded) sum += double{added[at(position * s.columns + column)]};
        return isLimited && !std::isnan(sum) ? std::clamp(sum, -0.5, 3.0) : sum;
    }

    /// Runs parts of the positions and panels one by one, as threads would, and compares.
    void check(const Build& build, Dice& dice) const {
        const DirectSizes& s = sizes;
        const std::vector<float> packedWeights = packed();
        std::vector<float> y(at(positions() * s.step), kUntouched);
        const std::int64_t panels = (s.columns + s.panel - 1) / s.panel;
        const std::int64_t middle = dice.integer(0, positions());
        const std::int64_t middlePanel = dice.integer(0, panels);
        for (const auto& [begin, end] : {std::pair(std::int64_t{0}, middle), std::pair(middle, positions())})
            for (const auto& [first, last] :
                 {std::pair(std::int64_t{0}, middlePanel), std::pair(middlePanel, panels)})
                build.kernels->convolve(s, x.data(), packedWeights.data(), begin, end, first, last, ending(),
                                        y.data());
        const double tolerance = 1e-6 * static_cast<double>(taps() * s.inner + 2);
        for (std::int64_t p = 0; p < positions(); ++p)
            for (std::int64_t c = 0; c < s.step; ++c) {
                const float got = y[at(p * s.step + c)];
                const double wanted = c < s.columns ? expected(p, c) : double{kUntouched};
                const bool isRight = std::isnan(wanted)   ? std::isnan(got)
                                     : std::isinf(wanted) ? double{got} == wanted
                                                          : std::abs(double{got} - wanted) <= tolerance;
                QVERIFY2(isRight, qPrintable(QStringLiteral("%1: %2 × %3 window, %4 to %5 channels, position "
                                                            "%6, column %7: %8 instead of %9")
                                                 .arg(QLatin1String(build.name))
                                                 .arg(s.kernelHeight)
                                                 .arg(s.kernelWidth)
                                                 .arg(s.inner)
                                                 .arg(s.columns)
                                                 .arg(p)
                                                 .arg(c)
                                                 .arg(double{got})
                                                 .arg(wanted)));
            }
    }
};

} // namespace

/// The builds of the direct convolution against the definition in f64.
class TestConvolutionLoops : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        if (builds().empty()) QSKIP("this CPU has no AVX2");
    }

    void pointwiseOnesAreExact() {
        Dice dice(1);
        int count = 0;
        for (const Build& build : builds())
            for (const std::int64_t columns : {1, 15, 16, 17, 33, 48, 64, 65, 96, 100, 129, 200})
                for (const std::int64_t inner : {1, 3, 16, 70}) {
                    const std::int64_t positions = dice.integer(1, 40);
                    DirectSizes sizes;
                    sizes.width = sizes.outWidth = positions;
                    sizes.inner = inner;
                    sizes.columns = columns;
                    Case(dice, sizes, 1).check(build, dice);
                    if (QTest::currentTestFailed()) return;
                    ++count;
                }
        QVERIFY(count >= 48);
    }

    /// More channels than the cache holds factors of, and more positions than a block has.
    void manyChannelsAndPositionsAreExact() {
        Dice dice(2);
        for (const Build& build : builds())
            for (const auto& [positions, inner, columns] :
                 {std::array<std::int64_t, 3>{9, 1030, 70}, {600, 20, 40}, {3, 513, 300}}) {
                DirectSizes sizes;
                sizes.width = sizes.outWidth = positions;
                sizes.inner = inner;
                sizes.columns = columns;
                Case(dice, sizes, 1).check(build, dice);
                if (QTest::currentTestFailed()) return;
            }
    }

    /// Strides, padding on some sides, and windows that lie in the padding as a whole.
    void windowsAreExact() {
        Dice dice(3);
        for (const Build& build : builds())
            for (int i = 0; i < 40; ++i) {
                DirectSizes s;
                s.kernelHeight = dice.integer(1, 4);
                s.kernelWidth = dice.integer(1, 4);
                s.down = dice.integer(1, 3);
                s.across = dice.integer(1, 3);
                s.padTop = dice.integer(0, 4);
                s.padLeft = dice.integer(0, 4);
                s.height = dice.integer(1, 9);
                s.width = dice.integer(1, 17);
                s.outHeight = (s.height + s.padTop + dice.integer(0, 4)) / s.down + 1;
                s.outWidth = (s.width + s.padLeft + dice.integer(0, 4)) / s.across + 1;
                s.inner = dice.one(3) ? dice.integer(250, 270) : dice.integer(1, 20);
                s.columns = dice.integer(1, 90);
                Case(dice, s, dice.integer(1, 3)).check(build, dice);
                if (QTest::currentTestFailed()) return;
            }
    }

    /// A NaN or an infinity reaches the results that depend on it, also past the limits, and no others.
    void specialNumbersStayInPlace() {
        Dice dice(4);
        for (const Build& build : builds())
            for (const float special : {kNaN, kInf, -kInf})
                for (const std::int64_t kernel : {1, 3}) {
                    DirectSizes s;
                    s.height = s.outHeight = 6;
                    s.width = s.outWidth = 11;
                    s.kernelHeight = s.kernelWidth = kernel;
                    s.padTop = s.padLeft = kernel / 2;
                    s.inner = 24;
                    s.columns = 40;
                    Case made(dice, s, 2);
                    std::ranges::replace(made.w, 0.0F, 0.25F); // infinity · 0 is NaN
                    made.x[at(dice.integer(0, static_cast<std::int64_t>(made.x.size()) - 1))] = special;
                    made.check(build, dice);
                    if (QTest::currentTestFailed()) return;
                }
    }
};

TWB_TEST_MAIN(TestConvolutionLoops)
#include "test_convolution_loops.moc"
