#include "widgets/palette/op_usage.h"

#include <QSettings>

#include <algorithm>

namespace twb {
namespace {

constexpr qsizetype kMostRecent = 8;
const QString kRecent = QStringLiteral("recentOps");

enum Family : std::uint8_t { floats = 1, integers = 2, bools = 4, numbers = floats | integers, any = 7 };

struct Usage {
    std::string_view op;
    int weight;
    Family family;
    int leastRank;
    int mostRank;
};

constexpr int kEvery = 100; ///< rank

/// The consumers of a tensor, by its dtype family and rank. The most frequent consumer of each kind of tensor
/// has about 100, the others proportionally less. The proportions follow the layer counts of ResNet-50,
/// MobileNetV2 and YOLOv5s (images: rank 4) and of BERT-base and GPT-2 (tokens: rank 2 and 3) in their ONNX
/// exports: 165 Conv, 49 Relu, 57 Sigmoid and Mul, 26 Add and 17 Concat; a transformer layer has 8 MatMul, 10
/// Add, 4 Reshape, 4 Transpose, 2 LayerNormalization, 1 Softmax and 1 Gelu. If an op has several rows, the
/// first that fits counts.
constexpr Usage kReaders[] = {
    {"Conv", 100, floats, 4, 5},
    {"BatchNormalization", 62, floats, 4, 5},
    {"MaxPool", 34, floats, 4, 5},
    {"GlobalAveragePool", 26, floats, 4, 5},
    {"AveragePool", 20, floats, 4, 5},
    {"Resize", 18, floats, 4, 4},
    {"MatMul", 100, floats, 2, 3},
    {"MatMul", 40, floats, 4, 4},
    {"MatMul", 30, floats, 1, kEvery},
    {"Gemm", 94, floats, 2, 2},
    {"Linear", 90, floats, 2, 2},
    {"MLP", 30, floats, 2, 2},
    {"Relu", 84, floats, 1, kEvery},
    {"Add", 96, numbers, 0, 1},
    {"Add", 80, numbers, 2, 3},
    {"Add", 70, numbers, 4, kEvery},
    {"Mul", 78, numbers, 0, 1},
    {"Mul", 58, numbers, 2, kEvery},
    {"Sub", 40, numbers, 0, kEvery},
    {"Div", 46, floats, 0, kEvery},
    {"Softmax", 56, floats, 2, 4},
    {"Softmax", 44, floats, 1, kEvery},
    {"LayerNormalization", 60, floats, 2, 3},
    {"Gelu", 50, floats, 2, 3},
    {"Sigmoid", 48, floats, 1, kEvery},
    {"Tanh", 34, floats, 1, kEvery},
    {"Reshape", 52, any, 2, kEvery},
    {"Reshape", 36, any, 1, 1},
    {"Transpose", 50, any, 2, kEvery},
    {"Flatten", 42, floats, 3, kEvery},
    {"Concat", 38, any, 1, kEvery},
    {"Slice", 30, any, 1, kEvery},
    {"Split", 26, any, 1, kEvery},
    {"ReduceMean", 36, floats, 1, kEvery},
    {"ReduceSum", 32, numbers, 1, kEvery},
    {"ReduceMax", 22, numbers, 1, kEvery},
    {"ArgMax", 28, numbers, 1, kEvery},
    {"TopK", 16, numbers, 1, kEvery},
    {"Sqrt", 24, floats, 0, kEvery},
    {"Exp", 18, floats, 0, kEvery},
    {"Log", 14, floats, 0, kEvery},
    {"Pow", 18, floats, 0, kEvery},
    {"Erf", 10, floats, 1, kEvery},
    {"Clip", 20, numbers, 1, kEvery},
    {"Dropout", 14, floats, 1, kEvery},
    {"Gather", 100, integers, 1, 2},
    {"Gather", 34, any, 0, kEvery},
    {"Equal", 60, integers, 0, kEvery},
    {"OneHot", 44, integers, 1, 2},
    {"Less", 40, integers, 0, kEvery},
    {"Cast", 66, integers, 0, kEvery},
    {"Cast", 72, bools, 0, kEvery},
    {"Cast", 24, floats, 0, kEvery},
    {"Where", 100, bools, 0, kEvery},
    {"Not", 64, bools, 0, kEvery},
    {"And", 60, bools, 0, kEvery},
    {"Or", 50, bools, 0, kEvery},
    {"If", 40, bools, 0, 0},
    {"Unsqueeze", 24, any, 0, kEvery},
    {"Squeeze", 20, any, 1, kEvery},
    {"Shape", 22, any, 1, kEvery},
    {"To", 48, any, 0, kEvery},
    {"Probe", 62, any, 0, 0},
    {"Probe", 26, any, 1, kEvery},
    {"Save", 20, any, 0, kEvery},
};

/// The producers for an input: sources first, since an unconnected input usually needs data or a parameter,
/// then ops that precede it in networks.
constexpr std::pair<std::string_view, int> kProducers[] = {
    {"RandomNormal", 100}, {"File", 94},   {"Constant", 90}, {"Input", 86},  {"Zeros", 70},
    {"Ones", 66},          {"Full", 60},   {"To", 56},       {"Arange", 50}, {"RandomUniform", 46},
    {"MatMul", 40},        {"Gemm", 36},   {"Add", 34},      {"Relu", 32},   {"Mul", 28},
    {"Reshape", 26},       {"Linear", 24}, {"Cast", 22},     {"Conv", 20},
};

Family familyOf(DType dtype) {
    return holdsFractions(dtype) ? floats : dtype == DType::boolean ? bools : integers;
}

} // namespace

int readerUsage(const QString& op, const std::optional<TensorType>& type) {
    const std::string name = op.toStdString();
    const int rank = type ? int(type->shape.rank()) : -1;
    for (const Usage& usage : kReaders) {
        if (usage.op != name) continue;
        if (!type) return usage.weight;
        if ((usage.family & familyOf(type->dtype)) != 0 && usage.leastRank <= rank && rank <= usage.mostRank)
            return usage.weight;
    }
    return 0;
}

std::set<std::string_view> rankedReaders() {
    std::set<std::string_view> ops;
    for (const Usage& usage : kReaders) ops.insert(usage.op);
    return ops;
}

int producerUsage(const QString& op) {
    const std::string name = op.toStdString();
    for (const auto& [producer, weight] : kProducers)
        if (producer == name) return weight;
    return 0;
}

QStringList recentOps() { return QSettings().value(kRecent).toStringList(); }

void rememberOp(const QString& op) {
    QStringList recent = recentOps();
    recent.removeAll(op);
    recent.prepend(op);
    QSettings().setValue(kRecent, recent.mid(0, kMostRecent));
}

int recency(const QString& op, const QStringList& recent) {
    const qsizetype at = recent.indexOf(op);
    return at < 0 ? 0 : 60 - 7 * int(at);
}

} // namespace twb
