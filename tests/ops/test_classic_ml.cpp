#include "support/op_runner.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace twb;
using namespace twb::test;

namespace {

using List = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64};

/// [C] or [N, C]; sizes may be 0.
Shape rowsShape(Dice& dice, std::int64_t columns) {
    return dice.one(3) ? Shape{columns} : Shape{dice.integer(0, 5), columns};
}

Numbers reals(Dice& dice, std::int64_t count) {
    Numbers values(static_cast<std::size_t>(count));
    for (double& value : values) value = dice.real(-3, 3);
    return values;
}

QString attributeError(const char* op, const Attributes& attributes, const TensorType& input) {
    return inferError([&] { inferTypes(op, attributes, std::vector<TensorType>{input}); });
}

} // namespace

/// The domain ai.onnx.ml.
class TestClassicMl : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void binarizer();
    void binarizerAtTheEdges();
    void scaler();
    void normalizer();
    void normalizerAtTheEdges();
    void imputer();
    void featureVectorizer();
    void arrayFeatureExtractor();
    void oneHotEncoder();
    void labelEncoder();
    void linear_data();
    void linear();
    void treesGiveTheLeavesThatTheyReach();
    void treesThatDoNotFitAreRefused_data();
    void treesThatDoNotFitAreRefused();
    void probitAtTheEdges();
    void refusals_data();
    void refusals();
    void othersRefuse();
};

