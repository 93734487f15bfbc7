#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Element (b, h, i, k) of an input of three or four axes.
double element(const Tensor& x, std::int64_t heads, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t k) {
    const Shape& s = x.shape();
    if (s.rank() == 4) return x.at(((b * s[1] + h) * s[2] + i) * s[3] + k);
    return x.at((b * s[1] + i) * s[2] + h * (s[2] / heads) + k);
}

} // namespace

class TestAttention : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void attention_data();
    void attention();
    void hidesAll();
    void refuses();
    void linear_data() { attention_data(); }
    void linear();
    void linearRefuses();
    void rotary_data() { attention_data(); }
    void rotary();
    void rotaryRefuses();
};

void TestAttention::attention_data() {
    QTest::addColumn<int>("dtype");
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        QTest::addRow("%s", std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
}

void TestAttention::attention() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(91);
    for (int round = 0; round < 80; ++round) {
        const std::int64_t B = dice.integer(1, 2);
        const std::int64_t kvHeads = dice.integer(1, 3);
        const std::int64_t group = dice.integer(1, 2);
        const std::int64_t heads = kvHeads * group;
        const std::int64_t Sq = dice.integer(1, 4);
        const std::int64_t Sk = dice.integer(1, 4);
        const bool hasPast = dice.one(2);
        const bool isPadded = !hasPast && dice.one(2); // keys in a cache that is not full
        const std::int64_t past = hasPast ? dice.integer(0, 3) : 0;
        const std::int64_t total = past + Sk;
        const std::int64_t size = dice.integer(1, 4);
        const std::int64_t valueSize = dice.integer(1, 4);
        const bool flat = dice.one(2);
        const auto shape = [&](std::int64_t count, std::int64_t length, std::int64_t each) {
            return flat ? Shape{B, length, count * each} : Shape{B, count, length, each};
        };
        const Tensor q = dice.tensor(type, shape(heads, Sq, size), -2, 2);
        const Tensor k = dice.tensor(type, shape(kvHeads, Sk, size), -2, 2);
        const DType valueType = type == DType::f32 && dice.one(5) ? DType::f64 : type;
        const Tensor v = dice.tensor(valueType, shape(kvHeads, Sk, valueSize), -2, 2);
        const Tensor pastKey = hasPast ? dice.tensor(type, {B, kvHeads, past, size}, -2, 2) : Tensor{};
        const Tensor pastValue =
            hasPast ? dice.tensor(valueType, {B, kvHeads, past, valueSize}, -2, 2) : Tensor{};
        const bool causal = dice.one(2);
        const double cap = dice.one(3) ? 1.5 : 0;
        const std::int64_t mode = dice.integer(0, 3);
        const Tensor filled = isPadded ? dice.tensor(DType::i64, {B}, 0, static_cast<double>(Sk)) : Tensor{};
        const std::int64_t left = dice.one(3) ? dice.integer(0, 3) : -1;
        const std::int64_t right = dice.one(3) ? dice.integer(0, 3) : -1;
        const auto isHidden = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
            const auto used = filled ? static_cast<std::int64_t>(filled.at(b)) : total;
            const std::int64_t own = filled ? i + used - Sq : i + past;
            return j >= used || (causal && j > own) || (left >= 0 && j < own - left) ||
                   (right >= 0 && j > own + right);
        };
        Tensor mask;
        if (dice.one(2)) {
            // The mask may cover only the first keys, and may broadcast along all axes before the last.
            std::vector<std::int64_t> dims{dice.one(2) ? B : 1, dice.one(2) ? heads : 1, dice.one(2) ? Sq : 1,
                                           dice.one(4) ? dice.integer(1, total) : total};
            dims.erase(dims.begin(), dims.begin() + dice.integer(0, 2));
            mask = dice.tensor(dice.one(2) ? DType::boolean : type, Shape(dims), -1, 1);
        }
        Attributes attributes{{"is_causal", causal},
                              {"softcap", cap},
                              {"qk_matmul_output_mode", mode},
                              {"left_window_size", left},
                              {"right_window_size", right}};
        if (flat) {
            attributes.set("q_num_heads", heads);
            attributes.set("kv_num_heads", kvHeads);
        }
        if (dice.one(3)) attributes.set("scale", 0.7);
        const double scale = attributes.has("scale") ? 0.7 : 1 / std::sqrt(static_cast<double>(size));

        const auto keyAt = [&](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) {
            return j < past ? element(pastKey, kvHeads, b, h, j, d) : element(k, kvHeads, b, h, j - past, d);
        };
        const auto valueAt = [&](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) {
            return j < past ? element(pastValue, kvHeads, b, h, j, d)
                            : element(v, kvHeads, b, h, j - past, d);
        };
        const auto maskAt = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
            if (!mask) return 0.0;
            const Shape& s = mask.shape();
            if (j >= s[s.rank() - 1]) return -kInf;
            const std::int64_t places[] = {b, h, i, j};
            std::int64_t index = 0;
            for (int axis = 0; axis < s.rank(); ++axis)
                index = index * s[axis] + (s[axis] == 1 ? 0 : places[4 - s.rank() + axis]);
            const double value = mask.at(index);
            return mask.dtype() == DType::boolean ? (value != 0 ? 0.0 : -kInf) : value;
        };
        Numbers y(at(B * heads * Sq * valueSize));
        Numbers kept(at(B * heads * Sq * total));
        for (std::int64_t b = 0; b < B; ++b)
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t i = 0; i < Sq; ++i) {
                    Numbers weights;
                    double most = -kInf;
                    double sum = 0;
                    double* const row = kept.data() + ((b * heads + h) * Sq + i) * total;
                    for (std::int64_t j = 0; j < total; ++j) {
                        double score = 0;
                        for (std::int64_t d = 0; d < size; ++d)
                            score += element(q, heads, b, h, i, d) * keyAt(b, h / group, j, d);
                        score *= scale;
                        const double bias = isHidden(b, i, j) ? -kInf : maskAt(b, h, i, j);
                        row[j] = score;
                        if (cap > 0) score = cap * std::tanh(score / cap);
                        if (mode == 1) row[j] = score;
                        if (mode == 2) row[j] = score + bias;
                        weights.push_back(score + bias);
                        most = std::max(most, weights.back());
                    }
                    const bool hidesAll = most == -kInf; // all keys are hidden, so the row is 0
                    for (double& weight : weights) sum += weight = hidesAll ? 0 : std::exp(weight - most);
                    for (std::int64_t j = 0; j < total; ++j) {
                        weights[at(j)] /= hidesAll ? 1 : sum;
                        if (mode == 3) row[j] = weights[at(j)];
                        for (std::int64_t d = 0; d < valueSize; ++d) {
                            const std::int64_t place =
                                flat ? (b * Sq + i) * heads * valueSize + h * valueSize + d
                                     : ((b * heads + h) * Sq + i) * valueSize + d;
                            y[at(place)] += weights[at(j)] * valueAt(b, h / group, j, d);
                        }
                    }
                }
        const auto outputs = runOp("Attention", attributes,
                                   {inLayout(q, dice.layout()), inLayout(k, dice.layout()),
                                    inLayout(v, dice.layout()), mask ? inLayout(mask, dice.layout()) : mask,
                                    hasPast ? inLayout(pastKey, dice.layout()) : pastKey, pastValue,
                                    isPadded ? inLayout(filled, dice.layout()) : filled});
        const Tolerance tolerance{2e-5, 2e-5};
        QString wrong =
            difference(outputs[0], flat ? Shape{B, Sq, heads * valueSize} : Shape{B, heads, Sq, valueSize}, y,
                       tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("Y: " + wrong));
        wrong = difference(outputs[3], {B, heads, Sq, total}, kept, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("qk_matmul_output: " + wrong));
        QCOMPARE(outputs[1].shape(), (Shape{B, kvHeads, total, size}));
        for (std::int64_t i = 0; i < outputs[1].elementCount(); ++i)
            QCOMPARE(outputs[1].at(i), keyAt(i / size / total / kvHeads, i / size / total % kvHeads,
                                             i / size % total, i % size));
        QCOMPARE(outputs[2].dtype(), valueType);
        for (std::int64_t i = 0; i < outputs[2].elementCount(); ++i)
            QCOMPARE(outputs[2].at(i),
                     valueAt(i / valueSize / total / kvHeads, i / valueSize / total % kvHeads,
                             i / valueSize % total, i % valueSize));
    }
}

