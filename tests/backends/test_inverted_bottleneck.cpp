#include "backends/cpu/host_threads.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/inverted_bottleneck.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace twb;

namespace {

using Part = InvertedBottleneck::Part;
using Floats = std::vector<float>;

struct Case {
    std::int64_t in, channels, out;
    WindowAxis rows, columns;
    bool expands = true;
    ProductEnding expanded{ProductActivation::swish, 1}, filtered{ProductActivation::swish, 1}, projected{};
};

/// An axis of `size` elements.
WindowAxis axis(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t before,
                std::int64_t after) {
    return {.in = size,
            .out = (size + before + after - kernel) / stride + 1,
            .kernel = kernel,
            .stride = stride,
            .padBegin = before,
            .padEnd = after};
}

std::vector<Case> cases() {
    using enum ProductActivation;
    return {
        {8, 48, 24, axis(9, 3, 1, 1, 1), axis(13, 3, 1, 1, 1)},
        {5, 16, 7, axis(7, 5, 1, 2, 2), axis(7, 5, 1, 2, 2)},
        {24, 144, 40, axis(14, 5, 2, 2, 2), axis(15, 5, 2, 2, 2), true, {relu}, {hardSwish}, {relu}},
        {16, 96, 16, axis(28, 3, 2, 1, 1), axis(112, 3, 2, 1, 1)}, // in several strips
        {3,
         80,
         1,
         axis(6, 4, 3, 0, 2),
         axis(20, 7, 1, 3, 3),
         true,
         {clip, 0, 6},
         {clip, 0, 6},
         {clip, -1, 1}},
        {2, 32, 33, axis(2, 5, 1, 4, 4), axis(3, 3, 2, 3, 3)}, // windows without elements of x
        {17, 176, 20, axis(1, 1, 1, 0, 0), axis(1, 1, 1, 0, 0), true, {none}, {leakyRelu, 0.25}},
        {4, 48, 8, axis(75, 3, 1, 1, 1), axis(260, 3, 1, 1, 1), true, {relu}, {none}}, // strips of one row
        {8, 48, 20, axis(20, 3, 1, 1, 1), axis(30, 3, 1, 1, 1), true, {relu}, {clip, 0, 1}}, // wide
        {8, 48, 20, axis(19, 3, 2, 1, 1), axis(45, 5, 2, 2, 2), true, {relu}, {clip, 0, 1}},
        {6, 32, 9, axis(12, 3, 1, 0, 0), axis(24, 5, 1, 0, 4), true, {relu}, {clip, -1, 1}},
        {6, 32, 9, axis(12, 3, 1, 0, 0), axis(9, 3, 1, 0, 3), true, {relu}}, // a window beside the image
        {6, 32, 9, axis(30, 3, 1, 1, 1), axis(2, 5, 1, 2, 3), true, {relu}}, // narrower than a window
        {32, 32, 16, axis(11, 3, 1, 1, 1), axis(10, 3, 1, 1, 1), false},
        {208, 208, 40, axis(7, 5, 1, 2, 2), axis(9, 5, 2, 2, 2), false, {}, {relu}},
    };
}

double ended(double x, const ProductEnding& ending) {
    switch (ending.activation) {
    case ProductActivation::relu:
        return std::max(x, 0.0);
    case ProductActivation::clip:
        return std::clamp(x, static_cast<double>(ending.alpha), static_cast<double>(ending.beta));
    case ProductActivation::swish:
        return x / (1 + std::exp(-static_cast<double>(ending.alpha) * x));
    case ProductActivation::hardSwish:
        return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case ProductActivation::leakyRelu:
        return x < 0 ? static_cast<double>(ending.alpha) * x : x;
    default:
        return x;
    }
}

Floats random(std::size_t count, unsigned seed) {
    std::mt19937 dice(seed);
    std::uniform_real_distribution<float> range(-1, 1);
    Floats out(count);
    for (float& element : out) element = range(dice);
    return out;
}

/// Rows of `inner` elements times the transposed matrix of columns × inner.
std::vector<double> multiplied(const std::vector<double>& x, const Floats& w, const Floats& bias,
                               std::int64_t inner, const ProductEnding& ending) {
    const auto columns = static_cast<std::int64_t>(bias.size());
    std::vector<double> out;
    for (std::int64_t row = 0; row < std::ssize(x) / inner; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
            double sum = static_cast<double>(bias[static_cast<std::size_t>(column)]);
            for (std::int64_t k = 0; k < inner; ++k)
                sum += x[static_cast<std::size_t>(row * inner + k)] *
                       static_cast<double>(w[static_cast<std::size_t>(column * inner + k)]);
            out.push_back(ended(sum, ending));
        }
    return out;
}

std::vector<double> filtered(const Case& c, const std::vector<double>& x, const Floats& w,
                             const Floats& bias) {
    std::vector<double> out;
    for (std::int64_t row = 0; row < c.rows.out; ++row)
        for (std::int64_t column = 0; column < c.columns.out; ++column)
            for (std::int64_t channel = 0; channel < c.channels; ++channel) {
                double sum = static_cast<double>(bias[static_cast<std::size_t>(channel)]);
                for (std::int64_t i = 0; i < c.rows.kernel; ++i)
                    for (std::int64_t j = 0; j < c.columns.kernel; ++j) {
                        const std::int64_t r = c.rows.start(row) + i;
                        const std::int64_t k = c.columns.start(column) + j;
                        if (r < 0 || r >= c.rows.in || k < 0 || k >= c.columns.in) continue;
                        const std::int64_t tap = (channel * c.rows.kernel + i) * c.columns.kernel + j;
                        sum += x[static_cast<std::size_t>((r * c.columns.in + k) * c.channels + channel)] *
                               static_cast<double>(w[static_cast<std::size_t>(tap)]);
                    }
                out.push_back(ended(sum, c.filtered));
            }
    return out;
}

QString difference(const Floats& got, const std::vector<double>& expected) {
    if (got.size() != expected.size()) return QStringLiteral("wrong size");
    double largest = 1e-30;
    for (const double element : expected) largest = std::max(largest, std::abs(element));
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(static_cast<double>(got[i]) - expected[i]) <= 2e-6 * largest))
            return QStringLiteral("element %1 is %2, not %3").arg(i).arg(got[i]).arg(expected[i]);
    return {};
}

