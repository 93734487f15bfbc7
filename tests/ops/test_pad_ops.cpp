#include "support/op_tensors.h"
#include "support/places.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

class TestPadOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pad();
    void padEdges();
    void padErrors();
    void centerCropPad();
};

void TestPadOps::pad() {
    Dice dice(58);
    for (DType dtype : kWideDTypes)
        for (const char* mode : {"constant", "reflect", "edge", "wrap"})
            for (int round = 0; round < 25; ++round) {
                const Shape shape = dice.shape(4, 5);
                const Tensor in = any(dice, dtype, shape);
                const bool constant = std::string(mode) == "constant";
                List before, after, axes;
                std::vector<List> sources;
                Shape result = shape;
                for (int axis = 0; axis < shape.rank(); ++axis) {
                    const std::int64_t size = shape[axis];
                    List& list = sources.emplace_back();
                    for (std::int64_t i = 0; i < size; ++i) list.push_back(i);
                    if (dice.one(4) || (size == 0 && !constant)) continue;
                    const std::int64_t low = dice.integer(-size / 3, 6);
                    const std::int64_t high = dice.integer(-size / 3, 6);
                    before.push_back(low);
                    after.push_back(high);
                    axes.push_back(dice.one(2) ? axis : axis - shape.rank());
                    // Elements are added at the ends one by one.
                    if (low < 0) list.erase(list.begin(), list.begin() - low);
                    if (high < 0) list.erase(list.end() + high, list.end());
                    const List base = list;
                    const auto n = static_cast<std::int64_t>(base.size());
                    const auto at = [&](std::int64_t i) -> std::int64_t {
                        if (constant) return -1;
                        if (std::string(mode) == "edge") return i < 0 ? base.front() : base.back();
                        if (std::string(mode) == "wrap")
                            return base[static_cast<std::size_t>(((i % n) + n) % n)];
                        while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
                        return base[static_cast<std::size_t>(n > 1 ? i : 0)];
                    };
                    for (std::int64_t i = -1; i >= -low; --i) list.insert(list.begin(), at(i));
                    for (std::int64_t i = 0; i < high; ++i) list.push_back(at(n + i));
                    result[axis] = static_cast<std::int64_t>(list.size());
                }
                List pads = before;
                pads.insert(pads.end(), after.begin(), after.end());
                const bool valued = dice.one(2);
                const double value = dtype == DType::boolean ? 1 : 7;
                const std::vector<double> expected = eachPlace(result, [&](Place place) {
                    for (std::size_t i = 0; i < place.size(); ++i) {
                        place[i] = sources[i][static_cast<std::size_t>(place[i])];
                        if (place[i] < 0) return valued ? value : 0.0;
                    }
                    return in.at(indexOf(shape, place));
                });
                const Tensor constantValue = valued ? tensorOf(dtype, {}, {value}) : Tensor{};
                const Tensor out = runOp("Pad", {{"mode", std::string(mode)}},
                                         {in, listOf(pads), constantValue, listOf(axes)})[0];
                const QString wrong = difference(out, result, expected, {});
                QVERIFY2(wrong.isEmpty(), qPrintable(QString(mode) + ": " + wrong));
            }
}

void TestPadOps::padEdges() {
    const auto pad = [](const char* mode, const List& pads, const Shape& shape = {3}) {
        return valuesOf(runOp("Pad", {{"mode", std::string(mode)}, {"pads", pads}, {"constant_value", -1.0}},
                              {counting(shape)})[0]);
    };
    QCOMPARE(pad("constant", {1, 2}), (std::vector<double>{-1, 0, 1, 2, -1, -1}));
    QCOMPARE(pad("constant", {-5, 4}), (std::vector<double>{-1, -1}));
    QCOMPARE(pad("constant", {-2, 1}), (std::vector<double>{2, -1}));
    QCOMPARE(pad("reflect", {2, 2}), (std::vector<double>{2, 1, 0, 1, 2, 1, 0}));
    QCOMPARE(pad("reflect", {-1, 1}), (std::vector<double>{1, 2, 1}));
    QCOMPARE(pad("edge", {2, -1}), (std::vector<double>{0, 0, 0, 1}));
    QCOMPARE(pad("wrap", {4, 1}), (std::vector<double>{2, 0, 1, 2, 0, 1, 2, 0}));
    QCOMPARE(pad("constant", {}, {}), (std::vector<double>{0}));
    QCOMPARE(pad("constant", {0, 1, 0, 1}, {2, 0}), (std::vector<double>{-1, -1, -1, -1}));
}

