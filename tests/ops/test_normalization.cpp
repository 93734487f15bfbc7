#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Shape someShape(Dice& dice, int least, int most) {
    Integers dims(at(dice.integer(least, most)));
    for (std::int64_t& size : dims) size = dice.one(15) ? 0 : dice.integer(1, 6);
    return Shape(dims);
}

/// Mean and variance of the elements at `places`.
std::pair<double, double> moments(const Tensor& x, const Integers& places) {
    long double sum = 0;
    for (std::int64_t i : places) sum += x.at(i);
    const long double mean = sum / static_cast<long double>(places.size());
    long double squares = 0;
    for (std::int64_t i : places) squares += (x.at(i) - mean) * (x.at(i) - mean);
    return {static_cast<double>(mean),
            static_cast<double>(squares / static_cast<long double>(places.size()))};
}

/// A statistic of each group, for the grouping groupOf(index).
template <class GroupOf> std::vector<Integers> groupsBy(const Tensor& x, const GroupOf& groupOf) {
    std::vector<Integers> groups;
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const std::size_t g = at(groupOf(i));
        if (g >= groups.size()) groups.resize(g + 1);
        groups[g].push_back(i);
    }
    return groups;
}

std::int64_t sizeFrom(const Shape& shape, int axis) {
    std::int64_t count = 1;
    for (int i = axis; i < shape.rank(); ++i) count *= shape[i];
    return count;
}

void check(const char* op, const Attributes& attributes, const std::vector<Tensor>& inputs,
           const Numbers& expected, double slack = 1) {
    Tolerance tolerance = findOp(op)->tolerance;
    tolerance.rtol *= slack;
    tolerance.atol *= slack;
    const QString wrong =
        difference(runOp(op, attributes, inputs)[0], inputs[0].shape(), expected, tolerance);
    QVERIFY2(wrong.isEmpty(), qPrintable(QString(op) + ": " + wrong));
}

} // namespace

class TestNormalization : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dtypes_data();
    void batch_data() { dtypes_data(); }
    void batch();
    void batchTraining();
    void batchGradients_data() { dtypes_data(); }
    void batchGradients();
    void batchGradientsInPlace();
    void instanceAndGroup_data() { dtypes_data(); }
    void instanceAndGroup();
    void layer_data() { dtypes_data(); }
    void layer();
    void rms_data() { dtypes_data(); }
    void rms();
    void rmsOfTwoDtypes();
    void slices_data() { dtypes_data(); }
    void slices();
    void softmaxOfRows_data() { dtypes_data(); }
    void softmaxOfRows();
    void softmaxOfPieces();
    void lrn_data() { dtypes_data(); }
    void lrn();
    void longRows_data() { dtypes_data(); }
    void longRows();
    void longRowsStayExact();
    void channelsOfPlanes();
    void normsOutOfRange();
    void refuses();
};

void TestNormalization::dtypes_data() {
    QTest::addColumn<int>("dtype");
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        QTest::addRow("%s", std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
}

void TestNormalization::batch() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(71);
    for (int round = 0; round < 60; ++round) {
        const Shape shape = someShape(dice, 1, 5);
        const std::int64_t channels = shape.rank() > 1 ? shape[1] : 1;
        const Tensor x = dice.tensor(type, shape, -2, 2);
        const Tensor scale = dice.tensor(type, {channels}, 0.5, 2);
        const Tensor bias = dice.tensor(type, {channels}, -1, 1);
        const Tensor mean = dice.tensor(type, {channels}, -1, 1);
        const Tensor variance = dice.tensor(type, {channels}, 0.5, 2);
        const double epsilon = dice.one(2) ? 1e-5 : 0.1;
        Numbers expected;
        const std::int64_t size = sizeFrom(shape, 2);
        for (std::int64_t i = 0; i < x.elementCount(); ++i) {
            const std::int64_t c = i / size % channels;
            expected.push_back((x.at(i) - mean.at(c)) / std::sqrt(variance.at(c) + epsilon) * scale.at(c) +
                               bias.at(c));
        }
        check("BatchNormalization", {{"epsilon", epsilon}},
              {inLayout(x, dice.layout()), inLayout(scale, dice.layout()), bias, mean,
               inLayout(variance, dice.layout())},
              expected);
    }
}