void TestClassicMl::binarizer() {
    Dice dice(1);
    for (DType dtype : kTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(4, 5);
            const Tensor x = inLayout(dice.tensor(dtype, shape, -4, 4), dice.layout());
            const double threshold = static_cast<double>(dice.integer(-16, 16)) / 4;
            Numbers expected = valuesOf(x);
            for (double& value : expected) value = value > threshold ? 1 : 0;
            const QString wrong =
                difference(runOp("Binarizer", {{"threshold", threshold}}, {x})[0], shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestClassicMl::binarizerAtTheEdges() {
    const auto above = [](const Tensor& x, double threshold) {
        return valuesOf(runOp("Binarizer", {{"threshold", threshold}}, {x})[0]);
    };
    QCOMPARE(above(tensorOf(DType::f32, {4}, {kNaN, kInf, -kInf, 0}), 0), (Numbers{0, 1, 0, 0}));
    const List ends{std::numeric_limits<std::int64_t>::min(), (std::int64_t{1} << 53) + 1,
                    std::numeric_limits<std::int64_t>::max()};
    const Tensor wide = Tensor::of<std::int64_t>({3}, std::span<const std::int64_t>(ends));
    QCOMPARE(above(wide, 0x1p53), (Numbers{0, 1, 1}));
    QCOMPARE(above(wide, -0x1p63), (Numbers{0, 1, 1}));
    QCOMPARE(above(wide, -0x1p64), (Numbers{1, 1, 1}));
    QCOMPARE(above(wide, -kInf), (Numbers{1, 1, 1}));
    for (double none : {0x1p63, kInf, kNaN}) QCOMPARE(above(wide, none), (Numbers{0, 0, 0}));
    // Attributes are f32 in ONNX, so f32 0.1 is not greater than 0.1.
    QCOMPARE(above(tensorOf(DType::f32, {1}, {0.1}), 0.1), Numbers{0});
}

void TestClassicMl::scaler() {
    Dice dice(2);
    const Tolerance tolerance = findOp("Scaler")->tolerance;
    for (DType dtype : kTypes)
        for (int round = 0; round < 30; ++round) {
            const Shape shape = dice.shape(3, 6);
            const Tensor x = inLayout(dice.tensor(dtype, shape, -9, 9), dice.layout());
            const std::int64_t features = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
            const std::int64_t entries = dice.one(2) ? 1 : features;
            const Numbers offset = reals(dice, entries);
            const Numbers scale = reals(dice, entries);
            const bool shifts = !offset.empty() && !dice.one(4);
            const bool scales = !scale.empty() && !dice.one(4);
            Attributes attributes;
            if (shifts) attributes.set("offset", offset);
            if (scales) attributes.set("scale", scale);
            Numbers expected = valuesOf(x);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const std::size_t c = entries == 1 ? 0 : i % static_cast<std::size_t>(features);
                expected[i] = (expected[i] - (shifts ? offset[c] : 0)) * (scales ? scale[c] : 1);
            }
            const Tensor y = runOp("Scaler", attributes, {x})[0];
            QCOMPARE(y.dtype(), DType::f32);
            const QString wrong = difference(y, shape, expected, tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Tensor odd = tensorOf(DType::f64, {4}, {kNaN, kInf, -kInf, 1e300});
    const Tensor y = runOp("Scaler", {{"scale", Numbers{2}}}, {odd})[0];
    QVERIFY(difference(y, {4}, {kNaN, kInf, -kInf, kInf}, {}).isEmpty());
}

void TestClassicMl::normalizer() {
    Dice dice(3);
    const Tolerance tolerance = findOp("Normalizer")->tolerance;
    for (DType dtype : kTypes)
        for (const char* norm : {"MAX", "L1", "L2"})
            for (int round = 0; round < 15; ++round) {
                const std::int64_t columns = dice.integer(0, 6);
                const Shape shape = rowsShape(dice, columns);
                const Tensor x = inLayout(dice.tensor(dtype, shape, -4, 4), dice.layout());
                Numbers expected = valuesOf(x);
                for (auto row = expected.begin(); row != expected.end(); row += columns) {
                    const auto end = row + columns;
                    double by = 0;
                    if (norm == std::string("MAX")) by = *std::max_element(row, end);
                    if (norm == std::string("L1"))
                        by = std::accumulate(row, end, 0.0,
                                             [](double s, double v) { return s + std::abs(v); });
                    if (norm == std::string("L2")) by = std::sqrt(std::inner_product(row, end, row, 0.0));
                    if (by != 0) std::for_each(row, end, [&](double& v) { v /= by; });
                }
                const Tensor y = runOp("Normalizer", {{"norm", std::string(norm)}}, {x})[0];
                QCOMPARE(y.dtype(), DType::f32);
                const QString wrong = difference(y, shape, expected, tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
}

void TestClassicMl::normalizerAtTheEdges() {
    const Tensor x = tensorOf(DType::f32, {4, 2}, {0, 0, kNaN, 1, 1, kNaN, -2, -4});
    const auto normalized = [&](const char* norm) {
        return runOp("Normalizer", {{"norm", std::string(norm)}}, {x})[0];
    };
    QVERIFY(difference(normalized("MAX"), {4, 2}, {0, 0, kNaN, kNaN, kNaN, kNaN, 1, 2}, {}).isEmpty());
    QVERIFY(
        difference(normalized("L1"), {4, 2}, {0, 0, kNaN, kNaN, kNaN, kNaN, -2.0 / 6, -4.0 / 6}, {1e-6, 0})
            .isEmpty());
    QVERIFY(difference(normalized("L2"), {4, 2},
                       {0, 0, kNaN, kNaN, kNaN, kNaN, -2 / std::sqrt(20), -4 / std::sqrt(20)}, {1e-6, 0})
                .isEmpty());
}

void TestClassicMl::imputer() {
    Dice dice(4);
    for (DType dtype : kTypes)
        for (int round = 0; round < 30; ++round) {
            const Shape shape = dice.shape(3, 5);
            const std::int64_t features = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
            Numbers values(static_cast<std::size_t>(shape.elementCount()));
            const bool isNaN = isFloating(dtype) && dice.one(2);
            for (double& value : values) {
                value = static_cast<double>(dice.integer(0, 3));
                if (isNaN && value == 2) value = kNaN;
            }
            const Tensor x = inLayout(tensorOf(dtype, shape, values), dice.layout());
            List imputed(static_cast<std::size_t>(features == 0 || dice.one(2) ? 1 : features));
            for (std::int64_t& value : imputed) value = dice.integer(-9, 9);
            Numbers expected = values;
            for (std::size_t i = 0; i < expected.size(); ++i)
                if (isNaN ? std::isnan(values[i]) : values[i] == 2)
                    expected[i] = static_cast<double>(imputed[i % imputed.size()]);
            Attributes attributes;
            if (isFloating(dtype)) {
                attributes.set("imputed_value_floats", Numbers(imputed.begin(), imputed.end()));
                attributes.set("replaced_value_float", isNaN ? kNaN : 2.0);
            } else {
                attributes.set("imputed_value_int64s", imputed);
                attributes.set("replaced_value_int64", std::int64_t{2});
            }
            const QString wrong = difference(runOp("Imputer", attributes, {x})[0], shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestClassicMl::featureVectorizer() {
    Dice dice(5);
    for (DType dtype : kTypes)
        for (int round = 0; round < 30; ++round) {
            const std::int64_t rows = dice.one(3) ? 1 : dice.integer(0, 4);
            std::vector<Tensor> inputs;
            std::vector<Numbers> values;
            List own;
            List wanted;
            for (std::int64_t n = dice.integer(1, 3); n > 0; --n) {
                own.push_back(dice.integer(0, 4));
                wanted.push_back(dice.one(2) ? own.back() : dice.integer(0, 6));
                const Shape shape = rows == 1 && dice.one(2) ? Shape{own.back()} : Shape{rows, own.back()};
                inputs.push_back(inLayout(dice.tensor(dtype, shape, -9, 9), dice.layout()));
                values.push_back(valuesOf(inputs.back()));
            }
            Attributes attributes;
            if (dice.one(2))
                attributes.set("inputdimensions", wanted);
            else
                wanted = own;
            Numbers expected;
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::size_t n = 0; n < inputs.size(); ++n)
                    for (std::int64_t c = 0; c < wanted[n]; ++c)
                        expected.push_back(c < own[n] ? values[n][static_cast<std::size_t>(row * own[n] + c)]
                                                      : 0);
            const std::int64_t columns = std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0});
            const Tensor y = runOp("FeatureVectorizer", attributes, inputs)[0];
            QCOMPARE(y.dtype(), DType::f32);
            const QString wrong = difference(y, {rows, columns}, expected, {1e-6, 0});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestClassicMl::arrayFeatureExtractor() {
    Dice dice(6);
    for (DType dtype : kTypes)
        for (int round = 0; round < 30; ++round) {
            Shape shape = dice.shape(3, 5);
            if (shape.rank() == 0) shape = Shape{4};
            const int last = shape.rank() - 1;
            const std::int64_t size = shape[last];
            const std::int64_t count = size == 0 ? 0 : dice.integer(0, 4);
            List at;
            for (std::int64_t i = 0; i < count; ++i) at.push_back(dice.integer(0, size - 1));
            const Shape indices = dice.one(2) ? Shape{count} : Shape{1, count};
            const Tensor y =
                inLayout(Tensor::of<std::int64_t>(indices, std::span<const std::int64_t>(at)), dice.layout());
            const Tensor x = inLayout(dice.tensor(dtype, shape, -9, 9), dice.layout());
            Shape result = shape.rank() == 1 ? Shape{1, count} : shape;
            result[result.rank() - 1] = count;
            const Numbers expected = eachPlace(result, [&](Place place) {
                place.back() = at[static_cast<std::size_t>(place.back())];
                if (shape.rank() == 1) place.erase(place.begin());
                return x.at(indexOf(shape, place));
            });
            const QString wrong =
                difference(runOp("ArrayFeatureExtractor", {}, {x, y})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Tensor x = tensorOf(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
    QVERIFY(runError([&] {
                runOp("ArrayFeatureExtractor", {}, {x, Tensor::of<std::int64_t>({1}, {3})});
            }).contains("out of"));
    QVERIFY(inferError([&] {
                inferTypes("ArrayFeatureExtractor", {},
                           std::vector<TensorType>{{DType::f32, {}}, {DType::i64, {1}}});
            }).contains("needs X with an axis"));
}

void TestClassicMl::oneHotEncoder() {
    Dice dice(7);
    for (DType dtype : kTypes)
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(3, 4);
            const Tensor x = inLayout(dice.tensor(dtype, shape, 0, 6), dice.layout());
            const List categories{4, 0, 2, 7};
            Numbers expected;
            for (const double value : valuesOf(x))
                for (const std::int64_t category : categories)
                    expected.push_back(std::trunc(value) == static_cast<double>(category) ? 1 : 0);
            std::vector<std::int64_t> dims = shape.dims();
            dims.push_back(4);
            const Tensor y = runOp("OneHotEncoder", {{"cats_int64s", categories}}, {x})[0];
            const QString wrong = difference(y, Shape(dims), expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    const Attributes strict{{"cats_int64s", List{1, 2}}, {"zeros", false}};
    QCOMPARE(valuesOf(runOp("OneHotEncoder", strict, {tensorOf(DType::f32, {2}, {2, 1})})[0]),
             (Numbers{0, 1, 1, 0}));
    QVERIFY(runError([&] {
                runOp("OneHotEncoder", strict, {tensorOf(DType::i32, {2}, {2, 5})});
            }).contains("5 is not one of the 2 categories"));
    QCOMPARE(valuesOf(runOp("OneHotEncoder", {{"cats_int64s", List{0}}},
                            {tensorOf(DType::f64, {3}, {kNaN, kInf, 1e30})})[0]),
             (Numbers{0, 0, 0}));
}

void TestClassicMl::labelEncoder() {
    Dice dice(8);
    for (const bool floatKeys : {true, false})
        for (const bool floatValues : {true, false})
            for (int round = 0; round < 10; ++round) {
                const Shape shape = dice.shape(3, 4);
                const Tensor whole = dice.tensor(DType::i64, shape, 0, 5);
                const Tensor x = inLayout(
                    tensorOf(floatKeys ? DType::f32 : DType::i64, shape, valuesOf(whole)), dice.layout());
                const List keys{3, 1, 4};
                const List values{30, 10, -40};
                const std::int64_t otherwise = dice.integer(-3, -2);
                Numbers expected;
                for (const double value : valuesOf(x)) {
                    const auto key = std::find(keys.begin(), keys.end(), static_cast<std::int64_t>(value));
                    expected.push_back(static_cast<double>(
                        key == keys.end() ? otherwise
                                          : values[static_cast<std::size_t>(key - keys.begin())]));
                }
                Attributes attributes;
                if (floatKeys)
                    attributes.set("keys_floats", Numbers(keys.begin(), keys.end()));
                else
                    attributes.set("keys_int64s", keys);
                if (floatValues) {
                    attributes.set("values_floats", Numbers(values.begin(), values.end()));
                    attributes.set("default_float", static_cast<double>(otherwise));
                } else {
                    attributes.set("values_int64s", values);
                    attributes.set("default_int64", otherwise);
                }
                const Tensor y = runOp("LabelEncoder", attributes, {x})[0];
                QCOMPARE(y.dtype(), floatValues ? DType::f32 : DType::i64);
                const QString wrong = difference(y, shape, expected, {});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
    // NaN may be a key, and both zeros are the same key.
    QCOMPARE(
        valuesOf(runOp("LabelEncoder", {{"keys_floats", Numbers{kNaN, 0.0}}, {"values_int64s", List{7, 8}}},
                       {tensorOf(DType::f32, {3}, {kNaN, 0.0, -0.0})})[0]),
        (Numbers{7, 8, 8}));
}

void TestClassicMl::linear_data() {
    QTest::addColumn<QString>("how");
    for (const char* how : {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"})
        QTest::addRow("%s", how) << QString(how);
}

void TestClassicMl::linear() {
    QFETCH(QString, how);
    Dice dice(9);
    for (DType dtype : kTypes)
        for (int round = 0; round < 10; ++round) {
            const std::int64_t features = dice.integer(1, 5);
            const std::int64_t targets = dice.integer(1, 4);
            const Shape shape = rowsShape(dice, features);
            const std::int64_t rows = shape.rank() == 1 ? 1 : shape[0];
            const Tensor x = inLayout(dice.tensor(dtype, shape, -3, 3), dice.layout());
            const Numbers in = valuesOf(x);
            Numbers coefficients = reals(dice, targets * features);
            Numbers intercepts = dice.one(3) ? Numbers{} : reals(dice, targets);
            if (how == "PROBIT") { // its scores are probabilities
                std::fill(coefficients.begin(), coefficients.end(), 0.0);
                intercepts.resize(static_cast<std::size_t>(targets));
                for (double& p : intercepts) p = dice.real(0.01, 0.99);
            }
            if (how == "SOFTMAX_ZERO" && !intercepts.empty()) { // makes some scores 0
                std::fill_n(coefficients.begin(), features, 0.0);
                intercepts[0] = 0;
            }
            Numbers expected;
            std::vector<std::size_t> best;
            for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
                Numbers scores;
                const auto f = static_cast<std::size_t>(features);
                for (std::size_t t = 0; t < static_cast<std::size_t>(targets); ++t) {
                    scores.push_back(intercepts.empty() ? 0 : intercepts[t]);
                    for (std::size_t c = 0; c < f; ++c)
                        scores[t] += in[row * f + c] * coefficients[t * f + c];
                }
                best.push_back(static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                                        scores.begin()));
                double sum = 0;
                const double zero = how == "SOFTMAX_ZERO" ? 1e-7 : -1;
                for (const double score : scores) sum += std::abs(score) <= zero ? 0 : std::exp(score);
                for (double& score : scores) {
                    if (how == "LOGISTIC") score = 1 / (1 + std::exp(-score));
                    if (how.startsWith("SOFTMAX"))
                        score = std::abs(score) <= zero ? 0 : std::exp(score) / sum;
                }
                expected.insert(expected.end(), scores.begin(), scores.end());
            }
            Attributes attributes{{"coefficients", coefficients}, {"post_transform", how.toStdString()}};
            if (!intercepts.empty()) attributes.set("intercepts", intercepts);
            Attributes regression = attributes;
            regression.set("targets", targets);
            List labels(static_cast<std::size_t>(targets));
            std::iota(labels.begin(), labels.end(), 70);
            attributes.set("classlabels_ints", labels);
            const Tensor predicted = runOp("LinearRegressor", regression, {x})[0];
            const std::vector<Tensor> classified = runOp("LinearClassifier", attributes, {x});
            QCOMPARE(classified[0].shape(), Shape{rows});
            for (std::size_t row = 0; row < best.size(); ++row)
                QCOMPARE(classified[0].at(static_cast<std::int64_t>(row)),
                         static_cast<double>(labels[best[row]]));
            for (const Tensor& y : {predicted, classified[1]}) {
                QCOMPARE(y.dtype(), DType::f32);
                QCOMPARE(y.shape(), (Shape{rows, targets}));
                Numbers got = valuesOf(y);
                if (how == "PROBIT") // invert the normal quantile
                    for (double& score : got) score = std::erfc(-score / std::sqrt(2.0)) / 2;
                for (std::size_t i = 0; i < got.size(); ++i)
                    QVERIFY2(std::abs(got[i] - expected[i]) <= 1e-6 + 1e-6 * std::abs(expected[i]),
                             qPrintable(QString("%1, expected %2").arg(got[i]).arg(expected[i])));
            }
        }
}

/// Two trees: node 0 tests feature 0, and its false branch node 1 tests feature 1; node 2 tests a set.
static Attributes forest() {
    return {{"leaf_targetids", List{0, 1, 0, 1}},       {"leaf_weights", Numbers{1, 2, 4, 8}},
            {"membership_values", Numbers{3, 5, kNaN}}, {"n_targets", std::int64_t{2}},
            {"nodes_falseleafs", List{0, 1, 1}},        {"nodes_falsenodeids", List{1, 2, 3}},
            {"nodes_featureids", List{0, 1, 0}},        {"nodes_modes", List{0, 3, 6}},
            {"nodes_splits", Numbers{2, 7, 0}},         {"nodes_trueleafs", List{1, 1, 1}},
            {"nodes_truenodeids", List{0, 1, 0}},       {"tree_roots", List{0, 2}}};
}

void TestClassicMl::treesGiveTheLeavesThatTheyReach() {
    // By row: 2 <= 2, no member; 3 > 2, 8 > 7, a member; 5 > 2, 7 is not > 7, a member; NaN.
    const Tensor x = tensorOf(DType::f32, {4, 2}, {2, 0, 3, 8, 5, 7, kNaN, 0});
    const auto scores = [&](std::int64_t aggregate, std::int64_t transform = 0) {
        Attributes attributes = forest();
        attributes.set("aggregate_function", aggregate);
        attributes.set("post_transform", transform);
        return valuesOf(runOp("TreeEnsemble", attributes, {x})[0]);
    };
    QCOMPARE(scores(1), (Numbers{1, 8, 1, 2, 5, 0, 4, 8}));
    QCOMPARE(scores(0), (Numbers{0.5, 4, 0.5, 1, 2.5, 0, 2, 4}));
    QCOMPARE(scores(2), (Numbers{1, 8, 1, 2, 1, 0, 4, 8}));
    QCOMPARE(scores(3), (Numbers{1, 8, 1, 2, 4, 0, 4, 8}));
    QVERIFY(std::abs(scores(1, 2)[0] - 1 / (1 + std::exp(-1.0))) < 1e-6);
    QVERIFY(std::abs(scores(1, 1)[3] - 1 / (1 + std::exp(-1.0))) < 1e-6);

    Attributes missing = forest();
    missing.set("nodes_missing_value_tracks_true", List{1, 0, 1});
    QCOMPARE(valuesOf(runOp("TreeEnsemble", missing, {tensorOf(DType::f64, {2}, {kNaN, 0})})[0]),
             (Numbers{2, 0}));
}

void TestClassicMl::treesThatDoNotFitAreRefused_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QVariant>("value");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const char* name, const QList<qlonglong>& value, const char* says) {
        QVariantList list;
        for (const qlonglong each : value) list << each;
        QTest::addRow("%s", tag) << QString(name) << QVariant(list) << QString(says);
    };
    row("cycle", "nodes_truenodeids", {0, 0, 0}, "the nodes form a cycle through node 0");
    row("leaf", "nodes_falsenodeids", {1, 4, 3},
        "nodes_falsenodeids has the entry 4, but there are only 4 leaves");
    row("node", "nodes_falsenodeids", {3, 2, 3},
        "nodes_falsenodeids has the entry 3, but there are only 3 nodes");
    row("length", "nodes_featureids", {0, 1}, "nodes_featureids has 2 entries");
    row("feature", "nodes_featureids", {0, 2, 0}, "a node tests feature 2, but X has only 2 features");
    row("negative", "nodes_featureids", {0, -1, 0}, "nodes_featureids has the entry -1");
    row("mode", "nodes_modes", {0, 7, 6}, "nodes_modes has the entry 7, but its entries must be 0 to 6");
    row("sets", "nodes_modes", {6, 6, 6}, "membership_values has fewer sets than nodes");
    row("target", "leaf_targetids", {0, 1, 0, 2}, "leaf_targetids has the entry 2");
    row("root", "tree_roots", {3}, "tree_roots has the entry 3");
    row("no root", "tree_roots", {}, "tree_roots is empty");
    row("no leaf", "leaf_targetids", {}, "leaf_targetids is empty");
}

void TestClassicMl::treesThatDoNotFitAreRefused() {
    QFETCH(QString, name);
    QFETCH(QVariant, value);
    QFETCH(QString, says);
    List list;
    for (const QVariant& each : value.toList()) list.push_back(each.toLongLong());
    Attributes attributes = forest();
    attributes.set(name.toStdString(), list);
    if (name == "nodes_truenodeids") attributes.set("nodes_trueleafs", List{1, 0, 1});
    const QString error = attributeError("TreeEnsemble", attributes, {DType::f32, {5, 2}});
    QVERIFY2(error.contains(says), qPrintable(error));
}

void TestClassicMl::probitAtTheEdges() {
    const auto probit = [](double p) {
        return runOp("LinearRegressor",
                     {{"coefficients", Numbers{1}}, {"post_transform", std::string("PROBIT")}},
                     {tensorOf(DType::f64, {1}, {p})})[0]
            .at(0);
    };
    QCOMPARE(probit(0), -kInf);
    QCOMPARE(probit(1), kInf);
    QCOMPARE(probit(0.5), 0.0);
    QVERIFY(std::isnan(probit(-0.1)) && std::isnan(probit(1.1)) && std::isnan(probit(kNaN)));
    // Tabulated values: Φ(−1.959963984540054) = 0.025, Φ(−37.0471) = 1e-300.
    QVERIFY(std::abs(probit(0.025) + 1.959963984540054) < 1e-6);
    QVERIFY(std::abs(probit(0.975) - 1.959963984540054) < 1e-6);
    QVERIFY(std::abs(probit(1e-300) + 37.0471) < 1e-3);
}

void TestClassicMl::refusals_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<Shape>("shape");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const char* op, const Attributes& attributes, const Shape& shape,
                        const char* says) {
        QTest::addRow("%s", tag) << QString(op) << attributes << shape << QString(says);
    };
    row("features", "Scaler", {{"offset", Numbers{1, 2}}}, {4, 3},
        "shape-mismatch: offset has 2 entries, but X has 3 features along its last axis");
    row("uneven", "Scaler", {{"offset", Numbers{1}}, {"scale", Numbers{1, 2}}}, {4, 2},
        "attribute: offset and scale must have the same number of entries, but have 1 and 2");
    row("no row", "Normalizer", {}, {}, "needs rows of features, [N, C], or one row, [C]");
    row("stack", "Normalizer", {}, {2, 2, 2}, "but X has the shape [2, 2, 2]");
    row("no norm", "Normalizer", {{"norm", std::string("L3")}}, {2}, "must be one of MAX, L1, L2");
    row("nothing to put in", "Imputer", {}, {2}, "Imputer needs one of imputed_value_floats and");
    row("both", "Imputer", {{"imputed_value_floats", 1.0}, {"imputed_value_int64s", std::int64_t{1}}}, {2},
        "and has both");
    row("of the other kind", "Imputer", {{"imputed_value_int64s", std::int64_t{1}}}, {2},
        "X holds f32, so give the imputed values in imputed_value_floats");
    row("dimensions", "FeatureVectorizer", {{"inputdimensions", List{1, 2}}}, {2},
        "inputdimensions has 2 entries for 1 inputs");
    row("no categories", "OneHotEncoder", {}, {2}, "needs a value for its attribute \"cats_int64s\"");
    row("no keys", "LabelEncoder", {{"values_floats", 1.0}}, {2}, "one of keys_floats and keys_int64s");
    row("other keys", "LabelEncoder", {{"keys_int64s", std::int64_t{1}}, {"values_floats", 1.0}}, {2},
        "X holds f32, so give its keys in the attribute keys_floats");
    row("uneven keys", "LabelEncoder", {{"keys_floats", Numbers{1, 2}}, {"values_floats", 1.0}}, {2},
        "there are 2 keys, but 1 values");
    row("coefficients", "LinearRegressor", {{"coefficients", Numbers{1, 2, 3}}, {"targets", std::int64_t{2}}},
        {5, 2}, "coefficients has 3 entries, but 2 scores of 2 features need 4");
    row("intercepts", "LinearRegressor", {{"coefficients", Numbers{1, 2}}, {"intercepts", Numbers{1, 2}}},
        {5, 2}, "intercepts has 2 entries for 1 scores");
    row("no classes", "LinearClassifier", {{"coefficients", Numbers{1, 2}}, {"classlabels_ints", List{}}},
        {5, 2}, "classlabels_ints is empty");
}

void TestClassicMl::refusals() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(Shape, shape);
    QFETCH(QString, says);
    const QString error = attributeError(op.toUtf8().constData(), attributes, {DType::f32, shape});
    QVERIFY2(error.contains(says), qPrintable(error));
}

void TestClassicMl::othersRefuse() {
    QVERIFY(attributeError("Imputer", {{"imputed_value_int64s", std::int64_t{1} << 40}}, {DType::i32, {2}})
                .contains("which does not fit in i32"));
    QCOMPARE(attributeError("Imputer", {{"imputed_value_int64s", std::int64_t{1} << 40}}, {DType::i64, {2}}),
             QString());
    QVERIFY(inferError([&] {
                inferTypes("FeatureVectorizer", {},
                           std::vector<TensorType>{{DType::f32, {2, 1}}, {DType::f32, {3, 1}}});
            }).contains("all inputs must have the same number of rows, but one has 2 and this one 3"));
    for (const char* op : {"Binarizer", "Scaler", "Normalizer", "ArrayFeatureExtractor"})
        QVERIFY(attributeError(op, {}, {DType::f16, {2}}).startsWith("dtype-mismatch"));
}

TWB_TEST_MAIN(TestClassicMl)
#include "test_classic_ml.moc"
