#include "backends/cpu/low_precision.h"
#include "backends/cpu/quantize_loops.h"
#include "core/half.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <array>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

struct Run {
    Tensor output;
    bool isNative = false; ///< by a primitive for low precision
};

/// Runs an op as a step does whose inputs from port 1 on never change, twice with the same state.
Run runAsStep(std::string_view name, const Attributes& given, const std::vector<Tensor>& inputs,
              bool channelsLast = false) {
    const Op& op = *findOp(name);
    const Attributes attributes = completeAttributes(op, given);
    const TensorType type = inferTypes(name, given, inputs).at(0);
    Run run{Tensor::onHost(type)};
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input ? input.view() : TensorView{});
    Tensor x;
    Tensor y;
    TensorView out = run.output.view();
    if (channelsLast) {
        x = Tensor::onHost(inputs[0].type());
        const TensorView last{x.data(), x.dtype(), x.shape(), channelsLastStrides(x.shape())};
        copyElements(views[0], last);
        views[0] = last;
        y = Tensor::onHost(type);
        out = {y.data(), type.dtype, type.shape, channelsLastStrides(type.shape)};
    }
    StepMemory memory;
    memory.constants = ~std::uint64_t{1};
    const std::array outputs{out};
    for (int time = 0; time < 2; ++time) op.kernel({views, outputs, attributes, nullptr, &memory});
    if (channelsLast) copyElements(out, run.output.view());
    const auto* const state = dynamic_cast<const LowPrecisionState*>(memory.state.get());
    run.isNative = state && state->kernel;
    return run;
}

Tensor single(DType dtype, double value) { return tensorOf(dtype, {}, {value}); }

} // namespace

