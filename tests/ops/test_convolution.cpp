#include "backends/cpu/instruction_set.h"
#include "backends/cpu/strided.h"
#include "ops/convolution_oracle.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

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
    void channelsLastOnesAreExactForSpecialNumbers();
    void causal();
    void integers();
    void quantized();
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
/// one. It would spread a NaN, an infinity or an overflow to other elements of a tile. Images of many tiles
/// are cut into tiles of 4 × 4, the others into tiles of 2 × 2; some have parts of tiles at their ends.
void TestConvolution::winogradIsExactForSpecialNumbers() {
    struct Sizes {
        std::int64_t batch, in, out, height, width;
        Integers pads;
    };
    const Sizes all[] = {{1, 64, 64, 30, 30, {1, 1, 1, 1}},  {1, 48, 80, 14, 14, {1, 1, 1, 1}},
                         {3, 32, 112, 13, 15, {1, 1, 1, 1}}, {1, 176, 96, 13, 14, {1, 1, 1, 1}},
                         {1, 32, 144, 16, 17, {0, 1, 1, 0}}, {1, 16, 272, 18, 31, {0, 0, 1, 1}}};
    Dice dice(8);
    for (const Sizes& s : all) {
        const auto channelsLast = [](const Shape& shape) {
            return Tensor(Tensor::onHost({DType::f32, shape}).buffer(), {DType::f32, shape},
                          channelsLastStrides(shape), 0);
        };
        const Shape image{s.batch, s.in, s.height, s.width};
        const Shape result{s.batch, s.out, s.height + s.pads[0] + s.pads[2] - 2,
                           s.width + s.pads[1] + s.pads[3] - 2};
        const Tensor x = channelsLast(image);
        const Tensor w = dice.tensor(DType::f32, {s.out, s.in, 3, 3}, -0.1, 0.1);
        const Tensor bias = dice.tensor(DType::f32, {s.out}, -1, 1);
        const Tensor direct = channelsLast(result);
        const Tensor fast = channelsLast(result);
        const Op& op = *findOp("Conv");
        const Attributes attributes = completeAttributes(op, {{"pads", s.pads}});
        const std::vector<TensorView> inputs{x.view(), w.view(), bias.view()};
        StepMemory changing;
        StepMemory constant{nullptr, 0b110};
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
            x.view().as<float>()[(7 * s.width + 9) * s.in + 5] = static_cast<float>(special);
            x.view().as<float>()[(7 * s.width + 11) * s.in + 5] = static_cast<float>(-special);
            launch(direct, changing);
            launch(fast, constant);
            const std::vector<double> expected = valuesOf(direct);
            // Products with the largest number nearly cancel in some sums.
            const double atol = special > 1e38 ? 1e32 : 2e-5;
            const QString wrong = difference(fast, result, expected, {1e-5, atol});
            QVERIFY2(wrong.isEmpty(), qPrintable(QStringLiteral("%1 to %2 channels, %3: %4")
                                                     .arg(s.in)
                                                     .arg(s.out)
                                                     .arg(special)
                                                     .arg(wrong)));
            differed |= valuesOf(fast) != expected;
        }
        if (hasAvx2()) QVERIFY(differed);
    }
}

