#include "backends/cuda/kernels/product_chain.h"
#include "support/host_queue.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

/// Runs the members of a chain one by one, each with its own host kernel.
Tensor oneByOne(const OpChain& chain, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> known = inputs;
    for (const OpChain::Member& member : chain.members) {
        std::vector<Tensor> operands;
        for (const std::size_t k : member.operands) operands.push_back(known[k]);
        known.push_back(runOp(member.op, member.attributes, operands).at(0));
    }
    return known.back();
}

Tensor together(const OpChain& chain, const std::vector<Tensor>& inputs, const TensorType& type,
                cuda::Ended byLibrary = cuda::Ended::none) {
    Tensor out = Tensor::onHost(type);
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input.view());
    const std::array outputs{out.view()};
    HostQueue queue("product");
    queue.endsProducts = byLibrary;
    cuda::runProductChain(chain, {views, outputs, {}, nullptr, queue});
    return out;
}

OpChain::Member member(const char* op, const Attributes& attributes, std::vector<std::size_t> operands) {
    return {op, completeAttributes(*findOp(op), attributes), std::move(operands)};
}

Tensor some(Dice& dice, DType dtype, const Shape& shape) {
    return inLayout(dice.tensor(dtype, shape, -2, 2), dice.layout());
}

/// Adds an activation at the end, depending on `choice`.
void addActivation(OpChain& chain, int choice) {
    const std::size_t last = chain.inputs + chain.members.size() - 1;
    if (choice / 4 == 1) chain.members.push_back(member("Relu", {}, {last}));
    if (choice / 4 == 2)
        chain.members.push_back(member("Gelu", {{"approximate", std::string("tanh")}}, {last}));
}

/// A product, optionally with a row and an activation, depending on `choice`.
struct Made {
    OpChain chain;
    std::vector<Tensor> inputs;

    Made(Dice& dice, DType dtype, int choice) {
        const bool isGemm = (choice & 1) != 0;
        const bool addsRow = (choice & 2) != 0;
        const std::int64_t m = dice.integer(1, 6);
        const std::int64_t k = dice.integer(1, 7);
        const std::int64_t n = dice.integer(1, 5);
        const bool swapA = isGemm && dice.one(2);
        const bool swapB = isGemm && dice.one(2);
        const Shape a = !isGemm && dice.one(2) ? Shape{2, m, k} : swapA ? Shape{k, m} : Shape{m, k};
        inputs = {some(dice, dtype, a), some(dice, dtype, swapB ? Shape{n, k} : Shape{k, n})};
        const bool hasC = isGemm && addsRow && dice.one(2);
        if (addsRow) inputs.push_back(some(dice, dtype, dice.one(2) ? Shape{n} : Shape{1, n}));
        chain.kind = OpChain::Kind::product;
        chain.inputs = inputs.size();
        if (isGemm)
            chain.members.push_back(
                member("Gemm", {{"transA", swapA}, {"transB", swapB}, {"alpha", 0.5}},
                       hasC ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0, 1}));
        else
            chain.members.push_back(member("MatMul", {}, {0, 1}));
        if (addsRow && !hasC)
            chain.members.push_back(member("Add", {},
                                           dice.one(2) ? std::vector<std::size_t>{2, chain.inputs}
                                                       : std::vector<std::size_t>{chain.inputs, 2}));
        addActivation(chain, choice);
    }
};

/// A convolution, optionally with a bias, an image and an activation, depending on `choice`.
struct Convolution {
    OpChain chain;
    std::vector<Tensor> inputs;

