// Launches of single ops as PyTorch modules, each beside the output of the CPU kernel, for pytorch.py:
//
//   pytorch_ops --pytorch FOLDER [--filter TEXT] [--seeds N] [--first-seed S] [--json]
//
// Every op of the table is launched for every dtype and seed by the case makers of tests/support, then with
// an empty axis, with 0-dimensional inputs, with NaN and infinities and with sizes that only the run knows.
// Named cases follow, each for a fault that the export once had. A launch that the op's inference refuses is
// left out. Case OP-DTYPE-VARIANT-SEED is exported to FOLDER/CASE-0.py, and output I to FOLDER/CASE-0.I.npy;
// NumPy has no bfloat16, so such an output is in FOLDER/CASE-0.I.bfloat16.npy as f32.

#include "backends/cpu/strided.h"
#include "formats/npy.h"
#include "formats/pytorch/pytorch_export.h"
#include "support/graphs.h"
#include "support/kernel_cases.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

using List = std::vector<std::int64_t>;

/// A modification of a launch before its export.
enum class Variant { plain, empty, scalar, special, unknown };
constexpr std::pair<Variant, const char*> kVariants[] = {{Variant::plain, "plain"},
                                                         {Variant::empty, "empty"},
                                                         {Variant::scalar, "scalar"},
                                                         {Variant::special, "special"},
                                                         {Variant::unknown, "unknown"}};

Tensor dense(const Tensor& tensor) {
    if (!tensor) return {};
    const Tensor out = Tensor::onHost(tensor.type());
    copyElements(tensor.view(), out.view());
    return out;
}

Tensor zeros(DType dtype, const Shape& shape) {
    return tensorOf(dtype, shape, std::vector<double>(static_cast<std::size_t>(shape.elementCount())));
}

/// The inputs with the shape of the first one, in another shape.
void reshapeAll(Case& made, const Shape& to) {
    const Shape from = made.inputs[0].shape();
    for (Tensor& input : made.inputs) {
        if (!input || input.shape() != from) continue;
        std::vector<double> values = valuesOf(input);
        values.resize(static_cast<std::size_t>(to.elementCount()), 1);
        input = tensorOf(input.dtype(), to, values);
    }
}

/// False if the launch has no such variant.
bool vary(Case& made, Variant variant, const Op& op, Dice& dice) {
    for (Tensor& input : made.inputs) input = dense(input);
    if (variant == Variant::plain) return true;
    if (made.inputs.empty() || !made.inputs[0]) return false;
    const Shape shape = made.inputs[0].shape();
    const bool hasAxes = shape.rank() > 0;
    switch (variant) {
    case Variant::empty: {
        if (!hasAxes) return false;
        List dims = shape.dims();
        dims[static_cast<std::size_t>(dice.integer(0, shape.rank() - 1))] = 0;
        reshapeAll(made, Shape(dims));
        return true;
    }
    case Variant::scalar:
        reshapeAll(made, Shape{});
        return hasAxes;
    case Variant::special: {
        bool changed = false;
        for (std::size_t i = 0; i < made.inputs.size(); ++i) {
            Tensor& input = made.inputs[i];
            if (!input || !isFloating(input.dtype()) || op.inputAt(static_cast<int>(i)).hostValue) continue;
            std::vector<double> values = valuesOf(input);
            constexpr double inf = std::numeric_limits<double>::infinity();
            for (double& value : values)
                if (dice.one(5)) {
                    value = std::vector<double>{NAN, inf, -inf, -0.0}[std::size_t(dice.integer(0, 3))];
                    changed = true;
                }
            input = tensorOf(input.dtype(), input.shape(), values);
        }
        return changed;
    }
    default:
        return hasAxes && !op.inputs[0].hostValue;
    }
}

