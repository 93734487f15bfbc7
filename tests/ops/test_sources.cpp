#include "ops/philox.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

using namespace twb;
using namespace twb::test;

namespace {

using List = std::vector<std::int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A folder in memory.
class Shelf final : public TensorFiles {
public:
    void put(const std::string& path, Tensor tensor) { m_tensors[path] = std::move(tensor); }
    const Tensor& get(const std::string& path) const { return m_tensors.at(path); }

    TensorType typeOf(std::string_view path) const override { return find(path).type(); }
    void read(std::string_view path, const TensorView& out) const override {
        const Tensor& tensor = find(path);
        std::memcpy(out.data, tensor.data(), static_cast<std::size_t>(tensor.byteCount()));
    }
    void write(std::string_view path, const TensorView& tensor) const override {
        if (!tensor.isDense()) throw std::logic_error("Save must write dense tensors");
        Tensor copy = Tensor::onHost({tensor.dtype, tensor.shape});
        std::memcpy(copy.data(), tensor.data, static_cast<std::size_t>(copy.byteCount()));
        m_tensors[std::string(path)] = std::move(copy);
    }
    std::string fingerprint(std::string_view) const override { return "1"; }

private:
    const Tensor& find(std::string_view path) const {
        const auto at = m_tensors.find(std::string(path));
        if (at == m_tensors.end())
            throw Error(ErrorCode::io, "\"" + std::string(path) + "\" cannot be read: there is no such file");
        return at->second;
    }
    mutable std::map<std::string, Tensor> m_tensors;
};

Tensor run(const char* op, const Attributes& attributes) { return runOp(op, attributes, {})[0]; }

} // namespace

class TestSources : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void philoxKnownAnswers();
    void filled();
    void constants();
    void constantsKeepTheirDigits();
    void arange();
    void arangeOfIntegers();
    void randomFormula();
    void randomIsSeededAndSplitable();
    void randomDistribution();
    void randomArguments();
    void files();
    void fileErrors();
    void save();
    void probe();
};