/// A query that attends no key gives zeros, as in ONNX's specification since version 1.23.
void TestAttention::hidesAll() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 1, 1}, {1});
    QCOMPARE(runOp("Attention", {}, {x, x, x, tensorOf(DType::boolean, {1, 1}, {0})})[0].at(0), 0.0);
    // The scores of keys that no query attends do not count, even if they are infinite.
    const Tensor infinite = tensorOf(DType::f32, {1, 1, 1, 1}, {kInf});
    QCOMPARE(runOp("Attention", {}, {x, infinite, x, tensorOf(DType::boolean, {1, 1}, {0})})[0].at(0), 0.0);
    // More queries than keys in use: the first query precedes all keys.
    const Tensor two = tensorOf(DType::f32, {1, 1, 2, 1}, {1, 2});
    QCOMPARE(valuesOf(runOp("Attention", {{"is_causal", true}},
                            {two, two, two, {}, {}, {}, tensorOf(DType::i64, {1}, {1})})[0]),
             (Numbers{0, 1}));
}

void TestAttention::refuses() {
    const auto error = [](const Attributes& attributes, const std::vector<Shape>& shapes) {
        std::vector<TensorType> types;
        for (const Shape& shape : shapes) types.push_back({DType::f32, shape});
        return inferError([&] { inferTypes("Attention", attributes, types); });
    };
    QVERIFY(error({}, {{1, 2, 8}, {1, 2, 8}, {1, 2, 8}}).contains("\"q_num_heads\""));
    QVERIFY(error({{"q_num_heads", std::int64_t{3}}, {"kv_num_heads", std::int64_t{1}}},
                  {{1, 2, 8}, {1, 2, 8}, {1, 2, 8}})
                .contains("not divisible by 3"));
    QVERIFY(error({}, {{1, 3, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}}).contains("must divide"));
    QVERIFY(error({}, {{1, 2, 2, 4}, {1, 2, 2, 5}, {1, 2, 2, 4}}).contains("do not match"));
    QVERIFY(error({}, {{1, 2, 2, 4}, {1, 2, 2, 4}, {1, 2, 3, 4}}).contains("do not match"));
    QVERIFY(error({}, {{1, 2, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}, {2, 3}}).contains("does not broadcast"));
    QVERIFY(error({}, {{1, 2, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}, {2, 2}, {1, 2, 1, 4}})
                .contains("connect both past_key and past_value"));
    const Tensor x = tensorOf(DType::f32, {2, 1, 1, 1}, {1, 2});
    const Tensor past = tensorOf(DType::f32, {2, 1, 0, 1}, {});
    const auto filled = [](std::int64_t count) {
        return tensorOf(DType::i64, {count}, Numbers(at(count), 1));
    };
    QVERIFY(inferError([&] {
                inferTypes("Attention", {}, {x, x, x, {}, {}, {}, filled(3)});
            }).contains("nonpad_kv_seqlen must have size [2], but has [3]"));
    QVERIFY(inferError([&] {
                inferTypes("Attention", {}, {x, x, x, {}, past, past, filled(2)});
            }).contains("connect either nonpad_kv_seqlen"));
}

