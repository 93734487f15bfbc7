#include "backends/cpu/instruction_set.h"
#include "backends/cpu/packed_product.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace twb;

namespace {

struct Kernels {
    const char* name;
    const PanelKernels* kernels;
};

/// Those that this CPU has.
std::vector<Kernels> kernelsHere() {
    std::vector<Kernels> out;
    if (hasAvx2()) out.push_back({"AVX2", &avx2::panelKernels});
    if (hasAvx512()) out.push_back({"AVX-512", &avx512::panelKernels});
    return out;
}

std::vector<float> randomNumbers(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> number(-1, 1);
    std::vector<float> out(static_cast<std::size_t>(count));
    std::ranges::generate(out, [&] { return number(generator); });
    return out;
}

double activated(const ProductEnding& ending, double x) {
    const double alpha = ending.alpha;
    switch (ending.activation) {
    case ProductActivation::none:
        return x;
    case ProductActivation::gelu:
        return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case ProductActivation::geluTanh:
        return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ProductActivation::swish:
        return x / (1 + std::exp(-alpha * x));
    case ProductActivation::hardSwish:
        return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case ProductActivation::leakyRelu:
        return x < 0 ? alpha * x : x;
    case ProductActivation::relu:
        return std::max(x, 0.0);
    case ProductActivation::clip:
        return std::clamp(x, alpha, static_cast<double>(ending.beta));
    }
    return x;
}

/// A product with random operands between guards, and its exact result.
struct Product {
    WeightedProduct sizes;
    std::vector<float> x, w, bias, added;

    Product(WeightedProduct given, bool hasBias, bool adds) : sizes(given) {
        x = randomNumbers(sizes.rows * sizes.inner, 1);
        const std::int64_t rows = sizes.transposed ? sizes.columns : sizes.inner;
        sizes.stride = (sizes.transposed ? sizes.inner : sizes.columns) + 3;
        w = randomNumbers(rows * sizes.stride, 2);
        if (hasBias) bias = randomNumbers(sizes.columns, 3);
        if (adds) added = randomNumbers(sizes.rows * sizes.columns, 4);
    }

    double weight(std::int64_t k, std::int64_t column) const {
        return w[static_cast<std::size_t>(sizes.transposed ? column * sizes.stride + k
                                                           : k * sizes.stride + column)];
    }
    double expected(std::int64_t row, std::int64_t column) const {
        double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(column)];
        for (std::int64_t k = 0; k < sizes.inner; ++k)
            sum += x[static_cast<std::size_t>(row * sizes.inner + k)] * weight(k, column);
        if (!added.empty()) sum += added[static_cast<std::size_t>(row * sizes.columns + column)];
        return activated(sizes.ending, sum);
    }
    /// Two runs, the second without the weights in memory; an error if they differ or write beyond y.
    std::vector<float> result(const PanelKernels& kernels, QString& error) const {
        constexpr std::size_t guard = 64;
        constexpr float untouched = -12345;
        const auto product = makePackedProduct(sizes, kernels);
        const auto count = static_cast<std::size_t>(sizes.rows * sizes.columns);
        std::vector<float> first;
        for (const bool isFirst : {true, false}) {
            std::vector<float> y(count + 2 * guard, untouched);
            if (product->hasPackedWeights() == isFirst) error = QStringLiteral("weights are packed once");
            if (!product->run({.x = x.data(),
                               .w = isFirst ? w.data() : nullptr,
                               .bias = bias.empty() ? nullptr : bias.data(),
                               .added = added.empty() ? nullptr : added.data(),
                               .y = y.data() + guard}))
                error = QStringLiteral("the ending is left to do");
            for (std::size_t i = 0; i < guard; ++i)
                if (y[i] != untouched || y[guard + count + i] != untouched)
                    error = QStringLiteral("memory beyond the result is written");
            y = {y.begin() + guard, y.begin() + static_cast<std::ptrdiff_t>(guard + count)};
            if (isFirst)
                first = std::move(y);
            else if (std::memcmp(first.data(), y.data(), count * sizeof(float)) != 0)
                error = QStringLiteral("the second run has another result");
        }
        return first;
    }
};

QString differenceOf(const Product& product, const PanelKernels& kernels) {
    QString error;
    const std::vector<float> y = product.result(kernels, error);
    const WeightedProduct& s = product.sizes;
    // Each addition rounds once, and partial sums are rarely larger than √inner.
    const double tolerance = 1e-7 * (20 + static_cast<double>(s.inner));
    for (std::int64_t row = 0; row < s.rows; ++row)
        for (std::int64_t column = 0; column < s.columns; ++column) {
            const double got = y[static_cast<std::size_t>(row * s.columns + column)];
            const double exact = product.expected(row, column);
            if (!(std::abs(got - exact) <= tolerance) && error.isEmpty())
                error = QStringLiteral("%1 instead of %2 at %3, %4").arg(got).arg(exact).arg(row).arg(column);
        }
    return error;
}

} // namespace

