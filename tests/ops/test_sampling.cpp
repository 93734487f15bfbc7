#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
using Integers = std::vector<std::int64_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// An image plane with its padding.
struct Plane {
    const Tensor& x;
    std::int64_t base, height, width;
    std::string padding;
    bool corners;

    static double mirrored(double v, double low, double high) {
        if (high <= low) return low;
        while (v < low || v > high) v = v < low ? 2 * low - v : 2 * high - v;
        return v;
    }
    double place(double grid, std::int64_t size) const {
        const auto n = static_cast<double>(size);
        return corners ? (grid + 1) / 2 * (n - 1) : ((grid + 1) * n - 1) / 2;
    }
    double moved(double v, std::int64_t size) const {
        const double low = corners ? 0 : -0.5;
        const double high = static_cast<double>(size) - (corners ? 1 : 0.5);
        if (v >= low && v <= high) return v;
        if (padding == "border") return std::clamp(v, 0.0, static_cast<double>(size - 1));
        return padding == "reflection" ? mirrored(v, low, high) : v;
    }
    double pixel(std::int64_t i, std::int64_t j) const {
        if (padding == "zeros" && (i < 0 || j < 0 || i >= height || j >= width)) return 0;
        const auto inside = [&](std::int64_t v, std::int64_t size) {
            if (padding == "reflection" && (v < 0 || v >= size))
                v = static_cast<std::int64_t>(moved(static_cast<double>(v), size));
            return std::clamp<std::int64_t>(v, 0, size - 1);
        };
        return x.at(base + inside(i, height) * width + inside(j, width));
    }
    double sample(const std::string& mode, double gx, double gy) const {
        double v = place(gx, width);
        double u = place(gy, height);
        if (mode == "nearest") {
            v = std::nearbyint(v);
            u = std::nearbyint(u);
        }
        if (mode != "cubic") { // cubic pads the elements instead of the coordinate
            v = moved(v, width);
            u = moved(u, height);
        }
        if (mode == "nearest") return pixel(static_cast<std::int64_t>(u), static_cast<std::int64_t>(v));
        const auto share = [&](double d) {
            d = std::abs(d);
            if (mode == "linear") return std::max(0.0, 1 - d);
            if (d <= 1) return 1.25 * d * d * d - 2.25 * d * d + 1;
            return d < 2 ? -0.75 * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
        };
        double sum = 0;
        for (auto i = static_cast<std::int64_t>(std::floor(u)) - 1; i <= std::floor(u) + 2; ++i)
            for (auto j = static_cast<std::int64_t>(std::floor(v)) - 1; j <= std::floor(v) + 2; ++j)
                sum += share(u - static_cast<double>(i)) * share(v - static_cast<double>(j)) * pixel(i, j);
        return sum;
    }
};

} // namespace

class TestSampling : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gridSample_data();
    void gridSample();
    void gridSampleAlongOneAndThreeAxes();
    void gridSampleOfAnything();
    void affineGrid();
    void identityGridChangesNothing();
    void col2Im_data();
    void col2Im();
    void deformConv_data();
    void deformConv();
    void deformConvWithoutOffsets();
    void refuses();
};

void TestSampling::gridSample_data() {
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("padding");
    for (const char* mode : {"nearest", "linear", "cubic"})
        for (const char* padding : {"zeros", "border", "reflection"})
            QTest::addRow("%s %s", mode, padding) << QString(mode) << QString(padding);
}