void TestAttention::linear() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(93);
    for (int round = 0; round < 80; ++round) {
        const bool gated = dice.one(2);
        const bool delta = dice.one(2);
        const std::int64_t B = dice.integer(1, 2);
        const std::int64_t steps = dice.integer(0, 4);
        const std::int64_t kvHeads = dice.integer(1, 3);
        const std::int64_t group = dice.integer(1, 2);
        const std::int64_t heads = kvHeads * group;
        const std::int64_t size = dice.integer(1, 3);
        const std::int64_t valueSize = dice.integer(1, 3);
        const Tensor q = dice.tensor(type, {B, steps, heads * size}, -1, 1);
        const Tensor k = dice.tensor(type, {B, steps, kvHeads * size}, -1, 1);
        const Tensor v = dice.tensor(type, {B, steps, kvHeads * valueSize}, -1, 1);
        const DType stateType = isHalfWidth(type) && dice.one(2) ? DType::f32 : type;
        const Tensor past =
            dice.one(2) ? dice.tensor(stateType, {B, kvHeads, size, valueSize}, -1, 1) : Tensor{};
        const bool perKey = dice.one(2);
        const Tensor decay =
            gated ? dice.tensor(type, {B, steps, kvHeads * (perKey ? size : 1)}, -2, 0) : Tensor{};
        const bool isShared = dice.one(2);
        const Tensor beta = delta ? dice.tensor(type, {B, steps, isShared ? 1 : kvHeads}, 0, 1) : Tensor{};
        const double given = dice.one(2) ? 0 : 0.7;
        const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(size)) : given;

        Numbers state = past ? valuesOf(past) : Numbers(at(B * kvHeads * size * valueSize));
        Numbers y(at(B * steps * heads * valueSize));
        for (std::int64_t b = 0; b < B; ++b)
            for (std::int64_t h = 0; h < kvHeads; ++h)
                for (std::int64_t t = 0; t < steps; ++t)
                    for (std::int64_t m = 0; m < valueSize; ++m) {
                        const std::int64_t step = b * steps + t;
                        const auto cell = [&](std::int64_t d) -> double& {
                            return state[at(((b * kvHeads + h) * size + d) * valueSize + m)];
                        };
                        const auto keyAt = [&](std::int64_t d) {
                            return k.at((step * kvHeads + h) * size + d);
                        };
                        double change = v.at((step * kvHeads + h) * valueSize + m);
                        for (std::int64_t d = 0; d < size; ++d) {
                            if (gated)
                                cell(d) *= std::exp(
                                    decay.at(perKey ? (step * kvHeads + h) * size + d : step * kvHeads + h));
                            if (delta) change -= cell(d) * keyAt(d);
                        }
                        if (delta) change *= beta.at(isShared ? step : step * kvHeads + h);
                        for (std::int64_t d = 0; d < size; ++d) cell(d) += keyAt(d) * change;
                        for (std::int64_t g = h * group; g < (h + 1) * group; ++g)
                            for (std::int64_t d = 0; d < size; ++d)
                                y[at((step * heads + g) * valueSize + m)] +=
                                    scale * q.at((step * heads + g) * size + d) * cell(d);
                    }
        const auto laidOut = [&](const Tensor& x) { return x ? inLayout(x, dice.layout()) : x; };
        const std::string rule = gated ? (delta ? "gated_delta" : "gated") : delta ? "delta" : "linear";
        const auto outputs = runOp(
            "LinearAttention",
            {{"q_num_heads", heads}, {"kv_num_heads", kvHeads}, {"update_rule", rule}, {"scale", given}},
            {laidOut(q), laidOut(k), laidOut(v), laidOut(past), laidOut(decay), laidOut(beta)});
        const Tolerance tolerance = findOp("LinearAttention")->tolerance;
        QString wrong = difference(outputs[0], {B, steps, heads * valueSize}, y, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("output: " + wrong));
        wrong = difference(outputs[1], {B, kvHeads, size, valueSize}, state, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("present_state: " + wrong));
        QCOMPARE(outputs[1].dtype(), past ? stateType : type);
    }
}