/// The graph of one launch. Probe I reads output I.
Graph graphOf(const Op& op, const Case& made, bool hidesSize, MemoryFiles& files, std::size_t outputs) {
    GraphMaker maker;
    const auto file = [&](const std::string& name, const Tensor& tensor) {
        files.put(name + ".npy", tensor);
        return maker.node("File", name, "cpu", {{"path", name + ".npy"}});
    };
    std::vector<NodeId> inputs;
    for (std::size_t i = 0; i < made.inputs.size(); ++i)
        inputs.push_back(made.inputs[i] ? file(fmt::format("x{}", i), made.inputs[i]) : NodeId{});
    if (hidesSize) {
        const std::int64_t size = made.inputs[0].shape()[0];
        const NodeId none = file("none", zeros(DType::i64, Shape{size}));
        const NodeId all = maker.node("Equal", "all", "cpu", {}, {none, none});
        inputs[0] = maker.node("Compress", "same", "cpu", {{"axis", std::int64_t{0}}}, {inputs[0], all});
    }
    const NodeId node = maker.node(op.name, "launch", "cpu", made.attributes);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (made.inputs[i]) maker.connect(inputs[i], node, static_cast<int>(i));
    for (std::size_t port = 0; port < outputs; ++port)
        maker.connect(node, maker.node("Probe", std::to_string(port)), 0, static_cast<int>(port));
    return maker.graph();
}

/// Exports cases and records the outcome of each.
class Cases {
public:
    Cases(fs::path folder, std::string filter) : m_folder(std::move(folder)), m_filter(std::move(filter)) {}

    /// `readsAll`: every output has a Probe; otherwise only the first one has.
    void add(const std::string& name, const Op& op, Case made, Variant variant, Dice& dice, bool readsAll) {
        if (name.find(m_filter) == std::string::npos || !vary(made, variant, op, dice)) return;
        std::vector<Tensor> outputs;
        try {
            outputs = runOp(op.name, made.attributes, made.inputs);
        } catch (const InferError&) {
            return;
        } catch (const Error&) { // an index out of range
            return;
        }
        if (!readsAll) outputs.resize(1);
        try {
            MemoryFiles files;
            const Graph graph = graphOf(op, made, variant == Variant::unknown, files, outputs.size());
            exportPyTorch(graph, &files, {}, m_folder / (name + "-0.py"));
        } catch (const Error& error) {
            m_results.push_back({{"case", name}, {"outcome", "unsupported"}, {"detail", error.what()}});
            return;
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const bool isBrain = outputs[i].dtype() == DType::bf16;
            const Tensor want =
                isBrain ? tensorOf(DType::f32, outputs[i].shape(), valuesOf(outputs[i])) : dense(outputs[i]);
            writeNpy(m_folder / fmt::format("{}-0.{}{}.npy", name, i, isBrain ? ".bfloat16" : ""),
                     want.view());
        }
        m_results.push_back({{"case", name}, {"outcome", "passed"}, {"detail", ""}});
    }

    const nlohmann::json& results() const { return m_results; }

private:
    fs::path m_folder;
    std::string m_filter;
    nlohmann::json m_results = nlohmann::json::array();
};

void addRandomCases(Cases& cases, std::uint32_t first, std::uint32_t seeds) {
    for (const Op& op : opTable()) {
        const CaseMaker make =
            op.role == OpRole::compute || op.role == OpRole::source ? caseMakerOf(op) : nullptr;
        if (!make || op.name == "File" || op.name == "Input") continue;
        for (const DType dtype : kWideDTypes) {
            if (!caseTypesOf(op).contains(dtype)) continue;
            for (const auto& [variant, word] : kVariants)
                for (std::uint32_t seed = first; seed < first + seeds; ++seed) {
                    Dice dice(seed);
                    const Case made = make(dice, op, dtype);
                    cases.add(fmt::format("{}-{}-{}-{}", op.name, name(dtype), word, seed), op, made, variant,
                              dice, seed % 2 == 0);
                }
        }
    }
}

struct Named {
    const char* op;
    const char* name;
    Attributes attributes;
    std::vector<Tensor> inputs;
};