void TestSampling::gridSample() {
    QFETCH(QString, mode);
    QFETCH(QString, padding);
    Dice dice(111);
    for (DType type : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 30; ++round) {
            const std::int64_t h = dice.integer(1, 5);
            const std::int64_t w = dice.integer(1, 5);
            const std::int64_t H = dice.integer(0, 4);
            const std::int64_t W = dice.integer(1, 4);
            const bool corners = dice.one(2);
            const Tensor x = dice.tensor(type, {2, 2, h, w}, -3, 3);
            const Tensor grid = dice.tensor(DType::f32, {2, H, W, 2}, -2.5, 2.5);
            Numbers expected;
            for (std::int64_t n = 0; n < 2; ++n)
                for (std::int64_t c = 0; c < 2; ++c) {
                    const Plane plane{x, (n * 2 + c) * h * w, h, w, padding.toStdString(), corners};
                    for (std::int64_t p = n * H * W; p < (n + 1) * H * W; ++p)
                        expected.push_back(
                            plane.sample(mode.toStdString(), grid.at(2 * p), grid.at(2 * p + 1)));
                }
            const Tensor y = runOp("GridSample",
                                   {{"mode", mode.toStdString()},
                                    {"padding_mode", padding.toStdString()},
                                    {"align_corners", corners}},
                                   {inLayout(x, dice.layout()), inLayout(grid, dice.layout())})[0];
            const QString wrong = difference(y, {2, 2, H, W}, expected, {1e-5, 1e-5});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestSampling::gridSampleAlongOneAndThreeAxes() {
    const Attributes corners{{"align_corners", true}};
    const Tensor line = tensorOf(DType::f32, {1, 1, 3}, {0, 10, 20});
    QCOMPARE(valuesOf(runOp("GridSample", corners, {line, tensorOf(DType::f32, {1, 3, 1}, {-1, 0.5, 1})})[0]),
             (Numbers{0, 15, 20}));
    const Tensor cube = tensorOf(DType::f32, {1, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    // x is the coordinate along the last axis.
    QCOMPARE(valuesOf(runOp("GridSample", corners,
                            {cube, tensorOf(DType::f32, {1, 1, 1, 2, 3}, {1, -1, -1, 0, 0, 0})})[0]),
             (Numbers{1, 3.5}));
}

/// Integers are truncated, and NaN counts as outside.
void TestSampling::gridSampleOfAnything() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    for (const char* padding : {"zeros", "border", "reflection"})
        for (const char* mode : {"nearest", "linear", "cubic"}) {
            const Tensor y =
                runOp("GridSample", {{"padding_mode", std::string(padding)}, {"mode", std::string(mode)}},
                      {tensorOf(DType::i32, {1, 1, 1, 2}, {3, 4}),
                       tensorOf(DType::f32, {1, 1, 4, 2}, {nan, 0, inf, 0, -inf, nan, 1e30F, 0})})[0];
            if (std::string_view(padding) == "zeros") QCOMPARE(valuesOf(y), (Numbers{0, 0, 0, 0}));
        }
    QCOMPARE(
        runOp("GridSample", {{"align_corners", true}},
              {tensorOf(DType::u8, {1, 1, 1, 2}, {3, 4}), tensorOf(DType::f32, {1, 1, 1, 2}, {0.5, 0})})[0]
            .at(0),
        3.0);
}

void TestSampling::affineGrid() {
    Dice dice(112);
    for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (int spatial : {2, 3})
            for (int round = 0; round < 10; ++round) {
                const std::int64_t N = dice.integer(1, 2);
                Integers size{N, 3};
                for (int a = 0; a < spatial; ++a) size.push_back(dice.integer(1, 4));
                const bool corners = dice.one(2);
                const Tensor theta = dice.tensor(type, {N, spatial, spatial + 1}, -1, 1);
                Numbers expected;
                std::int64_t places = 1;
                for (int a = 0; a < spatial; ++a) places *= size[at(a + 2)];
                for (std::int64_t n = 0; n < N; ++n)
                    for (std::int64_t p = 0; p < places; ++p) {
                        Numbers place;
                        std::int64_t rest = p;
                        for (int a = spatial - 1; a >= 0; --a) {
                            const std::int64_t length = size[at(a + 2)];
                            const auto i = static_cast<double>(rest % length);
                            rest /= length;
                            const auto l = static_cast<double>(length);
                            place.push_back(corners ? (length == 1 ? 0 : -1 + 2 * i / (l - 1))
                                                    : -1 + (2 * i + 1) / l);
                        }
                        place.push_back(1);
                        for (int r = 0; r < spatial; ++r) {
                            double sum = 0;
                            for (int k = 0; k <= spatial; ++k)
                                sum += theta.at((n * spatial + r) * (spatial + 1) + k) * place[at(k)];
                            expected.push_back(sum);
                        }
                    }
                Integers dims{N};
                dims.insert(dims.end(), size.begin() + 2, size.end());
                dims.push_back(spatial);
                Numbers wanted(size.begin(), size.end());
                const Tensor y =
                    runOp("AffineGrid", {{"align_corners", corners}},
                          {inLayout(theta, dice.layout()),
                           tensorOf(DType::i64, {static_cast<std::int64_t>(size.size())}, wanted)})[0];
                const QString wrong = difference(y, Shape(dims), expected, {1e-6, 1e-6});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
}

void TestSampling::identityGridChangesNothing() {
    Dice dice(113);
    for (bool corners : {false, true}) {
        const Tensor x = dice.tensor(DType::f32, {1, 2, 4, 5}, -3, 3);
        const Attributes attributes{{"align_corners", corners}};
        const Tensor grid = runOp("AffineGrid", attributes,
                                  {tensorOf(DType::f32, {1, 2, 3}, {1, 0, 0, 0, 1, 0}),
                                   tensorOf(DType::i64, {4}, {1, 2, 4, 5})})[0];
        const QString wrong =
            difference(runOp("GridSample", attributes, {x, grid})[0], x.shape(), valuesOf(x), {1e-5, 1e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestSampling::col2Im_data() {
    QTest::addColumn<int>("dtype");
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32, DType::i8, DType::u16})
        QTest::addRow("%s", std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
}

void TestSampling::col2Im() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(114);
    for (int round = 0; round < 40; ++round) {
        Integers image, block, strides, dilations, begins, ends, out;
        for (int a = 0; a < 2; ++a) {
            block.push_back(dice.integer(1, 3));
            strides.push_back(dice.integer(1, 2));
            dilations.push_back(dice.integer(1, 2));
            begins.push_back(dice.integer(0, 1));
            ends.push_back(dice.integer(0, 1));
            const std::int64_t reach = (block.back() - 1) * dilations.back() + 1;
            image.push_back(dice.integer(reach, 6));
            out.push_back((image.back() + begins.back() + ends.back() - reach) / strides.back() + 1);
        }
        const std::int64_t C = dice.integer(1, 2);
        const std::int64_t taps = block[0] * block[1];
        const std::int64_t places = out[0] * out[1];
        const Tensor x = dice.tensor(type, {2, C * taps, places}, type == DType::u16 ? 0 : -3, 3);
        Numbers y(at(2 * C * image[0] * image[1]));
        for (std::int64_t row = 0; row < 2 * C * taps; ++row)
            for (std::int64_t p = 0; p < places; ++p) {
                const std::int64_t tap = row % taps;
                const std::int64_t i = p / out[1] * strides[0] + tap / block[1] * dilations[0] - begins[0];
                const std::int64_t j = p % out[1] * strides[1] + tap % block[1] * dilations[1] - begins[1];
                if (i >= 0 && j >= 0 && i < image[0] && j < image[1])
                    y[at((row / taps * image[0] + i) * image[1] + j)] += x.at(row * places + p);
            }
        const Attributes attributes{{"strides", strides},
                                    {"dilations", dilations},
                                    {"pads", Integers{begins[0], begins[1], ends[0], ends[1]}}};
        const auto list = [](const Integers& values) {
            return Tensor::of<std::int64_t>({2}, std::span<const std::int64_t>(values));
        };
        const Tensor got =
            runOp("Col2Im", attributes, {inLayout(x, dice.layout()), list(image), list(block)})[0];
        const QString wrong = difference(got, {2, C, image[0], image[1]}, y,
                                         isFloating(type) ? Tolerance{1e-5, 1e-5} : Tolerance{});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestSampling::deformConv_data() {
    QTest::addColumn<int>("dtype");
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        QTest::addRow("%s", std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
}

void TestSampling::deformConv() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(115);
    for (int round = 0; round < 30; ++round) {
        const std::int64_t groups = dice.integer(1, 2);
        const std::int64_t offsetGroups = dice.integer(1, 2);
        const std::int64_t C = 2 * dice.integer(1, 2);
        const std::int64_t M = groups * dice.integer(1, 2);
        const std::int64_t k = dice.integer(1, 3);
        const std::int64_t stride = dice.integer(1, 2);
        const std::int64_t dilation = dice.integer(1, 2);
        const std::int64_t pad = dice.integer(0, 1);
        const std::int64_t reach = (k - 1) * dilation + 1;
        const std::int64_t size = dice.integer(reach, 6);
        const std::int64_t out = (size + 2 * pad - reach) / stride + 1;
        const std::int64_t taps = k * k;
        const Tensor x = dice.tensor(type, {2, C, size, size}, -1, 1);
        const Tensor w = dice.tensor(type, {M, C / groups, k, k}, -1, 1);
        const Tensor offset = dice.tensor(type, {2, offsetGroups * taps * 2, out, out}, -2, 2);
        const Tensor bias = dice.one(2) ? dice.tensor(type, {M}, -1, 1) : Tensor{};
        const Tensor mask =
            dice.one(2) ? dice.tensor(type, {2, offsetGroups * taps, out, out}, 0, 1) : Tensor{};
        const auto pixel = [&](std::int64_t base, std::int64_t i, std::int64_t j) {
            return i < 0 || j < 0 || i >= size || j >= size ? 0 : x.at(base + i * size + j);
        };
        Numbers y;
        for (std::int64_t n = 0; n < 2; ++n)
            for (std::int64_t m = 0; m < M; ++m)
                for (std::int64_t p = 0; p < out * out; ++p) {
                    double sum = bias ? bias.at(m) : 0;
                    for (std::int64_t c = 0; c < C / groups; ++c)
                        for (std::int64_t t = 0; t < taps; ++t) {
                            const std::int64_t channel = m / (M / groups) * (C / groups) + c;
                            const std::int64_t which =
                                (n * offsetGroups + channel / (C / offsetGroups)) * taps + t;
                            const double u = static_cast<double>(p / out * stride + t / k * dilation - pad) +
                                             offset.at(which * 2 * out * out + p);
                            const double v = static_cast<double>(p % out * stride + t % k * dilation - pad) +
                                             offset.at((which * 2 + 1) * out * out + p);
                            double value = 0;
                            for (auto i = static_cast<std::int64_t>(std::floor(u)); i <= std::floor(u) + 1;
                                 ++i)
                                for (auto j = static_cast<std::int64_t>(std::floor(v));
                                     j <= std::floor(v) + 1; ++j)
                                    value += std::max(0.0, 1 - std::abs(u - double(i))) *
                                             std::max(0.0, 1 - std::abs(v - double(j))) *
                                             pixel((n * C + channel) * size * size, i, j);
                            sum += value * (mask ? mask.at(which * out * out + p) : 1) *
                                   w.at((m * (C / groups) + c) * taps + t);
                        }
                    y.push_back(sum);
                }
        const Attributes attributes{{"group", groups},
                                    {"offset_group", offsetGroups},
                                    {"strides", Integers{stride, stride}},
                                    {"dilations", Integers{dilation, dilation}},
                                    {"pads", Integers{pad, pad, pad, pad}}};
        const Tensor got = runOp("DeformConv", attributes,
                                 {inLayout(x, dice.layout()), inLayout(w, dice.layout()),
                                  inLayout(offset, dice.layout()), bias, mask})[0];
        const QString wrong = difference(got, {2, M, out, out}, y, findOp("DeformConv")->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestSampling::deformConvWithoutOffsets() {
    Dice dice(116);
    const Tensor x = dice.tensor(DType::f32, {1, 2, 6, 6}, -1, 1);
    const Tensor w = dice.tensor(DType::f32, {3, 2, 3, 3}, -1, 1);
    const Tensor none = dice.tensor(DType::f32, {1, 18, 4, 4}, 0, 0);
    const QString wrong = difference(runOp("DeformConv", {}, {x, w, none})[0], {1, 3, 4, 4},
                                     valuesOf(runOp("Conv", {}, {x, w})[0]), {1e-5, 1e-5});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    QCOMPARE(runOp("DeformConv", {},
                   {tensorOf(DType::f32, {1, 1, 1, 1}, {1}), tensorOf(DType::f32, {1, 1, 1, 1}, {1}),
                    tensorOf(DType::f32, {1, 2, 1, 1}, {nan, 1e30F})})[0]
                 .at(0),
             0.0);
}

void TestSampling::refuses() {
    const auto error = [](const char* op, const Attributes& attributes, const std::vector<Shape>& shapes) {
        std::vector<TensorType> types;
        for (const Shape& shape : shapes) types.push_back({DType::f32, shape});
        return inferError([&] { inferTypes(op, attributes, types); });
    };
    QVERIFY(
        error("GridSample", {}, {{1, 1, 2, 2}, {1, 2, 2, 3}}).contains("to have size 2 in last dimension"));
    QVERIFY(error("GridSample", {}, {{1, 1, 2, 2}, {2, 2, 2, 2}}).contains("same batch size"));
    QVERIFY(error("GridSample", {}, {{1, 1, 0, 2}, {1, 2, 2, 2}}).contains("non-empty spatial dimensions"));
    QVERIFY(
        error("AffineGrid", {{"size", Integers{1, 1, 2}}}, {{1, 2, 3}}).contains("only supports 4D and 5D"));
    QVERIFY(error("AffineGrid", {{"size", Integers{1, 1, 2, 2}}}, {{1, 3, 4}})
                .contains("affine matrices of shape [1, 2, 3]"));
    QVERIFY(error("Col2Im", {{"image_shape", Integers{4, 4}}, {"block_shape", Integers{2, 2}}}, {{1, 5, 9}})
                .contains("divisible by the product"));
    QVERIFY(error("Col2Im", {{"image_shape", Integers{4, 4}}, {"block_shape", Integers{2, 2}}}, {{1, 4, 8}})
                .contains("sliding blocks 9"));
    QVERIFY(error("Col2Im", {{"image_shape", Integers{4, 4}}}, {{1, 4, 8}}).contains("needs block_shape"));
    QVERIFY(error("DeformConv", {}, {{1, 2, 6, 6}, {3, 2, 3, 3}, {1, 17, 4, 4}})
                .contains("offset must have size [1, 18, 4, 4]"));
    QVERIFY(error("DeformConv", {}, {{1, 2, 6}, {3, 2, 3}, {1, 6, 4}}).contains("four axes"));
}

TWB_TEST_MAIN(TestSampling)
#include "test_sampling.moc"
