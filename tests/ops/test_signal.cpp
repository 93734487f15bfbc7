#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <complex>
#include <numbers>

using namespace twb;
using namespace twb::test;

namespace {

std::vector<std::complex<double>> exactDft(const std::vector<std::complex<double>>& x, bool inverse) {
    const auto n = static_cast<double>(x.size());
    std::vector<std::complex<double>> out(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const auto turns = static_cast<double>(i * k % x.size()) / n;
            out[k] += x[i] * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * turns);
        }
        if (inverse) out[k] /= n;
    }
    return out;
}

} // namespace

class TestSignal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void windows();
    void mel();
    void transforms();
    void halfSpectra();
    void roundTrip();
    void frames();
    void refusals();
};

void TestSignal::windows() {
    const auto window = [](const char* op, const Attributes& attributes) {
        return runOp(op, attributes, {})[0];
    };
    const Attributes symmetric{{"size", std::int64_t{5}}, {"periodic", false}};
    QVERIFY(difference(window("HannWindow", symmetric), {5}, {0, 0.5, 1, 0.5, 0}, {1e-6, 1e-7}).isEmpty());
    QVERIFY(
        difference(window("BlackmanWindow", symmetric), {5}, {0, 0.34, 1, 0.34, 0}, {1e-6, 1e-7}).isEmpty());
    QVERIFY(difference(window("HammingWindow", {{"size", std::int64_t{4}}}), {4},
                       {4.0 / 46, 25.0 / 46, 1, 25.0 / 46}, {1e-6, 1e-7})
                .isEmpty());
    QCOMPARE(window("HannWindow", {{"size", std::int64_t{1}}, {"periodic", false}}).at(0), 1.0);
    // A window of size 1 is the first element of a period: 0.5 − 0.5 and 25/46 − 21/46.
    QCOMPARE(window("HannWindow", {{"size", std::int64_t{1}}}).at(0), 0.0);
    QVERIFY(difference(window("HammingWindow", {{"size", std::int64_t{1}}}), {1}, {4.0 / 46}, {1e-6, 1e-7})
                .isEmpty());
    QCOMPARE(window("HannWindow", {{"size", std::int64_t{0}}}).elementCount(), 0);
    for (DType dtype : {DType::i32, DType::i64}) {
        const Tensor size = tensorOf(dtype, {}, {6});
        const Tensor out = runOp("HannWindow", {{"output_datatype", std::string("f64")}}, {size})[0];
        QCOMPARE(out.dtype(), DType::f64);
        QCOMPARE(out.shape(), Shape{6});
    }
    const Tensor negative = Tensor::of<std::int64_t>({}, {-1});
    QVERIFY(inferError([&] {
                inferTypes("HannWindow", {}, std::vector<Tensor>{negative});
            }).contains("must be 0 or more, but is -1"));
    QCOMPARE(inferTypes("HannWindow", {}, {negative}, nullptr, true)[0].shape, Shape{kUnknownDim});
}

void TestSignal::mel() {
    const Tensor out = runOp("MelWeightMatrix", {}, {})[0];
    QCOMPARE(out.shape(), (Shape{9, 8}));
    // Each band is a triangle with a height of at most 1.
    for (std::int64_t i = 0; i < 72; ++i) QVERIFY(out.at(i) >= 0 && out.at(i) <= 1);
    // No band exceeds the spectrum, whatever the frequencies are.
    runOp("MelWeightMatrix", {{"sample_rate", std::int64_t{1}}, {"upper_edge_hertz", 1e300}}, {});
    runOp("MelWeightMatrix", {{"sample_rate", std::int64_t{0}}, {"lower_edge_hertz", -900.0}}, {});
}

