#include "support/op_tensors.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

/// Indices into an axis of `size`, including negative ones.
Tensor indices(Dice& dice, const Shape& shape, std::int64_t size, DType dtype = DType::i64) {
    std::vector<double> values(static_cast<std::size_t>(shape.elementCount()));
    for (double& value : values) value = static_cast<double>(dice.integer(-size, size - 1));
    return inLayout(tensorOf(dtype, shape, values), dice.layout());
}

std::int64_t indexAt(const Tensor& indices, const Place& place, std::int64_t size) {
    const auto i = static_cast<std::int64_t>(indices.at(indexOf(indices.shape(), place)));
    return i < 0 ? i + size : i;
}

/// At least one axis, with at least one element along each.
Shape solid(Dice& dice, int maxRank) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(dice.integer(1, maxRank)));
    for (std::int64_t& size : dims) size = dice.integer(1, 5);
    return Shape(std::move(dims));
}

Place part(const Place& place, std::size_t from, std::size_t to) {
    return {place.begin() + static_cast<std::ptrdiff_t>(from),
            place.begin() + static_cast<std::ptrdiff_t>(to)};
}

double combined(const std::string& reduction, double old, double update, bool isBool) {
    if (reduction == "none") return update;
    if (isBool) {
        const bool either = reduction == "add" || reduction == "max";
        return either ? std::max(old, update) : std::min(old, update);
    }
    return reduction == "add"   ? old + update
           : reduction == "mul" ? old * update
           : reduction == "min" ? std::min(old, update)
                                : std::max(old, update);
}

} // namespace

class TestIndexing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gather();
    void gatherElements();
    void gatherND();
    void gatherErrors();
    void scatterElements();
    void tensorScatter();
    void scatterND();
    void scatterNaN();
    void scatterErrors();
    void outOfRange();
    void oneHot();
    void oneHotErrors();
    void constantOfShape();
    void range();
    void rangeErrors();
    void eyeLike();
};

