#include "backends/cpu/instruction_set.h"
#include "backends/cpu/vector_loops.h"
#include "backends/cpu/vector_math.h"
#include "core/half.h"
#include "ops/vector_forms.h"
#include "support/test_main.h"

#include <QObject>

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace twb;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The environment's TWB_PATTERN_STEP, or a prime, so that the low bits of patterns vary, too.
std::uint64_t patternStep() {
    static const std::uint64_t step = std::max(qEnvironmentVariableIntValue("TWB_PATTERN_STEP"), 0);
    return step > 0 ? step : 4099;
}

constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32;

float patternAt(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// One of every 4099 f32 bit patterns, which include subnormal numbers, and special values.
std::vector<float> patterns() {
    std::vector<float> out{0.0F, -0.0F, 1.0F, -1.0F, kInf, -kInf, kNaN, 0.5F, 88.7F, -103.9F, 1e-45F};
    for (std::uint64_t bits = 0; bits < kPatterns; bits += 4099) out.push_back(patternAt(bits));
    return out;
}

/// In units of the last place of the rounded reference, 0 if it is equal; subnormal references count as the
/// smallest normal number.
double unitsApart(float value, double reference) {
    const auto rounded = static_cast<float>(reference);
    if (value == rounded) return 0;
    if (std::isnan(value) || std::isnan(rounded))
        return std::isnan(value) && std::isnan(rounded) ? 0 : std::numeric_limits<double>::infinity();
    if (std::isinf(value) || std::isinf(rounded)) {
        // Next to overflow, either may be infinite.
        const float largest = std::numeric_limits<float>::max();
        return value == rounded ||
                       (std::fabs(value) >= largest * 0.9999F && std::fabs(reference) >= largest * 0.9999)
                   ? 0
                   : std::numeric_limits<double>::infinity();
    }
    const float size = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
    const double unit = static_cast<double>(std::nextafter(size, kInf)) - static_cast<double>(size);
    return std::fabs(static_cast<double>(value) - reference) / unit;
}

struct Function {
    const char* name;
    VectorMap map;
    std::function<void(const std::vector<float>& in, std::vector<double>& out)> reference;
    double bound; ///< units in the last place
};

template <class F> Function functionOf(const char* name, VectorMap map, const F& f, double bound) {
    const auto reference = [f](const std::vector<float>& in, std::vector<double>& out) {
        out.resize(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = f(static_cast<double>(in[i]));
    };
    return {name, map, reference, bound};
}

template <class F> Function functionOf(const char* name, const F& f, double bound = 4) {
    return functionOf(name, vectorForm(f), f, bound);
}

std::vector<Function> functions() {
    using namespace element;
    return {functionOf("Exp", Exp{}), functionOf("Log", Log{}), functionOf("Sqrt", Sqrt{}, 0.5),
            functionOf("Sin", Sin{}), functionOf("Cos", Cos{}), functionOf("Tan", Tan{}),
            functionOf("Asin", Asin{}), functionOf("Acos", Acos{}), functionOf("Atan", Atan{}),
            functionOf("Tanh", Tanh{}), functionOf("Atanh", Atanh{}), functionOf("Erf", Erf{}, 7),
            functionOf("Floor", Floor{}, 0), functionOf("Ceil", Ceil{}, 0), functionOf("Round", Round{}, 0),
            functionOf("Sigmoid", Sigmoid{}), functionOf("Gelu", GeluErf{}, 256),
            // 1 + tanh z loses all digits for negative z, also in f64.
            functionOf(
                "Gelu, tanh", vectorForm(GeluTanh{}),
                [](double x) {
                    return x / (1 + std::exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
                },
                512),
            functionOf("HardSigmoid", HardSigmoid{0.2, 0.5}, 1e7), // few digits are left next to the corner
            functionOf("HardSwish", HardSwish{}, 1e7), functionOf("Softplus", Softplus{}, 5),
            functionOf("Mish", Mish{}, 256), functionOf("Swish", Swish{1.0}, 256),
            functionOf("Elu", Elu{1.0}), functionOf("Celu", Celu{1.0}),
            functionOf("Selu", Selu{1.673, 1.0507}, 4)};
}

} // namespace

namespace {

/// A build of the vectorised functions that this CPU can run.
struct Build : VectorLoops {
    const char* name;
};

std::vector<Build> builds() {
    std::vector<Build> out{{baseline::vectorLoops, "baseline"}};
    if (hasAvx2()) out.push_back({avx2::vectorLoops, "AVX2"});
    if (hasAvx512()) out.push_back({avx512::vectorLoops, "AVX-512"});
    return out;
}

} // namespace

/// All builds of the vectorised functions against the same functions in f64. With TWB_PATTERN_STEP=1 in the
/// environment, errorsAreBounded() computes each function for all 2^32 patterns of f32, one to six minutes
/// for each.
class TestVectorMath : public QObject {
    Q_OBJECT

    /// Raises all patterns(). False: the test failed.
    static bool requirePowers(const std::vector<float>& exponents, std::int64_t step) {
        const std::vector<float> bases = patterns();
        const auto exponentOf = [&](std::size_t i) { return exponents[step == 0 ? 0 : i]; };
        std::vector<double> wanted(bases.size());
#pragma omp parallel for
        for (std::size_t i = 0; i < bases.size(); ++i)
            wanted[i] = std::pow(double(bases[i]), double(exponentOf(i)));
        std::vector<float> out(bases.size());
        for (const Build& build : builds()) {
            build.pow(bases.data(), exponents.data(), step, out.data(), std::int64_t(bases.size()));
            const auto fits = [&](std::size_t i) {
                if (unitsApart(out[i], wanted[i]) <= 2) return true;
                const std::string text =
                    fmt::format("{}: {} ^ {} = {}", build.name, bases[i], exponentOf(i), out[i]);
                return QTest::qVerify(false, "at most 2 units", text.c_str(), __FILE__, __LINE__);
            };
            for (std::size_t i = 0; i < bases.size(); ++i)
                if (!fits(i)) return false;
        }
        return true;
    }

private Q_SLOTS:
    void errorsAreBounded_data() {
        QTest::addColumn<int>("function");
        const auto all = functions();
        for (int i = 0; i < int(all.size()); ++i) QTest::newRow(all[std::size_t(i)].name) << i;
    }
    void errorsAreBounded() {
        QFETCH(int, function);
        const Function f = functions()[std::size_t(function)];
        struct Worst {
            double error = 0;
            float at = 0;
        };
        const std::vector<Build> all = builds();
        std::vector<Worst> worst(all.size());
        constexpr std::uint64_t kBlock = 1 << 14;
        const auto blocks = static_cast<std::int64_t>((kPatterns / patternStep() + kBlock) / kBlock);
        const auto add = [&](const std::vector<float>& in) {
            static thread_local std::vector<double> wanted;
            static thread_local std::vector<float> out;
            f.reference(in, wanted);
            out.resize(in.size());
            for (std::size_t b = 0; b < all.size(); ++b) {
                all[b].map(f.map, in.data(), out.data(), std::int64_t(in.size()));
                Worst own;
                for (std::size_t i = 0; i < in.size(); ++i)
                    if (const double error = unitsApart(out[i], wanted[i]); error > own.error)
                        own = {error, in[i]};
#pragma omp critical
                if (own.error > worst[b].error) worst[b] = own;
            }
        };
        add({0.0F, -0.0F, 1.0F, -1.0F, kInf, -kInf, kNaN, 0.5F, 88.7F, -103.9F, 1e-45F});
#pragma omp parallel for schedule(dynamic)
        for (std::int64_t block = 0; block < blocks; ++block) {
            std::vector<float> in;
            in.reserve(kBlock);
            for (std::uint64_t i = 0; i < kBlock; ++i) {
                const std::uint64_t bits = (std::uint64_t(block) * kBlock + i) * patternStep();
                if (bits < kPatterns) in.push_back(patternAt(bits));
            }
            add(in);
        }
        for (std::size_t b = 0; b < all.size(); ++b) {
            qInfo("%s, %s: %.2f units at %a", f.name, all[b].name, worst[b].error, double(worst[b].at));
            QVERIFY2(worst[b].error <= f.bound, f.name);
        }
    }

    void powersFollowTheStandard() {
        const std::vector<float> bases{0, -0.0F, 1, -1, 2, -2, 0.3F, 7.5F, kInf, -kInf, kNaN, 1e-30F, 1e30F};
        const std::vector<float> exponents{0, 1, 2, 3, -1, 0.5F, -0.5F, 1.7F, kInf, -kInf, kNaN, 33, -40};
        for (const float exponent : exponents)
            for (const Build& build : builds()) {
                std::vector<float> out(bases.size());
                build.pow(bases.data(), &exponent, 0, out.data(), std::int64_t(bases.size()));
                for (std::size_t i = 0; i < bases.size(); ++i) {
                    const double wanted = std::pow(double(bases[i]), double(exponent));
                    QVERIFY2(
                        unitsApart(out[i], wanted) <= 2,
                        qPrintable(QStringLiteral("%1 ^ %2 = %3").arg(bases[i]).arg(exponent).arg(out[i])));
                }
            }
    }

    void errorsOfPowersAreBounded() {
        std::vector<float> exponents(patterns().size());
        for (const float size : {1.0F, 30.0F, 2000.0F}) {
            for (std::size_t i = 0; i < exponents.size(); ++i)
                exponents[i] = size * (static_cast<float>(i * 7919 % 2003) / 1001 - 1);
            if (!requirePowers(exponents, 1)) return;
        }
    }

    void errorsOfPowersWithOneExponentAreBounded() {
        for (const float exponent : {1.0F, 2.0F, 3.0F, 4.0F, -1.0F, 0.5F, -0.5F, 2.5F})
            if (!requirePowers({exponent}, 0)) return;
    }

    /// Near 1, the logarithm is small and the exponent makes it large.
    void powersOfNumbersNearOne() {
        std::vector<float> bases;
        std::vector<float> exponents;
        for (int i = -4000; i <= 4000; ++i) {
            bases.push_back(1 + static_cast<float>(i) * 0x1p-22F);
            exponents.push_back(static_cast<float>(i % 2 ? 80'000 : -66'000));
        }
        std::vector<float> out(bases.size());
        for (const Build& build : builds()) {
            build.pow(bases.data(), exponents.data(), 1, out.data(), std::int64_t(bases.size()));
            for (std::size_t i = 0; i < bases.size(); ++i)
                QVERIFY(unitsApart(out[i], std::pow(double(bases[i]), double(exponents[i]))) <= 2);
        }
    }
    /// A special base or exponent does not change the results beside it.
    void powersDoNotDependOnNeighbours() {
        for (const Build& build : builds()) {
            std::vector<float> bases(32, 1.7F);
            const std::vector<float> exponents(32, 2.3F);
            std::vector<float> alone(32);
            std::vector<float> out(32);
            build.pow(bases.data(), exponents.data(), 1, alone.data(), 32);
            for (const float special : {-2.0F, 0.0F, kNaN, kInf, 1e-40F}) {
                bases[5] = special;
                build.pow(bases.data(), exponents.data(), 1, out.data(), 32);
                for (std::size_t i = 0; i < 32; ++i)
                    if (i != 5) QCOMPARE(out[i], alone[i]);
            }
        }
    }

    /// Like Half's own conversions, from all numbers of 16 bits and to them.
    void halvesAreConverted() {
        std::vector<Half> halves(65536 + 3);
        for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = std::uint16_t(i);
        std::vector<float> floats(halves.size() + 1, -7.0F);
        vectorFromHalf(halves.data(), floats.data(), std::int64_t(halves.size()));
        for (std::size_t i = 0; i < halves.size(); ++i) {
            const auto wanted = static_cast<float>(halves[i]);
            QVERIFY(floats[i] == wanted || (std::isnan(floats[i]) && std::isnan(wanted)));
        }
        QCOMPARE(floats.back(), -7.0F);
        const std::vector<float> in = patterns();
        std::vector<Half> out(in.size() + 1, Half(-7.0F));
        vectorToHalf(in.data(), out.data(), std::int64_t(in.size()));
        for (std::size_t i = 0; i < in.size(); ++i) {
            const Half wanted(in[i]);
            QVERIFY(out[i].bits == wanted.bits ||
                    (std::isnan(in[i]) && std::isnan(static_cast<float>(out[i]))));
        }
        QCOMPARE(out.back().bits, Half(-7.0F).bits);
    }

    /// Every length around the width of a vector, with memory beyond the end left as it was.
    void lengthsAndNeighbours() {
        for (std::int64_t count = 0; count <= 140; ++count) {
            std::vector<float> in(std::size_t(count) + 1, 0.25F);
            std::vector<float> out(std::size_t(count) + 1, -7.0F);
            VectorMap{VectorFunction::exp}(in.data(), out.data(), count);
            for (std::int64_t i = 0; i < count; ++i) QCOMPARE(out[std::size_t(i)], out[0]);
            QCOMPARE(out.back(), -7.0F);
            std::vector<float> terms(std::size_t(count) + 1, -7.0F);
            const double sum = vectorExpSum(in.data(), 0.25F, terms.data(), count);
            QVERIFY(std::fabs(sum - double(count)) < 1e-6);
            QCOMPARE(terms.back(), -7.0F);
            QCOMPARE(vectorMax(in.data(), count), count ? 0.25F : -kInf);
            std::vector<float> changed(std::size_t(count) + 1, -7.0F);
            vectorScale(in.data(), 8, changed.data(), count);
            for (std::int64_t i = 0; i < count; ++i) QCOMPARE(changed[std::size_t(i)], 2.0F);
            vectorSubtract(changed.data(), 0.5F, 3, changed.data(), count);
            for (std::int64_t i = 0; i < count; ++i) QCOMPARE(changed[std::size_t(i)], -1.5F);
            QCOMPARE(changed.back(), -7.0F);
            for (std::int64_t i = 0; i < count; ++i) {
                in[std::size_t(i)] = 9;
                QCOMPARE(vectorMax(in.data(), count), 9.0F);
                in[std::size_t(i)] = kNaN;
                QCOMPARE(vectorMax(in.data(), count), count > 1 ? 0.25F : -kInf);
                in[std::size_t(i)] = 0.25F;
            }
        }
    }

    /// A few rows times a panel. Nothing beside the rows is written.
    void rowsTimesAPanel() {
        for (const Build& build : builds())
            for (std::int64_t rows = 1; rows <= 9; ++rows)
                for (const std::int64_t inner : {1, 3, 20}) {
                    const std::int64_t columns = build.panelColumns;
                    const std::int64_t xStride = inner + 2;
                    const std::int64_t yStride = columns + 3;
                    std::vector<float> x;
                    for (std::int64_t i = 0; i < rows * xStride; ++i) x.push_back(float(i % 7) - 2.5F);
                    std::vector<float> panel;
                    for (std::int64_t i = 0; i < inner * columns; ++i) panel.push_back(float(i % 11) - 4.5F);
                    std::vector<float> y(std::size_t(rows * yStride), -7.0F);
                    build.multiplyRows(x.data(), xStride, rows, inner, panel.data(), y.data(), yStride);
                    for (std::int64_t r = 0; r < rows; ++r)
                        for (std::int64_t c = 0; c < yStride; ++c) {
                            double wanted = c < columns ? 0 : -7; // exact in f32, too
                            for (std::int64_t k = 0; c < columns && k < inner; ++k)
                                wanted += double(x[std::size_t(r * xStride + k)]) *
                                          double(panel[std::size_t(k * columns + c)]);
                            QCOMPARE(double(y[std::size_t(r * yStride + c)]), wanted);
                        }
                }
    }

    /// Every number of elements around the width of a vector, and of rows around those at a time. Nothing
    /// beside the rows is read, and a NaN reaches its row only.
    void dotsOfRows() {
        for (const Build& build : builds())
            for (std::int64_t length = 1; length <= 40; ++length)
                for (std::int64_t count = 0; count <= 9; ++count) {
                    const std::int64_t stride = length + 3;
                    std::vector<float> x;
                    for (std::int64_t k = 0; k < length; ++k) x.push_back(float(k % 5) - 1.5F);
                    std::vector<float> rows(std::size_t(stride * count), kNaN);
                    for (std::int64_t i = 0; i < count; ++i)
                        for (std::int64_t k = 0; k < length; ++k)
                            rows[std::size_t(i * stride + k)] = i == 2 ? kNaN : float((i + k) % 7);
                    std::vector<float> out(std::size_t(count) + 1, -7.0F);
                    build.dots(x.data(), length, rows.data(), stride, out.data(), count);
                    for (std::int64_t i = 0; i < count; ++i) {
                        double wanted = 0; // exact in f32, too
                        for (std::int64_t k = 0; k < length; ++k)
                            wanted += double(x[std::size_t(k)]) * double((i + k) % 7);
                        QVERIFY(i == 2 ? std::isnan(out[2]) : double(out[std::size_t(i)]) == wanted);
                    }
                    QCOMPARE(out.back(), -7.0F);
                }
    }

    /// Every build adds in the same order, with memory beside the rows left out.
    void rowsAreAdded() {
        for (const std::int64_t width : {1, 5, 8, 16, 31, 32, 33, 64, 128, 200, 512})
            for (const std::int64_t rows : {0, 1, 2, 3, 4, 5, 9}) {
                const std::int64_t stride = width + 2;
                std::vector<float> in(std::size_t(stride * rows), kNaN);
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t c = 0; c < width; ++c)
                        in[std::size_t(r * stride + c)] = float((r * 37 + c * 11) % 23) / 7 - 1.3F;
                const auto start = [](std::int64_t c) { return double(c % 3) / 3; };
                for (const Summand summand : {Summand::value, Summand::size, Summand::square}) {
                    std::vector<double> wanted;
                    for (std::int64_t c = 0; c < width; ++c) {
                        wanted.push_back(start(c));
                        for (std::int64_t r = 0; r < rows; ++r) {
                            const double x = double(in[std::size_t(r * stride + c)]);
                            wanted.back() += summand == Summand::value  ? x
                                             : summand == Summand::size ? std::fabs(x)
                                                                        : x * x;
                        }
                    }
                    for (const Build& build : builds()) {
                        std::vector<double> sums;
                        for (std::int64_t c = 0; c < width; ++c) sums.push_back(start(c));
                        build.addRows(summand, in.data(), rows, stride, width, sums.data());
                        QVERIFY2(sums == wanted, build.name);
                    }
                }
            }
    }

    void theMostOfRowsIsFound() {
        for (const std::int64_t width : {1, 7, 16, 32, 40, 130, 512})
            for (const std::int64_t rows : {0, 1, 3, 4, 6})
                for (const bool largest : {true, false}) {
                    const std::int64_t stride = width + 1;
                    const float none = largest ? -kInf : kInf;
                    std::vector<float> in(std::size_t(stride * rows), -4 * none); // must not be read
                    for (std::int64_t r = 0; r < rows; ++r)
                        for (std::int64_t c = 0; c < width; ++c)
                            in[std::size_t(r * stride + c)] =
                                c == 6 && r == 2 ? kNaN : float((r * 37 + c * 11) % 23) - 11;
                    for (const Build& build : builds()) {
                        std::vector<float> most(std::size_t(width), none);
                        build.mostOfRows(largest, in.data(), rows, stride, width, most.data());
                        for (std::int64_t c = 0; c < width; ++c) {
                            float wanted = none;
                            for (std::int64_t r = 0; r < rows; ++r) {
                                const float x = in[std::size_t(r * stride + c)];
                                if (std::isnan(x) || (largest ? x > wanted : x < wanted)) wanted = x;
                            }
                            const float found = most[std::size_t(c)];
                            QVERIFY2(std::isnan(wanted) ? std::isnan(found) : found == wanted, build.name);
                        }
                    }
                }
    }

    void rowsAreScaled() {
        for (const Build& build : builds())
            for (std::int64_t count = 0; count <= 70; ++count) {
                std::vector<float> in;
                std::vector<float> factors;
                for (std::int64_t i = 0; i < count; ++i) {
                    in.push_back(float(i) / 3);
                    factors.push_back(float(i % 7) - 2.5F);
                }
                std::vector<float> out(std::size_t(count) + 1, -7.0F);
                build.scaleEach(in.data(), 1.25F, factors.data(), out.data(), count);
                for (std::size_t i = 0; i < in.size(); ++i) QCOMPARE(out[i], in[i] * 1.25F * factors[i]);
                QCOMPARE(out.back(), -7.0F);
            }
    }

    /// Every number of units around the width of a vector. Nothing beside them is written.
    void unitsOfAnLstm() {
        const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        for (const Build& build : builds())
            for (std::int64_t count = 0; count <= 40; ++count) {
                const std::int64_t inputStep = count + 5;
                const std::int64_t gateStep = count + 2;
                const auto some = [](std::int64_t size, int seed) {
                    std::vector<float> out;
                    for (std::int64_t i = 0; i < size; ++i)
                        out.push_back(float((i * 37 + seed) % 101 - 50) / 8);
                    return out;
                };
                const std::vector<float> inputs = some(4 * inputStep, 1);
                const std::vector<float> gates = some(4 * gateStep, 2);
                const std::vector<float> before = some(count + 1, 3);
                std::vector<float> c = before;
                std::vector<float> h(std::size_t(count) + 1, -7.0F);
                build.lstmUnits(inputs.data(), inputStep, gates.data(), gateStep, count, c.data(), h.data());
                for (std::int64_t i = 0; i < count; ++i) {
                    const auto gate = [&](std::int64_t which) {
                        return double(inputs[std::size_t(which * inputStep + i)]) +
                               double(gates[std::size_t(which * gateStep + i)]);
                    };
                    const double state = sigmoid(gate(2)) * double(before[std::size_t(i)]) +
                                         sigmoid(gate(0)) * std::tanh(gate(3));
                    QVERIFY(std::abs(double(c[std::size_t(i)]) - state) < 2e-6);
                    QVERIFY(std::abs(double(h[std::size_t(i)]) - sigmoid(gate(1)) * std::tanh(state)) < 1e-6);
                }
                QCOMPARE(c.back(), before.back());
                QCOMPARE(h.back(), -7.0F);
            }
    }

    /// Subnormal shares of a softmax would slow down the products that read them.
    void termsBelowTheSmallestNormalNumberAreZero() {
        const std::vector<float> in{0, -87.3F, -87.4F, -100, -kInf, kNaN, 0, -90, -87.2F};
        for (const Build& build : builds()) {
            std::vector<float> out(in.size());
            build.expSum(in.data(), 0, out.data(), std::int64_t(in.size()));
            for (std::size_t i = 0; i < in.size(); ++i) {
                const double wanted = in[i] < -87.35F ? 0 : std::exp(double(in[i]));
                QVERIFY2(unitsApart(out[i], wanted) <= 4, qPrintable(QString::number(double(in[i]))));
                QVERIFY(!(out[i] != 0 && out[i] < std::numeric_limits<float>::min()));
            }
        }
    }
};

TWB_TEST_MAIN(TestVectorMath)
#include "test_vector_math.moc"
