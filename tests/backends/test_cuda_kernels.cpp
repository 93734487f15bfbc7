#include "backends/cuda/kernels/chain_members.h"
#include "backends/cuda/kernels/view_copy.h"
#include "core/error.h"
#include "support/host_queue.h"
#include "support/kernel_cases.h"
#include "support/test_main.h"

#include <QTest>

#include <array>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

KernelRunner gpuKernels() {
    return [](const Op& op, const KernelContext& context) {
        runCudaKernel(op.name.c_str(), context);
        return true;
    };
}

/// The sum of both kernels' tolerances.
Tolerance between(const Op& op, DType dtype) {
    Tolerance tolerance = op.tolerance;
    tolerance.rtol *= 2;
    tolerance.atol *= 2;
    if (isHalfWidth(dtype)) tolerance.rtol += dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
    return tolerance;
}

/// The result of a launch, or the message of its error.
struct Outcome {
    std::vector<Tensor> outputs;
    QString refusal;
};

Outcome outcomeOf(const Op& op, const Case& made, KernelRunner runner) {
    Outcome out;
    setKernelRunner(runner);
    try {
        out.outputs = runOp(op.name, made.attributes, made.inputs);
    } catch (const Error& error) {
        out.refusal = QString::fromUtf8(error.what());
    }
    setKernelRunner(nullptr);
    return out;
}

} // namespace

/// Compares every GPU kernel, compiled for the host, with the CPU kernel.
class TestCudaKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithCpu_data() {
        QTest::addColumn<QString>("opName");
        for (std::string_view op : cuda::kernelNames())
            QTest::newRow(std::string(op).c_str()) << QString::fromStdString(std::string(op));
    }

    void agreesWithCpu() {
        QFETCH(QString, opName);
        const Op* const op = findOp(opName.toStdString());
        QVERIFY2(op, "the kernel is of no op in the table");
        const CaseMaker make = caseMakerOf(*op);
        QVERIFY2(make, "no launches of it are made here");
        for (const DType dtype : kWideDTypes) {
            if (!caseTypesOf(*op).contains(dtype)) continue;
            if (!hasCudaKernel(op->name, std::vector<DType>{dtype, dtype, dtype})) continue;
            for (std::uint32_t seed = 0; seed < 24; ++seed) {
                Dice dice(seed);
                const Case made = make(dice, *op, dtype);
                compare(*op, made, QStringLiteral("%1, seed %2").arg(name(dtype).data()).arg(seed));
                if (QTest::currentTestFailed()) return;
            }
        }
    }

    /// Source and target are dense along different axes. Sizes are around the tile size; rows are with and
    /// without gaps, which change the alignment of packs.
    void transposedCopies() {
        HostQueue queue("Transpose");
        for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64})
            for (std::uint32_t seed = 0; seed < 60; ++seed) {
                Dice dice(seed);
                const std::int64_t rows = dice.one(2) ? dice.integer(14, 70) : 16 * dice.integer(1, 4);
                const std::int64_t columns = dice.one(2) ? dice.integer(14, 70) : 32 * dice.integer(1, 2);
                const std::int64_t planes = dice.integer(1, 3);
                const std::int64_t gap = dice.one(3) ? 1 : 0;
                const std::int64_t step = rows + gap;
                const Tensor stored = dice.tensor(dtype, Shape{planes, columns, step}, 0, 100);
                const bool planesFirst = dice.one(2);
                const Shape shape = planesFirst ? Shape{planes, rows, columns} : Shape{rows, planes, columns};
                const Tensor from(
                    stored.buffer(), {dtype, shape},
                    planesFirst ? Strides{columns * step, 1, step} : Strides{1, columns * step, step}, gap);
                Shape wide = shape;
                wide[2] += gap;
                const Tensor around = tensorOf(
                    dtype, wide, std::vector<double>(static_cast<std::size_t>(wide.elementCount()), 7));
                const Tensor to(around.buffer(), {dtype, shape}, denseStrides(wide), gap);
                cuda::copyView(queue, from.view(), to.view());
                QCOMPARE(valuesOf(to), valuesOf(from));
                for (std::int64_t i = 0; gap > 0 && i < around.elementCount(); i += wide[2])
                    QCOMPARE(around.at(i), 7.0);
            }
    }

    /// A chain whose kernel is not compiled yet.
    void chainsRunOpByOp() {
        const auto member = [](const char* op, std::vector<std::size_t> operands) {
            return OpChain::Member{op, completeAttributes(*findOp(op), {}), std::move(operands)};
        };
        OpChain chain{2,
                      {member("Add", {0, 1}), member("LeakyRelu", {2}), member("Mul", {2, 3}),
                       member("Max", {4, 1, 0})}};
        chain.members[1].attributes.set("alpha", 0.5);
        const Tensor a = tensorOf(DType::f16, Shape{2, 3}, {-1, 2, 3, 4, 5, -6});
        const Tensor b = tensorOf(DType::f16, Shape{3}, {1, -4, 2});
        const Tensor out = Tensor::onHost({DType::f16, Shape{2, 3}});
        HostQueue queue("Add+LeakyRelu+Mul+Max");
        cuda::runChainMembers(chain, std::array{a.view(), b.view()}, out.view(), queue);
        QCOMPARE(valuesOf(out), (std::vector<double>{1, 2, 25, 25, 5, 8}));
        chain.members.resize(1);
        cuda::runChainMembers(chain, std::array{a.view(), b.view()}, out.view(), queue);
        QCOMPARE(valuesOf(out), (std::vector<double>{0, -2, 5, 5, 1, -4}));
    }

private:
    static void compare(const Op& op, const Case& made, const QString& what) {
        const auto [wanted, refusal] = outcomeOf(op, made, nullptr);
        const auto [got, gotRefusal] = outcomeOf(op, made, gpuKernels());
        QCOMPARE(gotRefusal, refusal);
        QCOMPARE(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            const QString problem =
                difference(got[i], wanted[i].shape(), valuesOf(wanted[i]), between(op, got[i].dtype()));
            QVERIFY2(problem.isEmpty(), qPrintable(what + QStringLiteral(": ") + problem));
        }
    }
};

TWB_TEST_MAIN(TestCudaKernels)
#include "test_cuda_kernels.moc"