void TestNormalization::batchTraining() {
    Dice dice(72);
    for (DType type : {DType::f32, DType::f64})
        for (int round = 0; round < 40; ++round) {
            const Shape shape{dice.integer(2, 4), dice.integer(1, 4), dice.integer(1, 5), dice.integer(1, 5)};
            const std::int64_t channels = shape[1];
            const Tensor x = dice.tensor(type, shape, -2, 2);
            // Parameters may have another dtype than the input.
            const Tensor scale = dice.tensor(DType::f32, {channels}, 0.5, 2);
            const Tensor bias = dice.tensor(DType::f32, {channels}, -1, 1);
            const Tensor mean = dice.tensor(DType::f64, {channels}, -1, 1);
            const Tensor variance = dice.tensor(DType::f64, {channels}, 0.5, 2);
            const double momentum = dice.real(0, 1);
            const std::int64_t size = sizeFrom(shape, 2);
            const auto groups = groupsBy(x, [&](std::int64_t i) { return i / size % channels; });
            Numbers y(at(x.elementCount()));
            Numbers means;
            Numbers variances;
            for (std::int64_t c = 0; c < channels; ++c) {
                const auto [m, v] = moments(x, groups[at(c)]);
                for (std::int64_t i : groups[at(c)])
                    y[at(i)] = (x.at(i) - m) / std::sqrt(v + 1e-5) * scale.at(c) + bias.at(c);
                means.push_back(mean.at(c) * momentum + m * (1 - momentum));
                variances.push_back(variance.at(c) * momentum + v * (1 - momentum));
            }
            const auto outputs =
                runOp("BatchNormalization", {{"training_mode", true}, {"momentum", momentum}},
                      {inLayout(x, dice.layout()), scale, bias, mean, variance});
            const Tolerance tolerance{1e-4, 1e-4};
            for (const QString& wrong : {difference(outputs[0], shape, y, tolerance),
                                         difference(outputs[1], {channels}, means, {1e-6, 1e-6}),
                                         difference(outputs[2], {channels}, variances, {1e-6, 1e-6})})
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestNormalization::batchGradients() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(81);
    for (int round = 0; round < 60; ++round) {
        // The last shapes have planes that are larger than a piece, or none.
        const Shape shape =
            round < 55 ? Shape{dice.integer(2, 4), dice.integer(1, 4), dice.integer(1, 5), dice.integer(1, 5)}
            : round < 56 ? Shape{7}
            : round < 57 ? Shape{300, 3}
            : round < 58 ? Shape{2, 2, 199, 201}
            : round < 59 ? Shape{3, 0, 2}
                         : Shape{0, 3, 2};
        const std::int64_t channels = shape.rank() > 1 ? shape[1] : 1;
        const std::int64_t size = sizeFrom(shape, 2);
        const bool isFar = !isHalfWidth(type) && dice.one(2); // sums of squares would lose the variance
        const Tensor x = dice.tensor(type, shape, isFar ? 98 : -2, isFar ? 102 : 2);
        const Tensor dy = dice.tensor(type, shape, -1, 3);
        const Tensor scale = dice.tensor(DType::f32, {channels}, 0.5, 2); // may have another dtype
        const double epsilon = dice.one(2) ? 1e-3 : 0.1;
        Numbers dx(at(x.elementCount()));
        Numbers ofScale(at(channels));
        Numbers ofBias(at(channels));
        const auto groups = groupsBy(x, [&](std::int64_t i) { return i / size % channels; });
        for (std::int64_t c = 0; c < channels && x.elementCount() > 0; ++c) {
            const auto [mean, variance] = moments(x, groups[at(c)]);
            const double inverse = 1 / std::sqrt(variance + epsilon);
            for (std::int64_t i : groups[at(c)]) {
                ofBias[at(c)] += dy.at(i);
                ofScale[at(c)] += dy.at(i) * (x.at(i) - mean) * inverse;
            }
            const auto n = static_cast<double>(groups[at(c)].size());
            for (std::int64_t i : groups[at(c)])
                dx[at(i)] = scale.at(c) * inverse *
                            (dy.at(i) - ofBias[at(c)] / n - (x.at(i) - mean) * inverse * ofScale[at(c)] / n);
        }
        const auto outputs = runOp("BatchNormalizationGrad", {{"epsilon", epsilon}},
                                   {inLayout(dy, dice.layout()), inLayout(x, dice.layout()), scale});
        const Tolerance tolerance{1e-5, isFar ? 1e-4 : 1e-5};
        for (const QString& wrong : {difference(outputs[0], shape, dx, tolerance),
                                     difference(outputs[1], {channels}, ofScale, {1e-5, 1e-4}),
                                     difference(outputs[2], {channels}, ofBias, {1e-5, 1e-4})})
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

/// The planner may let the gradient of X take the memory of dY or X.
void TestNormalization::batchGradientsInPlace() {
    const Op& op = *findOp("BatchNormalizationGrad");
    QCOMPARE(op.inPlace, (std::vector<int>{0, 1}));
    for (const std::size_t port : {0, 1}) {
        Dice dice(82);
        const Tensor inputs[] = {dice.tensor(DType::f32, {3, 5, 90, 101}, -1, 3),
                                 dice.tensor(DType::f32, {3, 5, 90, 101}, -2, 2),
                                 dice.tensor(DType::f32, {5}, 0.5, 2)};
        const Tensor expected = runOp(op.name, {}, {inputs[0], inputs[1], inputs[2]})[0];
        const TensorView views[] = {inputs[0].view(), inputs[1].view(), inputs[2].view()};
        op.kernel({views, std::span(&views[port], 1), completeAttributes(op, {}), nullptr});
        const QString wrong = difference(inputs[port], expected.shape(), valuesOf(expected), {1e-5, 1e-5});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestNormalization::instanceAndGroup() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(73);
    for (int round = 0; round < 60; ++round) {
        const std::int64_t groups = dice.integer(1, 3);
        const Shape shape{dice.integer(1, 3), groups * dice.integer(1, 3), dice.integer(2, 6),
                          dice.integer(1, 6)};
        const std::int64_t channels = shape[1];
        const std::int64_t size = sizeFrom(shape, 2);
        const Tensor x = dice.tensor(type, shape, -2, 2);
        const Tensor scale = dice.tensor(type, {channels}, 0.5, 2);
        const Tensor bias = dice.tensor(type, {channels}, -1, 1);
        const auto expected = [&](std::int64_t length) {
            Numbers y(at(x.elementCount()));
            for (const Integers& group : groupsBy(x, [&](std::int64_t i) { return i / length; })) {
                const auto [m, v] = moments(x, group);
                for (std::int64_t i : group) {
                    const std::int64_t c = i / size % channels;
                    y[at(i)] = (x.at(i) - m) / std::sqrt(v + 1e-2) * scale.at(c) + bias.at(c);
                }
            }
            return y;
        };
        const std::vector<Tensor> inputs{inLayout(x, dice.layout()), inLayout(scale, dice.layout()), bias};
        check("InstanceNormalization", {{"epsilon", 1e-2}}, inputs, expected(size));
        check("GroupNormalization", {{"epsilon", 1e-2}, {"num_groups", groups}}, inputs,
              expected(size * channels / groups));
    }
}

void TestNormalization::layer() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(74);
    for (int round = 0; round < 80; ++round) {
        const Shape shape = someShape(dice, 1, 4);
        const int axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
        const std::int64_t length = sizeFrom(shape, axis);
        const Tensor x = dice.tensor(type, shape, -2, 2);
        Integers own(shape.begin() + axis, shape.end());
        const bool single = dice.one(4);
        if (single) own.assign(own.size(), 1);
        const Tensor scale = dice.one(4) ? Tensor{} : dice.tensor(type, Shape(own), 0.5, 2);
        const Tensor bias = dice.one(2) ? dice.tensor(type, Shape(own), -1, 1) : Tensor{};
        Numbers y;
        Numbers means;
        Numbers inverses;
        for (const Integers& row :
             groupsBy(x, [&](std::int64_t i) { return i / std::max<std::int64_t>(length, 1); })) {
            const auto [m, v] = moments(x, row);
            means.push_back(m);
            inverses.push_back(1 / std::sqrt(v + 1e-2));
            for (std::int64_t i : row) {
                const std::int64_t k = single ? 0 : i % length;
                y.push_back((x.at(i) - m) * inverses.back() * (scale ? scale.at(k) : 1) +
                            (bias ? bias.at(k) : 0));
            }
        }
        const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}},
                                    {"epsilon", 1e-2}};
        const std::vector<Tensor> inputs{inLayout(x, dice.layout()),
                                         scale ? inLayout(scale, dice.layout()) : scale, bias};
        check("LayerNormalization", attributes, inputs, y);
        if (x.elementCount() == 0) continue;
        const auto outputs = runOp("LayerNormalization", attributes, inputs);
        Integers dims = shape.dims();
        for (std::size_t i = at(axis); i < dims.size(); ++i) dims[i] = 1;
        QCOMPARE(outputs[1].dtype(), DType::f32);
        for (const QString& wrong : {difference(outputs[1], Shape(dims), means, {1e-6, 1e-6}),
                                     difference(outputs[2], Shape(dims), inverses, {1e-6, 1e-6})})
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestNormalization::rms() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(75);
    for (int round = 0; round < 60; ++round) {
        const Shape shape = someShape(dice, 1, 4);
        const int axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
        const std::int64_t length = std::max<std::int64_t>(sizeFrom(shape, axis), 1);
        const Tensor x = dice.tensor(type, shape, -2, 2);
        const Tensor scale = dice.tensor(type, Shape(Integers(shape.begin() + axis, shape.end())), 0.5, 2);
        Numbers y;
        for (std::int64_t i = 0; i < x.elementCount(); ++i) {
            double squares = 0;
            for (std::int64_t k = i / length * length; k < (i / length + 1) * length; ++k)
                squares += x.at(k) * x.at(k);
            y.push_back(x.at(i) / std::sqrt(squares / static_cast<double>(length) + 1e-5) *
                        scale.at(i % length));
        }
        check("RMSNormalization", {{"axis", std::int64_t{axis}}},
              {inLayout(x, dice.layout()), inLayout(scale, dice.layout())}, y);
    }
}

void TestNormalization::rmsOfTwoDtypes() {
    const Tensor x = tensorOf(DType::f32, {2}, {3, 4});
    const Tensor y = runOp("RMSNormalization", {{"epsilon", 0.0}}, {x, tensorOf(DType::f64, {2}, {1, 2})})[0];
    QCOMPARE(y.dtype(), DType::f64);
    QVERIFY(std::abs(y.at(1) - 8 / std::sqrt(12.5)) < 1e-6);
    QCOMPARE(runOp("RMSNormalization", {}, {x, tensorOf(DType::f16, {2}, {1, 2})})[0].dtype(), DType::f16);
    // stash_type 16 is bf16.
    const auto outputs = runOp("LayerNormalization", {{"stash_type", std::int64_t{16}}},
                               {x, tensorOf(DType::f32, {2}, {1, 1})});
    QCOMPARE(outputs[1].dtype(), DType::bf16);
    QCOMPARE(outputs[1].at(0), 3.5);
}

void TestNormalization::slices() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(76);
    for (int round = 0; round < 60; ++round) {
        const Shape shape = someShape(dice, 1, 4);
        const Tensor x = dice.tensor(type, shape, -2, 2);
        std::vector<bool> along(at(shape.rank()));
        for (std::size_t a = 0; a < along.size(); ++a) along[a] = dice.one(2);
        const auto groupOf = [&](const std::vector<bool>& reduced) {
            return [&shape, reduced](std::int64_t i) {
                std::int64_t group = 0;
                std::int64_t step = 1;
                for (int axis = shape.rank() - 1; axis >= 0; --axis) {
                    if (!reduced[at(axis)]) {
                        group += i % shape[axis] * step;
                        step *= shape[axis];
                    }
                    i /= shape[axis];
                }
                return group;
            };
        };
        Integers axes;
        for (std::size_t a = 0; a < along.size(); ++a)
            if (along[a]) axes.push_back(dice.one(2) ? std::int64_t(a) : std::int64_t(a) - shape.rank());
        Numbers y(at(x.elementCount()));
        for (const Integers& group : groupsBy(x, groupOf(along))) {
            if (group.empty()) continue;
            const auto [m, v] = moments(x, group);
            for (std::int64_t i : group) y[at(i)] = (x.at(i) - m) / (std::sqrt(v) + 1e-9);
        }
        // The deviation of a single element is 0, and 0 / 1e-9 is 0.
        check("MeanVarianceNormalization", {{"axes", axes}}, {inLayout(x, dice.layout())}, y, 10);

        const std::int64_t axis = dice.integer(-shape.rank(), shape.rank() - 1);
        std::vector<bool> one(at(shape.rank()));
        one[at(axis < 0 ? axis + shape.rank() : axis)] = true;
        const std::int64_t p = dice.integer(1, 2);
        for (const Integers& group : groupsBy(x, groupOf(one))) {
            double norm = 0;
            for (std::int64_t i : group) norm += std::pow(std::abs(x.at(i)), static_cast<double>(p));
            for (std::int64_t i : group) y[at(i)] = x.at(i) / std::pow(norm, 1 / static_cast<double>(p));
        }
        check("LpNormalization", {{"axis", axis}, {"p", p}}, {inLayout(x, dice.layout())}, y);
    }
    QCOMPARE(valuesOf(runOp("LpNormalization", {}, {tensorOf(type, {2, 2}, {0, 0, 3, 4})})[0])[0], 0.0);
}

