#include "ops/convolution_oracle.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

/// The attributes and shapes of convolutions.
class TestConvolutionShapes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void autoPad();
    void outputShapes();
    void empty();
    void infers();
    void refuses_data();
    void refuses();
};

void TestConvolutionShapes::autoPad() {
    const Tensor x = tensorOf(DType::f32, {1, 1, 5}, {1, 2, 3, 4, 5});
    const Tensor w = tensorOf(DType::f32, {1, 1, 2}, {1, 10});
    const auto run = [&](const char* mode, std::int64_t stride) {
        return valuesOf(
            runOp("Conv", {{"auto_pad", std::string(mode)}, {"strides", Integers{stride}}}, {x, w})[0]);
    };
    QCOMPARE(run("VALID", 1), (std::vector<double>{21, 32, 43, 54}));
    QCOMPARE(run("SAME_UPPER", 1), (std::vector<double>{21, 32, 43, 54, 5}));
    QCOMPARE(run("SAME_LOWER", 1), (std::vector<double>{10, 21, 32, 43, 54}));
    QCOMPARE(run("SAME_UPPER", 2), (std::vector<double>{21, 43, 5}));
    QCOMPARE(run("SAME_LOWER", 2), (std::vector<double>{10, 32, 54}));
}

void TestConvolutionShapes::outputShapes() {
    const TensorType x{DType::f32, {1, 1, 3, 3}};
    const TensorType w{DType::f32, {1, 2, 3, 3}};
    const auto shape = [&](Attributes attributes) {
        attributes.set("strides", Integers{3, 2});
        return inferTypes("ConvTranspose", attributes, {x, w})[0].shape;
    };
    QCOMPARE(shape({}), (Shape{1, 2, 9, 7}));
    QCOMPARE(shape({{"output_padding", Integers{1, 1}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"output_shape", Integers{10, 8}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"output_shape", Integers{1, 2, 10, 8}}}), (Shape{1, 2, 10, 8}));
    QCOMPARE(shape({{"auto_pad", std::string("SAME_UPPER")}}), (Shape{1, 2, 9, 6}));
    QCOMPARE(shape({{"pads", Integers{1, 2, 1, 2}}}), (Shape{1, 2, 7, 3}));
    // Elements beyond the last window are the bias alone.
    const Tensor y = runOp("ConvTranspose", {{"output_shape", Integers{5}}, {"strides", Integers{2}}},
                           {tensorOf(DType::f32, {1, 1, 2}, {1, 2}), tensorOf(DType::f32, {1, 1, 2}, {1, 10}),
                            tensorOf(DType::f32, {1}, {100})})[0];
    QCOMPARE(valuesOf(y), (std::vector<double>{101, 110, 102, 120, 100}));
}

void TestConvolutionShapes::empty() {
    for (DType type : {DType::f32, DType::f64, DType::bf16}) {
        const auto none = [&](const Shape& shape) { return Tensor::onHost({type, shape}); };
        const Tensor w = none({3, 2, 2, 2});
        QCOMPARE(runOp("Conv", {}, {none({0, 2, 5, 5}), w})[0].shape(), (Shape{0, 3, 4, 4}));
        const Tensor bias = tensorOf(type, {3}, {1, 2, 3});
        // Without input channels, the result is the bias.
        const Tensor y = runOp("Conv", {}, {none({1, 0, 2, 2}), none({3, 0, 2, 2}), bias})[0];
        QCOMPARE(valuesOf(y), (std::vector<double>{1, 2, 3}));
        QCOMPARE(runOp("ConvTranspose", {}, {none({0, 3, 5, 5}), w})[0].shape(), (Shape{0, 2, 6, 6}));
        const Tensor spread = runOp("ConvTranspose", {}, {none({1, 0, 1, 1}), none({0, 3, 1, 1}), bias})[0];
        QCOMPARE(valuesOf(spread), (std::vector<double>{1, 2, 3}));
        // Without images, the gradient is 0.
        const Tensor dw = runOp("ConvWeightGrad", {{"kernel_shape", Integers{1, 2}}},
                                {none({0, 2, 3, 3}), none({0, 1, 3, 4})})[0];
        QCOMPARE(dw.shape(), (Shape{2, 1, 1, 2}));
        QCOMPARE(valuesOf(dw), std::vector<double>(4, 0));
    }
}

