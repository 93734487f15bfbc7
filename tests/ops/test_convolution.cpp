#include "backends/cpu/strided.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

using Integers = std::vector<std::int64_t>;

/// The attributes of a convolution in full: one entry per spatial axis.
struct Setting {
    Integers kernel, strides, dilations, padBegin, padEnd;
    std::int64_t groups = 1;

    Attributes attributes() const {
        Integers pads = padBegin;
        pads.insert(pads.end(), padEnd.begin(), padEnd.end());
        return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
    }
};

/// Calls visit(place, index) for every position of a grid, row-major.
template <class Visit> void overGrid(const Integers& sizes, const Visit& visit) {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    for (std::int64_t i = 0; i < count; ++i) {
        Integers place(sizes.size());
        std::int64_t rest = i;
        for (std::size_t a = sizes.size(); a-- > 0;) {
            place[a] = rest % sizes[a];
            rest /= sizes[a];
        }
        visit(place, i);
    }
}

std::int64_t productOf(const Integers& sizes) {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    return count;
}

/// Calls meet(position, tap, element) for each combination; `element` is -1 in the padding.
template <class Meet>
void overWindow(const Setting& s, const Integers& in, const Integers& out, const Meet& meet) {
    overGrid(out, [&](const Integers& position, std::int64_t o) {
        overGrid(s.kernel, [&](const Integers& tap, std::int64_t t) {
            std::int64_t element = 0;
            for (std::size_t a = 0; a < in.size(); ++a) {
                const std::int64_t at = position[a] * s.strides[a] + tap[a] * s.dilations[a] - s.padBegin[a];
                if (at < 0 || at >= in[a]) return;
                element = element * in[a] + at;
            }
            meet(o, t, element);
        });
    });
}

struct Sizes {
    std::int64_t batch, inChannels, outChannels; ///< channels per group
    Integers in, out;
};

std::vector<double> convolved(const Setting& s, const Sizes& z, const std::vector<double>& x,
                              const std::vector<double>& w, const std::vector<double>& bias) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    std::vector<double> y;
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t m = 0; m < s.groups * z.outChannels; ++m) {
            std::vector<double> plane(static_cast<std::size_t>(out),
                                      bias.empty() ? 0 : bias[static_cast<std::size_t>(m)]);
            const std::int64_t group = m / z.outChannels;
            overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                for (std::int64_t c = 0; c < z.inChannels; ++c)
                    plane[static_cast<std::size_t>(o)] +=
                        x[static_cast<std::size_t>(((n * s.groups + group) * z.inChannels + c) * in +
                                                   element)] *
                        w[static_cast<std::size_t>((m * z.inChannels + c) * taps + t)];
            });
            y.insert(y.end(), plane.begin(), plane.end());
        }
    return y;
}

/// Scatters x, which has the sizes `out`, over the sizes `in`.
std::vector<double> spread(const Setting& s, const Sizes& z, const std::vector<double>& x,
                           const std::vector<double>& w, const std::vector<double>& bias) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    std::vector<double> y;
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t c = 0; c < s.groups * z.inChannels; ++c) {
            std::vector<double> plane(static_cast<std::size_t>(in),
                                      bias.empty() ? 0 : bias[static_cast<std::size_t>(c)]);
            const std::int64_t group = c / z.inChannels;
            overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                for (std::int64_t m = 0; m < z.outChannels; ++m) {
                    const std::int64_t outer = group * z.outChannels + m;
                    plane[static_cast<std::size_t>(element)] +=
                        x[static_cast<std::size_t>((n * s.groups * z.outChannels + outer) * out + o)] *
                        w[static_cast<std::size_t>((outer * z.inChannels + c % z.inChannels) * taps + t)];
                }
            });
            y.insert(y.end(), plane.begin(), plane.end());
        }
    return y;
}

/// The gradient of w, from x and the gradient of the result.
std::vector<double> weightGradient(const Setting& s, const Sizes& z, const std::vector<double>& x,
                                   const std::vector<double>& dy) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    const std::int64_t results = s.groups * z.outChannels;
    std::vector<double> dw(static_cast<std::size_t>(results * z.inChannels * taps), 0);
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t m = 0; m < results; ++m)
            for (std::int64_t c = 0; c < z.inChannels; ++c)
                overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                    const std::int64_t plane = (n * s.groups + m / z.outChannels) * z.inChannels + c;
                    dw[static_cast<std::size_t>((m * z.inChannels + c) * taps + t)] +=
                        dy[static_cast<std::size_t>((n * results + m) * out + o)] *
                        x[static_cast<std::size_t>(plane * in + element)];
                });
    return dw;
}

