#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
using Integers = std::vector<std::int64_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A row resized by ONNX's formulas, one element at a time.
struct Row {
    std::string mode = "nearest", transformation = "half_pixel", rounding = "round_prefer_floor";
    double scale = 1, a = -0.75;
    bool antialias = false, exclude = false;

    double place(std::int64_t i, std::int64_t in, std::int64_t out) const {
        const auto x = static_cast<double>(i);
        const auto n = static_cast<double>(in);
        if (transformation == "asymmetric") return x / scale;
        if (transformation == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
        if (transformation == "align_corners") return scale * n == 1 ? 0 : x * (n - 1) / (scale * n - 1);
        if (transformation == "pytorch_half_pixel" && scale * n == 1) return -0.5;
        if (transformation == "half_pixel_symmetric")
            return n / 2 * (1 - static_cast<double>(out) / (scale * n)) + (x + 0.5) / scale - 0.5;
        return (x + 0.5) / scale - 0.5;
    }
    double kernel(double d) const {
        d = std::abs(d);
        if (mode == "linear") return std::max(0.0, 1 - d);
        if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
        return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
    }
    Numbers of(const Numbers& in, std::int64_t out) const {
        Numbers y;
        const auto n = static_cast<std::int64_t>(in.size());
        for (std::int64_t i = 0; i < out; ++i) {
            const double x = place(i, n, out);
            const auto valueAt = [&](std::int64_t k) {
                return in[at(std::clamp<std::int64_t>(k, 0, n - 1))];
            };
            if (mode == "nearest") {
                const double whole = rounding == "floor"               ? std::floor(x)
                                     : rounding == "ceil"              ? std::ceil(x)
                                     : rounding == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                                       : std::ceil(x - 0.5);
                y.push_back(valueAt(static_cast<std::int64_t>(whole)));
                continue;
            }
            const double narrow = antialias ? std::min(scale, 1.0) : 1;
            double sum = 0;
            double total = 0;
            for (std::int64_t k = -50; k < n + 50; ++k) {
                if (exclude && (k < 0 || k >= n)) continue;
                const double share = kernel((static_cast<double>(k) - x) * narrow);
                sum += share * valueAt(k);
                total += share;
            }
            y.push_back(sum / total);
        }
        return y;
    }
};

} // namespace

class TestResize : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rows_data();
    void rows();
    void severalAxes();
    void everyDtype();
    void aspectRatio();
    void crops();
    void shapes();
    void refuses();
};

void TestResize::rows_data() {
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("transformation");
    for (const char* mode : {"nearest", "linear", "cubic"})
        for (const char* transformation : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                           "align_corners", "asymmetric", "tf_half_pixel_for_nn"})
            QTest::addRow("%s %s", mode, transformation) << QString(mode) << QString(transformation);
}

