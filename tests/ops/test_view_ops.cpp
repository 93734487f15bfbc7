#include "support/op_tensors.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
using namespace twb;
using namespace twb::test;

class TestViewOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void shapeAndSize();
    void squeezeAndUnsqueeze();
    void squeezeErrors();
    void flatten();
    void expand();
    void expandErrors();
    void tile();
    void slice();
    void sliceEdges();
    void sliceErrors();
    void split();
    void splitErrors();
    void readsListsOfEitherWidth();
    void deferred();
    void bombs();
    void manyAxes();
};

void TestViewOps::shapeAndSize() {
    Dice dice(51);
    for (DType dtype : kWideDTypes) {
        const Tensor in = dice.tensor(dtype, {2, 0, 5}, 0, 9);
        QCOMPARE(runOp("Shape", {}, {in})[0].toIntegers(), (List{2, 0, 5}));
        QCOMPARE(runOp("Size", {}, {in})[0].toIntegers(), List{0});
    }
    const Tensor in = dice.tensor(DType::f32, {2, 3, 4}, 0, 9);
    const auto part = [&](std::int64_t start, std::int64_t end) {
        return runOp("Shape", {{"start", start}, {"end", end}}, {in})[0].toIntegers();
    };
    QCOMPARE(part(1, 2), List{3});
    QCOMPARE(part(-1, 3), List{4});
    QCOMPARE(part(-10, 10), (List{2, 3, 4}));
    QCOMPARE(part(2, 1), List{});
    QCOMPARE(part(0, -1), (List{2, 3}));
    QCOMPARE(part(kLeast, kMost), (List{2, 3, 4}));
    QCOMPARE(runOp("Size", {}, {in})[0].toIntegers(), List{24});
    QCOMPARE(runOp("Shape", {}, {dice.tensor(DType::f32, {}, 0, 9)})[0].shape(), Shape{0});
    QCOMPARE(runOp("Size", {}, {dice.tensor(DType::f32, {}, 0, 9)})[0].toIntegers(), List{1});
    QVERIFY(findOp("Shape")->readsTypesOnly && findOp("Size")->readsTypesOnly);
}

