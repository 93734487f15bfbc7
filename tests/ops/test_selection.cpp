#include "support/op_tensors.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Few distinct values, so that some are equal.
Tensor few(Dice& dice, DType dtype, const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(shape.elementCount()));
    for (double& value : values)
        value = static_cast<double>(dice.integer(0, dtype == DType::boolean ? 1 : 4));
    return inLayout(tensorOf(dtype, shape, values), dice.layout());
}

std::vector<double> asDoubles(const List& values) { return {values.begin(), values.end()}; }

} // namespace

class TestSelection : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void trilu();
    void depthAndSpace();
    void reverseSequence();
    void rearrangeErrors();
    void nonZero();
    void compress();
    void compressErrors();
    void topK();
    void topKOrder();
    void topKErrors();
    void unique();
    void uniqueSlices();
    void uniqueNaN();
    void nonMaxSuppression();
    void nonMaxSuppressionEdges();
    void deferred();
};

void TestSelection::trilu() {
    Dice dice(81);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            Shape shape = dice.shape(4, 5);
            if (shape.rank() < 2) shape = Shape{3, 4};
            const Tensor in = few(dice, dtype, shape);
            const std::int64_t k =
                dice.one(8) ? std::numeric_limits<std::int64_t>::min() : dice.integer(-6, 6);
            const bool upper = dice.one(2);
            const auto r = static_cast<std::size_t>(shape.rank());
            const std::vector<double> expected = eachPlace(shape, [&](const Place& place) {
                const std::int64_t over = place[r - 1] - place[r - 2];
                return (upper ? over >= k : over <= k) ? in.at(indexOf(shape, place)) : 0.0;
            });
            const Tensor out =
                dice.one(2) ? runOp("Trilu", {{"upper", upper}, {"k", k}}, {in})[0]
                            : runOp("Trilu", {{"upper", upper}}, {in, Tensor::of<std::int64_t>({}, {k})})[0];
            const QString wrong = difference(out, shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestSelection::depthAndSpace() {
    Dice dice(82);
    for (DType dtype : kWideDTypes)
        for (const char* mode : {"DCR", "CRD"})
            for (std::int64_t b : {1, 2, 3}) {
                const std::int64_t depth = dice.integer(1, 3);
                const Shape deep{2, depth * b * b, 3, 2};
                const Tensor in = inLayout(dice.tensor(dtype, deep, 0, 100), dice.layout());
                const Shape wide{2, depth, 3 * b, 2 * b};
                const bool last = std::string(mode) == "DCR";
                const std::vector<double> expected = eachPlace(wide, [&](const Place& p) {
                    const std::int64_t row = p[2] % b;
                    const std::int64_t column = p[3] % b;
                    const std::int64_t channel =
                        last ? (row * b + column) * depth + p[1] : (p[1] * b + row) * b + column;
                    return in.at(indexOf(deep, {p[0], channel, p[2] / b, p[3] / b}));
                });
                const Attributes attributes{{"blocksize", b}, {"mode", std::string(mode)}};
                const Tensor out = runOp("DepthToSpace", attributes, {in})[0];
                QString wrong = difference(out, wide, expected, {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                wrong = difference(runOp("SpaceToDepth", attributes, {inLayout(out, dice.layout())})[0], deep,
                                   valuesOf(in), {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
}

void TestSelection::reverseSequence() {
    Dice dice(83);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            List dims{dice.integer(1, 4), dice.integer(1, 4)};
            if (dice.one(2)) dims.push_back(dice.integer(0, 3));
            const Shape shape(dims);
            const std::size_t batch = dice.one(2) ? 0 : 1;
            const std::size_t time = 1 - batch;
            List lengths;
            for (std::int64_t i = 0; i < dims[batch]; ++i) lengths.push_back(dice.integer(0, dims[time]));
            const Tensor in = inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            const std::vector<double> expected = eachPlace(shape, [&](Place place) {
                const std::int64_t length = lengths[static_cast<std::size_t>(place[batch])];
                if (place[time] < length) place[time] = length - 1 - place[time];
                return in.at(indexOf(shape, place));
            });
            const Attributes attributes{{"batch_axis", static_cast<std::int64_t>(batch)},
                                        {"time_axis", static_cast<std::int64_t>(time)}};
            const QString wrong = difference(
                runOp("ReverseSequence", attributes, {in, inLayout(listOf(lengths), dice.layout())})[0],
                shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Tensor in = tensorOf(DType::f32, {2, 1}, {1, 2});
    for (std::int64_t bad : {-1, 3})
        QVERIFY(runError([&] {
                    runOp("ReverseSequence", {}, {in, listOf({bad})});
                }).contains("lengths go from 0 to 2"));
}

void TestSelection::rearrangeErrors() {
    const auto error = [](const char* op, const Attributes& attributes,
                          const std::vector<TensorType>& inputs) {
        return inferError([&] { inferTypes(op, attributes, inputs); });
    };
    const TensorType vector{DType::f32, {3}};
    QVERIFY(error("Trilu", {}, {vector}).contains("triu: input tensor must have at least 2 dimensions"));
    QVERIFY(error("DepthToSpace", {}, {vector}).contains("needs images"));
    QVERIFY(error("DepthToSpace", {}, {{DType::f32, {1, 6, 2, 2}}}).contains("divisible by 4"));
    QVERIFY(error("SpaceToDepth", {}, {{DType::f32, {1, 6, 2, 3}}}).contains("divisible by 2"));
    QVERIFY(error("DepthToSpace", {{"blocksize", std::int64_t{1} << 40}}, {vector}).contains("blocksize"));
    QVERIFY(error("SpaceToDepth", {{"blocksize", std::int64_t{32768}}},
                  {{DType::f32, {1, std::int64_t{1} << 40, 0, 0}}})
                .startsWith("too-large"));
    QVERIFY(
        error("ReverseSequence", {}, {vector, {DType::i64, {3}}}).contains("needs a batch and a time axis"));
    QVERIFY(error("ReverseSequence", {}, {{DType::f32, {2, 3}}, {DType::i64, {2}}})
                .contains("list of 3 lengths"));
    QVERIFY(
        error("ReverseSequence", {{"time_axis", std::int64_t{1}}}, {{DType::f32, {2, 2}}, {DType::i64, {2}}})
            .contains("must differ"));
}

void TestSelection::nonZero() {
    Dice dice(84);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(4, 4);
            const Tensor in = few(dice, dtype, shape);
            std::vector<Place> places;
            for (std::int64_t i = 0; i < shape.elementCount(); ++i)
                if (in.at(i) != 0) places.push_back(placeOf(shape, i));
            const auto count = static_cast<std::int64_t>(places.size());
            std::vector<double> expected;
            for (int axis = 0; axis < shape.rank(); ++axis)
                for (const Place& place : places)
                    expected.push_back(static_cast<double>(place[static_cast<std::size_t>(axis)]));
            const QString wrong =
                difference(runOp("NonZero", {}, {in})[0], {shape.rank(), count}, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Tensor in = tensorOf(DType::f32, {4}, {-0.0, kNaN, 0, 1e-40});
    QCOMPARE(valuesOf(runOp("NonZero", {}, {in})[0]), (std::vector<double>{1, 3}));
}

void TestSelection::compress() {
    Dice dice(85);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(4, 4);
            const Tensor in = inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            const bool flat = shape.rank() == 0 || dice.one(3);
            const int axis = flat ? 0 : static_cast<int>(dice.integer(0, shape.rank() - 1));
            const std::int64_t size = flat ? shape.elementCount() : shape[axis];
            const Tensor condition = few(dice, DType::boolean, {dice.integer(0, size)});
            List taken;
            for (std::int64_t i = 0; i < condition.elementCount(); ++i)
                if (condition.at(i) != 0) taken.push_back(i);
            const auto count = static_cast<std::int64_t>(taken.size());
            Shape result = flat ? Shape{count} : shape;
            result[axis] = count;
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                std::int64_t& at = place[static_cast<std::size_t>(axis)];
                at = taken[static_cast<std::size_t>(at)];
                return in.at(flat ? at : indexOf(shape, place));
            });
            Attributes attributes;
            if (!flat) attributes.set("axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()});
            const QString wrong =
                difference(runOp("Compress", attributes, {in, condition})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestSelection::compressErrors() {
    const TensorType data{DType::f32, {2, 3}};
    const auto error = [&](const Shape& condition, const Attributes& attributes = {}) {
        return inferError([&] {
            inferTypes("Compress", attributes, {data, TensorType{DType::boolean, condition}});
        });
    };
    QVERIFY(error({7}).contains("condition has 7 entries, but there are 6 to choose from"));
    QVERIFY(error({4}, {{"axis", std::int64_t{1}}}).contains("there are 3"));
    QVERIFY(error({2, 3}).contains("must be a list of bools"));
    QVERIFY(error({1}, {{"axis", std::int64_t{2}}}).contains("Dimension out of range"));
    QCOMPARE(error({6}), QString());
}

void TestSelection::topK() {
    Dice dice(86);
    for (DType dtype : kWideDTypes) {
        if (dtype == DType::boolean) continue;
        for (int round = 0; round < 25; ++round) {
            Shape shape = dice.shape(3, 9);
            if (shape.rank() == 0) shape = Shape{5};
            const Tensor in = dice.one(2) ? few(dice, dtype, shape)
                                          : inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            const auto a = static_cast<std::size_t>(axis);
            const std::int64_t k = dice.integer(0, shape[axis]);
            const bool largest = dice.one(2);
            Shape result = shape;
            result[axis] = k;
            const auto ranked = [&](Place place) {
                List order(static_cast<std::size_t>(shape[axis]));
                std::iota(order.begin(), order.end(), 0);
                const auto at = [&](std::int64_t i) {
                    place[a] = i;
                    return in.at(indexOf(shape, place));
                };
                std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
                    return largest ? at(x) > at(y) : at(x) < at(y);
                });
                return order;
            };
            const std::vector<double> places = eachPlace(result, [&](const Place& place) {
                return static_cast<double>(ranked(place)[static_cast<std::size_t>(place[a])]);
            });
            const std::vector<double> values = eachPlace(result, [&](Place place) {
                place[a] = ranked(place)[static_cast<std::size_t>(place[a])];
                return in.at(indexOf(shape, place));
            });
            const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}},
                                        {"largest", largest}};
            const auto out = runOp("TopK", attributes, {in, listOf({k})});
            QString wrong = difference(out[0], result, values, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            wrong = difference(out[1], result, places, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }
    // Many lines, in parallel.
    const Tensor in = dice.tensor(DType::f32, {300, 200}, 0, 1);
    const auto out = runOp("TopK", {{"K", std::int64_t{1}}}, {in}, nullptr, {true, false});
    for (std::int64_t row = 0; row < 300; ++row) {
        double best = 0;
        for (std::int64_t i = 0; i < 200; ++i) best = std::max(best, in.at(row * 200 + i));
        QCOMPARE(out[0].at(row), best);
    }
}

void TestSelection::topKOrder() {
    const Tensor in = tensorOf(DType::f32, {5}, {1, kNaN, 3, kNaN, 3});
    const auto places = [&](bool largest) {
        return runOp("TopK", {{"largest", largest}, {"K", std::int64_t{5}}}, {in})[1].toIntegers();
    };
    QCOMPARE(places(true), (List{1, 3, 2, 4, 0}));
    QCOMPARE(places(false), (List{0, 2, 4, 1, 3}));
}

void TestSelection::topKErrors() {
    const Tensor in = tensorOf(DType::f32, {3}, {1, 2, 3});
    QVERIFY(inferError([&] {
                inferTypes("TopK", {}, {in, listOf({4})});
            }).contains("selected index k out of range"));
    QVERIFY(inferError([&] {
                inferTypes("TopK", {}, {in, listOf({-1})});
            }).contains("selected index k out of range"));
    QVERIFY(inferError([&] { inferTypes("TopK", {}, {in, listOf({1, 2})}); }).contains("one number"));
    QVERIFY(inferError([&] { inferTypes("TopK", {}, {in}); }).contains("needs K"));
    QVERIFY(inferError([&] {
                inferTypes("TopK", {}, {tensorOf(DType::f32, {}, {1}), listOf({1})});
            }).contains("with an axis"));
}

void TestSelection::unique() {
    Dice dice(87);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(3, 5);
            const Tensor in = few(dice, dtype, shape);
            const bool sorted = dice.one(2);
            const std::vector<double> values = valuesOf(in);
            std::vector<double> distinct;
            for (double value : values)
                if (std::find(distinct.begin(), distinct.end(), value) == distinct.end())
                    distinct.push_back(value);
            if (sorted) std::sort(distinct.begin(), distinct.end());
            const auto count = static_cast<std::int64_t>(distinct.size());
            List first, inverse, counts;
            for (double value : distinct) {
                first.push_back(std::find(values.begin(), values.end(), value) - values.begin());
                counts.push_back(std::count(values.begin(), values.end(), value));
            }
            for (double value : values)
                inverse.push_back(std::find(distinct.begin(), distinct.end(), value) - distinct.begin());
            const auto out = runOp("Unique", {{"sorted", sorted}}, {in});
            QVERIFY(difference(out[0], {count}, distinct, {}).isEmpty());
            QVERIFY(difference(out[1], {count}, asDoubles(first), {}).isEmpty());
            QVERIFY(difference(out[2], {static_cast<std::int64_t>(values.size())}, asDoubles(inverse), {})
                        .isEmpty());
            QVERIFY(difference(out[3], {count}, asDoubles(counts), {}).isEmpty());
        }
}

void TestSelection::uniqueSlices() {
    Dice dice(88);
    for (DType dtype : {DType::boolean, DType::u8, DType::f16, DType::f32, DType::i64})
        for (int round = 0; round < 40; ++round) {
            Shape shape = dice.shape(3, 3);
            if (shape.rank() == 0) shape = Shape{3};
            const Tensor in = few(dice, dtype == DType::boolean ? dtype : dtype, shape);
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            const bool sorted = dice.one(2);
            std::vector<std::vector<double>> slices;
            for (std::int64_t i = 0; i < shape[axis]; ++i) {
                std::vector<double> slice;
                for (std::int64_t e = 0; e < in.elementCount(); ++e)
                    if (placeOf(shape, e)[static_cast<std::size_t>(axis)] == i) slice.push_back(in.at(e));
                slices.push_back(slice);
            }
            std::vector<std::vector<double>> distinct;
            for (const auto& slice : slices)
                if (std::find(distinct.begin(), distinct.end(), slice) == distinct.end())
                    distinct.push_back(slice);
            if (sorted) std::sort(distinct.begin(), distinct.end());
            List inverse;
            for (const auto& slice : slices)
                inverse.push_back(std::find(distinct.begin(), distinct.end(), slice) - distinct.begin());
            const auto out = runOp("Unique", {{"sorted", sorted}, {"axis", std::int64_t{axis}}}, {in});
            QVERIFY(difference(out[2], {shape[axis]}, asDoubles(inverse), {}).isEmpty());
            Shape result = shape;
            result[axis] = static_cast<std::int64_t>(distinct.size());
            QCOMPARE(out[0].shape(), result);
            for (std::int64_t e = 0; e < out[0].elementCount(); ++e) {
                Place place = placeOf(result, e);
                std::int64_t& at = place[static_cast<std::size_t>(axis)];
                at = out[1].toIntegers()[static_cast<std::size_t>(at)];
                QCOMPARE(out[0].at(e), in.at(indexOf(shape, place)));
            }
        }
}

void TestSelection::uniqueNaN() {
    const Tensor in = tensorOf(DType::f32, {6}, {kNaN, 2, kNaN, 1, -0.0, 0.0});
    const auto out = runOp("Unique", {}, {in});
    // As in NumPy, all NaN are equal and come last.
    QVERIFY(difference(out[0], {4}, {0, 1, 2, kNaN}, {}).isEmpty());
    QCOMPARE(out[3].toIntegers(), (List{2, 1, 1, 2}));
    const auto some = runOp("Unique", {}, {in}, nullptr, {true, false, false, true});
    QCOMPARE(some[3].toIntegers(), (List{2, 1, 1, 2}));
}

void TestSelection::nonMaxSuppression() {
    Dice dice(89);
    for (int round = 0; round < 60; ++round) {
        const std::int64_t batches = dice.integer(1, 2);
        const std::int64_t classes = dice.integer(1, 3);
        const std::int64_t count = dice.integer(0, 12);
        const bool centered = dice.one(2);
        const Tensor boxes = inLayout(dice.tensor(DType::f32, {batches, count, 4}, 0, 10), dice.layout());
        const Tensor scores =
            inLayout(dice.tensor(DType::f32, {batches, classes, count}, 0, 1), dice.layout());
        const std::int64_t most = dice.integer(0, 5);
        const double share = dice.real(0, 0.8);
        const double least = 0.25;
        const auto corners = [&](std::int64_t batch, std::int64_t i) {
            std::vector<double> v;
            for (std::int64_t c = 0; c < 4; ++c) v.push_back(boxes.at((batch * count + i) * 4 + c));
            if (centered)
                return std::vector<double>{v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2,
                                           v[1] + v[3] / 2};
            return std::vector<double>{std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]),
                                       std::max(v[1], v[3])};
        };
        List expected;
        for (std::int64_t batch = 0; batch < batches; ++batch)
            for (std::int64_t label = 0; label < classes; ++label) {
                std::multimap<double, std::int64_t, std::greater<>> byScore;
                for (std::int64_t i = 0; i < count; ++i) {
                    const double score = scores.at((batch * classes + label) * count + i);
                    if (score > least) byScore.emplace(score, i);
                }
                List kept;
                for (const auto& [score, i] : byScore) {
                    bool free = static_cast<std::int64_t>(kept.size()) < most;
                    for (std::int64_t other : kept) {
                        const auto a = corners(batch, i);
                        const auto b = corners(batch, other);
                        const double inner = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0) *
                                             std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0);
                        const double whole =
                            (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inner;
                        free = free && !(inner > 0 && inner / whole > share);
                    }
                    if (!free) continue;
                    kept.push_back(i);
                    expected.insert(expected.end(), {batch, label, i});
                }
            }
        const Attributes attributes{{"center_point_box", centered}, {"score_threshold", least}};
        const Tensor out = runOp("NonMaxSuppression", attributes,
                                 {boxes, scores, listOf({most}), tensorOf(DType::f32, {}, {share})})[0];
        QCOMPARE(out.shape(), (Shape{static_cast<std::int64_t>(expected.size()) / 3, 3}));
        QCOMPARE(out.toIntegers(), expected);
    }
}

void TestSelection::nonMaxSuppressionEdges() {
    const Tensor boxes = tensorOf(DType::f32, {1, 3, 4}, {0, 0, 1, 1, 1, 1, 0, 0, 5, 5, 5, 5});
    const Tensor scores = tensorOf(DType::f32, {1, 1, 3}, {0.5, 0.5, kNaN});
    const auto run = [&](const Attributes& attributes) {
        return runOp("NonMaxSuppression", attributes, {boxes, scores})[0].toIntegers();
    };
    // The default number of boxes is 0. Of equal boxes with equal scores, the first one is kept. NaN scores
    // are ignored.
    QCOMPARE(run({}), List{});
    const Attributes ten{{"max_output_boxes_per_class", std::int64_t{10}}};
    QCOMPARE(run(ten), (List{0, 0, 0}));
    const auto error = [](const Shape& boxShape, const Shape& scoreShape) {
        return inferError([&] {
            inferTypes("NonMaxSuppression", {}, {{DType::f32, boxShape}, TensorType{DType::f32, scoreShape}});
        });
    };
    QVERIFY(error({1, 3, 5}, {1, 1, 3}).contains("boxes should be"));
    QVERIFY(error({1, 3, 4}, {1, 1, 4}).contains("scores should be"));
    QVERIFY(error({1, 3, 4}, {1, 3}).contains("scores should be"));
    QCOMPARE(error({1, kUnknownDim, 4}, {1, 2, 7}), QString());
}

void TestSelection::deferred() {
    const std::int64_t u = kUnknownDim;
    const auto shapes = [](const char* op, const Attributes& attributes, const std::vector<Tensor>& inputs) {
        std::vector<Shape> out;
        for (const TensorType& type : inferTypes(op, attributes, inputs, nullptr, true))
            out.push_back(type.shape);
        return out;
    };
    const Tensor in = tensorOf(DType::f32, {2, 3}, std::vector<double>(6, 1));
    QVERIFY((shapes("NonZero", {}, {in}) == std::vector<Shape>{{2, u}}));
    QVERIFY((shapes("Compress", {{"axis", std::int64_t{1}}}, {in, tensorOf(DType::boolean, {2}, {1, 0})}) ==
             std::vector<Shape>{{2, u}}));
    QVERIFY((shapes("Unique", {}, {in}) == std::vector<Shape>{{u}, {u}, {6}, {u}}));
    QVERIFY(
        (shapes("Unique", {{"axis", std::int64_t{0}}}, {in}) == std::vector<Shape>{{u, 3}, {u}, {2}, {u}}));
    QVERIFY((shapes("TopK", {}, {in, listOf({1})}) == std::vector<Shape>{{2, u}, {2, u}}));
}

TWB_TEST_MAIN(TestSelection)
#include "test_selection.moc"
