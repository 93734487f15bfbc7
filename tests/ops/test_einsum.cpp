#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <map>

using namespace twb;
using namespace twb::test;

namespace {

/// Sums over every combination of labels; terms are plain letters here.
std::vector<double> exactEinsum(const std::vector<std::string>& terms, const std::string& result,
                                const std::vector<Tensor>& operands, std::map<char, std::int64_t> sizes) {
    std::int64_t combinations = 1;
    for (const auto& [label, size] : sizes) combinations *= size;
    std::int64_t count = 1;
    for (char label : result) count *= sizes[label];
    std::vector<double> out(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < combinations; ++n) {
        std::map<char, std::int64_t> place;
        std::int64_t rest = n;
        for (const auto& [label, size] : sizes) {
            place[label] = rest % size;
            rest /= size;
        }
        double product = 1;
        for (std::size_t t = 0; t < terms.size(); ++t) {
            std::int64_t at = 0;
            for (std::size_t axis = 0; axis < terms[t].size(); ++axis) {
                const std::int64_t size = operands[t].shape()[static_cast<int>(axis)];
                at = at * size + (size == 1 ? 0 : place[terms[t][axis]]);
            }
            product *= operands[t].at(at);
        }
        std::int64_t to = 0;
        for (char label : result) to = to * sizes[label] + place[label];
        out[static_cast<std::size_t>(to)] += product;
    }
    return out;
}

Attributes equation(const std::string& text) { return {{"equation", text}}; }

} // namespace

class TestEinsum : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void random();
    void ellipsis();
    void implicitResults();
    void integersWrap();
    void refusals();
    void determinants();
};

void TestEinsum::random() {
    Dice dice(1);
    const std::string letters = "abcdE";
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32, DType::i8})
        for (int round = 0; round < 120; ++round) {
            std::map<char, std::int64_t> sizes;
            for (char letter : letters) sizes[letter] = dice.one(15) ? 0 : dice.integer(1, 4);
            std::vector<std::string> terms;
            std::vector<Tensor> operands;
            std::string text;
            std::string seen;
            const std::int64_t count = dice.integer(1, 3);
            for (std::int64_t t = 0; t < count; ++t) {
                std::string term;
                std::vector<std::int64_t> dims;
                const std::int64_t rank = dice.integer(0, 4);
                for (std::int64_t axis = 0; axis < rank; ++axis) {
                    const char letter = letters[static_cast<std::size_t>(dice.integer(0, 4))];
                    term += letter;
                    dims.push_back(sizes[letter]);
                    if (seen.find(letter) == std::string::npos) seen += letter;
                }
                terms.push_back(term);
                text += (t > 0 ? " , " : "") + term;
                operands.push_back(inLayout(dice.tensor(dtype, Shape(dims), -2, 2), dice.layout()));
            }
            std::string result;
            for (char letter : seen)
                if (dice.one(2))
                    result.insert(result.begin() + dice.integer(0, static_cast<std::int64_t>(result.size())),
                                  letter);
            std::map<char, std::int64_t> used;
            std::vector<std::int64_t> dims;
            for (char letter : seen) used[letter] = sizes[letter];
            for (char letter : result) dims.push_back(sizes[letter]);
            std::vector<double> expected = exactEinsum(terms, result, operands, used);
            if (dtype == DType::i8)
                for (double& value : expected)
                    value = static_cast<std::int8_t>(static_cast<std::int64_t>(value));
            Tolerance tolerance = findOp("Einsum")->tolerance;
            tolerance.atol *= 100;
            const QString wrong =
                difference(runOp("Einsum", equation(text + "->" + result), operands)[0], Shape(dims),
                           expected, isFloating(dtype) ? tolerance : Tolerance{});
            QVERIFY2(wrong.isEmpty(),
                     qPrintable(QString::fromStdString(text + "->" + result) + ": " + wrong));
        }
}