    Convolution(Dice& dice, DType dtype, int choice) {
        const bool addsImage = (choice & 2) != 0;
        const std::int64_t groups = dice.integer(1, 3);
        const std::int64_t ofGroup = dice.integer(1, 2);
        const std::int64_t channels = groups * dice.integer(1, 2);
        // Planes whose size is a multiple of the pack size, and others.
        const std::int64_t height = dice.one(2) ? 8 : dice.integer(1, 5);
        const std::int64_t width = dice.one(2) ? 4 : dice.integer(1, 7);
        inputs = {some(dice, dtype, {2, groups * ofGroup, height, width}),
                  some(dice, dtype, {channels, ofGroup, 1, 1})};
        chain.kind = OpChain::Kind::product;
        chain.members.push_back(member("Conv", {{"group", groups}}, {0, 1}));
        if ((choice & 1) != 0) {
            chain.members[0].operands.push_back(inputs.size());
            inputs.push_back(some(dice, dtype, {channels}));
        }
        if (addsImage) inputs.push_back(some(dice, dtype, {2, channels, height, width}));
        chain.inputs = inputs.size();
        if (addsImage)
            chain.members.push_back(member("Add", {},
                                           dice.one(2)
                                               ? std::vector<std::size_t>{chain.inputs - 1, chain.inputs}
                                               : std::vector<std::size_t>{chain.inputs, chain.inputs - 1}));
        addActivation(chain, choice);
    }
};

/// Compares chains of each kind that M makes with their ops run one by one; counts the chains.
template <class M> void compareAll(const char* op, DType dtype, cuda::Ended byLibrary, int& compared) {
    Tolerance tolerance = findOp(op)->tolerance;
    tolerance.rtol *= 2;
    tolerance.atol = 1e-5;
    // Each intermediate rounding may cost one bit of sums of about 16.
    if (isHalfWidth(dtype)) {
        const double bit = dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
        tolerance.rtol += 2 * bit;
        tolerance.atol += 16 * bit;
    }
    for (int choice = 0; choice < 12; ++choice)
        for (std::uint32_t seed = 0; seed < 24; ++seed) {
            Dice dice(seed);
            const M made(dice, dtype, choice);
            if (made.chain.members.size() < 2) continue; // a product alone is not a chain
            const Tensor wanted = oneByOne(made.chain, made.inputs);
            const Tensor got = together(made.chain, made.inputs, wanted.type(), byLibrary);
            const QString problem = difference(got, wanted.shape(), valuesOf(wanted), tolerance);
            QVERIFY2(problem.isEmpty(), qPrintable(QStringLiteral("%1, choice %2, seed %3: %4")
                                                       .arg(name(dtype).data())
                                                       .arg(choice)
                                                       .arg(seed)
                                                       .arg(problem)));
            ++compared;
        }
}

} // namespace

/// Compares products with an epilogue, in the GPU's code compiled for the host, with their ops.
class TestProductChain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void resultEqualsTheOps() {
        int compared = 0;
        // For each part of the epilogue that the library may do. For f16 and bf16, the library's stand-in
        // does none.
        const std::vector<std::pair<DType, cuda::Ended>> ways{{DType::f32, cuda::Ended::none},
                                                              {DType::f32, cuda::Ended::row},
                                                              {DType::f32, cuda::Ended::all},
                                                              {DType::f16, cuda::Ended::none},
                                                              {DType::bf16, cuda::Ended::none}};
        for (const auto& [dtype, byLibrary] : ways) compareAll<Made>("Gemm", dtype, byLibrary, compared);
        QVERIFY2(compared > 1000, qPrintable(QString::number(compared)));
    }

    void convolutionsEqualTheOps() {
        int compared = 0;
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
            compareAll<Convolution>("Conv", dtype, cuda::Ended::none, compared);
        QVERIFY2(compared > 700, qPrintable(QString::number(compared)));
    }

    void aNanStaysOne() {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        for (const char* activation : {"Relu", "Gelu"}) {
            OpChain chain;
            chain.kind = OpChain::Kind::product;
            chain.inputs = 2;
            chain.members = {
                member("MatMul", {}, {0, 1}),
                member(activation,
                       *activation == 'G' ? Attributes{{"approximate", std::string("tanh")}} : Attributes{},
                       {2})};
            const Tensor a = tensorOf(DType::f32, Shape{2, 1}, {nan, -1});
            const Tensor b = tensorOf(DType::f32, Shape{1, 1}, {4});
            const std::vector<double> out = valuesOf(together(chain, {a, b}, {DType::f32, Shape{2, 1}}));
            QVERIFY(std::isnan(out[0]));
            QVERIFY(std::fabs(out[1]) < 1e-3);
        }
    }
};

TWB_TEST_MAIN(TestProductChain)
#include "test_product_chain.moc"