void TestResize::rows() {
    QFETCH(QString, mode);
    QFETCH(QString, transformation);
    Dice dice(101);
    for (int round = 0; round < 80; ++round) {
        Row row;
        row.mode = mode.toStdString();
        row.transformation = transformation.toStdString();
        row.rounding = std::vector<std::string>{"round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil"}[at(dice.integer(0, 3))];
        row.a = dice.one(2) ? -0.75 : -0.5;
        row.antialias = row.mode != "nearest" && dice.one(2);
        row.exclude = row.mode != "nearest" && dice.one(3);
        const std::int64_t n = dice.integer(1, 9);
        const Tensor x = dice.tensor(round % 2 == 0 ? DType::f32 : DType::f64, {n}, -5, 5);
        Attributes attributes{{"mode", row.mode},
                              {"coordinate_transformation_mode", row.transformation},
                              {"nearest_mode", row.rounding},
                              {"cubic_coeff_a", row.a},
                              {"antialias", row.antialias},
                              {"exclude_outside", row.exclude}};
        std::vector<Tensor> inputs{inLayout(x, dice.layout()), {}, {}, {}};
        std::int64_t out = dice.integer(1, 12);
        if (dice.one(2)) {
            row.scale = static_cast<double>(out) / static_cast<double>(n);
            inputs[3] = tensorOf(DType::i64, {1}, {static_cast<double>(out)});
        } else {
            // Multiples of 1/4, which f32 represents exactly, so that oracle and op compute the same
            // positions.
            row.scale = std::max(0.25, static_cast<double>(dice.integer(1, 12)) / 4);
            out = static_cast<std::int64_t>(std::floor(static_cast<double>(n) * row.scale));
            inputs[2] = tensorOf(DType::f32, {1}, {row.scale});
        }
        if (row.transformation == "align_corners" && out == 1 && row.scale * static_cast<double>(n) != 1)
            continue;
        const QString wrong =
            difference(runOp("Resize", attributes, inputs)[0], {out}, row.of(valuesOf(x), out), {2e-5, 2e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

/// Resizes one axis after the other; the order does not matter.
void TestResize::severalAxes() {
    Dice dice(102);
    for (const char* mode : {"nearest", "linear", "cubic"})
        for (int round = 0; round < 30; ++round) {
            const std::int64_t h = dice.integer(1, 6);
            const std::int64_t w = dice.integer(1, 6);
            const std::int64_t H = dice.integer(1, 9);
            const std::int64_t W = dice.integer(1, 9);
            const Tensor x = dice.tensor(DType::f32, {2, h, w}, -3, 3);
            Row row;
            row.mode = mode;
            Numbers expected;
            for (std::int64_t c = 0; c < 2; ++c) {
                std::vector<Numbers> wide;
                row.scale = static_cast<double>(W) / static_cast<double>(w);
                for (std::int64_t i = 0; i < h; ++i) {
                    Numbers line;
                    for (std::int64_t j = 0; j < w; ++j) line.push_back(x.at((c * h + i) * w + j));
                    wide.push_back(row.of(line, W));
                }
                row.scale = static_cast<double>(H) / static_cast<double>(h);
                std::vector<Numbers> columns;
                for (std::int64_t j = 0; j < W; ++j) {
                    Numbers column;
                    for (const Numbers& line : wide) column.push_back(line[at(j)]);
                    columns.push_back(row.of(column, H));
                }
                for (std::int64_t i = 0; i < H; ++i)
                    for (std::int64_t j = 0; j < W; ++j) expected.push_back(columns[at(j)][at(i)]);
            }
            const bool swapped = dice.one(2);
            const Attributes attributes{{"mode", std::string(mode)},
                                        {"axes", swapped ? Integers{-1, 1} : Integers{1, 2}},
                                        {"sizes", swapped ? Integers{W, H} : Integers{H, W}}};
            const QString wrong = difference(runOp("Resize", attributes, {inLayout(x, dice.layout())})[0],
                                             {2, H, W}, expected, {2e-5, 2e-5});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestResize::everyDtype() {
    for (DType type : kWideDTypes) {
        const Tensor x = tensorOf(type, {2}, {1, 0});
        QCOMPARE(valuesOf(runOp("Resize", {{"scales", Numbers{2}}}, {x})[0]), (Numbers{1, 1, 0, 0}));
        if (type == DType::boolean) continue;
        const Numbers y = valuesOf(runOp("Resize", {{"scales", Numbers{2}}, {"mode", std::string("linear")}},
                                         {tensorOf(type, {2}, {4, 8})})[0]);
        QCOMPARE(y, (Numbers{4, 5, 7, 8}));
    }
    // Cubic interpolation exceeds the range of its elements; integers saturate.
    const Numbers y = valuesOf(runOp("Resize", {{"scales", Numbers{4}}, {"mode", std::string("cubic")}},
                                     {tensorOf(DType::u8, {4}, {0, 255, 255, 0})})[0]);
    QVERIFY(*std::max_element(y.begin(), y.end()) == 255 && *std::min_element(y.begin(), y.end()) == 0);
}

void TestResize::aspectRatio() {
    const TensorType x{DType::f32, {1, 1, 4, 6}};
    const auto shape = [&](const char* policy) {
        return inferTypes("Resize",
                          {{"axes", Integers{2, 3}},
                           {"sizes", Integers{8, 8}},
                           {"keep_aspect_ratio_policy", std::string(policy)}},
                          {x})[0]
            .shape;
    };
    QCOMPARE(shape("stretch"), (Shape{1, 1, 8, 8}));
    QCOMPARE(shape("not_larger"), (Shape{1, 1, 5, 8}));
    QCOMPARE(shape("not_smaller"), (Shape{1, 1, 8, 12}));
}

void TestResize::crops() {
    const Tensor x = tensorOf(DType::f32, {5}, {0, 10, 20, 30, 40});
    const auto run = [&](const Numbers& roi, std::int64_t size) {
        return valuesOf(runOp("Resize",
                              {{"mode", std::string("linear")},
                               {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                               {"extrapolation_value", -1.0}},
                              {x,
                               tensorOf(DType::f32, {2}, roi),
                               {},
                               tensorOf(DType::i64, {1}, {static_cast<double>(size)})})[0]);
    };
    QCOMPARE(run({0.25, 0.75}, 3), (Numbers{10, 20, 30}));
    QCOMPARE(run({0.5, 1.5}, 3), (Numbers{20, 40, -1}));
    QCOMPARE(run({0, 1}, 1), (Numbers{20}));
}

void TestResize::shapes() {
    const Tensor x = Tensor::onHost({DType::f32, {1, 3, 4, 4}});
    const Tensor scales = tensorOf(DType::f32, {4}, {1, 1, 1.5, 0.6});
    QCOMPARE(inferTypes("Resize", {}, {x, {}, scales})[0].shape, (Shape{1, 3, 6, 2}));
    QCOMPARE(inferTypes("Resize", {}, {x, {}, scales}, nullptr, true)[0].shape,
             (Shape{kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim}));
    QCOMPARE(inferTypes("Resize", {{"axes", Integers{2}}}, {x, {}, tensorOf(DType::f32, {1}, {2})}, nullptr,
                        true)[0]
                 .shape,
             (Shape{1, 3, kUnknownDim, 4}));
    // Empty lists, as in older models, count as absent.
    const Tensor none = Tensor::onHost({DType::f32, {0}});
    QCOMPARE(inferTypes("Resize", {}, {x, none, none, tensorOf(DType::i64, {4}, {1, 3, 2, 2})})[0].shape,
             (Shape{1, 3, 2, 2}));
    QCOMPARE(runOp("Resize", {{"scales", Numbers{2, 2}}}, {Tensor::onHost({DType::f32, {0, 3}})})[0].shape(),
             (Shape{0, 6}));
    QCOMPARE(valuesOf(runOp("Resize", {{"scales", Numbers{1}}},
                            {inLayout(tensorOf(DType::f32, {2}, {1, 2}), Layout::reversed)})[0]),
             (Numbers{1, 2}));
}

void TestResize::refuses() {
    const auto error = [](const Attributes& attributes, DType type, const Shape& shape) {
        return inferError([&] { inferTypes("Resize", attributes, std::vector<TensorType>{{type, shape}}); });
    };
    QVERIFY(error({}, DType::f32, {4}).contains("needs scales or sizes"));
    QVERIFY(error({{"scales", Numbers{2}}, {"sizes", Integers{2}}}, DType::f32, {4}).contains("not both"));
    QVERIFY(error({{"scales", Numbers{2}}}, DType::f32, {4, 4}).contains("must have 2 entries"));
    QVERIFY(error({{"scales", Numbers{-1}}}, DType::f32, {4}).contains("above 0"));
    QVERIFY(error({{"scales", Numbers{1e300}}}, DType::f32, {4}).contains("too-large"));
    QVERIFY(error({{"sizes", Integers{2}}}, DType::f32, {0}).contains("greater than 0"));
    QVERIFY(error({{"sizes", Integers{2}}, {"axes", Integers{3}}}, DType::f32, {4})
                .contains("Dimension out of range"));
    QVERIFY(error({{"sizes", Integers{2}}, {"mode", std::string("linear")}}, DType::boolean, {4})
                .contains("bool cannot be interpolated"));
    QVERIFY(
        error({{"sizes", Integers{2}}, {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
              DType::f32, {4})
            .contains("needs roi"));
}

TWB_TEST_MAIN(TestResize)
#include "test_resize.moc"
