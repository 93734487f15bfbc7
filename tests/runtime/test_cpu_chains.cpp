#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>

#include <cstring>
#include <limits>
#include <random>
#include <utility>

using namespace twb;
using namespace twb::test;

namespace {

Tensor resultOf(const Graph& graph, NodeId last, const CompileOptions& options,
                std::size_t* chains = nullptr) {
    const DeviceMap map = simulatedMap();
    CompileOptions all = options;
    all.keep = {{last, 0}};
    const auto plan = planOf(graph, map, all);
    if (chains)
        *chains = static_cast<std::size_t>(
            std::ranges::count_if(plan->steps, [](const Step& step) { return step.chain != nullptr; }));
    const RunResult result = runToEnd(plan, {.iterations = 2});
    if (result.status != RunStatus::finished || !result.tensor({last, 0})) qFatal("the run failed");
    return *result.tensor({last, 0});
}

/// The activation with this name, with attributes other than the defaults; `last` if it is empty.
NodeId activated(GraphMaker& g, const QString& activation, NodeId last) {
    if (activation.isEmpty()) return last;
    if (activation == QLatin1String("GeluTanh"))
        return g.node("Gelu", "last", "cpu", {{"approximate", std::string("tanh")}}, {last});
    Attributes attributes;
    if (activation == QLatin1String("Clip")) attributes = {{"min", -0.5}, {"max", 1.5}};
    return g.node(activation.toStdString(), "last", "cpu", attributes, {last});
}

bool sameBytes(const Tensor& a, const Tensor& b) {
    return a.type() == b.type() &&
           (a.byteCount() == 0 ||
            std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.byteCount())) == 0);
}

} // namespace