/// The primitives of oneDNN for bytes give ONNX's results, bit for bit, and the vectorised conversions those
/// of a plain loop.
class TestLowPrecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void convolutionsAreExact() {
        Dice dice(5);
        for (int round = 0; round < 60; ++round) {
            const std::int64_t groups = dice.one(3) ? 4 : 1;
            const std::int64_t ins = groups * dice.integer(1, round % 4 == 0 ? 20 : 4);
            const std::int64_t outs = groups * dice.integer(1, 9);
            const std::int64_t kernel = dice.integer(1, 3);
            const std::int64_t size = dice.integer(4, 12);
            const DType x = dice.one(3) ? DType::i8 : DType::u8;
            const DType y = dice.one(3) ? DType::i8 : DType::u8;
            const auto zeroOf = [&](DType dtype) {
                return single(dtype, static_cast<double>(dtype == DType::u8
                                                             ? dice.integer(0, 255) * dice.integer(0, 1)
                                                             : dice.integer(-9, 9)));
            };
            const Tensor zeroX = zeroOf(x);
            const Tensor zeroY = zeroOf(y);
            std::vector<Tensor> inputs{
                dice.tensor(x, {2, ins, size, size}, x == DType::u8 ? 0 : -128, x == DType::u8 ? 255 : 127),
                single(DType::f32, 0.125), zeroX,
                dice.tensor(DType::i8, {outs, ins / groups, kernel, kernel}, -127, 127),
                // Powers of two give many results halfway between two integers.
                dice.one(2) ? single(DType::f32, 0.25) : dice.tensor(DType::f32, {outs}, 0.01, 0.3),
                single(DType::i8, 0), single(DType::f32, dice.one(2) ? 8 : 3.7), zeroY};
            if (dice.one(2)) inputs.push_back(dice.tensor(DType::i32, {outs}, -9000, 9000));
            const Attributes attributes{{"group", groups},
                                        {"pads", Ints(4, kernel / 2)},
                                        {"strides", Ints(2, dice.integer(1, 2))},
                                        {"dilations", Ints(2, dice.integer(1, 2))}};
            const Tensor expected = runOp("QLinearConv", attributes, inputs).at(0);
            for (const bool channelsLast : {false, true}) {
                const Run run = runAsStep("QLinearConv", attributes, inputs, channelsLast);
                QCOMPARE(valuesOf(run.output), valuesOf(expected));
                if (round == 0) QCOMPARE(run.isNative, hasByteProducts());
            }
        }
    }

    /// Sums of u8 · i8 that do not fit 24 bits, with an odd zero point.
    void productsAreExact() {
        Dice dice(6);
        for (const DType a : {DType::u8, DType::i8})
            for (const auto& [rows, inner, columns] :
                 {std::array<std::int64_t, 3>{3, 9000, 17}, {1, 64, 1}, {33, 70, 48}, {16, 1, 3}}) {
                const double most = a == DType::u8 ? 255 : 127;
                std::vector<Tensor> inputs{dice.tensor(a, {rows, inner}, most - 9, most),
                                           dice.tensor(DType::i8, {inner, columns}, 100, 127), single(a, 77)};
                const Run run = runAsStep("MatMulInteger", {}, inputs);
                QCOMPARE(run.isNative, hasByteProducts() && (a == DType::u8 || inner < 500));
                QCOMPARE(valuesOf(run.output), valuesOf(runOp("MatMulInteger", {}, inputs).at(0)));
            }
        // A stack of matrices, and weights with a zero point, which have no primitive.
        std::vector<Tensor> inputs{dice.tensor(DType::u8, {2, 5, 8}, 0, 255),
                                   dice.tensor(DType::i8, {8, 6}, -127, 127), single(DType::u8, 3)};
        QCOMPARE(valuesOf(runAsStep("MatMulInteger", {}, inputs).output),
                 valuesOf(runOp("MatMulInteger", {}, inputs).at(0)));
        inputs.push_back(single(DType::i8, 1));
        const Run shifted = runAsStep("MatMulInteger", {}, inputs);
        QVERIFY(!shifted.isNative);
        QCOMPARE(valuesOf(shifted.output), valuesOf(runOp("MatMulInteger", {}, inputs).at(0)));
    }

    void bfloat16ProductsAreRounded() {
        Dice dice(7);
        const Tensor a = dice.tensor(DType::bf16, {6, 40}, -2, 2);
        const Tensor c = dice.tensor(DType::bf16, {30}, -2, 2);
        for (const bool transposed : {false, true}) {
            const Tensor b = dice.tensor(DType::bf16, transposed ? Shape{30, 40} : Shape{40, 30}, -2, 2);
            const Attributes attributes{{"transB", transposed}};
            const Run run = runAsStep("Gemm", attributes, {a, b, c});
            QCOMPARE(run.isNative, hasBFloat16Products());
            const std::vector<double> expected = valuesOf(runOp("Gemm", attributes, {a, b, c}).at(0));
            QCOMPARE(difference(run.output, {6, 30}, expected, {8e-3, 1e-2}), QString());
        }
    }

    void conversionsAreThoseOfALoop() {
        Dice dice(8);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const float infinity = std::numeric_limits<float>::infinity();
        for (const std::int64_t count : {1, 7, 31, 32, 33, 200}) {
            std::vector<float> x(static_cast<std::size_t>(count));
            for (float& value : x) value = static_cast<float>(dice.integer(-1200, 1200)) / 4;
            const float special[] = {nan, infinity, -infinity, 3e38F, -3e38F, 0.5F, 1.5F, -2.5F};
            for (std::size_t i = 0; i < std::min<std::size_t>(8, x.size()); ++i) x[i] = special[i];
            for (const std::int32_t zero : {0, 1, 100, 127}) {
                std::vector<std::uint8_t> unsignedBytes(x.size());
                std::vector<std::int8_t> signedBytes(x.size());
                quantizeRow(x.data(), 0.5F, zero, unsignedBytes.data(), count);
                quantizeRow(x.data(), 0.5F, zero, signedBytes.data(), count);
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double y = std::nearbyint(x[i] / 0.5F) + zero;
                    QCOMPARE(static_cast<double>(unsignedBytes[i]),
                             std::isnan(y) ? 0 : std::clamp(y, 0.0, 255.0));
                    QCOMPARE(static_cast<double>(signedBytes[i]),
                             std::isnan(y) ? 0 : std::clamp(y, -128.0, 127.0));
                }
                std::vector<float> back(x.size());
                const float scale = 0.3F;
                dequantizeRow(unsignedBytes.data(), zero, &scale, 0, back.data(), count);
                for (std::size_t i = 0; i < x.size(); ++i)
                    QCOMPARE(back[i], static_cast<float>(unsignedBytes[i] - zero) * scale);
                dequantizeRow(signedBytes.data(), zero, &scale, 0, back.data(), count);
                for (std::size_t i = 0; i < x.size(); ++i)
                    QCOMPARE(back[i], static_cast<float>(signedBytes[i] - zero) * scale);
            }
            std::vector<BFloat16> halves(x.size());
            std::vector<float> back(x.size());
            vectorToBFloat16(x.data(), halves.data(), count);
            vectorFromBFloat16(halves.data(), back.data(), count);
            for (std::size_t i = 0; i < x.size(); ++i) {
                QCOMPARE(halves[i].bits, BFloat16(x[i]).bits);
                QVERIFY(back[i] == static_cast<float>(BFloat16(x[i])) ||
                        (std::isnan(back[i]) && std::isnan(x[i])));
            }
        }
    }

    /// DequantizeLinear of sums, with one scale per column.
    void sumsAreDequantizedByColumn() {
        Dice dice(9);
        const Tensor sums = dice.tensor(DType::i32, {3, 5, 37}, -1e6, 1e6);
        const Tensor scales = dice.tensor(DType::f32, {37}, 0.001, 0.1);
        const auto got =
            valuesOf(runOp("DequantizeLinear", {{"axis", std::int64_t{-1}}}, {sums, scales}).at(0));
        for (std::int64_t i = 0; i < sums.elementCount(); ++i)
            QCOMPARE(
                got.at(static_cast<std::size_t>(i)),
                static_cast<double>(static_cast<float>(sums.at(i)) * static_cast<float>(scales.at(i % 37))));
    }
};

TWB_TEST_MAIN(TestLowPrecision)
#include "test_low_precision.moc"