/// Rows that fit into a team, rows that need several passes, and rows split into pieces; aligned to packs and
/// not.
void TestNormalization::softmaxOfRows() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(78);
    for (const Shape& shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 4}, Shape{3, 5}, Shape{3, 8}, Shape{3, 9},
                               Shape{3, 16}, Shape{3, 17}, Shape{2, 32}, Shape{3, 33}, Shape{2, 64},
                               Shape{2, 67}, Shape{70001}, Shape{1100, 20}})
        for (int round = 0; round < 4; ++round) {
            const bool down = shape.rank() == 2 && shape[1] == 20;
            const std::int64_t columns = down ? shape[1] : 1;
            const std::int64_t length = shape[down ? 0 : shape.rank() - 1];
            const Tensor x = dice.tensor(type, shape, -5, 5);
            Numbers shares(at(x.elementCount()));
            Numbers logarithms = shares;
            Numbers marks = shares;
            for (const Integers& row : groupsBy(
                     x, [&](std::int64_t i) { return i / (length * columns) * columns + i % columns; })) {
                std::int64_t first = row[0];
                for (std::int64_t i : row)
                    if (x.at(i) > x.at(first)) first = i;
                double sum = 0;
                for (std::int64_t i : row) sum += std::exp(x.at(i) - x.at(first));
                for (std::int64_t i : row) {
                    shares[at(i)] = std::exp(x.at(i) - x.at(first)) / sum;
                    logarithms[at(i)] = x.at(i) - x.at(first) - std::log(sum);
                }
                marks[at(first)] = 1;
            }
            const Attributes axis{{"axis", std::int64_t{down ? 0 : -1}}};
            const Tensor given = inLayout(x, round == 0 ? Layout::dense : dice.layout());
            check("Softmax", axis, {given}, shares);
            check("LogSoftmax", axis, {given}, logarithms);
            check("Hardmax", axis, {given}, marks);
        }
}