void TestEinsum::ellipsis() {
    Dice dice(2);
    const Tensor a = dice.tensor(DType::f32, {3, 1, 2, 4}, -2, 2);
    const Tensor b = dice.tensor(DType::f32, {5, 4, 6}, -2, 2);
    const Tensor product = runOp("MatMul", {}, {a, b})[0];
    const QString wrong = difference(runOp("Einsum", equation("...ij, ...jk -> ...ik"), {a, b})[0],
                                     {3, 5, 2, 6}, valuesOf(product), {1e-5, 1e-5});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    QCOMPARE(runOp("Einsum", equation("i...->...i"), {a})[0].shape(), (Shape{1, 2, 4, 3}));
    QCOMPARE(runOp("Einsum", equation("...->..."), {a})[0].shape(), a.shape());
    QCOMPARE(runOp("Einsum", equation("...->"), {Tensor::of<float>({2}, {1, 2})})[0].at(0), 3.0);
}

void TestEinsum::implicitResults() {
    const Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
    QCOMPARE(valuesOf(runOp("Einsum", equation("ba"), {a})[0]), (std::vector<double>{1, 3, 2, 4}));
    QCOMPARE(valuesOf(runOp("Einsum", equation("ii"), {a})[0]), (std::vector<double>{5}));
    QCOMPARE(valuesOf(runOp("Einsum", equation("ii->i"), {a})[0]), (std::vector<double>{1, 4}));
    QCOMPARE(valuesOf(runOp("Einsum", equation("ij,jk"), {a, a})[0]), (std::vector<double>{7, 10, 15, 22}));
    QCOMPARE(
        valuesOf(runOp("Einsum", equation(","), {Tensor::of<float>({}, {3}), Tensor::of<float>({}, {4})})[0]),
        (std::vector<double>{12}));
}

void TestEinsum::integersWrap() {
    const Tensor a = tensorOf(DType::u8, {2}, {200, 100});
    QCOMPARE(runOp("Einsum", equation("i,i->"), {a, a})[0].at(0), double((200 * 200 + 100 * 100) % 256));
}

void TestEinsum::refusals() {
    const auto error = [](const std::string& text, const std::vector<TensorType>& types) {
        return inferError([&] { inferTypes("Einsum", equation(text), types); });
    };
    const TensorType matrix{DType::f32, {2, 3}};
    QVERIFY(error("ij,jk", {matrix}).contains("more subscripts than operands"));
    QVERIFY(error("ij", {matrix, matrix}).contains("fewer subscripts (1) than operands (2)"));
    QVERIFY(error("i", {matrix}).contains("does not match the number of dimensions (2) for operand 0"));
    QVERIFY(error("ij->k", {matrix}).contains("output subscript k does not appear"));
    QVERIFY(error("ij->ii", {matrix}).contains("appears more than once in the output"));
    QVERIFY(error("i1", {matrix}).contains("invalid subscript '1'"));
    QVERIFY(error("......", {matrix}).contains("twice"));
    QVERIFY(error("ij,jk->ik", {matrix, matrix})
                .startsWith("shape-mismatch: einsum(): operands do not broadcast"));
    QVERIFY(error("ij->ij->ij", {matrix}).startsWith("attribute"));
    QVERIFY(error("i...jk", {matrix}).startsWith("attribute"));
}

void TestEinsum::determinants() {
    Dice dice(3);
    QCOMPARE(runOp("Det", {}, {Tensor::of<float>({2, 2}, {1, 2, 3, 4})})[0].at(0), -2.0);
    QCOMPARE(runOp("Det", {}, {Tensor::of<float>({2, 2}, {0, 1, 1, 0})})[0].at(0), -1.0);
    QCOMPARE(runOp("Det", {}, {Tensor::of<float>({0, 0}, {})})[0].at(0), 1.0);
    for (DType dtype : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 40; ++round) {
            const Tensor x = inLayout(dice.tensor(dtype, {2, 3, 3}, -2, 2), dice.layout());
            std::vector<double> expected;
            for (std::int64_t n = 0; n < 2; ++n) {
                const auto a = [&](int r, int c) { return x.at(n * 9 + r * 3 + c); };
                expected.push_back(a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) -
                                   a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0)) +
                                   a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0)));
            }
            const QString wrong =
                difference(runOp("Det", {}, {x})[0], {2}, expected, findOp("Det")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    QVERIFY(inferError([] {
                inferTypes("Det", {}, std::vector<TensorType>{{DType::f32, {2, 3}}});
            }).contains("2 by 3 matrices"));
}

TWB_TEST_MAIN(TestEinsum)
#include "test_einsum.moc"
