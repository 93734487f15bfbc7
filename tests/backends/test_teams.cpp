#include "backends/cuda/kernels/team.h"
#include "support/cuda_op_runner.h"
#include "support/host_queue.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The sum of both kernels' tolerances.
Tolerance between(std::string_view op, DType dtype) {
    Tolerance tolerance = findOp(op)->tolerance;
    tolerance.rtol *= 2;
    tolerance.atol *= 2;
    if (isHalfWidth(dtype)) tolerance.rtol += dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
    return tolerance;
}

void compare(std::string_view op, const Attributes& attributes, const std::vector<Tensor>& inputs) {
    const std::vector<Tensor> wanted = runOp(op, attributes, inputs);
    const std::vector<Tensor> got = runOpByCuda(op, attributes, inputs);
    QCOMPARE(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        const QString problem =
            difference(got[i], wanted[i].shape(), valuesOf(wanted[i]), between(op, inputs[0].dtype()));
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
}

/// A few distinct multiples of 1/8, so that sums are exact; `special` adds an infinity or a NaN.
Tensor numbers(Dice& dice, DType dtype, const Shape& shape, double special = 0) {
    std::vector<double> values(static_cast<std::size_t>(shape.elementCount()));
    for (double& value : values)
        value = isFloating(dtype) ? static_cast<double>(dice.integer(-16, 16)) / 8
                                  : static_cast<double>(dice.integer(0, 3));
    if (special != 0) values[static_cast<std::size_t>(dice.integer(0, shape.elementCount() - 1))] = special;
    return tensorOf(dtype, shape, values);
}

/// Each thread's prefix sum, several times in a row, which detects a missing barrier.
struct SumOften {
    std::int64_t* wrong;
    template <class Group> void operator()(const Group& team, std::int64_t row) const {
        for (std::int64_t round = 0; round < 4; ++round) {
            const std::int64_t own = team.index() * team.index() + row + round;
            std::int64_t before = 0;
            std::int64_t all = 0;
            for (std::int64_t i = 0; i < team.size(); ++i) {
                const std::int64_t value = i * i + row + round;
                all += value;
                if (i < team.index()) before += value;
            }
            if (team.merged(cuda::AddStates{}, own) != all) ++*wrong;
            if (team.merged(cuda::AddStates{}, own + 1) != all + team.size()) ++*wrong;
            if (team.before(cuda::AddStates{}, own) != before) ++*wrong;
            if (team.before(cuda::AddStates{}, own + 1) != before + team.index()) ++*wrong;
            for (const std::int64_t more : {0, 1})
                if (team.fromLast(before + own + more) != all + more) ++*wrong;
        }
    }
};

} // namespace