/// A piece with only −∞ contributes nothing; a single NaN makes all results NaN.
void TestNormalization::softmaxOfPieces() {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::int64_t length = 100000;
    for (const double special : {-infinity, infinity, nan}) {
        const Tensor x = Tensor::onHost({DType::f32, {length}});
        std::span<float> values = x.values<float>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? -1.0F : 1.0F;
        const std::int64_t from = special < 0 ? length / 2 : length - 1;
        for (std::int64_t i = from; i < length; ++i) values[at(i)] = static_cast<float>(special);
        const double sum = static_cast<double>(from) / 2 * (std::exp(-2.0) + 1);
        Numbers expected(at(length), special < 0 ? 0 : nan);
        for (std::int64_t i = 0; special < 0 && i < from; ++i)
            expected[at(i)] = (i % 2 == 0 ? std::exp(-2.0) : 1) / sum;
        check("Softmax", {}, {x}, expected);
    }
    check("Softmax", {}, {tensorOf(DType::f32, {length}, Numbers(at(length), -infinity))},
          Numbers(at(length), nan));
}

void TestNormalization::lrn() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(77);
    for (int round = 0; round < 40; ++round) {
        const Shape shape{dice.integer(1, 2), dice.integer(1, 7), dice.integer(1, 4), dice.integer(1, 4)};
        const std::int64_t plane = sizeFrom(shape, 2);
        const std::int64_t size = dice.integer(1, 6);
        const Tensor x = dice.tensor(type, shape, -2, 2);
        Numbers y;
        for (std::int64_t i = 0; i < x.elementCount(); ++i) {
            const std::int64_t c = i / plane % shape[1];
            double squares = 0;
            for (std::int64_t k = c - (size - 1) / 2; k <= c + size - 1 - (size - 1) / 2; ++k)
                if (k >= 0 && k < shape[1]) squares += std::pow(x.at(i + (k - c) * plane), 2);
            y.push_back(x.at(i) / std::pow(2 + 0.5 / static_cast<double>(size) * squares, 0.6));
        }
        check("LRN", {{"size", size}, {"alpha", 0.5}, {"beta", 0.6}, {"bias", 2.0}},
              {inLayout(x, dice.layout())}, y);
    }
}