void TestIndexing::gather() {
    Dice dice(71);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 25; ++round) {
            const Shape shape = solid(dice, 4);
            const Tensor data = any(dice, dtype, shape);
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            const Tensor at =
                indices(dice, dice.shape(3, 4), shape[axis], dice.one(2) ? DType::i32 : DType::i64);
            List dims(shape.begin(), shape.begin() + axis);
            dims.insert(dims.end(), at.shape().begin(), at.shape().end());
            dims.insert(dims.end(), shape.begin() + axis + 1, shape.end());
            const auto a = static_cast<std::size_t>(axis);
            const auto q = static_cast<std::size_t>(at.shape().rank());
            const std::vector<double> expected = eachPlace(Shape(dims), [&](const Place& place) {
                Place source = part(place, 0, a);
                source.push_back(indexAt(at, part(place, a, a + q), shape[axis]));
                source.insert(source.end(), place.begin() + static_cast<std::ptrdiff_t>(a + q), place.end());
                return data.at(indexOf(shape, source));
            });
            const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}}};
            const QString wrong =
                difference(runOp("Gather", attributes, {data, at})[0], Shape(dims), expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestIndexing::gatherElements() {
    Dice dice(72);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 25; ++round) {
            const Shape shape = solid(dice, 4);
            const Tensor data = any(dice, dtype, shape);
            const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
            Shape result = shape;
            for (int i = 0; i < result.rank(); ++i)
                result[i] = i == axis ? dice.integer(0, 6) : dice.integer(dice.one(12) ? 0 : 1, result[i]);
            const Tensor at = indices(dice, result, shape[axis], dice.one(2) ? DType::i32 : DType::i64);
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                place[static_cast<std::size_t>(axis)] = indexAt(at, place, shape[axis]);
                return data.at(indexOf(shape, place));
            });
            const Attributes attributes{{"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank()}}};
            const QString wrong =
                difference(runOp("GatherElements", attributes, {data, at})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestIndexing::gatherND() {
    Dice dice(73);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 25; ++round) {
            const Shape shape = solid(dice, 4);
            const auto batch = static_cast<std::size_t>(dice.integer(0, shape.rank() - 1));
            const auto depth =
                static_cast<std::size_t>(dice.integer(0, shape.rank() - static_cast<int>(batch)));
            const Tensor data = any(dice, dtype, shape);
            List tuples(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch));
            for (std::int64_t more = dice.integer(0, 2); more > 0; --more)
                tuples.push_back(dice.integer(dice.one(10) ? 0 : 1, 3));
            List dims = tuples;
            dims.push_back(static_cast<std::int64_t>(depth));
            const Tensor at = Tensor::onHost({DType::i64, Shape(dims)});
            for (std::int64_t i = 0; i < at.elementCount(); ++i) {
                const std::int64_t size =
                    shape[static_cast<int>(batch + static_cast<std::size_t>(i) % depth)];
                static_cast<std::int64_t*>(at.data())[i] = dice.integer(-size, size - 1);
            }
            List result = tuples;
            result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(batch + depth),
                          shape.end());
            const std::size_t q = tuples.size();
            const std::vector<double> expected = eachPlace(Shape(result), [&](const Place& place) {
                Place source = part(place, 0, batch);
                for (std::size_t i = 0; i < depth; ++i) {
                    Place tuple = part(place, 0, q);
                    tuple.push_back(static_cast<std::int64_t>(i));
                    source.push_back(indexAt(at, tuple, shape[static_cast<int>(batch + i)]));
                }
                source.insert(source.end(), place.begin() + static_cast<std::ptrdiff_t>(q), place.end());
                return data.at(indexOf(shape, source));
            });
            const Attributes attributes{{"batch_dims", static_cast<std::int64_t>(batch)}};
            const QString wrong =
                difference(runOp("GatherND", attributes, {data, inLayout(at, dice.layout())})[0],
                           Shape(result), expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestIndexing::gatherErrors() {
    const TensorType scalar{DType::f32, {}};
    const TensorType matrix{DType::f32, {3, 4}};
    const auto at = [](const Shape& shape) { return TensorType{DType::i64, shape}; };
    const auto error = [](const char* op, const std::vector<TensorType>& inputs,
                          const Attributes& attributes = {}) {
        return inferError([&] { inferTypes(op, attributes, inputs); });
    };
    QVERIFY(error("Gather", {scalar, at({})}).contains("needs data with an axis"));
    QVERIFY(
        error("Gather", {matrix, at({})}, {{"axis", std::int64_t{2}}}).contains("Dimension out of range"));
    QVERIFY(error("GatherElements", {matrix, at({3})}).contains("must have the same number of dimensions"));
    QVERIFY(
        error("GatherElements", {matrix, at({3, 5})})
            .contains("Size does not match at dimension 1 expected index [3, 5] to be no larger than self "
                      "[3, 4] apart from dimension 0"));
    QVERIFY(error("GatherND", {matrix, at({2, 3})}).contains("too many indices for tensor of dimension 2"));
    QVERIFY(error("GatherND", {matrix, at({2, 1})}, {{"batch_dims", std::int64_t{1}}})
                .contains("batch dimension 0 has size 3 in data and 2 in indices"));
    QVERIFY(error("GatherND", {matrix, at({3})}, {{"batch_dims", std::int64_t{1}}})
                .contains("must be less than"));
    QVERIFY(error("GatherND", {matrix, at({kUnknownDim})}).contains("not known before the run"));
    QCOMPARE(inferTypes("Gather", {}, {matrix, at({kUnknownDim})})[0].shape, (Shape{kUnknownDim, 4}));
}

void TestIndexing::scatterElements() {
    Dice dice(74);
    for (DType dtype : kWideDTypes)
        for (const char* reduction : {"none", "add", "mul", "min", "max"})
            for (int round = 0; round < 8; ++round) {
                const Shape shape = solid(dice, 3);
                const double most = isInteger(dtype) ? 3 : 2;
                const Tensor data = inLayout(dice.tensor(dtype, shape, 0, most), dice.layout());
                const auto axis = static_cast<int>(dice.integer(0, shape.rank() - 1));
                Shape reach = shape;
                for (int i = 0; i < reach.rank(); ++i)
                    reach[i] = i == axis ? dice.integer(0, 4) : dice.integer(1, reach[i]);
                const Tensor at = indices(dice, reach, shape[axis], dice.one(2) ? DType::i32 : DType::i64);
                const Tensor updates = inLayout(dice.tensor(dtype, reach, 0, most), dice.layout());
                std::vector<double> expected = valuesOf(data);
                for (std::int64_t i = 0; i < updates.elementCount(); ++i) {
                    Place place = placeOf(reach, i);
                    place[static_cast<std::size_t>(axis)] = indexAt(at, place, shape[axis]);
                    double& element = expected[static_cast<std::size_t>(indexOf(shape, place))];
                    element = combined(reduction, element, updates.at(i), dtype == DType::boolean);
                }
                if (dtype == DType::i8 || dtype == DType::u8)
                    for (double& value : expected)
                        value = dtype == DType::u8
                                    ? static_cast<std::uint8_t>(static_cast<std::int64_t>(value))
                                    : static_cast<std::int8_t>(static_cast<std::int64_t>(value));
                const Attributes attributes{{"axis", std::int64_t{axis}},
                                            {"reduction", std::string(reduction)}};
                const QString wrong = difference(runOp("ScatterElements", attributes, {data, at, updates})[0],
                                                 shape, expected, findOp("ScatterElements")->tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(QString(reduction) + ": " + wrong));
            }
    // Many lines, in parallel; the last of several updates wins.
    const Tensor data = dice.tensor(DType::f32, {400, 500}, 0, 1);
    const Tensor at = indices(dice, {400, 600}, 500);
    const Tensor updates = dice.tensor(DType::f32, {400, 600}, 0, 1);
    std::vector<double> expected = valuesOf(data);
    for (std::int64_t row = 0; row < 400; ++row)
        for (std::int64_t i = 0; i < 600; ++i)
            expected[static_cast<std::size_t>(row * 500 + indexAt(at, {row, i}, 500))] =
                updates.at(row * 600 + i);
    QVERIFY(difference(runOp("ScatterElements", {{"axis", std::int64_t{1}}}, {data, at, updates})[0],
                       {400, 500}, expected, {})
                .isEmpty());
}

void TestIndexing::tensorScatter() {
    Dice dice(78);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const std::int64_t size = dice.integer(1, 5);
            const std::int64_t length = dice.integer(0, size);
            const int axis = static_cast<int>(dice.integer(1, 3));
            std::vector<std::int64_t> dims{2, 3, 2, 3};
            dims[static_cast<std::size_t>(axis)] = size;
            const Shape shape(dims);
            Shape part = shape;
            part[axis] = length;
            const bool wraps = dice.one(2);
            const Tensor cache = dice.tensor(dtype, shape, 0, 9);
            const Tensor update = dice.tensor(dtype, part, 0, 9);
            const Tensor starts = dice.one(3) ? Tensor()
                                              : dice.tensor(DType::i64, {2}, wraps ? -7 : 0,
                                                            static_cast<double>(wraps ? 7 : size - length));
            std::vector<double> expected = valuesOf(cache);
            for (std::int64_t i = 0; i < update.elementCount(); ++i) {
                Place place = placeOf(part, i);
                std::int64_t& along = place[static_cast<std::size_t>(axis)];
                if (starts) along += static_cast<std::int64_t>(starts.at(place[0]));
                along = (along % size + size) % size;
                expected[static_cast<std::size_t>(indexOf(shape, place))] = update.at(i);
            }
            const Tensor out = runOp(
                "TensorScatter",
                {{"axis", std::int64_t{axis - 4}}, {"mode", std::string(wraps ? "circular" : "linear")}},
                {inLayout(cache, dice.layout()), inLayout(update, dice.layout()),
                 starts ? inLayout(starts, dice.layout()) : starts})[0];
            const QString wrong = difference(out, shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const auto error = [](const Attributes& attributes, const Shape& cache, const Shape& update,
                          const Shape& starts) {
        return inferError([&] {
            inferTypes("TensorScatter", attributes,
                       {{DType::f32, cache}, {DType::f32, update}, {DType::i64, starts}});
        });
    };
    QVERIFY(error({{"axis", std::int64_t{0}}}, {2, 3}, {2, 3}, {2}).contains("axis cannot be 0"));
    QVERIFY(error({}, {2, 3, 1}, {2, 4, 1}, {2}).contains("does not fit into a cache of shape [2, 3, 1]"));
    QVERIFY(error({}, {2, 3, 1}, {2, 3, 2}, {2}).contains("the other sizes must be equal"));
    QVERIFY(error({}, {2, 3, 1}, {2, 3, 1}, {3}).contains("must have the shape [2]"));
    const Tensor cache = tensorOf(DType::f32, {1, 3, 1}, {1, 2, 3});
    const Tensor update = tensorOf(DType::f32, {1, 2, 1}, {4, 5});
    for (const std::int64_t start : {std::int64_t{-1}, std::int64_t{2}})
        QVERIFY(runError([&] {
                    runOp("TensorScatter", {}, {cache, update, listOf({start})});
                }).contains("fits into dimension 1 of the cache from 0 to 1"));
}

void TestIndexing::scatterND() {
    Dice dice(75);
    for (DType dtype : kWideDTypes)
        for (const char* reduction : {"none", "add", "mul", "min", "max"})
            for (int round = 0; round < 8; ++round) {
                const Shape shape = solid(dice, 3);
                const double most = isInteger(dtype) ? 2 : 1.5;
                const Tensor data = inLayout(dice.tensor(dtype, shape, 0, most), dice.layout());
                const auto depth = static_cast<std::size_t>(dice.integer(0, shape.rank()));
                List tuples;
                for (std::int64_t more = dice.integer(0, 2); more > 0; --more)
                    tuples.push_back(dice.integer(1, 2));
                List dims = tuples;
                dims.push_back(static_cast<std::int64_t>(depth));
                const Tensor at = Tensor::onHost({DType::i64, Shape(dims)});
                for (std::int64_t i = 0; i < at.elementCount(); ++i) {
                    const std::int64_t size = shape[static_cast<int>(static_cast<std::size_t>(i) % depth)];
                    static_cast<std::int64_t*>(at.data())[i] = dice.integer(-size, size - 1);
                }
                List updated = tuples;
                updated.insert(updated.end(), shape.begin() + static_cast<std::ptrdiff_t>(depth),
                               shape.end());
                const Tensor updates = inLayout(dice.tensor(dtype, Shape(updated), 0, most), dice.layout());
                std::vector<double> expected = valuesOf(data);
                for (std::int64_t i = 0; i < updates.elementCount(); ++i) {
                    const Place place = placeOf(updates.shape(), i);
                    Place target;
                    for (std::size_t d = 0; d < depth; ++d) {
                        Place tuple = part(place, 0, tuples.size());
                        tuple.push_back(static_cast<std::int64_t>(d));
                        target.push_back(indexAt(at, tuple, shape[static_cast<int>(d)]));
                    }
                    target.insert(target.end(), place.begin() + static_cast<std::ptrdiff_t>(tuples.size()),
                                  place.end());
                    double& element = expected[static_cast<std::size_t>(indexOf(shape, target))];
                    element = combined(reduction, element, updates.at(i), dtype == DType::boolean);
                }
                const QString wrong = difference(runOp("ScatterND", {{"reduction", std::string(reduction)}},
                                                       {data, inLayout(at, dice.layout()), updates})[0],
                                                 shape, expected, findOp("ScatterND")->tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(QString(reduction) + ": " + wrong));
            }
}

void TestIndexing::scatterNaN() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor data = tensorOf(DType::f32, {3}, {1, nan, 3});
    const Tensor updates = tensorOf(DType::f32, {3}, {nan, 2, 4});
    for (const char* reduction : {"min", "max"}) {
        const Tensor out = runOp("ScatterElements", {{"reduction", std::string(reduction)}},
                                 {data, listOf({0, 1, 2}), updates})[0];
        QVERIFY(std::isnan(out.at(0)) && std::isnan(out.at(1)) && !std::isnan(out.at(2)));
    }
}

void TestIndexing::scatterErrors() {
    const TensorType data{DType::f32, {3, 4}};
    const auto error = [&](const char* op, const Shape& at, const Shape& updates) {
        return inferError([&] {
            inferTypes(op, {}, {data, {DType::i64, at}, TensorType{DType::f32, updates}});
        });
    };
    QVERIFY(error("ScatterElements", {3}, {3})
                .contains("Index tensor must have the same number of dimensions as self"));
    QVERIFY(error("ScatterElements", {3, 4}, {3}).contains("dimensions as src"));
    QVERIFY(error("ScatterElements", {3, 5}, {3, 5})
                .contains("Expected index [3, 5] to be no larger than self [3, 4]"));
    QVERIFY(error("ScatterElements", {3, 4}, {3, 3}).contains("updates must have the shape of indices"));
    QVERIFY(error("ScatterND", {2, 3}, {2}).contains("too many indices"));
    QVERIFY(
        error("ScatterND", {2, 1}, {2, 5})
            .contains("shape mismatch: value tensor of shape [2, 5] cannot be broadcast to indexing result "
                      "of shape [2, 4]"));
    QCOMPARE(error("ScatterND", {2, kUnknownDim}, {2, 5}), QString());
}

/// Indices known only at run time are then errors, and no memory outside is accessed.
void TestIndexing::outOfRange() {
    const Tensor data = tensorOf(DType::f32, {5, 2}, std::vector<double>(10, 1));
    const auto says = [&](const char* op, const std::vector<Tensor>& inputs, const QString& words) {
        const QString error = runError([&] { runOp(op, {}, inputs); });
        return error.contains(words);
    };
    QVERIFY(says("Gather", {data, listOf({0, 7})},
                 "index 7 is out of bounds for dimension 0 with size 5; indices go from -5 to 4"));
    QVERIFY(says("Gather", {data, listOf({-6})}, "index -6 is out of bounds"));
    QVERIFY(says("Gather", {data, listOf({std::numeric_limits<std::int64_t>::min()})}, "is out of bounds"));
    QVERIFY(says("Gather", {tensorOf(DType::f32, {0, 2}, {}), listOf({0})}, "size 0, which has no elements"));
    const Tensor pairs = Tensor::of<std::int64_t>({1, 2}, {4, 2});
    QVERIFY(
        says("GatherElements", {data, Tensor::of<std::int64_t>({1, 2}, {4, 5})}, "index 5 is out of bounds"));
    QVERIFY(says("GatherND", {data, pairs}, "index 2 is out of bounds for dimension 1 with size 2"));
    QVERIFY(says("ScatterND", {data, pairs, tensorOf(DType::f32, {1}, {3})}, "index 2 is out of bounds"));
    QVERIFY(says("ScatterElements", {data, pairs, tensorOf(DType::f32, {1, 2}, {3, 3})}, "")); // in range
    QVERIFY(says("ScatterElements",
                 {data, Tensor::of<std::int64_t>({1, 2}, {4, -6}), tensorOf(DType::f32, {1, 2}, {3, 3})},
                 "index -6 is out of bounds for dimension 0 with size 5"));
}

void TestIndexing::oneHot() {
    Dice dice(76);
    for (DType dtype : kWideDTypes)
        for (DType indexType : {DType::i32, DType::i64, DType::u8, DType::f32, DType::f16})
            for (int round = 0; round < 5; ++round) {
                const Shape shape = dice.shape(3, 4);
                const std::int64_t depth = dice.integer(1, 4);
                const Tensor at = inLayout(
                    dice.tensor(indexType, shape, isInteger(indexType) && indexType != DType::u8 ? -6 : 0, 6),
                    dice.layout());
                const auto axis = static_cast<int>(dice.integer(0, shape.rank()));
                List dims = shape.dims();
                dims.insert(dims.begin() + axis, depth);
                const std::vector<double> expected = eachPlace(Shape(dims), [&](Place place) {
                    const std::int64_t j = place[static_cast<std::size_t>(axis)];
                    place.erase(place.begin() + axis);
                    auto i = static_cast<std::int64_t>(at.at(indexOf(shape, place)));
                    if (i < 0) i += depth;
                    return i == j ? 1.0 : 0.0;
                });
                const Tensor values = inLayout(tensorOf(dtype, {2}, {0, 1}), dice.layout());
                const Tensor given = tensorOf(dice.one(2) ? DType::f32 : DType::i64,
                                              dice.one(2) ? Shape{} : Shape{1}, {static_cast<double>(depth)});
                const Attributes attributes{
                    {"axis", std::int64_t{dice.one(2) ? axis : axis - shape.rank() - 1}}};
                const QString wrong = difference(runOp("OneHot", attributes, {at, given, values})[0],
                                                 Shape(dims), expected, {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
}

void TestIndexing::oneHotErrors() {
    const Tensor at = listOf({1});
    const Tensor values = tensorOf(DType::f32, {2}, {0, 1});
    QVERIFY(inferError([&] { inferTypes("OneHot", {}, {at, {}, values}); }).contains("needs a depth"));
    QVERIFY(inferError([&] { inferTypes("OneHot", {}, {at, listOf({-1}), values}); }).contains("0 or more"));
    QVERIFY(inferError([&] {
                inferTypes("OneHot", {}, {at, listOf({1, 2}), values});
            }).contains("one number"));
    QVERIFY(inferError([&] { inferTypes("OneHot", {}, {at, listOf({3}), at}); }).contains("off and on"));
    QVERIFY(inferError([&] {
                inferTypes("OneHot", {}, {at, tensorOf(DType::f64, {}, {1e30}), values});
            }).startsWith("too-large"));
    QCOMPARE(inferTypes("OneHot", {}, {at, listOf({3}), values}, nullptr, true)[0].shape,
             (Shape{1, kUnknownDim}));
    QCOMPARE(inferTypes("OneHot", {{"depth", std::int64_t{4}}}, {at, {}, values})[0].shape, (Shape{1, 4}));
}

void TestIndexing::constantOfShape() {
    for (DType dtype : kWideDTypes) {
        const Attributes attributes{{"value", std::int64_t{1}}, {"dtype", std::string(name(dtype))}};
        const Tensor out = runOp("ConstantOfShape", attributes, {listOf({2, 3})})[0];
        QCOMPARE(out.dtype(), dtype);
        QVERIFY(difference(out, {2, 3}, std::vector<double>(6, 1), {}).isEmpty());
    }
    QCOMPARE(runOp("ConstantOfShape", {{"input", List{}}, {"value", 2.5}}, {Tensor{}})[0].at(0), 2.5);
    QCOMPARE(runOp("ConstantOfShape", {}, {listOf({0, 4})})[0].shape(), (Shape{0, 4}));
    QCOMPARE(inferTypes("ConstantOfShape", {}, {listOf({2, 3})}, nullptr, true)[0].shape,
             (Shape{kUnknownDim, kUnknownDim}));
    QVERIFY(inferError([] {
                inferTypes("ConstantOfShape", {}, {listOf({2, -3})});
            }).contains("negative dimension -3"));
    QVERIFY(inferError([] {
                inferTypes("ConstantOfShape", {}, std::vector<Tensor>{{}});
            }).contains("needs a shape"));
    const std::int64_t huge = std::int64_t{1} << 62;
    QVERIFY(inferError([&] {
                inferTypes("ConstantOfShape", {}, {listOf({huge, huge})});
            }).startsWith("too-large"));
}

void TestIndexing::range() {
    const auto run = [](DType dtype, double start, double limit, double delta) {
        return valuesOf(runOp(
            "Range", {},
            {tensorOf(dtype, {}, {start}), tensorOf(dtype, {}, {limit}), tensorOf(dtype, {}, {delta})})[0]);
    };
    for (DType dtype :
         {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i16, DType::i32, DType::i64}) {
        QCOMPARE(run(dtype, 1, 8, 3), (std::vector<double>{1, 4, 7}));
        QCOMPARE(run(dtype, 5, -2, -3), (std::vector<double>{5, 2, -1}));
        QCOMPARE(run(dtype, 5, 5, 1), (std::vector<double>{}));
        QCOMPARE(run(dtype, 5, 9, -1), (std::vector<double>{}));
    }
    QCOMPARE(run(DType::f64, 0, 1, 0.25), (std::vector<double>{0, 0.25, 0.5, 0.75}));
    // Sums of f16 would stay at 2048.
    QCOMPARE(run(DType::f16, 2046, 2052, 1), (std::vector<double>{2046, 2047, 2048, 2048, 2050, 2052}));
    // The attributes replace unconnected inputs.
    QCOMPARE(
        valuesOf(runOp("Range", {{"start", std::int64_t{2}}}, {Tensor{}, tensorOf(DType::i64, {}, {5})})[0]),
        (std::vector<double>{2, 3, 4}));
    const std::int64_t big = (std::int64_t{1} << 53) + 1;
    const Tensor exact = runOp("Range", {{"delta", std::int64_t{1}}}, {listOf({big}), listOf({big + 2})})[0];
    QCOMPARE(exact.toIntegers(), (List{big, big + 1}));
}

void TestIndexing::rangeErrors() {
    const auto error = [](const std::vector<Tensor>& inputs) {
        return inferError([&] { inferTypes("Range", {}, inputs); });
    };
    const Tensor zero = listOf({0});
    QVERIFY(error({zero, listOf({5}), zero}).contains("step must be nonzero"));
    QVERIFY(error({}).contains("Arange"));
    QVERIFY(error({listOf({0, 1})}).contains("must be one number"));
    const auto real = [](double value) { return tensorOf(DType::f64, {}, {value}); };
    const double inf = std::numeric_limits<double>::infinity();
    QVERIFY(error({real(0), real(inf), real(1)}).contains("unsupported range: 0 -> inf"));
    QVERIFY(error({real(0), real(1e300), real(1e-300)}).contains("unsupported range") ||
            error({real(0), real(1e300), real(1e-300)}).startsWith("too-large"));
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    QVERIFY(
        error({listOf({least}), listOf({std::numeric_limits<std::int64_t>::max()})}).startsWith("too-large"));
    QCOMPARE(inferTypes("Range", {}, {zero, zero, zero}, nullptr, true)[0].shape, Shape{kUnknownDim});
}

void TestIndexing::eyeLike() {
    for (DType dtype : kWideDTypes)
        for (std::int64_t k : {-5, -1, 0, 2, 9}) {
            const std::vector<double> expected =
                eachPlace({3, 4}, [&](const Place& place) { return place[1] == place[0] + k ? 1.0 : 0.0; });
            const Attributes attributes{{"k", k}, {"dtype", std::string(name(dtype))}};
            const Tensor out =
                runOp("EyeLike", attributes, {tensorOf(DType::f32, {3, 4}, std::vector<double>(12, 7))})[0];
            QCOMPARE(out.dtype(), dtype);
            const QString wrong = difference(out, {3, 4}, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    QCOMPARE(inferTypes("EyeLike", {}, {{DType::i8, {2, 2}}})[0].dtype, DType::i8);
    QVERIFY(inferError([] { inferTypes("EyeLike", {}, {{DType::i8, {2}}}); }).contains("needs a matrix"));
    QVERIFY(findOp("EyeLike")->readsTypesOnly);
}

TWB_TEST_MAIN(TestIndexing)
#include "test_indexing.moc"
