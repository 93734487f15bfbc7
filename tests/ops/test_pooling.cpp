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

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The attributes of a pooling in full: one entry per spatial axis.
struct Setting {
    Integers kernel, strides, dilations, padBegin, padEnd, in, out;
    bool ceil = false;

    Attributes attributes() const {
        Integers pads = padBegin;
        pads.insert(pads.end(), padEnd.begin(), padEnd.end());
        return {{"kernel_shape", kernel},
                {"strides", strides},
                {"dilations", dilations},
                {"pads", pads},
                {"ceil_mode", ceil}};
    }
};

Setting throwDice(Dice& dice, int rank) {
    Setting s;
    s.ceil = dice.one(2);
    for (int a = 0; a < rank; ++a) {
        s.kernel.push_back(dice.integer(1, 3));
        s.strides.push_back(dice.integer(1, 3));
        s.dilations.push_back(dice.integer(1, 2));
        const std::int64_t reach = (s.kernel.back() - 1) * s.dilations.back() + 1;
        s.padBegin.push_back(dice.integer(0, s.kernel.back() / 2));
        s.padEnd.push_back(dice.integer(0, s.kernel.back() / 2));
        s.in.push_back(dice.integer(reach, rank > 2 ? 5 : 9));
        // PyTorch's rule: every window starts before the padding at the end.
        std::int64_t out = 0;
        while (out * s.strides.back() < s.in.back() + s.padBegin.back() &&
               (s.ceil ? out == 0 || (out - 1) * s.strides.back() + reach <
                                         s.in.back() + s.padBegin.back() + s.padEnd.back()
                       : out * s.strides.back() + reach <= s.in.back() + s.padBegin.back() + s.padEnd.back()))
            ++out;
        s.out.push_back(out);
    }
    return s;
}

Integers placeOf(std::int64_t index, const Integers& sizes) {
    Integers place(sizes.size());
    for (std::size_t a = sizes.size(); a-- > 0;) {
        place[a] = index % sizes[a];
        index /= sizes[a];
    }
    return place;
}

std::int64_t productOf(const Integers& sizes) {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    return count;
}

/// The elements under one position: their offsets in the plane, and the number of taps including the padding.
struct Under {
    Integers offsets;
    std::int64_t padded = 0;
};

Under underWindow(const Setting& s, std::int64_t position) {
    Under under;
    const Integers place = placeOf(position, s.out);
    for (std::int64_t t = 0; t < productOf(s.kernel); ++t) {
        const Integers tap = placeOf(t, s.kernel);
        std::int64_t offset = 0;
        bool inside = true;
        bool padded = true;
        for (std::size_t a = 0; a < place.size(); ++a) {
            const std::int64_t at = place[a] * s.strides[a] + tap[a] * s.dilations[a] - s.padBegin[a];
            inside = inside && at >= 0 && at < s.in[a];
            padded = padded && at < s.in[a] + s.padEnd[a];
            offset = offset * s.in[a] + at;
        }
        if (inside) under.offsets.push_back(offset);
        if (padded) ++under.padded;
    }
    return under;
}

Shape planes(std::int64_t batch, std::int64_t channels, const Integers& sizes) {
    Integers dims{batch, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return Shape(dims);
}

} // namespace

class TestPooling : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void windows_data();
    void windows();
    void indices();
    void autoPad();
    void nan();
    void global_data();
    void global();
    void unpool();
    void unpoolRefuses();
    void roiAlign();
    void roiAlignRefuses();
    void maxRoiPool();
    void empty();
    void refuses();
};

void TestPooling::windows_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("dtype");
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"})
        for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8})
            if (isFloating(dtype) || QString(op) == "MaxPool")
                QTest::addRow("%s %s", op, std::string(name(dtype)).c_str())
                    << QString(op) << static_cast<int>(dtype);
}