void TestPadOps::padErrors() {
    const auto error = [](const Attributes& attributes, const Shape& shape) {
        return inferError([&] { inferTypes("Pad", attributes, {counting(shape)}); });
    };
    QVERIFY(error({}, {3}).contains("needs pads"));
    QVERIFY(error({{"pads", List{1}}}, {3}).contains("pads has 1 entries, but 1 axes are padded"));
    QVERIFY(error({{"pads", List{-2, -2}}}, {3})
                .contains(
                    "The input size 3, plus negative padding -2 and -2, resulted in a negative output size"));
    QVERIFY(error({{"pads", List{1, 1}}, {"mode", std::string("edge")}}, {0})
                .contains("can't extend empty axis 0"));
    QVERIFY(error({{"pads", List{-3, 1}}, {"mode", std::string("wrap")}}, {3})
                .contains("can't extend empty axis 0"));
    QVERIFY(
        error({{"pads", List{1, 1}}, {"axes", List{1}}}, {3}).contains("expected to be in range of [-1, 0]"));
    QVERIFY(error({{"pads", List{1, 1, 1, 1}}, {"axes", List{0, -1}}}, {3}).contains("multiple times"));
    QVERIFY(error({{"pads", List{kMost, 1}}}, {3}).startsWith("too-large"));
    QVERIFY(error({{"pads", List{kLeast, 0}}}, {3}).contains("negative output size"));
    QVERIFY(inferError([] {
                inferTypes("Pad", {{"pads", List{1, 1}}},
                           {counting({3}), Tensor{}, tensorOf(DType::f32, {2}, {0, 1})});
            }).contains("must be one number"));
    QVERIFY(inferError([] {
                inferTypes("Pad", {{"pads", List{1, 1}}},
                           {counting({3}), Tensor{}, tensorOf(DType::f64, {}, {0})});
            }).startsWith("dtype-mismatch"));
}

void TestPadOps::centerCropPad() {
    Dice dice(59);
    for (DType dtype : kWideDTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(4, 6);
            const Tensor in = any(dice, dtype, shape);
            List wanted;
            for (int axis = 0; axis < shape.rank(); ++axis) wanted.push_back(dice.integer(0, 8));
            const Shape result(wanted);
            const std::vector<double> expected = eachPlace(result, [&](Place place) {
                for (int axis = 0; axis < shape.rank(); ++axis) {
                    std::int64_t& at = place[static_cast<std::size_t>(axis)];
                    const std::int64_t more = result[axis] - shape[axis];
                    at -= more > 0 ? more / 2 : -(-more / 2);
                    if (at < 0 || at >= shape[axis]) return 0.0;
                }
                return in.at(indexOf(shape, place));
            });
            const QString wrong =
                difference(runOp("CenterCropPad", {}, {in, listOf(wanted)})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    // ONNX's example: 20 × 8 × 3 to 10 × 9 along the first two axes.
    QCOMPARE(inferTypes("CenterCropPad", {{"shape", List{10, 9}}, {"axes", List{0, -2}}},
                        {{DType::f32, {20, 8, 3}}})[0]
                 .shape,
             (Shape{10, 9, 3}));
    QVERIFY(inferError([] {
                inferTypes("CenterCropPad", {{"shape", List{1}}}, {counting({2, 2})});
            }).contains("shape has 1 entries, but 2 axes"));
    QVERIFY(inferError([] {
                inferTypes("CenterCropPad", {{"shape", List{1}}, {"axes", List{2}}}, {counting({2, 2})});
            }).contains("Dimension out of range"));
    QVERIFY(inferError([] {
                inferTypes("CenterCropPad", {}, {counting({2, 2})});
            }).contains("needs a shape"));
}

TWB_TEST_MAIN(TestPadOps)
#include "test_pad_ops.moc"