void TestConvolutionShapes::infers() {
    const TensorType x{DType::f32, {kUnknownDim, 3, kUnknownDim, 32}};
    const TensorType w{DType::f32, {8, 3, 3, 3}};
    QCOMPARE(inferTypes("Conv", {}, {x, w})[0].shape, (Shape{kUnknownDim, 8, kUnknownDim, 30}));
    QCOMPARE(inferTypes("ConvTranspose", {}, {{DType::f32, {kUnknownDim, 8, kUnknownDim, 4}}, w})[0].shape,
             (Shape{kUnknownDim, 3, kUnknownDim, 6}));
    const TensorType dy{DType::f32, {kUnknownDim, 8, 4, 15}};
    QCOMPARE(inferTypes("ConvWeightGrad", {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}},
                        {dy, x})[0]
                 .shape,
             (Shape{8, 3, 3, 3}));
}

void TestConvolutionShapes::refuses_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<QString>("x");
    QTest::addColumn<QString>("w");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const char* op, const Attributes& attributes, const char* x,
                        const char* w, const char* says) {
        QTest::addRow("%s", tag) << QString(op) << attributes << QString(x) << QString(w) << QString(says);
    };
    row("channels", "Conv", {}, "1 4 8 8", "6 3 3 3",
        "shape-mismatch: Given groups=1, weight of size [6, 3, 3, 3], expected input[1, 4, 8, 8] to have 3 "
        "channels, but got 4 channels instead");
    row("groups", "Conv", {{"group", std::int64_t{4}}}, "1 12 8 8", "6 3 3 3", "divisible by 4");
    row("no groups", "Conv", {{"group", std::int64_t{0}}}, "1 12 8 8", "6 3 3 3", "\"group\" must be");
    row("rank", "Conv", {}, "1 3 8 8", "6 3 3", "Expected a weight of 4 dimensions");
    row("no spatial axis", "Conv", {}, "1 3", "6 3", "at least one spatial axis");
    row("kernel too large", "Conv", {}, "1 3 2 2", "6 3 3 3",
        "Kernel size can't be greater than actual input size");
    row("strides", "Conv", {{"strides", Integers{1}}}, "1 3 8 8", "6 3 3 3",
        "\"strides\" must have 2 entries");
    row("no stride", "Conv", {{"strides", Integers{0, 1}}}, "1 3 8 8", "6 3 3 3", "must be");
    row("pads", "Conv", {{"pads", Integers{1, 1}}}, "1 3 8 8", "6 3 3 3", "\"pads\" must have 4 entries");
    row("huge dilation", "Conv", {{"dilations", Integers{std::int64_t{1} << 40, 1}}}, "1 3 8 8", "6 3 3 3",
        "\"dilations\" must be");
    row("kernel_shape", "Conv", {{"kernel_shape", Integers{2, 2}}}, "1 3 8 8", "6 3 3 3",
        "but the weight has size [6, 3, 3, 3]");
    row("huge input", "Conv", {}, "1 3 8 4611686018427387904", "6 3 3 3", "too-large");
    row("transpose channels", "ConvTranspose", {}, "1 4 8 8", "6 3 3 3",
        "expected input[1, 4, 8, 8] to have 6");
    row("output padding", "ConvTranspose", {{"output_padding", Integers{1, 0}}}, "1 6 8 8", "6 3 3 3",
        "output padding must be smaller than either stride or dilation");
    row("padded away", "ConvTranspose", {{"pads", Integers{9, 0, 9, 0}}}, "1 6 8 8", "6 3 3 3",
        "removes more");
    // The gradient of the result and the image.
    const Attributes three{{"kernel_shape", Integers{3, 3}}, {"group", std::int64_t{2}}};
    row("gradient", "ConvWeightGrad", three, "1 4 5 6", "1 4 8 8",
        "shape-mismatch: the gradient of a convolution's result must have its shape [1, 4, 6, 6], but has "
        "shape [1, 4, 5, 6]");
    row("gradient groups", "ConvWeightGrad", three, "1 3 6 6", "1 4 8 8",
        "dY has 3 channels, which 2 groups cannot share equally");
    row("image groups", "ConvWeightGrad", three, "1 4 6 6", "1 5 8 8",
        "X has 5 channels, which 2 groups cannot share equally");
}

void TestConvolutionShapes::refuses() {
    QFETCH(QString, op);
    QFETCH(Attributes, attributes);
    QFETCH(QString, x);
    QFETCH(QString, w);
    QFETCH(QString, says);
    const auto type = [](const QString& text) {
        Integers dims;
        for (const QString& size : text.split(' ')) dims.push_back(size.toLongLong());
        return TensorType{DType::f32, Shape(dims)};
    };
    const QString error = inferError([&] {
        inferTypes(op.toStdString(), attributes, std::vector<TensorType>{type(x), type(w)});
    });
    QVERIFY2(error.contains(says), qPrintable(error));
}

TWB_TEST_MAIN(TestConvolutionShapes)
#include "test_convolution_shapes.moc"