void TestPooling::windows() {
    QFETCH(QString, op);
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(61);
    for (int round = 0; round < 120; ++round) {
        const Setting s = throwDice(dice, static_cast<int>(dice.integer(1, round % 20 == 0 ? 4 : 3)));
        const Tensor x = dice.tensor(type, planes(dice.integer(1, 2), dice.integer(1, 3), s.in),
                                     type == DType::u8 ? 0 : -5, 5);
        Attributes attributes = s.attributes();
        const bool countPadding = dice.one(2);
        const std::int64_t p = dice.integer(1, 3);
        if (op == "AveragePool") attributes.set("count_include_pad", countPadding);
        if (op == "LpPool") attributes.set("p", p);
        const std::int64_t in = productOf(s.in);
        std::vector<double> expected;
        for (std::int64_t plane = 0; plane < x.shape()[0] * x.shape()[1]; ++plane)
            for (std::int64_t o = 0; o < productOf(s.out); ++o) {
                const Under under = underWindow(s, o);
                double most = -kInf;
                double sum = 0;
                double powers = 0;
                for (std::int64_t offset : under.offsets) {
                    const double value = x.at(plane * in + offset);
                    most = std::max(most, value);
                    sum += value;
                    powers += std::pow(std::abs(value), static_cast<double>(p));
                }
                if (op == "MaxPool")
                    expected.push_back(most);
                else if (op == "LpPool")
                    expected.push_back(std::pow(powers, 1 / static_cast<double>(p)));
                else
                    expected.push_back(sum / static_cast<double>(countPadding
                                                                     ? under.padded
                                                                     : std::int64_t(under.offsets.size())));
            }
        const Tensor y = runOp(op.toStdString(), attributes, {inLayout(x, dice.layout())})[0];
        QCOMPARE(y.dtype(), type);
        const QString wrong = difference(y, planes(x.shape()[0], x.shape()[1], s.out), expected,
                                         findOp(op.toStdString())->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        if (op != "MaxPool") continue;
        // Without the output Indices, the kernel takes another path.
        const Op& maxPool = *findOp("MaxPool");
        const Tensor alone = Tensor::onHost(y.type());
        const std::vector<TensorView> inputs{x.view()};
        const std::vector<TensorView> outputs{alone.view(), TensorView{}};
        const Attributes complete = completeAttributes(maxPool, attributes);
        maxPool.kernel({inputs, outputs, complete, nullptr});
        QVERIFY(valuesOf(alone) == valuesOf(y));
    }
}

void TestPooling::indices() {
    Dice dice(62);
    for (int round = 0; round < 60; ++round) {
        const Setting s = throwDice(dice, static_cast<int>(dice.integer(1, 3)));
        const Tensor x = dice.tensor(DType::f32, planes(2, 2, s.in), -5, 5);
        Attributes attributes = s.attributes();
        const bool columns = dice.one(2);
        attributes.set("storage_order", std::int64_t{columns ? 1 : 0});
        const auto outputs = runOp("MaxPool", attributes, {inLayout(x, dice.layout())});
        QCOMPARE(outputs[1].dtype(), DType::i64);
        QCOMPARE(outputs[1].shape(), outputs[0].shape());
        const std::int64_t in = productOf(s.in);
        for (std::int64_t i = 0; i < outputs[0].elementCount(); ++i) {
            auto at = static_cast<std::int64_t>(outputs[1].at(i));
            if (columns) {
                std::int64_t rest = at % in;
                std::int64_t row = 0;
                Integers place(s.in.size());
                for (std::size_t a = 0; a < place.size(); ++a) {
                    place[a] = rest % s.in[a];
                    rest /= s.in[a];
                }
                for (std::size_t a = 0; a < place.size(); ++a) row = row * s.in[a] + place[a];
                at = at / in * in + row;
            }
            QCOMPARE(x.at(at), outputs[0].at(i));
        }
    }
    // Of equal elements, the first one counts.
    const Tensor same = tensorOf(DType::f32, {1, 1, 4}, {2, 2, 2, 2});
    QCOMPARE(valuesOf(runOp("MaxPool", {{"kernel_shape", Integers{3}}}, {same})[1]),
             (std::vector<double>{0, 1}));
}

void TestPooling::autoPad() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 5}, {1, 2, 3, 4, 5});
    const auto run = [&](const char* mode, std::int64_t stride) {
        return valuesOf(runOp(
            "AveragePool",
            {{"kernel_shape", Integers{2}}, {"auto_pad", std::string(mode)}, {"strides", Integers{stride}}},
            {x})[0]);
    };
    QCOMPARE(run("VALID", 1), (std::vector<double>{1.5, 2.5, 3.5, 4.5}));
    QCOMPARE(run("SAME_UPPER", 1), (std::vector<double>{1.5, 2.5, 3.5, 4.5, 5}));
    QCOMPARE(run("SAME_LOWER", 2), (std::vector<double>{1, 2.5, 4.5}));
}