/// Random123, tests/kat_vectors, philox4x32 10.
void TestSources::philoxKnownAnswers() {
    const auto check = [](PhiloxWords counter, std::uint32_t key0, std::uint32_t key1, PhiloxWords expected) {
        const PhiloxWords words = philox4x32(counter, key0, key1);
        for (int i = 0; i < 4; ++i) QCOMPARE(words.w[i], expected.w[i]);
    };
    check({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
    check({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
          {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
    check({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
          {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

void TestSources::filled() {
    for (DType dtype : kWideDTypes) {
        if (dtype == DType::f16 || dtype == DType::bf16) continue;
        const std::string type(name(dtype));
        for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{2, 3}, Shape{300, 301}}) {
            const Attributes attributes{{"shape", shape.dims()}, {"dtype", type}};
            const auto count = static_cast<std::size_t>(shape.elementCount());
            QVERIFY(
                difference(run("Zeros", attributes), shape, std::vector<double>(count, 0.0), {}).isEmpty());
            QVERIFY(
                difference(run("Ones", attributes), shape, std::vector<double>(count, 1.0), {}).isEmpty());
            Attributes full = attributes;
            full.set("value", std::int64_t{7});
            const double seven = dtype == DType::boolean ? 1 : 7;
            QVERIFY(difference(run("Full", full), shape, std::vector<double>(count, seven), {}).isEmpty());
        }
    }
    QCOMPARE(run("Full", {{"value", std::string("-inf")}}).at(0), -kInf);
    QVERIFY(std::isnan(run("Full", {{"value", std::numeric_limits<double>::quiet_NaN()}}).at(5)));
    QCOMPARE(run("Full", {{"value", 2.9}, {"dtype", std::string("i64")}}).at(0), 2.0);
    QCOMPARE(run("Full", {{"value", 1e300}}).at(0), kInf);
    // A value that the integer dtype cannot represent is rejected, as in PyTorch.
    for (const char* op : {"Full", "Constant", "ConstantOfShape"})
        for (const auto& [dtype, value] : std::initializer_list<std::pair<const char*, AttributeValue>>{
                 {"i8", std::int64_t{300}},
                 {"i8", 300.0},
                 {"u8", std::int64_t{-1}},
                 {"u64", -1.0},
                 {"i64", std::numeric_limits<double>::quiet_NaN()},
                 {"i64", 0x1p63},
                 {"i32", -kInf}}) {
            Attributes attributes{{"value", value}, {"dtype", std::string(dtype)}};
            if (findOp(op)->attribute("input")) attributes.set("input", List{2});
            const QString refusal = inferError([&] { inferTypes(op, attributes, std::vector<Tensor>{}); });
            QVERIFY2(refusal.startsWith(QString("attribute: %1: attribute \"value\" is ").arg(op)) &&
                         refusal.contains(QString("which %1 cannot hold").arg(dtype)),
                     qPrintable(refusal));
        }
    QCOMPARE(run("Full", {{"value", -0.9}, {"dtype", std::string("u8")}}).at(0), 0.0);
    QVERIFY(!inferError([] {
                 inferTypes("Arange", {{"limit", std::int64_t{300}}, {"dtype", std::string("i8")}},
                            std::vector<Tensor>{});
             }).isEmpty());
}

void TestSources::constants() {
    QCOMPARE(valuesOf(run("Constant", {{"value", std::vector<double>{1.5, -2, 0}}})),
             (std::vector<double>{1.5, -2, 0}));
    QCOMPARE(run("Constant", {}).type().toString(), std::string("f32 scalar"));
    const Tensor filled =
        run("Constant", {{"value", 3.0}, {"shape", List{2, 2}}, {"dtype", std::string("i32")}});
    QVERIFY(difference(filled, {2, 2}, {3, 3, 3, 3}, {}).isEmpty());
    const Tensor truth = run("Constant", {{"value", List{0, 1, 2}}, {"dtype", std::string("bool")}});
    QCOMPARE(valuesOf(truth), (std::vector<double>{0, 1, 1}));
    const Tensor special = run("Constant", {{"value", std::vector<std::string>{"nan", "inf"}}});
    QVERIFY(std::isnan(special.at(0)) && special.at(1) == kInf);
    QCOMPARE(run("Constant", {{"value", List{}}}).elementCount(), 0);
}

void TestSources::constantsKeepTheirDigits() {
    constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;
    const Tensor list = run("Constant", {{"value", List{odd, -odd}}, {"dtype", std::string("i64")}});
    QCOMPARE(list.toIntegers(), (List{odd, -odd}));
    const Attributes full{{"value", odd}, {"shape", List{}}, {"dtype", std::string("i64")}};
    QCOMPARE(run("Full", full).toIntegers(), List{odd});
}

void TestSources::arange() {
    QCOMPARE(run("Arange", {}).toIntegers(), (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    const Tensor steps =
        run("Arange", {{"start", 1.0}, {"limit", 2.0}, {"delta", 0.25}, {"dtype", std::string("f64")}});
    QCOMPARE(valuesOf(steps), (std::vector<double>{1, 1.25, 1.5, 1.75}));
    const Tensor down =
        run("Arange", {{"start", 1.0}, {"limit", 0.0}, {"delta", -0.5}, {"dtype", std::string("f32")}});
    QCOMPARE(valuesOf(down), (std::vector<double>{1, 0.5}));
    const Tensor many = run("Arange", {{"limit", 100000.0}, {"dtype", std::string("f32")}});
    QCOMPARE(many.at(99999), 99999.0);
}

void TestSources::arangeOfIntegers() {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    const auto of = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
        return run("Arange", {{"start", start}, {"limit", limit}, {"delta", delta}}).toIntegers();
    };
    QCOMPARE(of(7, 0, -3), (List{7, 4, 1}));
    QCOMPARE(of(most - 3, most, 2), (List{most - 3, most - 1}));
    QCOMPARE(of(least, most, most), (List{least, -1, most - 1}));
    QCOMPARE(of(most, least, least), (List{most, -1}));
    QCOMPARE(of(0, 0, 1), List{});
}

/// The documented formula, implemented independently.
void TestSources::randomFormula() {
    const std::uint64_t seed = 0x123456789abcdef0;
    const Attributes attributes{{"shape", List{3, 5}}, {"seed", static_cast<std::int64_t>(seed)}};
    Attributes wide = attributes;
    wide.set("dtype", std::string("f64"));
    const Tensor uniform = run("RandomUniform", attributes);
    const Tensor uniformWide = run("RandomUniform", wide);
    const Tensor normal = run("RandomNormal", attributes);
    const Tensor normalWide = run("RandomNormal", wide);
    for (std::uint32_t i = 0; i < 15; ++i) {
        const PhiloxWords w = philox4x32({{i, 0, 0, 0}}, 0x9abcdef0, 0x12345678);
        QCOMPARE(uniform.at(i), std::ldexp(w.w[0] >> 8, -24));
        const double bits = std::ldexp(static_cast<double>(w.w[1]), 21) + (w.w[0] >> 11);
        QCOMPARE(uniformWide.at(i), std::ldexp(bits, -53));
        const double u1 = std::ldexp(w.w[0] + 1.0, -32);
        const double z =
            std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::acos(-1.0) * std::ldexp(w.w[1], -32));
        QVERIFY(std::abs(normalWide.at(i) - z) < 1e-14);
        QVERIFY(std::abs(normal.at(i) - z) < 1e-6);
    }
}

void TestSources::randomIsSeededAndSplitable() {
    const Attributes large{{"shape", List{100001}}, {"seed", std::int64_t{5}}};
    const Attributes small{{"shape", List{7}}, {"seed", std::int64_t{5}}};
    const Attributes other{{"shape", List{7}}, {"seed", std::int64_t{6}}};
    for (const char* op : {"RandomNormal", "RandomUniform"}) {
        const std::vector<double> all = valuesOf(run(op, large));
        QVERIFY(all == valuesOf(run(op, large)));
        // Element i does not depend on the number of elements.
        QVERIFY(valuesOf(run(op, small)) == std::vector<double>(all.begin(), all.begin() + 7));
        QVERIFY(valuesOf(run(op, small)) != valuesOf(run(op, other)));
#ifdef _OPENMP
        const int threads = omp_get_max_threads();
        omp_set_num_threads(5);
        const std::vector<double> split = valuesOf(run(op, large));
        omp_set_num_threads(threads);
        QVERIFY(split == all);
#endif
    }
}

void TestSources::randomDistribution() {
    const auto moments = [](const Tensor& tensor) {
        double sum = 0;
        double squares = 0;
        for (double value : valuesOf(tensor)) {
            sum += value;
            squares += value * value;
        }
        const auto n = static_cast<double>(tensor.elementCount());
        return std::pair(sum / n, squares / n - sum / n * (sum / n));
    };
    const AttributeValue shape = List{200000};
    // Five standard errors: a correct generator fails for one in a million seeds, and the seed is fixed.
    const auto [mean, variance] =
        moments(run("RandomNormal", {{"shape", shape}, {"mean", 3.0}, {"scale", 2.0}}));
    QVERIFY(std::abs(mean - 3) < 5 * 2 / std::sqrt(200000.0));
    QVERIFY(std::abs(variance - 4) < 5 * 4 * std::sqrt(2 / 200000.0));
    const Tensor uniform = run("RandomUniform", {{"shape", shape}, {"low", -1.0}, {"high", 3.0}});
    const auto [middle, spread] = moments(uniform);
    QVERIFY(std::abs(middle - 1) < 5 * std::sqrt(16.0 / 12 / 200000));
    QVERIFY(std::abs(spread - 16.0 / 12) < 0.02);
    for (double value : valuesOf(uniform)) QVERIFY(value >= -1 && value <= 3);
}

void TestSources::randomArguments() {
    QCOMPARE(run("RandomNormal", {{"shape", List{0, 4}}}).elementCount(), 0);
    QCOMPARE(run("RandomUniform", {{"shape", List{}}}).elementCount(), 1);
    QCOMPARE(run("RandomNormal", {{"mean", 4.0}, {"scale", 0.0}}).at(3), 4.0);
    for (double value : valuesOf(run("RandomUniform", {{"low", 2.0}, {"high", 2.0}}))) QCOMPARE(value, 2.0);
    QVERIFY(valuesOf(run("RandomUniform", {{"seed", std::int64_t{-1}}})) !=
            valuesOf(run("RandomUniform", {{"seed", std::int64_t{0}}})));
}

void TestSources::files() {
    Shelf shelf;
    const Tensor stored = tensorOf(DType::i16, {2, 3}, {1, 2, 3, 4, 5, 6});
    shelf.put("a.npy", stored);
    const Tensor read = runOp("File", {{"path", std::string("a.npy")}}, {}, &shelf)[0];
    QCOMPARE(read.dtype(), DType::i16);
    QVERIFY(difference(read, {2, 3}, valuesOf(stored), {}).isEmpty());
}

void TestSources::fileErrors() {
    const Shelf shelf;
    try {
        runOp("File", {{"path", std::string("none.npy")}}, {}, &shelf);
        QFAIL("a file that is not there must be an error");
    } catch (const Error& error) {
        QCOMPARE(error.code(), ErrorCode::io);
        QVERIFY(QString(error.what()).contains("none.npy"));
    }
    const Attributes attributes{{"path", std::string("a.npy")}};
    const Tensor tensor = tensorOf(DType::f32, {1}, {1});
    const TensorView view = tensor.view();
    try {
        findOp("File")->kernel({{}, std::span(&view, 1), attributes, nullptr});
        QFAIL("a File without a folder must be an error");
    } catch (const Error& error) {
        QVERIFY(QString(error.what()).contains("\"a.npy\" cannot be read"));
    }
    try {
        findOp("Save")->kernel({std::span(&view, 1), {}, attributes, nullptr});
        QFAIL("a Save without a folder must be an error");
    } catch (const Error& error) {
        QVERIFY(QString(error.what()).contains("\"a.npy\" cannot be written"));
    }
}

void TestSources::save() {
    Dice dice(61);
    for (Layout layout : kLayouts) {
        const Shelf shelf;
        const Tensor tensor = inLayout(dice.tensor(DType::f64, {3, 4, 5}, -1, 1), layout);
        QVERIFY(runOp("Save", {{"path", std::string("out.npy")}}, {tensor}, &shelf).empty());
        QVERIFY(difference(shelf.get("out.npy"), {3, 4, 5}, valuesOf(tensor), {}).isEmpty());
    }
}

void TestSources::probe() { QVERIFY(runOp("Probe", {}, {tensorOf(DType::f32, {2}, {1, 2})}).empty()); }

TWB_TEST_MAIN(TestSources)
#include "test_sources.moc"