Shape planes(std::int64_t batch, std::int64_t channels, const Integers& sizes) {
    Integers dims{batch, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return Shape(dims);
}

/// A random convolution that fits: kernel and padding with at least one position along each axis.
void throwDice(Dice& dice, int rank, Setting& s, Sizes& z) {
    s = {};
    z = {dice.integer(1, 2), dice.integer(1, 5), dice.integer(1, 5), {}, {}};
    s.groups = dice.one(3) ? dice.integer(2, 3) : 1;
    if (dice.one(5)) z.inChannels = z.outChannels = 1;
    if (dice.one(12)) z.inChannels = 40;
    for (int a = 0; a < rank; ++a) {
        s.kernel.push_back(dice.one(3) ? 1 : dice.integer(1, 3));
        s.strides.push_back(dice.integer(1, 3));
        s.dilations.push_back(dice.integer(1, 3));
        s.padBegin.push_back(dice.integer(0, 2));
        s.padEnd.push_back(dice.integer(0, 2));
        const std::int64_t reach = (s.kernel.back() - 1) * s.dilations.back() + 1;
        const std::int64_t pad = s.padBegin.back() + s.padEnd.back();
        z.in.push_back(std::max<std::int64_t>(dice.integer(1, rank > 2 ? 5 : 9), reach - pad));
        z.out.push_back((z.in.back() + pad - reach) / s.strides.back() + 1);
    }
}

Tolerance forDepth(const char* op, std::int64_t depth) {
    Tolerance tolerance = findOp(op)->tolerance;
    tolerance.atol *= std::max<double>(1, static_cast<double>(depth) / 10);
    return tolerance;
}

} // namespace

class TestConvolution : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void conv_data();
    void conv();
    void transpose_data() { conv_data(); }
    void transpose();
    void weightGradients_data() { conv_data(); }
    void weightGradients();
    void largeOnes();
    void constantWeightsArePackedOnce();
    void winogradIsExactForSpecialNumbers();
    void causal();
    void autoPad();
    void outputShapes();
    void integers();
    void quantized();
    void empty();
    void infers();
    void refuses_data();
    void refuses();
};

void TestConvolution::conv_data() {
    QTest::addColumn<int>("dtype");
    QTest::addColumn<int>("rank");
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (int rank : {1, 2, 3, 4})
            QTest::addRow("%s %dd", std::string(name(dtype)).c_str(), rank)
                << static_cast<int>(dtype) << rank;
}