void TestSignal::transforms() {
    Dice dice(1);
    for (DType dtype : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 60; ++round) {
            const std::int64_t before = dice.integer(1, 3);
            const std::int64_t size = round < 2 ? 64 << round : dice.integer(1, 21);
            const std::int64_t after = dice.integer(1, 3);
            const bool isComplex = dice.one(2);
            const bool inverse = dice.one(2);
            const bool oneSided = !isComplex && !inverse && dice.one(2);
            const std::int64_t parts = isComplex ? 2 : 1;
            const std::int64_t length = dice.one(2) ? size : dice.integer(1, 24);
            const Tensor x = inLayout(dice.tensor(dtype, {before, size, after, parts}, -3, 3), dice.layout());
            const std::int64_t bins = oneSided ? length / 2 + 1 : length;
            std::vector<double> expected(static_cast<std::size_t>(before * bins * after * 2));
            for (std::int64_t b = 0; b < before; ++b)
                for (std::int64_t a = 0; a < after; ++a) {
                    std::vector<std::complex<double>> signal(static_cast<std::size_t>(length));
                    for (std::int64_t k = 0; k < std::min(size, length); ++k) {
                        const std::int64_t at = ((b * size + k) * after + a) * parts;
                        signal[static_cast<std::size_t>(k)] = {x.at(at), isComplex ? x.at(at + 1) : 0};
                    }
                    const auto spectrum = exactDft(signal, inverse);
                    for (std::int64_t k = 0; k < bins; ++k) {
                        const auto at = static_cast<std::size_t>(((b * bins + k) * after + a) * 2);
                        expected[at] = spectrum[static_cast<std::size_t>(k)].real();
                        expected[at + 1] = spectrum[static_cast<std::size_t>(k)].imag();
                    }
                }
            Attributes attributes{{"inverse", inverse}, {"onesided", oneSided}, {"axis", std::int64_t{1}}};
            std::vector<Tensor> inputs{x};
            if (length != size) inputs.push_back(Tensor::of<std::int64_t>({}, {length}));
            const QString wrong = difference(runOp("DFT", attributes, inputs)[0], {before, bins, after, 2},
                                             expected, {1e-5, 1e-4});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

/// The one-sided inverse: the half that is not given is the mirror image of the other one.
void TestSignal::halfSpectra() {
    Dice dice(4);
    for (DType dtype : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 60; ++round) {
            const std::int64_t before = dice.integer(1, 3);
            const std::int64_t size = round < 2 ? 33 << round : dice.integer(2, 12);
            const std::int64_t after = dice.integer(1, 3);
            const bool isUsual = dice.one(2);
            const std::int64_t length = isUsual ? 2 * (size - 1) : dice.integer(1, 24);
            const Tensor x = inLayout(dice.tensor(dtype, {before, size, after, 2}, -3, 3), dice.layout());
            std::vector<double> expected(static_cast<std::size_t>(before * length * after));
            for (std::int64_t b = 0; b < before; ++b)
                for (std::int64_t a = 0; a < after; ++a) {
                    std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(length));
                    for (std::int64_t k = 0; k < length; ++k) {
                        const std::int64_t own = std::min(k, length - k);
                        if (own >= size) continue;
                        const std::int64_t at = ((b * size + own) * after + a) * 2;
                        spectrum[static_cast<std::size_t>(k)] = {x.at(at),
                                                                 k == own ? x.at(at + 1) : -x.at(at + 1)};
                    }
                    const auto signal = exactDft(spectrum, true);
                    for (std::int64_t k = 0; k < length; ++k)
                        expected[static_cast<std::size_t>((b * length + k) * after + a)] =
                            signal[static_cast<std::size_t>(k)].real();
                }
            Attributes attributes{{"inverse", true}, {"onesided", true}, {"axis", std::int64_t{1}}};
            if (!isUsual) attributes.set("dft_length", length);
            const QString wrong = difference(runOp("DFT", attributes, {x})[0], {before, length, after, 1},
                                             expected, {1e-5, 1e-4});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestSignal::roundTrip() {
    Dice dice(2);
    for (std::int64_t size : {1, 2, 127, 1000, 4096}) {
        const Tensor x = dice.tensor(DType::f64, {1, size, 2}, -1, 1);
        const Tensor back = runOp("DFT", {{"inverse", true}}, {runOp("DFT", {}, {x})[0]})[0];
        const QString wrong = difference(back, x.shape(), valuesOf(x), {1e-5, 1e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestSignal::frames() {
    Dice dice(3);
    const Tensor signal = dice.tensor(DType::f32, {2, 50, 1}, -3, 3);
    const Tensor window = runOp("HannWindow", {{"size", std::int64_t{12}}}, {})[0];
    const Tensor out = runOp("STFT", {{"frame_step", std::int64_t{5}}}, {signal, {}, window})[0];
    QCOMPARE(out.shape(), (Shape{2, 8, 7, 2}));
    std::vector<double> expected;
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t f = 0; f < 8; ++f) {
            std::vector<std::complex<double>> frame;
            for (std::int64_t k = 0; k < 12; ++k)
                frame.emplace_back(signal.at(b * 50 + f * 5 + k) * window.at(k));
            const auto spectrum = exactDft(frame, false);
            for (std::size_t k = 0; k < 7; ++k) {
                expected.push_back(spectrum[k].real());
                expected.push_back(spectrum[k].imag());
            }
        }
    const QString wrong = difference(out, {2, 8, 7, 2}, expected, {1e-5, 1e-5});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    const Tensor step = Tensor::of<std::int64_t>({}, {50});
    const Tensor length = Tensor::of<std::int64_t>({}, {50});
    QCOMPARE(runOp("STFT", {{"onesided", false}}, {signal, step, {}, length})[0].shape(),
             (Shape{2, 1, 50, 2}));
}

void TestSignal::refusals() {
    const auto error = [](const char* op, const Attributes& attributes,
                          const std::vector<TensorType>& types) {
        return inferError([&] { inferTypes(op, attributes, types); });
    };
    const TensorType real{DType::f32, {2, 8, 1}};
    const TensorType complex{DType::f32, {2, 8, 2}};
    QVERIFY(error("DFT", {}, {{DType::f32, {2, 8, 3}}}).contains("last dimension of 1"));
    QVERIFY(error("DFT", {{"axis", std::int64_t{-1}}}, {real}).contains("holds real and imaginary parts"));
    QVERIFY(error("DFT", {{"axis", std::int64_t{9}}}, {real}).contains("Dimension out of range"));
    QVERIFY(error("DFT", {{"onesided", true}}, {complex}).startsWith("attribute"));
    const Attributes toReal{{"onesided", true}, {"inverse", true}};
    QVERIFY(error("DFT", toReal, {real}).contains("give it a last dimension of 2"));
    QVERIFY(error("DFT", toReal, {{DType::f32, {2, 1, 2}}}).contains("Invalid number of data points (0)"));
    QVERIFY(error("DFT", {{"dft_length", std::int64_t{0}}}, {real}).contains("at least 1, but is 0"));
    QVERIFY(error("DFT", {}, {{DType::f32, {2, 0, 1}}}).contains("Invalid number of data points (0)"));
    QVERIFY(error("STFT", {}, {real}).contains("set frame_length or connect a window"));
    QVERIFY(error("STFT", {{"frame_length", std::int64_t{9}}}, {real}).contains("but got n_fft=9"));
    QVERIFY(error("STFT", {{"frame_length", std::int64_t{4}}, {"frame_step", std::int64_t{0}}}, {real})
                .contains("frame_step"));
}

TWB_TEST_MAIN(TestSignal)
#include "test_signal.moc"