/// A tensor between sentinels.
struct Guarded {
    static constexpr float kSentinel = 12345;
    explicit Guarded(std::int64_t count) : memory(static_cast<std::size_t>(count) + 32, kSentinel) {}
    float* data() { return memory.data() + 16; }
    Floats elements() const { return {memory.begin() + 16, memory.end() - 16}; }
    bool isIntact() const {
        const auto is = [](float element) { return element == kSentinel; };
        return std::all_of(memory.begin(), memory.begin() + 16, is) &&
               std::all_of(memory.end() - 16, memory.end(), is);
    }
    Floats memory;
};

} // namespace

/// Inverted bottlenecks against convolutions in f64, with the kernels of each instruction set.
class TestInvertedBottleneck : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theyComputeTheConvolutions_data() {
        QTest::addColumn<bool>("isAvx512");
        QTest::addColumn<int>("number");
        for (const bool isAvx512 : {false, true}) {
            if (!(isAvx512 ? hasAvx512() : hasAvx2())) continue;
            for (int i = 0; i < static_cast<int>(cases().size()); ++i)
                QTest::addRow("%s, case %d", isAvx512 ? "AVX-512" : "AVX2", i) << isAvx512 << i;
        }
        if (!channelsLastKernels()) QTest::addRow("no kernels") << false << -1;
    }
    void theyComputeTheConvolutions() {
        QFETCH(bool, isAvx512);
        QFETCH(int, number);
        if (number < 0) QSKIP("this CPU has no AVX2");
        const Case c = cases()[static_cast<std::size_t>(number)];
        const auto block = InvertedBottleneck::make(
            {c.in, c.channels, c.out, c.expands, {{c.rows, c.columns}}, c.expanded, c.filtered, c.projected},
            isAvx512 ? &avx512::channelsLastKernels : &avx2::channelsLastKernels);
        QVERIFY(block);
        const auto count = [](auto... sizes) { return static_cast<std::size_t>((sizes * ...)); };
        const Floats x = random(count(c.rows.in, c.columns.in, c.in), 1);
        const Floats expansion = random(count(c.in, c.channels), 2);
        const Floats taps = random(count(c.channels, c.rows.kernel, c.columns.kernel), 3);
        const Floats projection = random(count(c.channels, c.out), 4);
        const Floats expandBias = random(count(c.channels), 5);
        const Floats filterBias = random(count(c.channels), 6);
        const Floats bias = random(count(c.out), 7);
        const Floats factors = random(count(c.channels), 8);
        const std::int64_t places = c.rows.out * c.columns.out;
        const Floats added = random(count(places, c.out), 9);
        if (c.expands) block->pack(Part::expansion, expansion.data());
        block->pack(Part::filter, taps.data());
        block->pack(Part::projection, projection.data());

        std::vector<double> image(x.begin(), x.end());
        if (c.expands) image = multiplied(image, expansion, expandBias, c.in, c.expanded);
        const std::vector<double> middle = filtered(c, image, taps, filterBias);
        std::vector<double> means(count(c.channels));
        for (std::size_t i = 0; i < middle.size(); ++i)
            means[i % means.size()] += middle[i] / static_cast<double>(places);

        Guarded gotMiddle(std::ssize(middle));
        Guarded gotMeans(c.channels);
        block->filter(x.data(), expandBias.data(), filterBias.data(), gotMiddle.data(), gotMeans.data());
        QCOMPARE(difference(gotMiddle.elements(), middle), QString());
        QCOMPARE(difference(gotMeans.elements(), means), QString());
        QVERIFY(gotMiddle.isIntact() && gotMeans.isIntact());

        for (const bool isScaled : {false, true}) {
            const Floats given = gotMiddle.elements();
            std::vector<double> scaled(given.begin(), given.end());
            for (std::size_t i = 0; isScaled && i < scaled.size(); ++i)
                scaled[i] *= static_cast<double>(factors[i % factors.size()]);
            std::vector<double> expected = multiplied(scaled, projection, bias, c.channels, {});
            for (std::size_t i = 0; i < expected.size(); ++i)
                expected[i] = ended(expected[i] + static_cast<double>(added[i]), c.projected);
            Guarded y(places * c.out);
            block->project(gotMiddle.data(), isScaled ? factors.data() : nullptr, bias.data(), added.data(),
                           y.data());
            QCOMPARE(difference(y.elements(), expected), QString());
            QVERIFY(y.isIntact());
        }

        std::vector<double> expected = multiplied(middle, projection, bias, c.channels, {});
        for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i] = ended(expected[i] + static_cast<double>(added[i]), c.projected);
        Guarded y(places * c.out);
        block->run(x.data(), expandBias.data(), filterBias.data(), bias.data(), added.data(), y.data());
        QCOMPARE(difference(y.elements(), expected), QString());
        QVERIFY(y.isIntact());
    }

    /// With one thread all is computed by rows, with many threads by channels.
    void theirResultsAreThoseOfAllThreads() {
        if (!channelsLastKernels()) QSKIP("this CPU has no AVX2");
        const auto block = InvertedBottleneck::make(
            {8, 96, 12, true, {{axis(21, 3, 1, 1, 1), axis(33, 3, 1, 1, 1)}}, {}, {}, {}});
        const Floats expansion = random(768, 1);
        const Floats taps = random(864, 2);
        const Floats projection = random(1152, 3);
        const Floats x = random(5544, 4);
        block->pack(Part::expansion, expansion.data());
        block->pack(Part::filter, taps.data());
        block->pack(Part::projection, projection.data());
        const auto run = [&](int threads) {
            setHostThreads(threads);
            useHostThreads();
            Floats y(8316);
            block->run(x.data(), nullptr, nullptr, nullptr, nullptr, y.data());
            return y;
        };
        const int before = regionThreads();
        const Floats alone = run(1);
        const Floats shared = run(3);
        const Floats byChannels = run(16);
        setHostThreads(before);
        useHostThreads();
        setHostThreads(0);
        QCOMPARE(shared, alone);
        QCOMPARE(byChannels, alone);
    }

    /// Without biases, an added tensor and means.
    void theirOptionalParts() {
        if (!channelsLastKernels()) QSKIP("this CPU has no AVX2");
        const WindowAxis a = axis(5, 3, 1, 1, 1);
        const auto block = InvertedBottleneck::make({4, 32, 8, true, {{a, a}}, {}, {}, {}});
        const Floats expansion = random(128, 1);
        const Floats taps = random(288, 2);
        const Floats projection = random(256, 3);
        const Floats x = random(100, 4);
        const Floats none(32, 0.0F);
        const Floats noBias(8, 0.0F);
        block->pack(Part::expansion, expansion.data());
        block->pack(Part::filter, taps.data());
        block->pack(Part::projection, projection.data());
        Floats middle(800);
        Floats again(800);
        Floats y(200);
        Floats same(200);
        block->filter(x.data(), nullptr, nullptr, middle.data(), nullptr);
        block->filter(x.data(), none.data(), none.data(), again.data(), nullptr);
        block->project(middle.data(), nullptr, nullptr, nullptr, y.data());
        block->project(middle.data(), nullptr, noBias.data(), nullptr, same.data());
        QCOMPARE(middle, again);
        QCOMPARE(y, same);
    }

    void unsuitableSizesAreRefused() {
        const WindowAxis a = axis(5, 3, 1, 1, 1);
        WindowAxis dilated = axis(9, 3, 1, 0, 0);
        dilated.dilation = 2;
        const ProductEnding gelu{ProductActivation::gelu};
        QVERIFY(!InvertedBottleneck::make({4, 24, 8, true, {{a, a}}, {}, {}, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, false, {{a, a}}, {}, {}, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, true, {{a}}, {}, {}, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, true, {{a, dilated}}, {}, {}, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, true, {{a, a}}, gelu, {}, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, true, {{a, a}}, {}, gelu, {}}));
        QVERIFY(!InvertedBottleneck::make({4, 32, 8, true, {{a, a}}, {}, {}, {}}, nullptr));
    }
};

TWB_TEST_MAIN(TestInvertedBottleneck)
#include "test_inverted_bottleneck.moc"