void TestAttention::linearRefuses() {
    const auto error = [](const char* rule, std::int64_t queryHeads, std::vector<TensorType> types) {
        return inferError([&] {
            inferTypes("LinearAttention",
                       {{"q_num_heads", queryHeads},
                        {"kv_num_heads", std::int64_t{2}},
                        {"update_rule", std::string(rule)}},
                       types);
        });
    };
    const TensorType x{DType::f32, {1, 3, 4}};
    QVERIFY(error("linear", 3, {{DType::f32, {1, 3, 6}}, x, x}).contains("q_num_heads must be a multiple"));
    QVERIFY(error("linear", 2, {x, {DType::f32, {1, 3, 6}}, x}).contains("key must have size [1, 3, 4]"));
    QVERIFY(error("linear", 2, {x, x, {DType::f32, {1, 2, 4}}}).contains("value must have size [1, 3, 4]"));
    QVERIFY(error("gated", 2, {x, x, x}).contains("\"gated\" needs the input decay"));
    QVERIFY(error("linear", 2, {x, x, x, {DType::f32, {1, 2, 2, 3}}})
                .contains("past_state must have size [1, 2, 2, 2]"));
    QVERIFY(error("gated", 2, {x, x, x, {DType::f32, {1, 2, 2, 2}}, {DType::f32, {1, 3, 3}}})
                .contains("decay must have size [1, 3, 2] or end with 4"));
    QVERIFY(error("gated", 2, {x, x, x, {DType::f32, {1, 2, 2, 2}}, x, {DType::f32, {1, 3, 1}}})
                .contains("does not use the input beta"));
}