void TestViewOps::squeezeAndUnsqueeze() {
    Dice dice(52);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(4, 4);
            const Tensor in = any(dice, dtype, shape);
            // Axes are inserted at random positions and removed again.
            const std::int64_t more = dice.integer(0, 3);
            const std::int64_t rank = shape.rank() + more;
            List axes;
            while (static_cast<std::int64_t>(axes.size()) < more) {
                const std::int64_t axis = dice.integer(0, rank - 1);
                if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
            }
            List dims;
            for (std::int64_t axis = 0, from = 0; axis < rank; ++axis)
                dims.push_back(std::find(axes.begin(), axes.end(), axis) != axes.end()
                                   ? 1
                                   : shape[static_cast<int>(from++)]);
            for (std::int64_t& axis : axes)
                if (dice.one(2)) axis -= rank;
            const bool connected = dice.one(2);
            const auto run = [&](const char* op, const Tensor& data) {
                return connected ? runOp(op, {}, {data, listOf(axes)})[0]
                                 : runOp(op, {{"axes", axes}}, {data})[0];
            };
            const Tensor wide = run("Unsqueeze", in);
            QString wrong = difference(wide, Shape(dims), valuesOf(in), {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            wrong = difference(run("Squeeze", inLayout(wide, dice.layout())), shape, valuesOf(in), {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Tensor in = counting({1, 3, 1, 2});
    QCOMPARE(runOp("Squeeze", {}, {in})[0].shape(), (Shape{3, 2}));
    QCOMPARE(runOp("Squeeze", {{"axes", List{}}}, {in})[0].shape(), in.shape());
    QCOMPARE(runOp("Squeeze", {}, {counting({1, 1})})[0].shape(), Shape{});
}

void TestViewOps::squeezeErrors() {
    const Tensor in = counting({1, 3});
    const auto of = [&](const char* op, const AttributeValue& axes) {
        return inferError([&] { inferTypes(op, {{"axes", axes}}, {in}); });
    };
    QVERIFY(of("Squeeze", List{1}).contains("size not equal to one"));
    QVERIFY(of("Squeeze", List{2}).contains("expected to be in range of [-2, 1], but got 2"));
    QVERIFY(of("Squeeze", List{0, -2}).contains("dim 0 appears multiple times"));
    QVERIFY(of("Unsqueeze", List{3}).contains("expected to be in range of [-3, 2], but got 3"));
    QVERIFY(of("Unsqueeze", List{0, 0}).contains("dim 0 appears multiple times"));
    QVERIFY(of("Unsqueeze", List(63, 0)).contains("64 at most"));
    QVERIFY(inferError([&] { inferTypes("Unsqueeze", {}, {in}); }).contains("set the attribute \"axes\""));
    const std::vector<TensorType> unknown{{DType::f32, {kUnknownDim, 1}}};
    QVERIFY(inferError([&] { inferTypes("Squeeze", {}, unknown); }).contains("set the attribute \"axes\""));
    QCOMPARE(inferTypes("Squeeze", {{"axes", List{1}}}, unknown)[0].shape, Shape{kUnknownDim});
}

void TestViewOps::flatten() {
    Dice dice(53);
    for (DType dtype : kWideDTypes) {
        const Tensor in = any(dice, dtype, {2, 3, 4});
        for (std::int64_t axis = -3; axis <= 3; ++axis) {
            const std::int64_t rows = List{1, 2, 6, 24}[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
            const QString wrong =
                difference(runOp("Flatten", {{"axis", axis}}, {in})[0], {rows, 24 / rows}, valuesOf(in), {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }
    QCOMPARE(inferTypes("Flatten", {}, {{DType::f32, {2, 0, 4}}})[0].shape, (Shape{2, 0}));
    QCOMPARE(inferTypes("Flatten", {}, {{DType::f32, {2, kUnknownDim, 4}}})[0].shape,
             (Shape{2, kUnknownDim}));
    QCOMPARE(inferTypes("Flatten", {{"axis", std::int64_t{0}}}, {{DType::f32, {}}})[0].shape, (Shape{1, 1}));
    QVERIFY(inferError([&] {
                inferTypes("Flatten", {{"axis", std::int64_t{3}}}, {{DType::f32, {2, 3}}});
            }).contains("expected to be in range of [-2, 2], but got 3"));
}

void TestViewOps::expand() {
    Dice dice(54);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 30; ++round) {
            const Shape result = dice.shape(5, 5);
            List own = result.dims();
            List wanted = result.dims();
            for (std::size_t i = 0; i < own.size(); ++i)
                if (dice.one(2))
                    own[i] = 1;
                else if (dice.one(2))
                    wanted[i] = 1;
            std::size_t drop = static_cast<std::size_t>(dice.integer(0, result.rank()));
            auto& shorter = dice.one(2) ? own : wanted;
            auto& other = &shorter == &own ? wanted : own;
            for (std::size_t i = 0; i < drop; ++i) other[i] = result[static_cast<int>(i)];
            shorter.erase(shorter.begin(), shorter.begin() + static_cast<std::ptrdiff_t>(drop));
            const Tensor in = any(dice, dtype, Shape(own));
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                place.erase(place.begin(), place.end() - in.shape().rank());
                for (int i = 0; i < in.shape().rank(); ++i)
                    if (in.shape()[i] == 1) place[static_cast<std::size_t>(i)] = 0;
                return in.at(indexOf(in.shape(), place));
            });
            const Tensor out = dice.one(2) ? runOp("Expand", {}, {in, listOf(wanted)})[0]
                                           : runOp("Expand", {{"shape", wanted}}, {in})[0];
            const QString wrong = difference(out, result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestViewOps::expandErrors() {
    const QString error = inferError([] { inferTypes("Expand", {{"shape", List{2, 4}}}, {counting({3})}); });
    QVERIFY2(error.contains("The expanded size of the tensor (4) must match the existing size (3) at "
                            "non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [3]"),
             qPrintable(error));
    QVERIFY(inferError([] { inferTypes("Expand", {}, {counting({3})}); }).contains("needs a shape"));
    QVERIFY(inferError([] {
                inferTypes("Expand", {}, {counting({3}), listOf({-1})});
            }).contains("invalid shape dimension -1"));
}

void TestViewOps::tile() {
    Dice dice(55);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 30; ++round) {
            const Shape shape = dice.shape(4, 4);
            const Tensor in = any(dice, dtype, shape);
            List repeats;
            Shape result = shape;
            for (int axis = 0; axis < shape.rank(); ++axis) {
                repeats.push_back(dice.one(10) ? 0 : dice.integer(1, 3));
                result[axis] *= repeats.back();
            }
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                for (int axis = 0; axis < shape.rank(); ++axis)
                    place[static_cast<std::size_t>(axis)] %= shape[axis];
                return in.at(indexOf(shape, place));
            });
            const Tensor out = dice.one(2) ? runOp("Tile", {}, {in, listOf(repeats)})[0]
                                           : runOp("Tile", {{"repeats", repeats}}, {in})[0];
            const QString wrong = difference(out, result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    QVERIFY(inferError([] {
                inferTypes("Tile", {{"repeats", List{2}}}, {counting({3, 4})});
            }).contains("repeats has 1 entries, but the tensor has 2 dimensions"));
    QVERIFY(inferError([] {
                inferTypes("Tile", {}, {counting({3}), listOf({-1})});
            }).contains("negative dimension"));
    QVERIFY(inferError([] { inferTypes("Tile", {}, {counting({3})}); }).contains("needs repeats"));
}

void TestViewOps::slice() {
    Dice dice(56);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 60; ++round) {
            const Shape shape = dice.shape(4, 6);
            const Tensor in = any(dice, dtype, shape);
            List starts, ends, axes, steps;
            std::vector<List> taken(static_cast<std::size_t>(shape.rank()));
            for (int axis = 0; axis < shape.rank(); ++axis) {
                List& list = taken[static_cast<std::size_t>(axis)];
                for (std::int64_t i = 0; i < shape[axis]; ++i) list.push_back(i);
                if (dice.one(3)) continue;
                const std::int64_t size = shape[axis];
                const std::int64_t first = size == 0 ? 0 : dice.integer(0, size - 1);
                const std::int64_t step = dice.integer(1, 3);
                list.clear();
                if (dice.one(2)) {
                    const std::int64_t stop = dice.integer(0, size + 3);
                    for (std::int64_t i = first; i < std::min(stop, size); i += step) list.push_back(i);
                    starts.push_back(dice.one(2) && size > 0 ? first - size : first);
                    ends.push_back(stop > size && dice.one(2) ? kMost : stop);
                    steps.push_back(step);
                } else {
                    const std::int64_t stop = dice.integer(-1, size - 1);
                    for (std::int64_t i = first; i > stop && size > 0; i -= step) list.push_back(i);
                    starts.push_back(first);
                    ends.push_back(stop >= 0 ? stop : dice.one(2) ? kLeast : -size - 1);
                    steps.push_back(-step);
                }
                axes.push_back(dice.one(2) ? axis : axis - shape.rank());
            }
            List dims;
            for (const List& list : taken) dims.push_back(static_cast<std::int64_t>(list.size()));
            const Shape result(dims);
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                for (std::size_t i = 0; i < place.size(); ++i)
                    place[i] = taken[i][static_cast<std::size_t>(place[i])];
                return in.at(indexOf(shape, place));
            });
            const Tensor out =
                dice.one(2)
                    ? runOp("Slice", {}, {in, listOf(starts), listOf(ends), listOf(axes), listOf(steps)})[0]
                    : runOp("Slice", {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}},
                            {in})[0];
            const QString wrong = difference(out, result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestViewOps::sliceEdges() {
    const Tensor in = counting({5});
    const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
        return valuesOf(
            runOp("Slice", {{"starts", List{start}}, {"ends", List{end}}, {"steps", List{step}}}, {in})[0]);
    };
    QCOMPARE(slice(1, 1000, 1), (std::vector<double>{1, 2, 3, 4}));
    QCOMPARE(slice(-2, kMost, 1), (std::vector<double>{3, 4}));
    QCOMPARE(slice(1000, 0, 1), (std::vector<double>{}));
    QCOMPARE(slice(1000, 0, -1), (std::vector<double>{4, 3, 2, 1}));
    QCOMPARE(slice(kMost, kLeast, -2), (std::vector<double>{4, 2, 0}));
    QCOMPARE(slice(kLeast, kMost, kMost), (std::vector<double>{0}));
    QCOMPARE(slice(kMost, kLeast, kLeast), (std::vector<double>{4}));
    // ONNX clamps a start before the axis to its first element, whatever the direction.
    QCOMPARE(slice(-100, kLeast, -1), (std::vector<double>{0}));
    // Without `axes`, the lists apply to the first axes; without `steps`, each step is 1.
    QCOMPARE(valuesOf(runOp("Slice", {{"starts", List{1}}, {"ends", List{2}}}, {counting({3, 2})})[0]),
             (std::vector<double>{2, 3}));
}

void TestViewOps::sliceErrors() {
    const Tensor in = counting({2, 3});
    const auto error = [&](const List& starts, const List& ends, const List& axes, const List& steps) {
        return inferError([&] {
            inferTypes("Slice", {}, {in, listOf(starts), listOf(ends), listOf(axes), listOf(steps)});
        });
    };
    QVERIFY(error({0}, {1}, {0}, {0}).contains("slice step cannot be zero"));
    QVERIFY(error({0}, {1, 2}, {0}, {1}).contains("starts has 1 entries, but ends has 2"));
    QVERIFY(error({0}, {1}, {0, 1}, {1}).contains("axes has 2"));
    QVERIFY(error({0}, {1}, {2}, {1}).contains("expected to be in range of [-2, 1], but got 2"));
    QVERIFY(error({0, 0}, {1, 1}, {0, -2}, {1, 1}).contains("dim 0 appears multiple times"));
    QVERIFY(inferError([&] { inferTypes("Slice", {}, {in}); }).contains("needs starts"));
    QVERIFY(inferError([&] { inferTypes("Slice", {{"starts", List{0}}}, {in}); }).contains("needs ends"));
    QVERIFY(error({0, 0, 0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}).contains("multiple times"));
}

void TestViewOps::split() {
    Dice dice(57);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            Shape shape = dice.shape(3, 5);
            if (shape.rank() == 0) shape = Shape{4};
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            const std::int64_t count = dice.integer(1, 4);
            List parts;
            for (std::int64_t i = 0; i < count; ++i) parts.push_back(dice.integer(0, 3));
            shape[axis] = 0;
            for (std::int64_t part : parts) shape[axis] += part;
            const Tensor in = any(dice, dtype, shape);
            const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}},
                                        {"num_outputs", count}};
            const std::vector<Tensor> out = runOp("Split", attributes, {in, listOf(parts)});
            std::int64_t first = 0;
            for (std::size_t i = 0; i < out.size(); ++i) {
                Shape part = shape;
                part[axis] = parts[i];
                const std::vector<double> expected = eachPlace(part, [&](Place place) {
                    place[static_cast<std::size_t>(axis)] += first;
                    return in.at(indexOf(shape, place));
                });
                const QString wrong = difference(out[i], part, expected, {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                first += parts[i];
            }
        }
    const auto sizes = [](std::int64_t size, std::int64_t parts) {
        List out;
        for (const TensorType& type : inferTypes("Split", {{"num_outputs", parts}}, {{DType::f32, {size}}}))
            out.push_back(type.shape[0]);
        return out;
    };
    QCOMPARE(sizes(6, 3), (List{2, 2, 2}));
    QCOMPARE(sizes(7, 4), (List{2, 2, 2, 1}));
    QCOMPARE(sizes(5, 4), (List{2, 2, 1, 0}));
    QCOMPARE(sizes(0, 2), (List{0, 0}));
    QCOMPARE(sizes(kUnknownDim, 2), (List{kUnknownDim, kUnknownDim}));
    // The first output has no consumer.
    const auto out = runOp("Split", {}, {counting({4})}, nullptr, {false, true});
    QCOMPARE(valuesOf(out[1]), (std::vector<double>{2, 3}));
}

void TestViewOps::splitErrors() {
    const Tensor in = counting({7});
    const auto error = [&](const List& parts, std::int64_t count) {
        return inferError([&] { inferTypes("Split", {{"num_outputs", count}}, {in, listOf(parts)}); });
    };
    QVERIFY(error({2, 3}, 2).contains("split_with_sizes expects split_sizes to sum exactly to 7 (input "
                                      "tensor's size at dimension 0), but got split_sizes=[2, 3]"));
    QVERIFY(error({8, -1}, 2).contains("only non-negative entries"));
    QVERIFY(error({3, 4}, 3).contains("set num_outputs to 2"));
    QVERIFY(error({kMost, kMost, 9}, 3).contains("sum exactly to 7"));
    QVERIFY(inferError([] { inferTypes("Split", {}, {counting({})}); }).contains("at least a 1-dimensional"));
    QVERIFY(inferError([&] { inferTypes("Split", {{"num_outputs", kMost}}, {in}); }).contains("from 1 to"));
}

void TestViewOps::readsListsOfEitherWidth() {
    const Tensor in = counting({6});
    const auto list = [](const List& values) { return inLayout(listOf(values, DType::i32), Layout::gaps); };
    QCOMPARE(valuesOf(runOp("Slice", {}, {in, list({4}), list({0}), list({-1}), list({-2})})[0]),
             (std::vector<double>{4, 2}));
    QCOMPARE(valuesOf(runOp("Pad", {}, {in, listOf({0, 1}), Tensor{}, list({0})})[0]).size(), std::size_t{7});
    QCOMPARE(runOp("CenterCropPad", {}, {in, list({2})})[0].shape(), Shape{2});
    QVERIFY(inferError([&] {
                inferTypes("Slice", {}, {in, list({4}), listOf({0})});
            }).startsWith("dtype-mismatch"));
}

void TestViewOps::deferred() {
    const auto shape = [](const char* op, const Attributes& attributes, const std::vector<Tensor>& inputs) {
        return inferTypes(op, attributes, inputs, nullptr, true)[0].shape;
    };
    const Tensor in = counting({2, 3});
    const std::int64_t u = kUnknownDim;
    QCOMPARE(shape("Squeeze", {}, {counting({1, 3}), listOf({0})}), Shape{u});
    QCOMPARE(shape("Unsqueeze", {}, {in, listOf({0})}), (Shape{u, u, u}));
    QCOMPARE(shape("Expand", {}, {in, listOf({4, 2, 3})}), (Shape{u, u, u}));
    QCOMPARE(shape("Tile", {}, {in, listOf({1, 1})}), (Shape{u, u}));
    QCOMPARE(shape("Slice", {}, {in, listOf({0}), listOf({1})}), (Shape{u, 3}));
    QCOMPARE(shape("Slice", {{"axes", List{1}}}, {in, listOf({0}), listOf({1})}), (Shape{2, u}));
    QCOMPARE(shape("Slice", {}, {in, listOf({0}), listOf({1}), listOf({1})}), (Shape{u, u}));
    QCOMPARE(shape("Split", {}, {in, listOf({1, 1})}), (Shape{u, 3}));
    QCOMPARE(shape("Pad", {}, {in, listOf({1, 1, 1, 1})}), (Shape{u, u}));
    QCOMPARE(shape("CenterCropPad", {{"axes", List{1}}}, {in, listOf({1})}), (Shape{2, u}));
}

void TestViewOps::bombs() {
    const auto error = [](const char* op, const Attributes& attributes, const Shape& shape) {
        return inferError([&] { inferTypes(op, attributes, {TensorType{DType::f32, shape}}); });
    };
    QVERIFY(error("Expand", {{"shape", List{kMost, 2}}}, {1}).startsWith("too-large"));
    QVERIFY(error("Tile", {{"repeats", List{kMost}}}, {2}).startsWith("too-large"));
    QVERIFY(error("CenterCropPad", {{"shape", List{kMost}}}, {2}).startsWith("too-large"));
    QVERIFY(error("Pad", {{"pads", List{0, kMost - 5}}}, {2}).startsWith("too-large"));
    QVERIFY(error("Flatten", {}, {kMost, kMost, 2}).startsWith("too-large"));
}

void TestViewOps::manyAxes() {
    const Tensor in = counting(Shape(List(64, 1)));
    QCOMPARE(runOp("Tile", {{"repeats", List(64, 1)}}, {in})[0].shape().rank(), 64);
    List repeats(64, 1);
    repeats[0] = repeats[63] = 3;
    QCOMPARE(runOp("Tile", {{"repeats", repeats}}, {in})[0].elementCount(), std::int64_t{9});
    QCOMPARE(runOp("Pad", {{"pads", List(128, 0)}}, {in})[0].elementCount(), std::int64_t{1});
    QCOMPARE(runOp("Squeeze", {}, {in})[0].shape(), Shape{});
}

TWB_TEST_MAIN(TestViewOps)
#include "test_view_ops.moc"