void TestPooling::nan() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 4}, {1, kNaN, 3, -kInf});
    const Tensor y = runOp("MaxPool", {{"kernel_shape", Integers{2}}}, {x})[0];
    QVERIFY(std::isnan(y.at(0)) && std::isnan(y.at(1)));
    QCOMPARE(y.at(2), 3.0);
    QVERIFY(std::isnan(runOp("GlobalMaxPool", {}, {x})[0].at(0)));
    // Without indices, f32 and bf16 use a library that ignores NaN and does not support −∞.
    for (DType dtype : {DType::f32, DType::bf16}) {
        const Tensor z = tensorOf(dtype, {1, 1, 1, 6}, {1, kNaN, -kInf, -kInf, -kInf, 2});
        const Tensor most =
            runOp("MaxPool", {{"kernel_shape", Integers{1, 2}}}, {z}, nullptr, {true, false})[0];
        QVERIFY(std::isnan(most.at(0)) && std::isnan(most.at(1)));
        QCOMPARE(most.at(2), -kInf);
        QCOMPARE(most.at(4), 2.0);

        // A channels-last image with a NaN in its last channel and a window of −∞ in another.
        const Shape large{1, 40, 12, 12};
        std::vector<double> values(static_cast<std::size_t>(large.elementCount()), -3);
        values[(39 * 12 + 5) * 12 + 7] = kNaN;
        for (std::size_t i : {0, 1, 12, 13}) values[i] = -kInf;
        const Shape half{1, 40, 6, 6};
        const auto lastOf = [&](const Shape& shape) {
            return Tensor(Tensor::onHost({dtype, shape}).buffer(), {dtype, shape}, channelsLastStrides(shape),
                          0);
        };
        const Tensor image = lastOf(large);
        copyElements(tensorOf(dtype, large, values).view(), image.view());
        const Tensor pooled = lastOf(half);
        const Op& op = *findOp("MaxPool");
        const Attributes attributes =
            completeAttributes(op, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
        const std::vector<TensorView> inputs{image.view()};
        const std::vector<TensorView> outputs{pooled.view()};
        op.kernel({inputs, outputs, attributes});
        const Tensor rowMajor = Tensor::onHost(pooled.type());
        copyElements(pooled.view(), rowMajor.view());
        const std::vector<double> result = valuesOf(rowMajor);
        QCOMPARE(result[0], -kInf);
        QCOMPARE(result[1], -3.0);
        QVERIFY(std::isnan(result[(39 * 6 + 2) * 6 + 3]));
        QCOMPARE(std::ranges::count_if(result, [](double v) { return std::isnan(v); }), std::ptrdiff_t{1});
    }
}

void TestPooling::global_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("dtype");
    for (const char* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
        for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
            QTest::addRow("%s %s", op, std::string(name(dtype)).c_str())
                << QString(op) << static_cast<int>(dtype);
}