void TestAttention::rotary() {
    QFETCH(int, dtype);
    const auto type = static_cast<DType>(dtype);
    Dice dice(92);
    for (int round = 0; round < 60; ++round) {
        const std::int64_t B = dice.integer(1, 2);
        const std::int64_t heads = dice.integer(1, 3);
        const std::int64_t S = dice.integer(1, 4);
        const std::int64_t half = dice.integer(1, 3);
        const std::int64_t size = 2 * half + dice.integer(0, 2);
        const bool flat = dice.one(2);
        const bool interleaved = dice.one(2);
        const bool positions = dice.one(2);
        const Tensor x =
            dice.tensor(type, flat ? Shape{B, S, heads * size} : Shape{B, heads, S, size}, -1, 1);
        const Shape cache = positions ? Shape{7, half} : Shape{B, S, half};
        const Tensor cosines = dice.tensor(type, cache, -1, 1);
        const Tensor sines = dice.tensor(type, cache, -1, 1);
        const Tensor ids = positions ? dice.tensor(DType::i64, {B, S}, 0, 6) : Tensor{};
        Attributes attributes{{"interleaved", interleaved}, {"rotary_embedding_dim", 2 * half}};
        if (flat) attributes.set("num_heads", heads);
        Numbers y(at(x.elementCount()));
        for (std::int64_t b = 0; b < B; ++b)
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t s = 0; s < S; ++s) {
                    const std::int64_t base =
                        flat ? ((b * S + s) * heads + h) * size : ((b * heads + h) * S + s) * size;
                    for (std::int64_t k = 0; k < size; ++k) y[at(base + k)] = x.at(base + k);
                    const std::int64_t row =
                        positions ? static_cast<std::int64_t>(ids.at(b * S + s)) : b * S + s;
                    for (std::int64_t p = 0; p < half; ++p) {
                        const std::int64_t i = interleaved ? 2 * p : p;
                        const std::int64_t j = interleaved ? 2 * p + 1 : p + half;
                        const double c = cosines.at(row * half + p);
                        const double z = sines.at(row * half + p);
                        y[at(base + i)] = c * x.at(base + i) - z * x.at(base + j);
                        y[at(base + j)] = z * x.at(base + i) + c * x.at(base + j);
                    }
                }
        const QString wrong = difference(runOp("RotaryEmbedding", attributes,
                                               {inLayout(x, dice.layout()), inLayout(cosines, dice.layout()),
                                                inLayout(sines, dice.layout()), ids})[0],
                                         x.shape(), y, findOp("RotaryEmbedding")->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestAttention::rotaryRefuses() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 1, 2}, {1, 2});
    const Tensor cache = tensorOf(DType::f32, {2, 1}, {1, 1});
    for (double id : {-1.0, 2.0})
        QVERIFY_EXCEPTION_THROWN(
            runOp("RotaryEmbedding", {}, {x, cache, cache, tensorOf(DType::i64, {1, 1}, {id})}), Error);
    QVERIFY(inferError([&] {
                inferTypes("RotaryEmbedding", {}, {x, cache, cache});
            }).contains("cos_cache must have size"));
    QVERIFY(inferError([&] {
                inferTypes("RotaryEmbedding", {{"rotary_embedding_dim", std::int64_t{3}}}, {x, cache, cache});
            }).contains("must be even"));
}

TWB_TEST_MAIN(TestAttention)
#include "test_attention.moc"