/// The collective operations of kernels, with teams as large as a GPU's.
class TestTeams : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { cuda::emulateBlocks(); }

    void teamsAgree() {
        HostQueue queue("Test");
        std::int64_t wrong = 0;
        for (const std::int64_t length : {10, 1025, 2000, 5000})
            cuda::forEachRow(queue, 40, length, SumOften{&wrong});
        QCOMPARE(wrong, std::int64_t{0});
    }

    /// An exclusive sum computed by subtracting the element would lose small earlier terms.
    void exclusiveSumsIgnoreTheElement() {
        const auto sums = [](const std::vector<double>& values, bool isExclusive) {
            const Tensor in = tensorOf(DType::f64, {static_cast<std::int64_t>(values.size())}, values);
            return runOpByCuda("CumSum", {{"axis", std::int64_t{0}}, {"exclusive", isExclusive}}, {in})[0];
        };
        const auto compareWith = [](const Tensor& got, const std::vector<double>& wanted) {
            const QString problem = difference(got, got.shape(), wanted, {});
            QVERIFY2(problem.isEmpty(), qPrintable(problem));
        };
        compareWith(sums({1, 2, kInf, 4}, false), {1, 3, kInf, kInf});
        compareWith(sums({1, 2, -kInf, 4}, true), {0, 1, 3, -kInf});
        compareWith(sums({1, 2, kNaN, 4}, true), {0, 1, 3, kNaN});
        compareWith(sums({3, 1e17, 1}, true), {0, 3, 1e17});
    }

    void rowsOfAnyLength_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<bool>("ofIntegers");
        for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                               "ReduceSumSquare", "ReduceLogSumExp", "ArgMax", "ArgMin", "CumSum", "CumProd"})
            QTest::newRow(op) << op << true;
        for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "RMSNormalization"})
            QTest::newRow(op) << op << false;
    }

    void rowsOfAnyLength() {
        QFETCH(QString, op);
        QFETCH(bool, ofIntegers);
        const std::string name = op.toStdString();
        for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i32, DType::i64}) {
            if (!ofIntegers && !isFloating(dtype)) continue;
            Dice dice(static_cast<std::uint32_t>(dtype));
            // With odd lengths, most rows start unaligned to packs.
            for (const std::int64_t length : {1, 31, 32, 33, 1000, 1025, 5001})
                for (const std::int64_t rows : {1, 3, 20}) {
                    const bool isLast = !op.startsWith("Reduce") || dice.one(2);
                    const double special = !isFloating(dtype) || dice.one(2) ? 0 : dice.one(2) ? kInf : kNaN;
                    const Shape shape = isLast ? Shape{rows, length} : Shape{length, rows};
                    const Tensor in = inLayout(numbers(dice, dtype, shape, special), dice.layout());
                    const std::int64_t axis = isLast ? 1 : 0;
                    Attributes attributes;
                    std::vector<Tensor> inputs{in};
                    if (op.startsWith("Reduce"))
                        attributes.set("axes", std::vector<std::int64_t>{axis});
                    else
                        attributes.set("axis", axis);
                    if (op.startsWith("Arg")) attributes.set("select_last_index", dice.one(2));
                    if (op.startsWith("Cum")) attributes.set("reverse", dice.one(2));
                    if (op.startsWith("Cum")) attributes.set("exclusive", dice.one(2));
                    if (op.endsWith("Normalization")) inputs.push_back(numbers(dice, dtype, {length}));
                    compare(name, attributes, inputs);
                    if (QTest::currentTestFailed()) {
                        qInfo("%s, %lld rows of %lld%s", twb::name(dtype).data(),
                              static_cast<long long>(rows), static_cast<long long>(length),
                              isLast ? "" : " side by side");
                        return;
                    }
                }
        }
    }

    /// So few results that each is split into pieces, some of which start unaligned to packs.
    void piecesOfOneResult() {
        for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64}) {
            Dice dice(static_cast<std::uint32_t>(dtype));
            for (const char* op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp", "ArgMax"})
                for (const Shape& shape : {Shape{1, 70001}, Shape{2, 30001}, Shape{30001, 2}}) {
                    if (dtype == DType::i8 && std::string_view(op) == "ReduceLogSumExp") continue;
                    const Tensor in = inLayout(numbers(dice, dtype, shape), dice.layout());
                    const std::int64_t axis = shape[0] > shape[1] ? 0 : 1;
                    if (std::string_view(op) == "ArgMax")
                        compare(op, {{"axis", axis}, {"select_last_index", dice.one(2)}}, {in});
                    else
                        compare(op, {{"axes", std::vector<std::int64_t>{axis}}}, {in});
                    if (QTest::currentTestFailed()) return;
                }
        }
    }

    void axesThatLieApart() {
        for (const DType dtype : {DType::f16, DType::f32, DType::i32}) {
            Dice dice(static_cast<std::uint32_t>(dtype));
            for (const char* op : {"ReduceSum", "ReduceMin", "ReduceLogSumExp"})
                for (const Shape& shape : {Shape{7, 5, 601}, Shape{3, 2, 9}, Shape{30, 40, 31}}) {
                    const Tensor in = inLayout(numbers(dice, dtype, shape), dice.layout());
                    compare(op, {{"axes", std::vector<std::int64_t>{0, 2}}}, {in});
                    if (QTest::currentTestFailed()) return;
                }
        }
    }
};

TWB_TEST_MAIN(TestTeams)
#include "test_teams.moc"