/// Launches that the case makers do not cover.
void addNamedCases(Cases& cases) {
    Dice dice(1);
    const auto real = [&](const Shape& shape, DType dtype = DType::f32) {
        return dice.tensor(dtype, shape, -3, 3);
    };
    const auto whole = [](const Shape& shape, const std::vector<double>& values, DType dtype = DType::i64) {
        return tensorOf(dtype, shape, values);
    };
    const Named all[] = {
        {"MaxPool",
         "ceil_mode with asymmetric padding",
         {{"kernel_shape", List{2, 2}},
          {"strides", List{2, 2}},
          {"pads", List{0, 0, 1, 1}},
          {"ceil_mode", true}},
         {real(Shape{1, 1, 4, 5})}},
        {"MaxPool",
         "ceil_mode without padding",
         {{"kernel_shape", List{3}}, {"strides", List{2}}, {"ceil_mode", true}},
         {real(Shape{1, 1, 6})}},
        {"AveragePool",
         "ceil_mode with symmetric padding",
         {{"kernel_shape", List{3, 3}},
          {"strides", List{2, 2}},
          {"pads", List{1, 1, 1, 1}},
          {"ceil_mode", true}},
         {real(Shape{1, 2, 6, 5})}},
        {"AveragePool",
         "ceil_mode that counts padding",
         {{"kernel_shape", List{3, 3}},
          {"strides", List{2, 2}},
          {"pads", List{1, 1, 1, 1}},
          {"ceil_mode", true},
          {"count_include_pad", true}},
         {real(Shape{1, 2, 6, 5})}},
        {"ArrayFeatureExtractor", "one axis", {}, {real(Shape{5}), whole(Shape{2}, {4, 0})}},
        {"ArrayFeatureExtractor", "two axes", {}, {real(Shape{3, 5}), whole(Shape{1, 2}, {4, 0})}},
        {"Einsum",
         "i32 sums",
         {{"equation", std::string("ij->i")}},
         {whole(Shape{2, 2}, {1, 2, 3, 4}, DType::i32)}},
        {"Einsum",
         "i32",
         {{"equation", std::string("ij,jk->ik")}},
         {whole(Shape{2, 2}, {1, 2, 3, 4}, DType::i32), whole(Shape{2, 2}, {5, 6, 7, 8}, DType::i32)}},
        {"LayerNormalization",
         "f64 statistics",
         {},
         {real(Shape{2, 5}, DType::f64), real(Shape{5}, DType::f64)}},
        {"LayerNormalization", "without Scale", {}, {real(Shape{2, 5})}},
        {"LayerNormalization",
         "f64 statistics without Scale",
         {},
         {real(Shape{2, 5}, DType::f64), Tensor{}, real(Shape{5}, DType::f64)}},
        {"LayerNormalization",
         "f16 statistics",
         {},
         {real(Shape{2, 5}, DType::f16), real(Shape{5}, DType::f16)}},
        {"DFT",
         "inverse of one side",
         {{"inverse", true}, {"onesided", true}, {"axis", std::int64_t{1}}},
         {real(Shape{2, 4, 2})}},
        {"DFT", "inverse of reals", {{"inverse", true}, {"axis", std::int64_t{1}}}, {real(Shape{2, 4, 1})}},
        {"DFT",
         "inverse with a length",
         {{"inverse", true}, {"axis", std::int64_t{1}}},
         {real(Shape{2, 4, 2}), whole(Shape{}, {6})}},
        {"Range",
         "upwards from the limit",
         {},
         {whole(Shape{}, {5}), whole(Shape{}, {1}), whole(Shape{}, {2})}},
        {"Range",
         "downwards from the limit",
         {},
         {whole(Shape{}, {1}), whole(Shape{}, {5}), whole(Shape{}, {-1})}},
        {"Range",
         "f32",
         {},
         {whole(Shape{}, {5}, DType::f32), whole(Shape{}, {1}, DType::f32),
          whole(Shape{}, {0.5}, DType::f32)}},
        {"Split", "4 into 3", {{"num_outputs", std::int64_t{3}}}, {real(Shape{4})}},
        {"Split", "5 into 4", {{"num_outputs", std::int64_t{4}}}, {real(Shape{5})}},
        {"Split", "1 into 2", {{"num_outputs", std::int64_t{2}}}, {real(Shape{1, 2})}},
        {"InstanceNormalization", "one element", {}, {real(Shape{2, 3, 1}), real(Shape{3}), real(Shape{3})}},
        {"InstanceNormalization", "no elements", {}, {real(Shape{2, 3, 0}), real(Shape{3}), real(Shape{3})}},
        {"GroupNormalization",
         "one element",
         {{"num_groups", std::int64_t{3}}},
         {real(Shape{1, 3, 1}), real(Shape{3}), real(Shape{3})}},
        {"ReduceMax", "an empty axis", {{"axes", List{1}}}, {real(Shape{2, 0})}},
        {"ReduceMax",
         "an empty axis of i32",
         {{"axes", List{1}}, {"keepdims", false}},
         {whole(Shape{2, 0}, {}, DType::i32)}},
        {"ReduceMin", "an empty axis of u8", {}, {whole(Shape{2, 0}, {}, DType::u8)}},
        {"ReduceMin", "an empty axis", {{"keepdims", false}}, {real(Shape{0, 3})}},
        {"Hardmax", "an empty axis", {}, {real(Shape{2, 0})}},
        {"Max", "empty", {}, {real(Shape{0, 3}), real(Shape{1, 3})}},
        {"GlobalMaxPool", "no elements", {}, {real(Shape{1, 2, 0, 3})}},
        {"GridSample",
         "cubic over the border",
         {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}},
         {real(Shape{1, 1, 4, 5}), dice.tensor(DType::f32, Shape{1, 6, 6, 2}, -1.6, 1.6)}},
        {"GridSample",
         "cubic beyond reflections",
         {{"mode", std::string("cubic")}, {"padding_mode", std::string("reflection")}},
         {real(Shape{1, 1, 4, 5}), dice.tensor(DType::f32, Shape{1, 6, 6, 2}, -2.6, 2.6)}},
        {"RNN", "forward", {}, {real(Shape{3, 2, 4}), real(Shape{1, 5, 4}), real(Shape{1, 5, 5})}},
        {"RNN", "no steps", {}, {real(Shape{0, 2, 4}), real(Shape{1, 5, 4}), real(Shape{1, 5, 5})}},
        {"GRU",
         "both directions",
         {{"direction", std::string("bidirectional")}},
         {real(Shape{3, 2, 4}), real(Shape{2, 15, 4}), real(Shape{2, 15, 5}), real(Shape{2, 30})}},
        {"LSTM",
         "reverse",
         {{"direction", std::string("reverse")}},
         {real(Shape{3, 2, 4}), real(Shape{1, 20, 4}), real(Shape{1, 20, 5}), real(Shape{1, 40})}},
        {"QLinearMatMul",
         "one scale",
         {},
         {whole(Shape{2, 2}, {1, 2, 3, 4}, DType::u8), whole(Shape{}, {0.5}, DType::f32),
          whole(Shape{}, {1}, DType::u8), whole(Shape{2, 2}, {5, 6, 7, 8}, DType::u8),
          whole(Shape{}, {0.25}, DType::f32), whole(Shape{}, {2}, DType::u8),
          whole(Shape{}, {0.5}, DType::f32), whole(Shape{}, {3}, DType::u8)}},
        {"Attention",
         "cap and mask",
         {{"softcap", 0.5}, {"is_causal", true}},
         {real(Shape{1, 1, 3, 4}), real(Shape{1, 1, 3, 4}), real(Shape{1, 1, 3, 2})}},
        {"HannWindow", "one element", {{"size", std::int64_t{1}}, {"periodic", false}}, {}},
    };
    for (const Named& one : all) {
        std::string name = fmt::format("{}-{}", one.op, one.name);
        std::replace(name.begin(), name.end(), ' ', '_');
        const Op& op = *findOp(one.op);
        cases.add(name, op, {one.attributes, one.inputs}, Variant::plain, dice, true);
        if (op.outputs.size() > 1)
            cases.add(name + "-first", op, {one.attributes, one.inputs}, Variant::plain, dice, false);
    }
}

} // namespace

int main(int argc, char** argv) try {
    CLI::App app("Exports launches of single ops to PyTorch.");
    std::string folder;
    std::string filter;
    std::uint32_t seeds = 4;
    std::uint32_t first = 0;
    bool json = false;
    app.add_option("--pytorch", folder, "Folder for the modules")->required()->check(CLI::ExistingDirectory);
    app.add_option("--filter", filter, "Only cases whose name contains this");
    app.add_option("--seeds", seeds, "Launches of each op, dtype and variant");
    app.add_option("--first-seed", first, "Seed of the first launch");
    app.add_flag("--json", json, "Print results as JSON");
    CLI11_PARSE(app, argc, argv);

    Cases cases(folder, filter);
    addNamedCases(cases);
    addRandomCases(cases, first, seeds);
    if (json)
        std::cout << nlohmann::json{{"schema", "twb-conformance-1"}, {"cases", cases.results()}}.dump(1)
                  << "\n";
    else
        for (const auto& result : cases.results())
            fmt::print("{:<12}{}  {}\n", result["outcome"].get<std::string>(),
                       result["case"].get<std::string>(), result["detail"].get<std::string>());
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "pytorch_ops: {}\n", e.what());
    return 2;
}