/// Convolutions of single channels, with windows of one element of a single row, with many weights, and of
/// row-major images of a few channels, all with constant weights. Some images are narrower than the kernel.
void TestConvolution::channelsLastOnesAreExactForSpecialNumbers() {
    struct Sizes {
        std::int64_t in, out, group, height, width;
        Integers kernel, strides, pads;
    };
    const Sizes all[] = {{16, 16, 16, 9, 13, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                         {48, 48, 48, 11, 8, {5, 3}, {2, 1}, {2, 0, 1, 2}},
                         {112, 112, 112, 7, 7, {5, 5}, {1, 1}, {2, 2, 2, 2}},
                         {272, 272, 272, 3, 2, {5, 5}, {1, 2}, {4, 3, 2, 4}},
                         {32, 32, 32, 6, 40, {3, 3}, {2, 3}, {0, 0, 0, 0}},
                         {48, 48, 48, 13, 23, {7, 7}, {1, 1}, {3, 3, 3, 3}},
                         {32, 32, 32, 9, 31, {5, 5}, {2, 2}, {2, 2, 2, 2}},
                         {64, 64, 64, 1, 1, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                         {96, 40, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                         {31, 16, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                         {600, 1001, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                         {1040, 260, 1, 6, 9, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                         {580, 460, 1, 5, 11, {1, 1}, {2, 2}, {0, 0, 0, 0}},
                         {180, 170, 1, 7, 9, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                         {80, 140, 1, 8, 7, {5, 5}, {1, 1}, {2, 2, 2, 2}},
                         {3, 40, 1, 9, 27, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                         {4, 24, 1, 7, 31, {3, 2}, {1, 1}, {0, 1, 1, 0}},
                         {1, 64, 1, 6, 11, {5, 5}, {1, 2}, {2, 2, 2, 2}}};
    Dice dice(9);
    const Op& op = *findOp("Conv");
    bool differed = false; // in any bit: another algorithm ran
    for (const Sizes& s : all) {
        const auto channelsLast = [](const Shape& shape) {
            const Tensor memory = Tensor::onHost({DType::f32, shape});
            return Tensor(memory.buffer(), {DType::f32, shape}, channelsLastStrides(shape), 0);
        };
        const std::int64_t batch = s.group == 1 && s.height == 1 ? 1 : 2;
        const auto placesOf = [&](std::size_t axis, std::int64_t size) {
            return (size + s.pads[axis] + s.pads[axis + 2] - s.kernel[axis]) / s.strides[axis] + 1;
        };
        const Shape image{batch, s.in, s.height, s.width};
        const Shape result{batch, s.out, placesOf(0, s.height), placesOf(1, s.width)};
        const Attributes attributes =
            completeAttributes(op, {{"group", s.group}, {"strides", s.strides}, {"pads", s.pads}});
        const Tensor x = s.in > 4 ? channelsLast(image) : Tensor::onHost({DType::f32, image});
        const Tensor w = dice.tensor(DType::f32, {s.out, s.in / s.group, s.kernel[0], s.kernel[1]}, -1, 1);
        const Tensor bias = dice.tensor(DType::f32, {s.out}, -1, 1);
        const Tensor direct = channelsLast(result);
        const Tensor fast = channelsLast(result);
        const std::vector<TensorView> inputs{x.view(), w.view(), bias.view()};
        StepMemory changing;
        StepMemory constant{nullptr, 0b110};
        const auto launch = [&](const Tensor& to, StepMemory& memory) {
            const std::vector<TensorView> outputs{to.view()};
            op.kernel({inputs, outputs, attributes, nullptr, &memory});
        };
        for (const double special : {0.5, std::numeric_limits<double>::quiet_NaN(),
                                     -std::numeric_limits<double>::infinity(), 0.25}) {
            copyElements(dice.tensor(DType::f32, image, -1, 1).view(), x.view());
            x.view().as<float>()[x.elementCount() / 2] = static_cast<float>(special);
            launch(direct, changing);
            launch(fast, constant);
            const std::vector<double> expected = valuesOf(direct);
            // Both round each partial sum, which grows with the root of the number of products.
            const std::int64_t products = s.in / s.group * productOf(s.kernel);
            const double absolute = 1e-5 + 3e-8 * static_cast<double>(products);
            const QString wrong = difference(fast, result, expected, {1e-5, absolute});
            QVERIFY2(wrong.isEmpty(),
                     qPrintable(QStringLiteral("%1 channels, %2: %3").arg(s.in).arg(special).arg(wrong)));
            differed |= valuesOf(fast) != expected;
        }
    }
    if (hasAvx2()) QVERIFY(differed);
}

TWB_TEST_MAIN(TestConvolution)
#include "test_convolution.moc"