void TestPooling::global() {
    QFETCH(QString, op);
    QFETCH(int, dtype);
    Dice dice(63);
    for (int round = 0; round < 60; ++round) {
        Integers dims;
        for (std::int64_t a = dice.integer(2, 5); a > 0; --a) dims.push_back(dice.integer(1, 6));
        const Shape shape(dims);
        const Tensor x = dice.tensor(static_cast<DType>(dtype), shape, -3, 3);
        const std::int64_t results = dims[0] * dims[1];
        const std::int64_t size = x.elementCount() / results;
        const std::int64_t p = dice.integer(1, 3);
        Attributes attributes;
        if (op == "GlobalLpPool") attributes.set("p", p);
        std::vector<double> expected;
        for (std::int64_t r = 0; r < results; ++r) {
            double most = -kInf;
            double sum = 0;
            double powers = 0;
            for (std::int64_t i = r * size; i < (r + 1) * size; ++i) {
                most = std::max(most, x.at(i));
                sum += x.at(i);
                powers += std::pow(std::abs(x.at(i)), static_cast<double>(p));
            }
            expected.push_back(op == "GlobalMaxPool"       ? most
                               : op == "GlobalAveragePool" ? sum / static_cast<double>(size)
                                                           : std::pow(powers, 1 / static_cast<double>(p)));
        }
        for (std::size_t a = 2; a < dims.size(); ++a) dims[a] = 1;
        const QString wrong = difference(runOp(op.toStdString(), attributes, {inLayout(x, dice.layout())})[0],
                                         Shape(dims), expected, findOp(op.toStdString())->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

/// Unpooling puts MaxPool's elements back to their positions.
void TestPooling::unpool() {
    Dice dice(64);
    for (DType type : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 30; ++round) {
            const std::int64_t k = dice.integer(1, 3);
            const Integers sizes{dice.integer(1, 4) * k, dice.integer(1, 4) * k};
            const Tensor x = dice.tensor(type, planes(1, 1, sizes), 1, 5);
            const Attributes attributes{{"kernel_shape", Integers{k, k}}, {"strides", Integers{k, k}}};
            const auto pooled = runOp("MaxPool", attributes, {x});
            std::vector<double> expected(static_cast<std::size_t>(x.elementCount()), 0.0);
            for (std::int64_t i = 0; i < pooled[0].elementCount(); ++i)
                expected[static_cast<std::size_t>(pooled[1].at(i))] = pooled[0].at(i);
            const Tensor back =
                runOp("MaxUnpool", attributes,
                      {inLayout(pooled[0], dice.layout()), inLayout(pooled[1], dice.layout())})[0];
            const QString wrong = difference(back, x.shape(), expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    // ONNX's example: indices refer to the shape given by the window, and the result may be larger.
    const Tensor y = runOp("MaxUnpool", {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}},
                           {tensorOf(DType::f32, {1, 1, 2, 2}, {5, 6, 7, 8}),
                            tensorOf(DType::i64, {1, 1, 2, 2}, {5, 7, 13, 15}),
                            tensorOf(DType::i64, {4}, {1, 1, 5, 5})})[0];
    QCOMPARE(y.shape(), (Shape{1, 1, 5, 5}));
    QCOMPARE(y.at(6), 5.0);
    QCOMPARE(y.at(8), 6.0);
    QCOMPARE(y.at(16), 7.0);
}

void TestPooling::unpoolRefuses() {
    const Attributes attributes{{"kernel_shape", Integers{2}}, {"strides", Integers{2}}};
    for (double index : {-1.0, 4.0})
        QVERIFY_EXCEPTION_THROWN(
            runOp("MaxUnpool", attributes,
                  {tensorOf(DType::f32, {1, 1, 2}, {1, 2}), tensorOf(DType::i64, {1, 1, 2}, {0, index})}),
            Error);
    QVERIFY(inferError([&] {
                inferTypes("MaxUnpool", attributes,
                           {tensorOf(DType::f32, {1, 1, 2}, {1, 2}), tensorOf(DType::i64, {1, 1, 2}, {0, 1}),
                            tensorOf(DType::i64, {3}, {1, 1, 3})});
            }).contains("must be at least [1, 1, 4]"));
}

void TestPooling::roiAlign() {
    Dice dice(65);
    for (DType type : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 40; ++round) {
            const std::int64_t height = dice.integer(2, 8);
            const std::int64_t width = dice.integer(2, 8);
            const Tensor x = dice.tensor(type, {2, 2, height, width}, -2, 2);
            const std::int64_t regions = dice.integer(0, 3);
            std::vector<double> corners;
            std::vector<double> images;
            for (std::int64_t r = 0; r < regions; ++r) {
                // Multiples of 1/4, which every dtype represents exactly.
                const double left = static_cast<double>(dice.integer(-4, 4 * width)) / 4;
                const double top = static_cast<double>(dice.integer(-4, 4 * height)) / 4;
                corners.insert(corners.end(), {left, top, left + static_cast<double>(dice.integer(0, 20)) / 4,
                                               top + static_cast<double>(dice.integer(0, 20)) / 4});
                images.push_back(static_cast<double>(dice.integer(0, 1)));
            }
            const std::int64_t rows = dice.integer(1, 3);
            const std::int64_t columns = dice.integer(1, 3);
            const std::int64_t ratio = dice.integer(0, 2);
            const bool half = dice.one(2);
            const double scale = dice.one(2) ? 1 : 0.5;
            std::vector<double> expected;
            for (std::int64_t r = 0; r < regions; ++r)
                for (std::int64_t c = 0; c < 2; ++c) {
                    const auto corner = [&](int i) {
                        return corners[static_cast<std::size_t>(r * 4 + i)] * scale - (half ? 0.5 : 0);
                    };
                    double w = corner(2) - corner(0);
                    double h = corner(3) - corner(1);
                    if (!half) {
                        w = std::max(w, 1.0);
                        h = std::max(h, 1.0);
                    }
                    const double binW = w / static_cast<double>(columns);
                    const double binH = h / static_cast<double>(rows);
                    const std::int64_t countX = ratio > 0 ? ratio : std::int64_t(std::ceil(binW));
                    const std::int64_t countY = ratio > 0 ? ratio : std::int64_t(std::ceil(binH));
                    const std::int64_t base =
                        (static_cast<std::int64_t>(images[static_cast<std::size_t>(r)]) * 2 + c) * height *
                        width;
                    for (std::int64_t i = 0; i < rows; ++i)
                        for (std::int64_t j = 0; j < columns; ++j) {
                            double sum = 0;
                            for (std::int64_t a = 0; a < countY; ++a)
                                for (std::int64_t b = 0; b < countX; ++b) {
                                    double y = corner(1) + binH * (static_cast<double>(i) +
                                                                   (static_cast<double>(a) + 0.5) /
                                                                       static_cast<double>(countY));
                                    double at = corner(0) + binW * (static_cast<double>(j) +
                                                                    (static_cast<double>(b) + 0.5) /
                                                                        static_cast<double>(countX));
                                    if (y < -1 || at < -1 || y > double(height) || at > double(width))
                                        continue;
                                    y = std::clamp(y, 0.0, double(height - 1));
                                    at = std::clamp(at, 0.0, double(width - 1));
                                    const auto y0 = std::int64_t(y);
                                    const auto x0 = std::int64_t(at);
                                    const auto y1 = std::min(y0 + 1, height - 1);
                                    const auto x1 = std::min(x0 + 1, width - 1);
                                    const double fy = y - double(y0);
                                    const double fx = at - double(x0);
                                    const auto v = [&](std::int64_t p, std::int64_t q) {
                                        return x.at(base + p * width + q);
                                    };
                                    sum += (1 - fy) * ((1 - fx) * v(y0, x0) + fx * v(y0, x1)) +
                                           fy * ((1 - fx) * v(y1, x0) + fx * v(y1, x1));
                                }
                            expected.push_back(sum / std::max(1.0, double(countX * countY)));
                        }
                }
            const Tensor y = runOp(
                "RoiAlign",
                {{"output_height", rows},
                 {"output_width", columns},
                 {"sampling_ratio", ratio},
                 {"spatial_scale", scale},
                 {"coordinate_transformation_mode", std::string(half ? "half_pixel" : "output_half_pixel")}},
                {inLayout(x, dice.layout()), inLayout(tensorOf(type, {regions, 4}, corners), dice.layout()),
                 tensorOf(DType::i64, {regions}, images)})[0];
            const QString wrong =
                difference(y, {regions, 2, rows, columns}, expected, findOp("RoiAlign")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestPooling::roiAlignRefuses() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 4});
    const auto run = [&](const std::vector<double>& roi, double image) {
        return runOp("RoiAlign", {},
                     {x, tensorOf(DType::f32, {1, 4}, roi), tensorOf(DType::i64, {1}, {image})});
    };
    QVERIFY_EXCEPTION_THROWN(run({0, 0, 1, 1}, 1), Error);
    QVERIFY_EXCEPTION_THROWN(run({0, 0, 1, 1}, -1), Error);
    QVERIFY_EXCEPTION_THROWN(run({0, kNaN, 1, 1}, 0), Error);
    QVERIFY_EXCEPTION_THROWN(run({0, 0, kInf, 1}, 0), Error);
    // A region with many samples, nearly all outside the image, is handled quickly.
    QCOMPARE(run({0, 0, 1e9F, 1e9F}, 0).size(), std::size_t{1});
}

void TestPooling::maxRoiPool() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const Attributes attributes{{"pooled_shape", Integers{2, 2}}};
    const auto run = [&](const std::vector<double>& roi) {
        return valuesOf(runOp("MaxRoiPool", attributes, {x, tensorOf(DType::f32, {1, 5}, roi)})[0]);
    };
    QCOMPARE(run({0, 0, 0, 3, 2}), (std::vector<double>{6, 8, 10, 12}));
    QCOMPARE(run({0, 1, 1, 1, 1}), (std::vector<double>{6, 6, 6, 6}));
    // Outside the image there are no elements.
    QCOMPARE(run({0, 9, 9, 10, 10}), (std::vector<double>{0, 0, 0, 0}));
    QVERIFY_EXCEPTION_THROWN(run({1, 0, 0, 1, 1}), Error);
    QVERIFY_EXCEPTION_THROWN(run({0, kNaN, 0, 1, 1}), Error);
}

void TestPooling::empty() {
    const Tensor none = Tensor::onHost({DType::f32, {0, 3, 4, 4}});
    const Attributes kernel{{"kernel_shape", Integers{2, 2}}};
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"})
        QCOMPARE(runOp(op, kernel, {none})[0].shape(), (Shape{0, 3, 3, 3}));
    for (const char* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
        QCOMPARE(runOp(op, {}, {none})[0].shape(), (Shape{0, 3, 1, 1}));
    QVERIFY(std::isnan(runOp("GlobalAveragePool", {}, {Tensor::onHost({DType::f32, {1, 1, 0}})})[0].at(0)));
    QCOMPARE(runOp("GlobalMaxPool", {}, {Tensor::onHost({DType::f32, {1, 1, 0}})})[0].at(0), -kInf);
}

void TestPooling::refuses() {
    const auto error = [](const char* op, const Attributes& attributes, const Shape& shape) {
        return inferError([&] { inferTypes(op, attributes, std::vector<TensorType>{{DType::f32, shape}}); });
    };
    QVERIFY(error("MaxPool", {}, {1, 1, 4}).contains("\"kernel_shape\""));
    QVERIFY(error("MaxPool", {{"kernel_shape", Integers{2, 2}}}, {1, 1, 4}).contains("1 axes"));
    QVERIFY(error("MaxPool", {{"kernel_shape", Integers{0}}}, {1, 1, 4}).contains("must be"));
    QVERIFY(error("MaxPool", {{"kernel_shape", Integers{5}}}, {1, 1, 4})
                .contains("Kernel size can't be greater than actual input size"));
    QVERIFY(
        error("AveragePool", {{"kernel_shape", Integers{2}}}, {1, 4}).contains("at least one spatial axis"));
    QVERIFY(error("GlobalMaxPool", {}, {4}).contains("batch and channels"));
    QCOMPARE(inferTypes("MaxPool", {{"kernel_shape", Integers{2}}},
                        std::vector<TensorType>{{DType::f32, {kUnknownDim, 2, kUnknownDim}}})[1]
                 .shape,
             (Shape{kUnknownDim, 2, kUnknownDim}));
}

TWB_TEST_MAIN(TestPooling)
#include "test_pooling.moc"
