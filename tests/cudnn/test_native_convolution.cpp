#include "backends/cuda/kernels/native_convolution.h"
#include "backends/cuda/kernels/product_chain.h"
#include "cudnn/fake_cudnn.h"
#include "ops/sliding_window.h"
#include "support/cuda_op_runner.h"
#include "support/host_queue.h"
#include "support/kernel_cases.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <cuda_runtime_api.h>

#include <utility>

using namespace twb;
using namespace twb::test;

namespace {

std::size_t gpuBytes = std::size_t{80} << 30;

} // namespace

extern "C" cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGetLastError() { return cudaSuccess; }
extern "C" cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = gpuBytes;
    return cudaSuccess;
}

namespace {

/// The difference between the results of the GPU's kernel and the CPU's; empty if they agree.
QString differenceOf(const Op& op, const Case& made) {
    const std::vector<Tensor> wanted = runOp(op.name, made.attributes, made.inputs);
    const std::vector<Tensor> got = runOpByCuda(op.name, made.attributes, made.inputs);
    const Tolerance tolerance{op.tolerance.rtol * 2, op.tolerance.atol * 2};
    return difference(got[0], wanted[0].shape(), valuesOf(wanted[0]), tolerance);
}

} // namespace

/// Calls of cuDNN, with a library in its place; results are compared with the CPU's kernels.
class TestNativeConvolution : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithCpu_data() {
        QTest::addColumn<QString>("opName");
        QTest::newRow("Conv") << "Conv";
        QTest::newRow("ConvTranspose") << "ConvTranspose";
        QTest::newRow("ConvWeightGrad") << "ConvWeightGrad";
    }

    void agreesWithCpu() {
        QFETCH(QString, opName);
        const Op& op = *findOp(opName.toStdString());
        const fake::CudnnCounts before = fake::cudnnCounts();
        int compared = 0;
        for (const DType dtype : {DType::f32, DType::f64})
            for (std::uint32_t seed = 0; seed < 150; ++seed) {
                Dice dice(seed);
                const Case made = caseMakerOf(op)(dice, op, dtype);
                const QString problem = differenceOf(op, made);
                QVERIFY2(
                    problem.isEmpty(),
                    qPrintable(
                        QStringLiteral("%1, seed %2: %3").arg(name(dtype).data()).arg(seed).arg(problem)));
                ++compared;
            }
        QCOMPARE(compared, 300);
        // Most cases use the library; cases with other padding at the end, or without elements, do not.
        const fake::CudnnCounts after = fake::cudnnCounts();
        const int its = opName == QLatin1String("Conv") ? after.forward - before.forward
                        : opName == QLatin1String("ConvTranspose")
                            ? after.transposed - before.transposed
                            : after.weightGradients - before.weightGradients;
        QVERIFY2(its > 60, qPrintable(QString::number(its)));
        QCOMPARE(after.forward - before.forward + after.transposed - before.transposed +
                     after.weightGradients - before.weightGradients,
                 its);
    }

    void oneAndThreeAxesAgreeWithCpu() {
        using List = std::vector<std::int64_t>;
        Dice dice(3);
        for (const char* name : {"Conv", "ConvTranspose"}) {
            const Op& op = *findOp(name);
            const fake::CudnnCounts before = fake::cudnnCounts();
            const auto check = [&](const Attributes& attributes, const Shape& x, const Shape& w) {
                const Case made{attributes,
                                {dice.tensor(DType::f32, x, -1, 1), dice.tensor(DType::f32, w, -1, 1)}};
                const QString problem = differenceOf(op, made);
                QVERIFY2(problem.isEmpty(), qPrintable(problem));
            };
            check({{"dilations", List{2}}, {"strides", List{2}}, {"pads", List{2, 2}}}, {2, 4, 9}, {4, 4, 3});
            check({{"strides", List{1, 2, 1}}, {"pads", List{0, 1, 1, 0, 1, 1}}}, {1, 4, 3, 5, 4},
                  {4, 4, 2, 3, 3});
            const fake::CudnnCounts after = fake::cudnnCounts();
            QCOMPARE(after.forward + after.transposed, before.forward + before.transposed + 2);
        }
    }

    void epilogueRunsAfterTheConvolution() {
        Dice dice(6);
        const auto member = [](const char* op, std::vector<std::size_t> operands) {
            return OpChain::Member{op, completeAttributes(*findOp(op), {}), std::move(operands)};
        };
        const OpChain chain{4,
                            {member("Conv", {0, 1, 2}), member("Add", {4, 3}), member("Relu", {5})},
                            OpChain::Kind::product};
        const std::vector<Tensor> inputs{
            dice.tensor(DType::f32, {2, 3, 7, 7}, -1, 1), dice.tensor(DType::f32, {4, 3, 3, 3}, -1, 1),
            dice.tensor(DType::f32, {4}, -1, 1), dice.tensor(DType::f32, {2, 4, 5, 5}, -1, 1)};
        std::vector<TensorView> views;
        for (const Tensor& input : inputs) views.push_back(input.view());
        const Tensor got = Tensor::onHost({DType::f32, {2, 4, 5, 5}});
        const std::array outputs{got.view()};
        HostQueue queue("Conv+Add+Relu");
        const fake::CudnnCounts before = fake::cudnnCounts();
        cuda::runProductChain(chain, {views, outputs, {}, nullptr, queue});
        QCOMPARE(fake::cudnnCounts().forward, before.forward + 1);
        const Tensor sums =
            runOp("Conv", chain.members[0].attributes, {inputs[0], inputs[1], inputs[2]}).at(0);
        const Tensor wanted = runOp("Relu", {}, {runOp("Add", {}, {sums, inputs[3]}).at(0)}).at(0);
        const QString problem = difference(got, wanted.shape(), valuesOf(wanted), {1e-5, 1e-5});
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }

    void libraryIsQueriedOncePerKind() {
        Dice dice(4);
        const Op& op = *findOp("Conv");
        const auto convolve = [&](const Shape& x) {
            const Case made{
                {}, {dice.tensor(DType::f32, x, -1, 1), dice.tensor(DType::f32, {3, 2, 3, 3}, -1, 1)}};
            const QString problem = differenceOf(op, made);
            QVERIFY2(problem.isEmpty(), qPrintable(problem));
        };
        const fake::CudnnCounts before = fake::cudnnCounts();
        for (int i = 0; i < 5; ++i) convolve({1, 2, 7, 7});
        QCOMPARE(fake::cudnnCounts().asked, before.asked + 1);
        QCOMPARE(fake::cudnnCounts().forward, before.forward + 5);
        convolve({1, 2, 7, 8});
        QCOMPARE(fake::cudnnCounts().asked, before.asked + 2);
    }

    /// The library lists this algorithm last.
    void f32TakesWinogradWhereItIsFaster() {
        Dice dice(8);
        const auto isUsed = [&](const char* op, DType dtype, std::int64_t channels) {
            const Shape filter{channels, channels, 3, 3};
            const int before = fake::cudnnCounts().winograd;
            const Case made{
                {}, {dice.tensor(dtype, {1, channels, 5, 4}, -1, 1), dice.tensor(dtype, filter, -1, 1)}};
            const QString problem = differenceOf(*findOp(op), made);
            if (!problem.isEmpty()) qFatal("%s", qPrintable(problem));
            return fake::cudnnCounts().winograd > before;
        };
        QVERIFY(!isUsed("Conv", DType::f32, 127));
        QVERIFY(isUsed("Conv", DType::f32, 128));
        QVERIFY(!isUsed("Conv", DType::f64, 128));
        QVERIFY(!isUsed("ConvTranspose", DType::f32, 15));
        QVERIFY(isUsed("ConvTranspose", DType::f32, 16));
        QVERIFY(!isUsed("ConvTranspose", DType::f64, 16));
    }

    void theWorkspaceIsASmallPartOfTheMemory() {
        constexpr std::size_t workspace = 64; // of the algorithm that the library prefers
        Dice dice(7);
        const auto withoutMemory = [&](std::size_t bytes, const Shape& x) { // a new shape: a new query
            const auto kept = std::exchange(gpuBytes, bytes);
            const int before = fake::cudnnCounts().withoutMemory;
            const Case made{
                {}, {dice.tensor(DType::f32, x, -1, 1), dice.tensor(DType::f32, {3, 2, 3, 3}, -1, 1)}};
            const QString problem = differenceOf(*findOp("Conv"), made);
            gpuBytes = kept;
            if (!problem.isEmpty()) qFatal("%s", qPrintable(problem));
            return fake::cudnnCounts().withoutMemory - before;
        };
        QCOMPARE(withoutMemory(16 * workspace, {1, 2, 9, 5}), 0);
        QCOMPARE(withoutMemory(16 * workspace - 16, {1, 2, 9, 6}), 1);
    }

    void needsNoWorkspaceIfMemoryIsShort() {
        struct FullQueue : HostQueue {
            using HostQueue::HostQueue;
            void* allocate(std::size_t) override { throw Error(ErrorCode::outOfMemory, "full"); }
        } queue("Conv");
        Dice dice(5);
        const Tensor x = dice.tensor(DType::f32, {1, 2, 6, 6}, -1, 1);
        const Tensor w = dice.tensor(DType::f32, {3, 2, 3, 3}, -1, 1);
        const Tensor y = Tensor::onHost({DType::f32, {1, 3, 4, 4}});
        const Window window = slidingWindow(completeAttributes(*findOp("Conv"), {}), x.shape(),
                                            std::vector<std::int64_t>{3, 3});
        const TensorView xs = x.view();
        const TensorView ws = w.view();
        const TensorView ys = y.view();
        const fake::CudnnCounts before = fake::cudnnCounts();
        QVERIFY(cuda::convolveNatively({queue, window, 1, xs, ws, ys}));
        QCOMPARE(fake::cudnnCounts().withoutMemory, before.withoutMemory + 1);
        const Tensor wanted = runOp("Conv", completeAttributes(*findOp("Conv"), {}), {x, w}).at(0);
        const QString problem = difference(y, wanted.shape(), valuesOf(wanted), {1e-5, 1e-5});
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
};

TWB_TEST_MAIN(TestNativeConvolution)
#include "test_native_convolution.moc"