void TestConvolution::conv() {
    QFETCH(int, dtype);
    QFETCH(int, rank);
    const auto type = static_cast<DType>(dtype);
    Dice dice(51);
    for (int round = 0; round < (rank > 3 ? 10 : 60); ++round) {
        Setting s;
        Sizes z;
        throwDice(dice, rank, s, z);
        const Tensor x = dice.tensor(type, planes(z.batch, s.groups * z.inChannels, z.in), -1, 1);
        const Tensor w = dice.tensor(type, planes(s.groups * z.outChannels, z.inChannels, s.kernel), -1, 1);
        Tensor bias;
        if (dice.one(2)) bias = dice.tensor(type, {s.groups * z.outChannels}, -1, 1);
        const auto expected =
            convolved(s, z, valuesOf(x), valuesOf(w), bias ? valuesOf(bias) : std::vector<double>{});
        Attributes attributes = s.attributes();
        if (dice.one(2)) attributes.set("kernel_shape", s.kernel);
        const Tensor y = runOp("Conv", attributes,
                               {inLayout(x, dice.layout()), inLayout(w, dice.layout()),
                                bias ? inLayout(bias, dice.layout()) : bias})[0];
        const QString wrong = difference(y, planes(z.batch, s.groups * z.outChannels, z.out), expected,
                                         forDepth("Conv", z.inChannels * productOf(s.kernel)));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestConvolution::transpose() {
    QFETCH(int, dtype);
    QFETCH(int, rank);
    const auto type = static_cast<DType>(dtype);
    Dice dice(52);
    for (int round = 0; round < (rank > 3 ? 10 : 60); ++round) {
        Setting s;
        Sizes z;
        throwDice(dice, rank, s, z);
        Integers added;
        for (std::size_t a = 0; a < s.kernel.size(); ++a) {
            added.push_back(dice.integer(0, std::max(s.strides[a], s.dilations[a]) - 1));
            z.in[a] = (z.out[a] - 1) * s.strides[a] + added[a] + (s.kernel[a] - 1) * s.dilations[a] + 1 -
                      s.padBegin[a] - s.padEnd[a];
            while (z.in[a] < 1) {
                ++z.in[a];
                --(s.padEnd[a] > 0 ? s.padEnd[a] : s.padBegin[a]);
            }
        }
        const Tensor x = dice.tensor(type, planes(z.batch, s.groups * z.outChannels, z.out), -1, 1);
        const Tensor w = dice.tensor(type, planes(s.groups * z.outChannels, z.inChannels, s.kernel), -1, 1);
        Tensor bias;
        if (dice.one(2)) bias = dice.tensor(type, {s.groups * z.inChannels}, -1, 1);
        const auto expected =
            spread(s, z, valuesOf(x), valuesOf(w), bias ? valuesOf(bias) : std::vector<double>{});
        Attributes attributes = s.attributes();
        attributes.set("output_padding", added);
        const Tensor y = runOp("ConvTranspose", attributes,
                               {inLayout(x, dice.layout()), inLayout(w, dice.layout()), bias})[0];
        const QString wrong = difference(y, planes(z.batch, s.groups * z.inChannels, z.in), expected,
                                         forDepth("ConvTranspose", z.outChannels * productOf(s.kernel)));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestConvolution::weightGradients() {
    QFETCH(int, dtype);
    QFETCH(int, rank);
    const auto type = static_cast<DType>(dtype);
    Dice dice(54);
    for (int round = 0; round < (rank > 3 ? 10 : 60); ++round) {
        Setting s;
        Sizes z;
        throwDice(dice, rank, s, z);
        const Tensor x = dice.tensor(type, planes(z.batch, s.groups * z.inChannels, z.in), -1, 1);
        const Tensor dy = dice.tensor(type, planes(z.batch, s.groups * z.outChannels, z.out), -1, 1);
        Attributes attributes = s.attributes();
        attributes.set("kernel_shape", s.kernel);
        const Tensor dw =
            runOp("ConvWeightGrad", attributes, {inLayout(dy, dice.layout()), inLayout(x, dice.layout())})[0];
        const QString wrong = difference(dw, planes(s.groups * z.outChannels, z.inChannels, s.kernel),
                                         weightGradient(s, z, valuesOf(x), valuesOf(dy)),
                                         forDepth("ConvWeightGrad", z.batch * productOf(z.out)));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

/// Sizes that occur in networks, for both of the ways in which oneDNN is called.
void TestConvolution::largeOnes() {
    Dice dice(53);
    struct Case {
        std::int64_t channels, results, size, kernel, stride, groups;
    };
    for (const Case& c : {Case{3, 16, 40, 7, 2, 1}, Case{32, 32, 14, 3, 1, 1}, Case{64, 64, 7, 3, 1, 1},
                          Case{16, 64, 20, 1, 1, 1}, Case{1, 1, 20, 3, 1, 24}, Case{16, 16, 9, 3, 2, 2}})
        for (DType type : {DType::f32, DType::bf16}) {
            const std::int64_t pad = c.kernel / 2;
            const std::int64_t out = (c.size + 2 * pad - c.kernel) / c.stride + 1;
            const Setting s{{c.kernel, c.kernel}, {c.stride, c.stride}, {1, 1},
                            {pad, pad},           {pad, pad},           c.groups};
            const Sizes z{1, c.channels, c.results, {c.size, c.size}, {out, out}};
            const Tensor x = dice.tensor(type, planes(1, c.groups * c.channels, z.in), -1, 1);
            const Tensor w = dice.tensor(type, planes(c.groups * c.results, c.channels, s.kernel), -1, 1);
            const Tensor b = dice.tensor(type, {c.groups * c.results}, -1, 1);
            const auto expected = convolved(s, z, valuesOf(x), valuesOf(w), valuesOf(b));
            for (int run = 0; run < 2; ++run) {
                const QString wrong = difference(runOp("Conv", s.attributes(), {x, w, b})[0],
                                                 planes(1, c.groups * c.results, z.out), expected,
                                                 forDepth("Conv", c.channels * c.kernel * c.kernel));
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
            const Tensor dy = dice.tensor(type, planes(1, c.groups * c.results, z.out), -1, 1);
            Attributes attributes = s.attributes();
            attributes.set("kernel_shape", s.kernel);
            const QString wrong = difference(runOp("ConvWeightGrad", attributes, {dy, x})[0], w.shape(),
                                             weightGradient(s, z, valuesOf(x), valuesOf(dy)),
                                             forDepth("ConvWeightGrad", out * out));
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestConvolution::causal() {
    Dice dice(57);
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (int round = 0; round < 40; ++round) {
            const std::int64_t channels = dice.integer(1, 3);
            const std::int64_t length = dice.integer(0, 5);
            const std::int64_t taps = dice.integer(1, 4);
            const std::int64_t before = taps - 1;
            const Tensor x = dice.tensor(dtype, {2, channels, length}, -2, 2);
            const Tensor weight = dice.tensor(dtype, {channels, 1, taps}, -2, 2);
            const Tensor bias = dice.one(2) ? dice.tensor(dtype, {channels}, -2, 2) : Tensor();
            const Tensor past = dice.one(2) ? dice.tensor(dtype, {2, channels, before}, -2, 2) : Tensor();
            const bool isSwish = dice.one(2);
            const auto padded = [&](std::int64_t line, std::int64_t i) {
                if (i >= before) return x.at(line * length + i - before);
                return past ? past.at(line * before + i) : 0.0;
            };
            std::vector<double> y;
            std::vector<double> present;
            for (std::int64_t line = 0; line < 2 * channels; ++line) {
                for (std::int64_t i = 0; i < length; ++i) {
                    double sum = bias ? bias.at(line % channels) : 0;
                    for (std::int64_t k = 0; k < taps; ++k)
                        sum += weight.at(line % channels * taps + k) * padded(line, i + k);
                    y.push_back(isSwish ? sum / (1 + std::exp(-sum)) : sum);
                }
                for (std::int64_t i = 0; i < before; ++i) present.push_back(padded(line, length + i));
            }
            const auto laidOut = [&](const Tensor& tensor) {
                return tensor ? inLayout(tensor, dice.layout()) : tensor;
            };
            const auto outputs =
                runOp("CausalConvWithState", {{"activation", std::string(isSwish ? "silu" : "none")}},
                      {laidOut(x), laidOut(weight), laidOut(bias), laidOut(past)});
            QString wrong = difference(outputs[0], x.shape(), y, findOp("CausalConvWithState")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            wrong = difference(outputs[1], {2, channels, before}, present, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const auto error = [](const std::vector<Shape>& shapes) {
        std::vector<TensorType> types;
        for (const Shape& shape : shapes) types.push_back({DType::f32, shape});
        return inferError([&] { inferTypes("CausalConvWithState", {}, types); });
    };
    QVERIFY(error({{2, 3}, {3, 1, 2}}).contains("must have three axes"));
    QVERIFY(error({{2, 3, 4}, {3, 2, 2}}).contains("weight must have size [3, 1, k]"));
    QVERIFY(error({{2, 3, 4}, {3, 1, 2}, {4}}).contains("bias must have size [3]"));
    QVERIFY(error({{2, 3, 4}, {3, 1, 2}, {3}, {2, 3, 2}}).contains("past_state must have size [2, 3, 1]"));
}

void TestConvolution::autoPad() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 5}, {1, 2, 3, 4, 5});
    const Tensor w = tensorOf(DType::f32, {1, 1, 2}, {1, 10});
    const auto run = [&](const char* mode, std::int64_t stride) {
        return valuesOf(
            runOp("Conv", {{"auto_pad", std::string(mode)}, {"strides", Integers{stride}}}, {x, w})[0]);
    };
    QCOMPARE(run("VALID", 1), (std::vector<double>{21, 32, 43, 54}));
    QCOMPARE(run("SAME_UPPER", 1), (std::vector<double>{21, 32, 43, 54, 5}));
    QCOMPARE(run("SAME_LOWER", 1), (std::vector<double>{10, 21, 32, 43, 54}));
    QCOMPARE(run("SAME_UPPER", 2), (std::vector<double>{21, 43, 5}));
    QCOMPARE(run("SAME_LOWER", 2), (std::vector<double>{10, 32, 54}));
}

void TestConvolution::outputShapes() {
    const TensorType x{DType::f32, {1, 1, 3, 3}};
    const TensorType w{DType::f32, {1, 2, 3, 3}};
    const auto shape = [&](Attributes attributes) {
        attributes.set("strides", Integers{3, 2});
        return inferTypes("ConvTranspose", attributes, {x, w})[0].shape;
    };
    QCOMPARE(shape({}), (Shape{1, 2, 9, 7}));
    QCOMPARE(shape({{"output_padding", Integers{1, 1}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"output_shape", Integers{10, 8}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"output_shape", Integers{1, 2, 10, 8}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"auto_pad", std::string("SAME_UPPER")}}), (Shape{1, 2, 9, 6}));
    QCOMPARE(shape({{"pads", Integers{1, 2, 1, 2}}}), (Shape{1, 2, 7, 3}));
    // Elements beyond the last window are the bias alone.
    const Tensor y = runOp("ConvTranspose", {{"output_shape", Integers{5}}, {"strides", Integers{2}}},
                           {tensorOf(DType::f32, {1, 1, 2}, {1, 2}), tensorOf(DType::f32, {1, 1, 2}, {1, 10}),
                            tensorOf(DType::f32, {1}, {100})})[0];
    QCOMPARE(valuesOf(y), (std::vector<double>{101, 110, 102, 120, 100}));
}

void TestConvolution::integers() {
    Dice dice(54);
    for (DType xType : {DType::u8, DType::i8})
        for (DType wType : {DType::u8, DType::i8})
            for (int round = 0; round < 30; ++round) {
                Setting s;
                Sizes z;
                throwDice(dice, 2, s, z);
                const auto low = [](DType type) { return type == DType::u8 ? 0 : -128; };
                const Tensor x = dice.tensor(xType, planes(z.batch, s.groups * z.inChannels, z.in),
                                             low(xType), low(xType) + 255);
                const Tensor w = dice.tensor(wType, planes(s.groups * z.outChannels, z.inChannels, s.kernel),
                                             low(wType), low(wType) + 255);
                const Tensor xZero = dice.tensor(xType, dice.one(2) ? Shape{} : Shape{1}, 0, 100);
                const Tensor wZero =
                    dice.tensor(wType, dice.one(2) ? Shape{s.groups * z.outChannels} : Shape{}, 0, 100);
                std::vector<double> xs = valuesOf(x);
                std::vector<double> ws = valuesOf(w);
                for (double& value : xs) value -= xZero.at(0);
                const std::size_t length = ws.size() / static_cast<std::size_t>(s.groups * z.outChannels);
                for (std::size_t i = 0; i < ws.size(); ++i)
                    ws[i] -= wZero.at(wZero.elementCount() == 1 ? 0 : static_cast<std::int64_t>(i / length));
                const Tensor y =
                    runOp("ConvInteger", s.attributes(),
                          {inLayout(x, dice.layout()), inLayout(w, dice.layout()), xZero, wZero})[0];
                QCOMPARE(y.dtype(), DType::i32);
                const QString wrong = difference(y, planes(z.batch, s.groups * z.outChannels, z.out),
                                                 convolved(s, z, xs, ws, {}), {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
    const Tensor bytes = tensorOf(DType::u8, {1, 1, 2}, {3, 4});
    QCOMPARE(valuesOf(runOp("ConvInteger", {}, {bytes, bytes})[0]), (std::vector<double>{25}));
}

void TestConvolution::quantized() {
    Dice dice(55);
    for (DType yType : {DType::u8, DType::i8})
        for (int round = 0; round < 40; ++round) {
            Setting s;
            Sizes z;
            throwDice(dice, 2, s, z);
            const std::int64_t results = s.groups * z.outChannels;
            const Tensor x = dice.tensor(DType::u8, planes(z.batch, s.groups * z.inChannels, z.in), 0, 255);
            const Tensor w = dice.tensor(DType::i8, planes(results, z.inChannels, s.kernel), -128, 127);
            const bool perChannel = dice.one(2);
            const Tensor wScale = dice.tensor(DType::f32, perChannel ? Shape{results} : Shape{}, 0.01, 0.1);
            const Tensor wZero = dice.tensor(DType::i8, perChannel ? Shape{results} : Shape{}, -3, 3);
            const Tensor xScale = dice.tensor(DType::f32, {}, 0.01, 0.1);
            const Tensor yScale = dice.tensor(DType::f32, {}, 0.5, 1);
            const Tensor xZero = dice.tensor(DType::u8, {}, 100, 150);
            const Tensor yZero = dice.tensor(yType, {}, 0, 100);
            const Tensor bias = dice.one(2) ? dice.tensor(DType::i32, {results}, -500, 500) : Tensor{};
            std::vector<double> xs = valuesOf(x);
            std::vector<double> ws = valuesOf(w);
            for (double& value : xs) value -= xZero.at(0);
            const std::size_t length = ws.size() / static_cast<std::size_t>(results);
            const auto channel = [&](std::size_t i) {
                return perChannel ? static_cast<std::int64_t>(i) % results : 0;
            };
            for (std::size_t i = 0; i < ws.size(); ++i) ws[i] -= wZero.at(channel(i / length));
            const std::vector<double> sums =
                convolved(s, z, xs, ws, bias ? valuesOf(bias) : std::vector<double>{});
            const Tensor y = runOp("QLinearConv", s.attributes(),
                                   {x, xScale, xZero, w, wScale, wZero, yScale, yZero, bias})[0];
            QCOMPARE(y.dtype(), yType);
            const std::size_t plane = static_cast<std::size_t>(productOf(z.out));
            for (std::size_t i = 0; i < sums.size(); ++i) {
                const double factor = xScale.at(0) * wScale.at(channel(i / plane)) / yScale.at(0);
                const double exact = sums[i] * factor + yZero.at(0);
                const double clipped =
                    std::clamp(exact, yType == DType::u8 ? 0.0 : -128.0, yType == DType::u8 ? 255.0 : 127.0);
                QVERIFY(std::abs(y.at(static_cast<std::int64_t>(i)) - clipped) <= 0.5 + 1e-3);
            }
        }
}

void TestConvolution::empty() {
    for (DType type : {DType::f32, DType::f64, DType::bf16}) {
        const auto none = [&](const Shape& shape) { return Tensor::onHost({type, shape}); };
        const Tensor w = none({3, 2, 2, 2});
        QCOMPARE(runOp("Conv", {}, {none({0, 2, 5, 5}), w})[0].shape(), (Shape{0, 3, 4, 4}));
        const Tensor bias = tensorOf(type, {3}, {1, 2, 3});
        // Without input channels, the result is the bias.
        const Tensor y = runOp("Conv", {}, {none({1, 0, 2, 2}), none({3, 0, 2, 2}), bias})[0];
        QCOMPARE(valuesOf(y), (std::vector<double>{1, 2, 3}));
        QCOMPARE(runOp("ConvTranspose", {}, {none({0, 3, 5, 5}), w})[0].shape(), (Shape{0, 2, 6, 6}));
        const Tensor spread = runOp("ConvTranspose", {}, {none({1, 0, 1, 1}), none({0, 3, 1, 1}), bias})[0];
        QCOMPARE(valuesOf(spread), (std::vector<double>{1, 2, 3}));
        // Without images, the gradient is 0.
        const Tensor dw = runOp("ConvWeightGrad", {{"kernel_shape", Integers{1, 2}}},
                                {none({0, 2, 3, 3}), none({0, 1, 3, 4})})[0];
        QCOMPARE(dw.shape(), (Shape{2, 1, 1, 2}));
        QCOMPARE(valuesOf(dw), std::vector<double>(4, 0));
    }
}

void TestConvolution::infers() {
    const TensorType x{DType::f32, {kUnknownDim, 3, kUnknownDim, 32}};
    const TensorType w{DType::f32, {8, 3, 3, 3}};
    QCOMPARE(inferTypes("Conv", {}, {x, w})[0].shape, (Shape{kUnknownDim, 8, kUnknownDim, 30}));
    QCOMPARE(inferTypes("ConvTranspose", {}, {{DType::f32, {kUnknownDim, 8, kUnknownDim, 4}}, w})[0].shape,
             (Shape{kUnknownDim, 3, kUnknownDim, 6}));
    const TensorType dy{DType::f32, {kUnknownDim, 8, 4, 15}};
    QCOMPARE(inferTypes("ConvWeightGrad", {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}},
                        {dy, x})[0]
                 .shape,
             (Shape{8, 3, 3, 3}));
}

void TestConvolution::refuses_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<QString>("x");
    QTest::addColumn<QString>("w");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const char* op, const Attributes& attributes, const char* x,
                        const char* w, const char* says) {
        QTest::addRow("%s", tag) << QString(op) << attributes << QString(x) << QString(w) << QString(says);
    };
    row("channels", "Conv", {}, "1 4 8 8", "6 3 3 3",
        "shape-mismatch: Given groups=1, weight of size [6, 3, 3, 3], expected input[1, 4, 8, 8] to have 3 "
        "channels, but got 4 channels instead");
    row("groups", "Conv", {{"group", std::int64_t{4}}}, "1 12 8 8", "6 3 3 3", "divisible by 4");
    row("no groups", "Conv", {{"group", std::int64_t{0}}}, "1 12 8 8", "6 3 3 3", "\"group\" must be");
    row("rank", "Conv", {}, "1 3 8 8", "6 3 3", "Expected a weight of 4 dimensions");
    row("no spatial axis", "Conv", {}, "1 3", "6 3", "at least one spatial axis");
    row("kernel too large", "Conv", {}, "1 3 2 2", "6 3 3 3",
        "Kernel size can't be greater than actual input size");
    row("strides", "Conv", {{"strides", Integers{1}}}, "1 3 8 8", "6 3 3 3",
        "\"strides\" must have 2 entries");
    row("no stride", "Conv", {{"strides", Integers{0, 1}}}, "1 3 8 8", "6 3 3 3", "must be");
    row("pads", "Conv", {{"pads", Integers{1, 1}}}, "1 3 8 8", "6 3 3 3", "\"pads\" must have 4 entries");
    row("huge dilation", "Conv", {{"dilations", Integers{std::int64_t{1} << 40, 1}}}, "1 3 8 8", "6 3 3 3",
        "\"dilations\" must be");
    row("kernel_shape", "Conv", {{"kernel_shape", Integers{2, 2}}}, "1 3 8 8", "6 3 3 3",
        "but the weight has size [6, 3, 3, 3]");
    row("huge input", "Conv", {}, "1 3 8 4611686018427387904", "6 3 3 3", "too-large");
    row("transpose channels", "ConvTranspose", {}, "1 4 8 8", "6 3 3 3",
        "expected input[1, 4, 8, 8] to have 6");
    row("output padding", "ConvTranspose", {{"output_padding", Integers{1, 0}}}, "1 6 8 8", "6 3 3 3",
        "output padding must be smaller than either stride or dilation");
    row("padded away", "ConvTranspose", {{"pads", Integers{9, 0, 9, 0}}}, "1 6 8 8", "6 3 3 3",
        "removes more");
    // The gradient of the result and the image.
    const Attributes three{{"kernel_shape", Integers{3, 3}}, {"group", std::int64_t{2}}};
    row("gradient", "ConvWeightGrad", three, "1 4 5 6", "1 4 8 8",
        "shape-mismatch: the gradient of a convolution's result must have its shape [1, 4, 6, 6], but has "
        "shape [1, 4, 5, 6]");
    row("gradient groups", "ConvWeightGrad", three, "1 3 6 6", "1 4 8 8",
        "dY has 3 channels, which 2 groups cannot share equally");
    row("image groups", "ConvWeightGrad", three, "1 4 6 6", "1 5 8 8",
        "X has 5 channels, which 2 groups cannot share equally");
}

void TestConvolution::refuses() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(QString, x);
    QFETCH(QString, w);
    QFETCH(QString, says);
    const auto type = [](const QString& text) {
        Integers dims;
        for (const QString& size : text.split(' ')) dims.push_back(size.toLongLong());
        return TensorType{DType::f32, Shape(dims)};
    };
    const QString error = inferError([&] {
        inferTypes(op.toStdString(), attributes, std::vector<TensorType>{type(x), type(w)});
    });
    QVERIFY2(error.contains(says), qPrintable(error));
}

/// The step's memory keeps the packed form of constant weights; other weights are packed at every launch.
void TestConvolution::constantWeightsArePackedOnce() {
    Dice dice(7);
    const Shape in{2, 16, 9, 9};
    const Shape out{2, 24, 9, 9};
    const auto channelsLast = [](const Shape& shape) {
        return Tensor(Tensor::onHost({DType::f32, shape}).buffer(), {DType::f32, shape},
                      channelsLastStrides(shape), 0);
    };
    const Tensor x = channelsLast(in);
    copyElements(dice.tensor(DType::f32, in, -1, 1).view(), x.view());
    const Tensor first = dice.tensor(DType::f32, {24, 16, 3, 3}, -1, 1);
    const Tensor second = dice.tensor(DType::f32, {24, 16, 3, 3}, -1, 1);
    const Tensor w = Tensor::onHost(first.type());
    const Tensor y = channelsLast(out);
    const Op& op = *findOp("Conv");
    const Attributes attributes = completeAttributes(op, {{"pads", Integers{1, 1, 1, 1}}});
    const std::vector<TensorView> inputs{x.view(), w.view()};
    const std::vector<TensorView> outputs{y.view()};
    const auto launch = [&](const Tensor& weights, StepMemory& memory) {
        copyElements(weights.view(), w.view());
        op.kernel({inputs, outputs, attributes, nullptr, &memory});
    };
    const auto differs = [&](const Tensor& from) {
        const Tensor expected = runOp("Conv", {{"pads", Integers{1, 1, 1, 1}}}, {x, from})[0];
        return difference(y, out, valuesOf(expected), {1e-5, 1e-5});
    };
    StepMemory constant{nullptr, 0b10};
    launch(first, constant);
    QCOMPARE(differs(first), QString());
    QVERIFY(constant.state);
    // Weights declared constant are not read again, so a change has no effect.
    launch(second, constant);
    QCOMPARE(differs(first), QString());
    StepMemory changing;
    launch(first, changing);
    QCOMPARE(differs(first), QString());
    launch(second, changing);
    QCOMPARE(differs(second), QString());
}

/// Winograd's algorithm, which only convolutions with constant weights use, gives the numbers of the direct
/// one. It would spread a NaN, an infinity or an overflow to other elements of a tile.
void TestConvolution::winogradIsExactForSpecialNumbers() {
    Dice dice(8);
    const Shape image{1, 64, 30, 30};
    const Shape wide{64, 64, 3, 3};
    const auto channelsLast = [&] {
        return Tensor(Tensor::onHost({DType::f32, image}).buffer(), {DType::f32, image},
                      channelsLastStrides(image), 0);
    };
    const Tensor x = channelsLast();
    const Tensor w = dice.tensor(DType::f32, wide, -0.1, 0.1);
    const Tensor direct = channelsLast();
    const Tensor fast = channelsLast();
    const Op& op = *findOp("Conv");
    const Attributes attributes = completeAttributes(op, {{"pads", Integers{1, 1, 1, 1}}});
    const std::vector<TensorView> inputs{x.view(), w.view()};
    StepMemory changing;
    StepMemory constant{nullptr, 0b10};
    const auto launch = [&](const Tensor& to, StepMemory& memory) {
        const std::vector<TensorView> outputs{to.view()};
        op.kernel({inputs, outputs, attributes, nullptr, &memory});
    };
    const double specials[] = {0.5, std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(), 3e38, 0.25};
    bool differed = false; // in any bit: another algorithm ran
    for (const double special : specials) {
        copyElements(dice.tensor(DType::f32, image, -1, 1).view(), x.view());
        // Two columns apart: their difference, which the algorithm computes, may overflow.
        x.view().as<float>()[(7 * 30 + 11) * 64 + 5] = static_cast<float>(special);
        x.view().as<float>()[(7 * 30 + 13) * 64 + 5] = static_cast<float>(-special);
        launch(direct, changing);
        launch(fast, constant);
        const std::vector<double> expected = valuesOf(direct);
        const QString wrong = difference(fast, image, expected, {1e-5, 2e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(QStringLiteral("%1: %2").arg(special).arg(wrong)));
        differed |= valuesOf(fast) != expected;
    }
    // Only for a CPU with AVX-512 oneDNN has the algorithm.
    if (__builtin_cpu_supports("avx512f")) QVERIFY(differed);
}

TWB_TEST_MAIN(TestConvolution)
#include "test_convolution.moc"