class TestPackedProduct : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (kernelsHere().empty()) QSKIP("this CPU has no AVX2");
    }

    void sizes_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("columns");
        const auto row = [](int rows, int inner, int columns) {
            QTest::addRow("%d x %d x %d", rows, inner, columns) << rows << inner << columns;
        };
        // Parts of tiles, of units and of panels.
        for (int rows = 1; rows <= 19; ++rows) row(rows, 5, 49);
        for (int columns = 1; columns <= 100; columns += columns < 52 ? 1 : 7) row(10, 3, columns);
        // One and several ranges of inner, which differ by one.
        for (const int inner : {1, 2, 511, 512, 513, 1025, 1537}) row(11, inner, 52);
        // Work for several threads, cut by rows and by columns, and more threads than panels.
        row(300, 96, 40);
        row(13, 700, 800);
        row(2, 4097, 33);
        row(40, 512, 200);
        // More elements than the second cache holds.
        row(600, 1000, 5);
    }
    void sizes() {
        QFETCH(int, rows);
        QFETCH(int, inner);
        QFETCH(int, columns);
        for (const Kernels& here : kernelsHere())
            for (const bool transposed : {false, true}) {
                const Product product({.rows = rows,
                                       .inner = inner,
                                       .columns = columns,
                                       .transposed = transposed,
                                       .ending = {}},
                                      transposed, rows % 2 == 0);
                const QString error = differenceOf(product, *here.kernels);
                QVERIFY2(error.isEmpty(), qPrintable(QString(here.name) + ": " + error));
            }
    }

    void endings_data() {
        QTest::addColumn<ProductEnding>("ending");
        using enum ProductActivation;
        QTest::newRow("Gelu") << ProductEnding{gelu};
        QTest::newRow("Gelu, tanh") << ProductEnding{geluTanh};
        QTest::newRow("Swish") << ProductEnding{swish, 1.5F};
        QTest::newRow("HardSwish") << ProductEnding{hardSwish};
        QTest::newRow("LeakyRelu") << ProductEnding{leakyRelu, 0.1F};
        QTest::newRow("Relu") << ProductEnding{relu};
        QTest::newRow("Clip") << ProductEnding{clip, -0.5F, 1.25F};
    }
    /// With several ranges of inner, the ending follows the last.
    void endings() {
        QFETCH(ProductEnding, ending);
        for (const Kernels& here : kernelsHere())
            for (const std::int64_t inner : {40, 1100}) {
                const Product product({.rows = 20, .inner = inner, .columns = 70, .ending = ending}, true,
                                      true);
                const QString error = differenceOf(product, *here.kernels);
                QVERIFY2(error.isEmpty(), qPrintable(QString(here.name) + ": " + error));
            }
    }

    void specialValues_data() { endings_data(); }
    /// NaN stays NaN, and large sums have the limits of the function.
    void specialValues() {
        QFETCH(ProductEnding, ending);
        constexpr float infinite = std::numeric_limits<float>::infinity();
        for (const Kernels& here : kernelsHere()) {
            Product product({.rows = 5, .inner = 1, .columns = 2, .ending = ending}, false, false);
            product.x = {std::numeric_limits<float>::quiet_NaN(), infinite, 1e6F, -1e6F, -30};
            product.w = {1, 0.5F};
            QString error;
            const std::vector<float> y = product.result(*here.kernels, error);
            QVERIFY2(error.isEmpty(), qPrintable(error));
            QVERIFY(std::isnan(y[0]));
            QVERIFY(std::isnan(y[1]));
            for (std::size_t i = 2; i < y.size(); ++i) {
                const double x = static_cast<double>(product.x[i / 2]) * product.w[i % 2];
                const auto exact = static_cast<float>(activated(ending, x));
                QVERIFY2(y[i] == exact || std::abs(y[i] - exact) <= 1e-6 * std::abs(exact) + 1e-6,
                         qPrintable(QStringLiteral("%1: %2 instead of %3 for %4")
                                        .arg(here.name)
                                        .arg(y[i])
                                        .arg(exact)
                                        .arg(x)));
            }
        }
    }

    /// The number of threads decides the ranges.
    void rangesDoNotChangeBits() {
        constexpr std::int64_t rows = 37;
        PanelSizes sizes{.inner = 600, .columns = 90, .blocks = 2};
        const std::vector<float> x = randomNumbers(rows * sizes.inner, 1);
        const std::vector<float> w = randomNumbers(sizes.inner * unitCount(sizes) * kUnitColumns, 2);
        const PanelEnding ending{.function = PanelEnding::Function::gelu};
        for (const Kernels& here : kernelsHere()) {
            const std::int64_t units = here.kernels->panelUnits;
            sizes.panels = (unitCount(sizes) + units - 1) / units;
            const auto count = static_cast<std::size_t>(rows * sizes.columns);
            std::vector<float> whole(count);
            here.kernels->multiply(sizes, x.data(), w.data(), {0, rows}, {0, sizes.panels}, ending,
                                   whole.data());
            std::vector<float> cut(count);
            for (const IndexRange some : {IndexRange{0, 1}, {1, 17}, {17, rows}})
                for (std::int64_t panel = 0; panel < sizes.panels; ++panel)
                    here.kernels->multiply(sizes, x.data(), w.data(), some, {panel, panel + 1}, ending,
                                           cut.data());
            QVERIFY2(whole == cut, here.name);
        }
    }
};

Q_DECLARE_METATYPE(twb::ProductEnding)

TWB_TEST_MAIN(TestPackedProduct)
#include "test_packed_product.moc"