/// Rows as in softmaxOfRows, with factors that broadcast along a row.
void TestNormalization::longRows() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(79);
    for (const std::int64_t length : {1, 3, 8, 29, 64, 131, 500, 1031, 1500, 9001, 70001}) {
        const std::int64_t rows = length < 2000 ? 3 : 1;
        const Tensor x = dice.tensor(type, {rows, 1, length}, -2, 2);
        const Tensor given = inLayout(x, dice.one(2) ? Layout::dense : dice.layout());
        const Tensor scale = dice.tensor(type, {length}, 0.5, 2);
        const Tensor bias = dice.tensor(type, {length}, -1, 1);
        const Tensor one = dice.tensor(type, {1}, 0.5, 2);
        Numbers layer;
        Numbers rms;
        Numbers standard;
        Numbers sums;
        for (const Integers& row : groupsBy(x, [&](std::int64_t i) { return i / length; })) {
            const auto [mean, variance] = moments(x, row);
            double squares = 0;
            double sum = 0;
            for (std::int64_t i : row) {
                squares += x.at(i) * x.at(i);
                sum += std::abs(x.at(i));
            }
            for (std::int64_t i : row) {
                const double off = x.at(i) - mean;
                layer.push_back(off / std::sqrt(variance + 1e-2) * scale.at(i % length) +
                                bias.at(i % length));
                rms.push_back(x.at(i) / std::sqrt(squares / static_cast<double>(length) + 1e-5) * one.at(0));
                standard.push_back(off / (std::sqrt(variance) + 1e-9));
                sums.push_back(x.at(i) / sum);
            }
        }
        check("LayerNormalization", {{"epsilon", 1e-2}}, {given, scale, bias}, layer);
        check("RMSNormalization", {}, {given, one}, rms);
        check("MeanVarianceNormalization", {{"axes", Integers{2}}}, {given}, standard, 10);
        check("LpNormalization", {{"p", std::int64_t{1}}}, {given}, sums);
        Numbers ones(at(x.elementCount()));
        for (std::int64_t i = 0; i < x.elementCount(); ++i)
            ones[at(i)] = (layer[at(i)] - bias.at(i % length)) / scale.at(i % length) * one.at(0) + 1;
        check("InstanceNormalization", {{"epsilon", 1e-2}}, {given, one, tensorOf(type, {1}, {1})}, ones);
    }
}