/// Chains of pointwise ops on the cpu, which run block by block (CompileOptions::fuseOnCpu).
class TestCpuChains : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Sizes around the length of a block, with axes of 1 and without elements.
    void chainsGiveTheSameBits_data() {
        QTest::addColumn<QVector<qint64>>("shape");
        QTest::addColumn<QString>("dtype");
        const auto row = [](const QVector<qint64>& shape, const char* dtype) {
            QString name = dtype;
            for (const qint64 size : shape) name += ' ' + QString::number(size);
            QTest::newRow(qPrintable(name)) << shape << QString(dtype);
        };
        for (const char* dtype : {"f32", "f64", "f16", "bf16"}) row({3, 5, 7}, dtype);
        row({}, "f32");
        row({0, 4}, "f32");
        row({8192}, "f32");
        row({8193}, "f32");
        row({70001}, "f32");
        row({100000, 3}, "f32");
        row({2, 3, 40000}, "f32");
        row({1, 64, 1, 1000}, "f32");
        row({3, 1, 20000}, "f32");
    }
    void chainsGiveTheSameBits() {
        QFETCH(QVector<qint64>, shape);
        QFETCH(QString, dtype);
        const Ints sizes(shape.begin(), shape.end());
        const auto random = [&](GraphMaker& g, const char* name, const Ints& of) {
            static std::int64_t seed = 1;
            return g.node("RandomNormal", name, "cpu",
                          {{"shape", of}, {"dtype", dtype.toStdString()}, {"seed", seed++}});
        };
        GraphMaker g;
        const NodeId x = random(g, "x", sizes);
        const NodeId same = random(g, "same", sizes);
        const NodeId number = random(g, "number", {});
        // One row, and one number per row.
        Ints row = sizes;
        Ints column = sizes;
        for (std::size_t axis = 0; axis + 1 < row.size(); ++axis) row[axis] = 1;
        if (!column.empty()) column.back() = 1;
        const NodeId a = g.node("Add", "a", "cpu", {}, {x, random(g, "row", row)});
        const NodeId b = g.node("Sigmoid", "b", "cpu", {}, {a});
        const NodeId c = g.node("Mul", "c", "cpu", {}, {b, random(g, "column", column)});
        const NodeId d = g.node("LeakyRelu", "d", "cpu", {{"alpha", 0.2}}, {c});
        const NodeId e = g.node("Sub", "e", "cpu", {}, {d, same});
        const NodeId f = g.node("Max", "f", "cpu", {}, {e, b, number});
        const NodeId last = g.node("Tanh", "last", "cpu", {}, {f});
        std::size_t chains = 0;
        const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
        QVERIFY(chains >= 1);
        QVERIFY(sameBytes(fused, resultOf(g.graph(), last, {.fuse = false})));
    }

    /// Between convolutions, the blocks are those of the channels-last layout.
    void chainsKeepChannelsLast() {
        GraphMaker g;
        const auto random = [&](const char* name, const Ints& shape) {
            return g.node("RandomNormal", name, "cpu",
                          {{"shape", shape}, {"seed", std::int64_t(shape.size())}});
        };
        const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
        const NodeId first =
            g.node("Conv", "first", "cpu", padded, {random("x", {2, 8, 20, 20}), random("w", {16, 8, 3, 3})});
        const NodeId gate = g.node("Sigmoid", "gate", "cpu", {}, {first});
        const NodeId swish = g.node("Mul", "swish", "cpu", {}, {gate, first});
        const NodeId scaled = g.node("Mul", "scaled", "cpu", {}, {swish, random("scale", {16, 1, 1})});
        const NodeId last = g.node("Conv", "last", "cpu", padded, {scaled, random("v", {4, 16, 3, 3})});
        std::size_t chains = 0;
        const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
        QCOMPARE(chains, std::size_t{1});
        QVERIFY(sameBytes(fused, resultOf(g.graph(), last, {.fuse = false})));
    }

    void productsEndWithTheirOps_data() {
        QTest::addColumn<QString>("activation");
        QTest::addColumn<bool>("isFused");
        for (const char* name : {"Gelu", "GeluTanh", "Swish", "HardSwish", "LeakyRelu", "Relu", "Clip"})
            QTest::newRow(name) << QString(name) << true;
        // oneDNN's forms of these give numbers for NaN.
        for (const char* name : {"Sigmoid", "Tanh"}) QTest::newRow(name) << QString(name) << false;
        QTest::newRow("none") << QString() << false;
    }
    /// Products with packed weights, with a single row, and too small to be packed. NaN reaches the result.
    void productsEndWithTheirOps() {
        QFETCH(QString, activation);
        QFETCH(bool, isFused);
        const std::pair<Ints, Ints> sizes[] = {
            {{2, 40, 64}, {64, 136}}, {{80, 64}, {64, 137}}, {{1, 640}, {640, 500}}, {{3, 4}, {4, 5}}};
        for (const auto& [of, weights] : sizes)
            for (const bool isGemm : {false, true})
                for (const bool hasRow : {true, false}) {
                    GraphMaker g;
                    const auto random = [&](const char* name, const Ints& shape, std::int64_t seed) {
                        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", seed}});
                    };
                    // The last row of x is NaN, unless it is the only one.
                    Ints rows = of;
                    rows.back() = 1;
                    std::vector<double> factors(std::size_t(Shape(rows).elementCount()), 0.2);
                    if (factors.size() > 1) factors.back() = std::numeric_limits<double>::quiet_NaN();
                    const NodeId factor =
                        g.node("Constant", "factor", "cpu", {{"shape", rows}, {"value", factors}});
                    const NodeId x = g.node("Mul", "x", "cpu", {}, {random("normal", of, 1), factor});
                    const NodeId row = random("row", {weights[1]}, 3);
                    std::vector<NodeId> operands{x, random("w", weights, 4)};
                    if (isGemm && hasRow) operands.push_back(row);
                    NodeId last = g.node(isGemm ? "Gemm" : "MatMul", "product", "cpu", {}, operands);
                    if (!isGemm && hasRow) last = g.node("Add", "sum", "cpu", {}, {row, last});
                    last = activated(g, activation, last);
                    std::size_t chains = 0;
                    const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
                    QCOMPARE(chains, std::size_t(isFused || (!isGemm && hasRow) ? 1 : 0));
                    const Tensor alone = resultOf(g.graph(), last, {.fuse = false});
                    QCOMPARE(difference(fused, alone.shape(), valuesOf(alone), {1e-5, 1e-5}), QString());
                }
    }

    void productsOfBytesEndWithTheirOps_data() {
        QTest::addColumn<Ints>("shape");
        QTest::addColumn<bool>("isPerColumn");
        QTest::addColumn<QString>("ends");
        const auto row = [](const char* name, const Ints& shape, bool isPerColumn, const char* ends) {
            QTest::newRow(name) << shape << isPerColumn << QString(ends);
        };
        row("conversion alone", {70, 20}, true, "");
        row("one scale and a row", {70, 20}, false, "row");
        row("batches and a Gelu", {3, 50, 20}, true, "row Gelu");
        row("a residual sum and a Relu", {2, 70, 20}, true, "row same Relu");
        row("a single row", {1, 20}, true, "row same Gelu");
        row("no rows", {0, 20}, true, "row");
    }
    void productsOfBytesEndWithTheirOps() {
        QFETCH(Ints, shape);
        QFETCH(bool, isPerColumn);
        QFETCH(QString, ends);
        constexpr std::int64_t kColumns = 2500; // three rows a block, so that the last block has fewer
        GraphMaker g;
        std::int64_t seed = 0; // two tensors of one shape differ
        const auto random = [&](const char* name, const Ints& of) {
            return g.node("RandomNormal", name, "cpu", {{"shape", of}, {"seed", ++seed}});
        };
        const auto number = [&](const char* name, double value, const char* dtype = "f32") {
            return g.node(
                "Constant", name, "cpu",
                {{"value", std::vector<double>{value}}, {"shape", Ints{}}, {"dtype", std::string(dtype)}});
        };
        const NodeId x =
            g.node("QuantizeLinear", "x", "cpu", {},
                   {random("numbers", shape), number("x scale", 0.03), number("x zero", 100, "u8")});
        std::vector<double> weights;
        for (std::int64_t i = 0; i < 20 * kColumns; ++i) weights.push_back(double(i * 37 % 255 - 127));
        const NodeId w =
            g.node("Constant", "w", "cpu",
                   {{"value", weights}, {"shape", Ints{20, kColumns}}, {"dtype", std::string("i8")}});
        const NodeId sums = g.node("MatMulInteger", "sums", "cpu", {}, {x, w, number("zero", 100, "u8")});
        const NodeId scale = isPerColumn ? random("scale", {kColumns}) : number("scale", 0.0009);
        NodeId last =
            g.node("DequantizeLinear", "product", "cpu", {{"axis", std::int64_t{-1}}}, {sums, scale});
        Ints result = shape;
        result.back() = kColumns;
        for (const QString& end : ends.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
            const std::string name = end.toStdString();
            if (end == QLatin1String("row"))
                last = g.node("Add", "sum", "cpu", {}, {random("row", {kColumns}), last});
            else if (end == QLatin1String("same"))
                last = g.node("Add", "residual sum", "cpu", {}, {last, random("same", result)});
            else
                last = g.node(name, name, "cpu", {}, {last});
        }
        const DeviceMap map = simulatedMap();
        const auto plan = planOf(g.graph(), map, {.fuseOnCpu = true, .keep = {{last, 0}}});
        std::size_t members = 0;
        for (const Step& step : plan->steps)
            if (step.chain) members += step.chain->members.size();
        QCOMPARE(members, std::size_t(2 + ends.count(QLatin1Char(' ')) + (ends.isEmpty() ? 0 : 1)));
        std::size_t chains = 0;
        const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
        QCOMPARE(chains, std::size_t{1});
        const Tensor alone = resultOf(g.graph(), last, {.fuse = false});
        QVERIFY(fused.shape() == Shape(result));
        QVERIFY(sameBytes(fused, alone));
    }

    /// Sums that another node reads, scales by row, and a matrix that changes.
    void otherProductsOfBytesRunAlone() {
        for (const int which : {0, 1, 2, 3}) {
            GraphMaker g;
            const auto filled = [&](const char* op, const char* name, const Ints& shape, const char* dtype) {
                return g.node(op, name, "cpu", {{"shape", shape}, {"dtype", std::string(dtype)}});
            };
            const NodeId x = filled("Ones", "x", {8, 8}, "u8");
            NodeId w = filled("Ones", "w", {8, 8}, "i8");
            if (which == 2)
                w = g.node("Cast", "bytes", "cpu", {{"to", std::string("i8")}},
                           {filled("RandomNormal", "r", {8, 8}, "f32")});
            const NodeId sums = g.node("MatMulInteger", "sums", "cpu", {}, {x, w});
            const NodeId last =
                g.node("DequantizeLinear", "last", "cpu", {{"axis", std::int64_t{which == 1 ? 0 : 1}}},
                       {sums, filled("Ones", "scale", {8}, "f32")});
            if (which == 3) g.node("Probe", "seen", "cpu", {}, {sums});
            std::size_t chains = 0;
            (void)resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
            QCOMPARE(chains, std::size_t(which == 0 ? 1 : 0));
        }
    }

    void convolutionsEndWithTheirOps_data() {
        QTest::addColumn<QString>("activation");
        QTest::addColumn<bool>("adds");
        for (const char* name : {"", "Gelu", "Swish", "HardSwish", "LeakyRelu", "Relu", "Clip"})
            for (const bool adds : {false, true})
                if (*name || adds)
                    QTest::addRow("%s%s", name, adds ? " after a sum" : "") << QString(name) << adds;
    }
    /// Between two convolutions, and as the run's result, which is row-major; with and without NaN, which
    /// reaches the result.
    void convolutionsEndWithTheirOps() {
        QFETCH(QString, activation);
        QFETCH(bool, adds);
        struct Sizes {
            std::int64_t in, out, group, kernel, stride, size;
        };
        // A first layer, others, one in groups, some for each channel or with windows of one element, and two
        // by Winograd's algorithm.
        const Sizes all[] = {{3, 32, 1, 3, 2, 24},  {32, 48, 1, 1, 1, 14},  {16, 32, 1, 3, 1, 15},
                             {32, 32, 4, 3, 1, 10}, {32, 32, 32, 3, 1, 16}, {24, 24, 24, 5, 2, 11},
                             {64, 64, 1, 3, 1, 21}, {7, 65, 1, 1, 1, 9},    {80, 80, 80, 5, 2, 13}};
        for (const Sizes& s : all)
            for (const double special :
                 {0.5, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
                for (const bool isKept : {false, true}) {
                    GraphMaker g;
                    const auto random = [&](const char* name, const Ints& shape, std::int64_t seed) {
                        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", seed}});
                    };
                    std::vector<double> factors(std::size_t(s.size), 1.0);
                    factors[4] = special;
                    const NodeId factor =
                        g.node("Constant", "factor", "cpu", {{"shape", Ints{s.size}}, {"value", factors}});
                    const NodeId x = g.node("Mul", "x", "cpu", {},
                                            {random("normal", {2, s.in, s.size, s.size}, 1), factor});
                    const std::int64_t pad = s.kernel / 2;
                    const NodeId w = random("w", {s.out, s.in / s.group, s.kernel, s.kernel}, 2);
                    const NodeId bias = random("bias", {s.out}, 3);
                    NodeId last = g.node(
                        "Conv", "convolution", "cpu",
                        {{"group", s.group}, {"strides", Ints{s.stride, s.stride}}, {"pads", Ints(4, pad)}},
                        {x, w, bias});
                    if (adds) {
                        const std::int64_t size = (s.size + 2 * pad - s.kernel) / s.stride + 1;
                        const NodeId other =
                            g.node("Conv", "other", "cpu", {},
                                   {random("y", {2, 8, size, size}, 4), random("v", {s.out, 8, 1, 1}, 5)});
                        last = g.node("Add", "sum", "cpu", {}, {last, other});
                    }
                    last = activated(g, activation, last);
                    if (!isKept)
                        last = g.node("Conv", "next", "cpu", {}, {last, random("u", {4, s.out, 1, 1}, 6)});
                    std::size_t chains = 0;
                    const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
                    QCOMPARE(chains, std::size_t{1});
                    const Tensor alone = resultOf(g.graph(), last, {.fuse = false});
                    // Winograd's algorithm takes constant weights between channels-last tensors only.
                    const double atol = s.in >= 64 ? 2e-3 : 1e-4;
                    const QString problem = difference(fused, alone.shape(), valuesOf(alone), {1e-5, atol});
                    QVERIFY2(problem.isEmpty(), qPrintable(QStringLiteral("%1 channels, kernel %2, %3: %4")
                                                               .arg(s.in)
                                                               .arg(s.kernel)
                                                               .arg(special)
                                                               .arg(problem)));
                }
    }

    void normalizationsEndWithTheirOps_data() {
        QTest::addColumn<QString>("activation");
        for (const char* name : {"Relu", "Gelu", "Clip"}) QTest::newRow(name) << QString(name);
    }
    /// Row-major and, after a convolution, channels-last. The bits are those of the ops one by one, and NaN
    /// remains.
    void normalizationsEndWithTheirOps() {
        QFETCH(QString, activation);
        for (const bool isConvolved : {false, true}) {
            GraphMaker g;
            const auto random = [&](const char* name, const Ints& shape, std::int64_t seed) {
                return g.node("RandomUniform", name, "cpu",
                              {{"shape", shape}, {"seed", seed}, {"low", 0.5}, {"high", 2.0}});
            };
            std::vector<double> factors(9, 1.0);
            factors[4] = std::numeric_limits<double>::quiet_NaN();
            const NodeId factor =
                g.node("Constant", "factor", "cpu", {{"shape", Ints{9}}, {"value", factors}});
            NodeId x = g.node("Mul", "x", "cpu", {}, {random("normal", {2, 24, 9, 9}, 1), factor});
            if (isConvolved) x = g.node("Conv", "first", "cpu", {}, {x, random("w", {24, 24, 1, 1}, 2)});
            const NodeId last = activated(g, activation,
                                          g.node("BatchNormalization", "norm", "cpu", {},
                                                 {x, random("scale", {24}, 3), random("bias", {24}, 4),
                                                  random("mean", {24}, 5), random("variance", {24}, 6)}));
            std::size_t chains = 0;
            const Tensor fused = resultOf(g.graph(), last, {.fuseOnCpu = true}, &chains);
            QCOMPARE(chains, std::size_t{1});
            QVERIFY(sameBytes(fused, resultOf(g.graph(), last, {.fuse = false})));
        }
    }

    void onlyWhereAskedFor() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{4}}});
        const NodeId y = g.node("Exp", "y", "cpu", {}, {x});
        const NodeId z = g.node("Neg", "z", "cpu", {}, {y});
        std::size_t chains = 0;
        resultOf(g.graph(), z, {}, &chains);
        QCOMPARE(chains, std::size_t{0});
        resultOf(g.graph(), z, {.keepAll = true, .fuseOnCpu = true}, &chains);
        QCOMPARE(chains, std::size_t{0});
        resultOf(g.graph(), z, {.fuseOnCpu = true}, &chains);
        QCOMPARE(chains, std::size_t{1});
    }

    void randomGraphsGiveTheSameBits() {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            std::mt19937_64 random(seed);
            GraphMaker g;
            std::vector<NodeId> nodes;
            const auto add = [&](const char* op, const Attributes& attributes,
                                 const std::vector<NodeId>& inputs) {
                nodes.push_back(g.node(op, "n" + std::to_string(nodes.size()), "cpu", attributes, inputs));
            };
            static const Ints shapes[] = {{6, 5, 4}, {4}, {5, 1}, {1, 1, 1}, {6, 1, 4}, {}};
            for (int i = 0; i < 6; ++i)
                add("RandomNormal", {{"shape", shapes[i]}, {"seed", static_cast<std::int64_t>(i)}}, {});
            for (int i = 0; i < 40; ++i) {
                static const char* const unary[] = {"Relu", "Tanh", "Neg", "Sigmoid", "Abs", "Erf", "Gelu"};
                static const char* const binary[] = {"Add", "Sub", "Mul", "Max", "Min"};
                const auto pick = [&] {
                    return nodes[nodes.size() - 1 - random() % std::min<std::size_t>(nodes.size(), 6)];
                };
                const bool one = random() % 2 != 0;
                const char* const op = one ? unary[random() % 7] : binary[random() % 5];
                const NodeId first = pick();
                add(op, {}, one ? std::vector<NodeId>{first} : std::vector<NodeId>{first, pick()});
            }
            const Tensor fused = resultOf(g.graph(), nodes.back(), {.fuseOnCpu = true});
            QVERIFY2(sameBytes(fused, resultOf(g.graph(), nodes.back(), {.fuse = false})),
                     qPrintable(QString::number(seed)));
        }
    }
};

TWB_TEST_MAIN(TestCpuChains)
#include "test_cpu_chains.moc"