/// The moments in training, for row-major and channels-last tensors, with channels larger than a piece.
void TestNormalization::channelsOfPlanes() {
    Dice dice(80);
    for (const Shape& shape : {Shape{3, 2, 9, 8}, Shape{2, 1, 200, 201}, Shape{5, 3, 7}, Shape{2000, 3}})
        for (const Layout layout : {Layout::dense, Layout::gaps, Layout::swapped}) {
            const Tensor x = dice.tensor(DType::f32, shape, 3, 5);
            const std::int64_t channels = shape[1];
            const std::int64_t size = sizeFrom(shape, 2);
            Numbers y(at(x.elementCount()));
            Numbers means;
            Numbers variances;
            for (const Integers& group : groupsBy(x, [&](std::int64_t i) { return i / size % channels; })) {
                const auto [mean, variance] = moments(x, group);
                means.push_back(mean);
                variances.push_back(variance);
                for (std::int64_t i : group) y[at(i)] = (x.at(i) - mean) / std::sqrt(variance + 1e-5);
            }
            const Tensor ones = tensorOf(DType::f32, {channels}, Numbers(at(channels), 1));
            const Tensor zeros = tensorOf(DType::f32, {channels}, Numbers(at(channels), 0));
            const auto outputs = runOp("BatchNormalization", {{"training_mode", true}, {"momentum", 0.0}},
                                       {inLayout(x, layout), ones, zeros, zeros, zeros});
            for (const QString& wrong : {difference(outputs[0], shape, y, {1e-4, 1e-4}),
                                         difference(outputs[1], {channels}, means, {1e-6, 1e-6}),
                                         difference(outputs[2], {channels}, variances, {1e-6, 1e-6})})
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

/// Norms, or their reciprocals, that exceed the range of f32.
void TestNormalization::normsOutOfRange() {
    for (const double size : {3e38, 1e-44})
        for (const std::int64_t p : {1, 2}) {
            const Tensor x = tensorOf(DType::f32, {4}, Numbers(4, size));
            check("LpNormalization", {{"p", p}}, {x}, Numbers(4, p == 1 ? 0.25 : 0.5));
        }
}

/// In f32, the squares of numbers far from 0 would lose their differences.
void TestNormalization::longRowsStayExact() {
    const Tensor x = Tensor::onHost({DType::f32, {1, 20000}});
    std::span<float> values = x.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 4096 + (i % 2 == 0 ? -1.0F : 1.0F);
    const Tensor y = runOp("LayerNormalization", {}, {x, tensorOf(DType::f32, {1}, {1})})[0];
    QVERIFY(std::abs(y.at(0) + 1) < 1e-4 && std::abs(y.at(1) - 1) < 1e-4);
}

void TestNormalization::refuses() {
    const auto error = [](const char* op, const Attributes& attributes, const std::vector<Shape>& shapes) {
        std::vector<TensorType> types;
        for (const Shape& shape : shapes) types.push_back({DType::f32, shape});
        return inferError([&] { inferTypes(op, attributes, types); });
    };
    QVERIFY(error("BatchNormalization", {}, {{2, 3}, {4}, {3}, {3}, {3}})
                .contains("weight should contain 3 elements"));
    QVERIFY(
        error("BatchNormalizationGrad", {}, {{2, 3}, {2, 4}, {4}}).contains("must have its shape [2, 4]"));
    QVERIFY(error("BatchNormalizationGrad", {}, {{2, 3}, {2, 3}, {4}}).contains("weight should contain 3"));
    QVERIFY(error("GroupNormalization", {{"num_groups", std::int64_t{2}}}, {{1, 3, 4}, {3}, {3}})
                .contains("divisible by num_groups"));
    QVERIFY(error("InstanceNormalization", {}, {{1, 3}, {3}, {3}}).contains("at least one spatial axis"));
    QVERIFY(error("LayerNormalization", {}, {{2, 3}, {4}}).contains("does not broadcast"));
    QVERIFY(error("LayerNormalization", {{"axis", std::int64_t{2}}}, {{2, 3}, {3}})
                .contains("Dimension out of range"));
    QVERIFY(error("RMSNormalization", {}, {{2, 3}, {5, 2, 3}}).contains("does not broadcast"));
    QVERIFY(error("MeanVarianceNormalization", {}, {{2, 3}}).contains("Dimension out of range"));
    QVERIFY(error("LpNormalization", {{"p", std::int64_t{3}}}, {{2, 3}}).contains("\"p\" must be"));
    QVERIFY(error("LRN", {}, {{2, 3}}).contains("Expected 3D or higher"));
}

TWB_TEST_MAIN(TestNormalization)
#include "test_normalization.moc"
