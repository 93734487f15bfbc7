// Runs ONNX backend test cases through the ordinary import, analysis and executor:
//
//   conformance FOLDER… [--filter TEXT] [--device cpu|cuda:0] [--round-trip] [--expect LIST] [--json]
//   [--kernels cuda-host|cuda] [--pytorch FOLDER [--gradients]] [--half-ulps N] [--verbose]
//
// With --round-trip the model is exported and imported again before it runs, and ONNX's checker must accept
// it. With --kernels cuda the models run on a GPU, with --kernels cuda-host with the GPU's kernels compiled
// for the host; in both modes ops without such a kernel are unsupported. A case is a folder with model.onnx
// and test_data_set_*/{input,output}_*.pb; the given folders are searched recursively. Shapes and dtypes must
// be equal, values within rtol 1e-3 and atol 1e-7 (integers and bool exactly), and NaN must match NaN. With
// --half-ulps, f16 and bf16 may differ by N units of their last place. A case that compares nothing fails.
// With --pytorch nothing runs: each set of each case is exported to FOLDER/NAME-N.py, and its expected
// outputs to FOLDER/NAME-N.OUTPUT.npy, for pytorch.py. With --gradients, these are the gradients of a loss
// instead, FOLDER/NAME-N.grad.INPUT.npy; cases in which no floating input reaches a floating output are left
// out. With --expect, the cases in LIST (one per line: name, then the reason) may fail; the exit code is 1 if
// any other case fails or a listed one passes.

#include "backends/cuda_plugin.h"
#include "core/error.h"
#include "formats/npy.h"
#include "formats/onnx/onnx_export.h"
#include "formats/onnx/onnx_model.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/pytorch/pytorch_export.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"
#include "runtime/executor.h"
#include "support/cuda_host_backend.h"
#include "training/backward.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <onnx/checker.h>
#include <onnx/onnx-data_pb.h>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

using namespace twb;
namespace fs = std::filesystem;

namespace {

constexpr int kSkipped = 77; // for CTest

enum class Outcome { passed, failed, unsupported, unconcerned };

struct How {
    Device device = Device::cpu();
    bool roundTrip = false;
    bool gpuKernels = false; ///< the device has only the GPU's kernels
    bool cudaHost = false;   ///< and these run on the host
    fs::path pytorch{};      ///< export to this folder instead of running
    bool gradients = false;  ///< and compute the gradients of the inputs
    int halfUlps = 0;        ///< units in the last place by which f16 and bf16 may differ
};

struct Verdict {
    Outcome outcome = Outcome::failed;
    std::string detail;
    std::set<std::string> ops; ///< of the model
};

/// Features that the workbench does not support, as opposed to wrong results.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// There is nothing to compare.
struct Unconcerned : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class Message> Message parse(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    Message message;
    if (!file || !message.ParseFromIstream(&file))
        throw std::runtime_error(path.string() + " does not parse");
    return message;
}

/// The type of the tensors of a sequence or an optional.
const onnx::TypeProto& elementOf(const onnx::TypeProto& type) {
    return type.has_sequence_type()   ? elementOf(type.sequence_type().elem_type())
           : type.has_optional_type() ? elementOf(type.optional_type().elem_type())
                                      : type;
}

/// The tensors of a data file, by the names that the import gives them: "x", or "x[0]", "x[1]", … for a
/// sequence. NumPy has no bfloat16, so files hold its bits as uint16.
std::vector<std::pair<std::string, Tensor>> tensorsFrom(const fs::path& path,
                                                        const onnx::ValueInfoProto& value) {
    const bool isBits = dtypeOfOnnx(elementOf(value.type()).tensor_type().elem_type()) == DType::bf16;
    const auto read = [&](const onnx::TensorProto& proto) {
        if (!dtypeOfOnnx(proto.data_type())) throw Unsupported(onnxTypeName(proto.data_type()) + " tensors");
        Tensor tensor = tensorFromProto(proto, path.parent_path(), path.string());
        return isBits && tensor.dtype() == DType::u16 ? Tensor(tensor.buffer(), {DType::bf16, tensor.shape()})
                                                      : tensor;
    };
    std::vector<std::pair<std::string, Tensor>> out;
    const auto addAll = [&](const onnx::SequenceProto& sequence) {
        for (const auto& tensor : sequence.tensor_values())
            out.emplace_back(fmt::format("{}[{}]", value.name(), out.size()), read(tensor));
    };
    if (value.type().has_tensor_type()) {
        out.emplace_back(value.name(), read(parse<onnx::TensorProto>(path)));
    } else if (value.type().has_sequence_type()) {
        addAll(parse<onnx::SequenceProto>(path));
    } else {
        const auto optional = parse<onnx::OptionalProto>(path);
        if (optional.has_tensor_value()) out.emplace_back(value.name(), read(optional.tensor_value()));
        if (optional.has_sequence_value()) addAll(optional.sequence_value());
    }
    return out;
}

void needTensors(const onnx::ValueInfoProto& value) {
    const onnx::TypeProto& type = elementOf(value.type());
    if (!type.has_tensor_type()) throw Unsupported("maps and sequences of sequences");
    if (!dtypeOfOnnx(type.tensor_type().elem_type()))
        throw Unsupported(onnxTypeName(type.tensor_type().elem_type()) + " tensors");
}

std::vector<fs::path> numbered(const fs::path& folder, const char* stem) {
    std::vector<fs::path> out;
    while (true) {
        fs::path file = folder / fmt::format("{}_{}.pb", stem, out.size());
        if (!fs::exists(file)) return out;
        out.push_back(std::move(file));
    }
}

/// The tensors that a case expects, in the order of ImportedModel::outputs.
std::vector<Tensor> expectedOf(const onnx::ModelProto& proto, const fs::path& set,
                               const ImportedModel& imported) {
    std::vector<Tensor> out;
    const std::vector<fs::path> files = numbered(set, "output");
    for (std::size_t i = 0; i < files.size(); ++i)
        for (auto& [name, tensor] : tensorsFrom(files[i], proto.graph().output(static_cast<int>(i)))) {
            if (out.size() == imported.outputs.size() || imported.outputs[out.size()].name != name)
                throw std::runtime_error(fmt::format("there is no output {}", name));
            out.push_back(std::move(tensor));
        }
    if (out.size() != imported.outputs.size())
        throw std::runtime_error(fmt::format("{} outputs, expected {}", imported.outputs.size(), out.size()));
    return out;
}

/// ONNX's own checker, for the opsets that it supports.
void check(const fs::path& path) {
    const auto model = parse<onnx::ModelProto>(path);
    // The library of Debian 12 knows no later operator sets.
    const auto isKnown = [](const onnx::OperatorSetIdProto& set) {
        return set.version() <= (set.domain() == "ai.onnx.ml" ? 3 : 17);
    };
    if (std::ranges::all_of(model.opset_import(), isKnown)) onnx::checker::check_model(model);
}

/// The relative tolerance of results of a dtype.
double toleranceOf(DType dtype, int halfUlps) {
    const double unit = dtype == DType::f16 ? 0x1p-10 : dtype == DType::bf16 ? 0x1p-7 : 0;
    return std::max(1e-3, halfUlps * unit);
}

std::string difference(const Tensor& got, const Tensor& want, int halfUlps) {
    if (got.dtype() != want.dtype())
        return fmt::format("dtype {}, expected {}", name(got.dtype()), name(want.dtype()));
    if (got.shape() != want.shape())
        return fmt::format("shape {}, expected {}", got.shape().toTorchString(),
                           want.shape().toTorchString());
    const bool exact = !isFloating(got.dtype()); // narrow floats, too
    const double rtol = toleranceOf(got.dtype(), halfUlps);
    for (std::int64_t i = 0; i < got.elementCount(); ++i) {
        const double a = got.at(i);
        const double b = want.at(i);
        const bool good = std::isnan(b)            ? std::isnan(a)
                          : exact || std::isinf(b) ? a == b
                                                   : std::abs(a - b) <= 1e-7 + rtol * std::abs(b);
        if (!good) return fmt::format("element {} is {}, expected {}", i, a, b);
    }
    return {};
}

/// Turns the inputs of a case, which are imported as Files, into Inputs of their types.
void giveBackInputs(ImportedModel& imported, const std::map<std::string, Tensor>& inputs) {
    DeltaBuilder builder(imported.graph, "inputs");
    for (Node node : imported.graph.nodes()) {
        const auto given = inputs.find(node.name);
        if (node.op != "File" || given == inputs.end()) continue;
        imported.tensors.erase(node.attributes.text("path"));
        node.op = "Input";
        node.attributes = {{"shape", given->second.shape().dims()},
                           {"dtype", std::string(name(given->second.dtype()))}};
        builder.change(node);
    }
    imported.graph.apply(builder.take());
}

/// Moves the whole graph to another device; results stay there.
void moveTo(Graph& graph, Device device) {
    DeltaBuilder builder(graph, "move");
    for (Lane lane : graph.lanesInOrder()) {
        lane.device = device;
        builder.change(lane);
    }
    graph.apply(builder.take());
}

void exportModule(const ImportedModel& imported, const fs::path& module) {
    try {
        exportPyTorch(imported.graph, makeMemoryFiles(imported.tensors).get(), {}, module);
    } catch (const Error& error) {
        throw Unsupported(error.what());
    }
}

/// Adds the sum of all elements of the floating outputs, element i times 0.5 + (i mod 7) / 4, as pytorch.py
/// does.
NodeId addLoss(ImportedModel& imported, const Analysis& analysis) {
    DeltaBuilder builder(imported.graph, "loss");
    const LaneId lane = imported.graph.lanesInOrder().at(0).id;
    const auto add = [&](const char* op, const Attributes& attributes, const std::vector<PortRef>& inputs) {
        Node node;
        node.op = op;
        node.name = fmt::format("loss {}", builder.graph().nodes().size());
        node.lane = lane;
        node.attributes = attributes;
        const NodeId id = builder.addNode(node);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            builder.connect({inputs[i], {id, static_cast<std::int32_t>(i)}});
        return id;
    };
    NodeId loss = NodeId::none;
    for (const auto& output : imported.outputs) {
        const std::optional<TensorType>& type = analysis.typeOf(output.from);
        if (!type || !isFloating(type->dtype)) continue;
        if (!type->isKnown()) throw Unsupported("the size of " + output.name + " is known only at run time");
        if (type->shape.elementCount() == 0) continue;
        std::vector<double> factors;
        for (std::int64_t i = 0; i < type->shape.elementCount(); ++i)
            factors.push_back(0.5 + static_cast<double>(i % 7) / 4);
        const NodeId wide = add("Cast", {{"to", "f64"}}, {output.from});
        const NodeId factor =
            add("Constant", {{"value", factors}, {"shape", type->shape.dims()}, {"dtype", "f64"}}, {});
        const NodeId product = add("Mul", {}, {{wide, 0}, {factor, 0}});
        const NodeId sum = add("ReduceSum", {{"keepdims", false}}, {{product, 0}});
        loss = loss == NodeId::none ? sum : add("Add", {}, {{loss, 0}, {sum, 0}});
    }
    imported.graph.apply(builder.take());
    return loss;
}

/// The module, and the gradients of its inputs.
void exportGradients(ImportedModel& imported, const fs::path& module, int& compared) {
    exportModule(imported, module);
    DeviceMap devices;
    const auto files = makeMemoryFiles(imported.tensors);
    const NodeId loss = addLoss(imported, analyze(imported.graph, devices, Policy::strict, files.get()));
    const Analysis analysis = analyze(imported.graph, devices, Policy::strict, files.get());
    std::vector<NodeId> parameters;
    if (loss != NodeId::none) {
        const auto upstream = upstreamOf(analysis, loss);
        for (const Node& node : imported.graph.nodes()) {
            const std::optional<TensorType>& type = analysis.typeOf({node.id, 0});
            const bool isFloat = type && isFloating(type->dtype) && type->dtype != DType::bf16; // as in .npy
            if (node.op == "File" && isFloat && upstream.contains(node.id)) parameters.push_back(node.id);
        }
    }
    if (parameters.empty()) throw Unconcerned("no floating input reaches a floating output");
    DeltaBuilder builder(imported.graph, "gradients");
    std::vector<PortRef> gradients;
    try {
        gradients = addBackward(builder, analysis, {loss, 0}, parameters, FrameId::none);
    } catch (const Error& error) {
        throw Unsupported(error.what());
    }
    CompileOptions compiling;
    for (const PortRef at : gradients) compiling.keep.insert(at);
    const Analysis whole = analyze(builder.graph(), devices, Policy::strict, files.get());
    const RunResult result = runToEnd(compile(builder.graph(), whole, devices, files, compiling), {});
    if (result.status != RunStatus::finished)
        throw std::runtime_error(result.errors.empty() ? "the run failed" : result.errors[0].message);
    for (std::size_t i = 0; i < gradients.size(); ++i, ++compared) {
        const Tensor* gradient = result.tensor(gradients[i]);
        if (!gradient) throw std::runtime_error("a gradient was not computed");
        const std::string path = imported.graph.find(parameters[i])->attributes.text("path");
        std::string input = path.substr(path.find('#') + 1);
        for (const char mark : {'/', '['}) std::ranges::replace(input, mark, '_'); // as the export names it
        std::erase(input, ']');
        fs::path file = module;
        writeNpy(file.replace_extension("grad." + input + ".npy"), gradient->view());
    }
}

/// The module, and the outputs that the case expects.
void exportSet(const ImportedModel& imported, const onnx::ModelProto& proto, const fs::path& set,
               const fs::path& module, int& compared) {
    exportModule(imported, module);
    for (std::size_t i = 0; const Tensor& want : expectedOf(proto, set, imported)) {
        if (want.dtype() == DType::bf16) throw Unsupported("bfloat16, which NumPy does not have");
        fs::path file = module;
        writeNpy(file.replace_extension(fmt::format("{}.npy", i++)), want.view());
        ++compared;
    }
}

void runSet(const fs::path& model, const onnx::ModelProto& proto, const fs::path& set, const How& how,
            int& compared) {
    ImportOptions options;
    const std::vector<fs::path> inputs = numbered(set, "input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& value = proto.graph().input(static_cast<int>(i));
        const auto tensors = tensorsFrom(inputs[i], value);
        if (!value.type().has_tensor_type())
            options.dimensions[value.name()] = static_cast<std::int64_t>(tensors.size());
        for (const auto& [name, tensor] : tensors) options.inputs[name] = tensor;
    }
    ImportedModel imported = importOnnx(model, options);
    if (how.roundTrip) {
        giveBackInputs(imported, options.inputs);
        const fs::path copy = fs::temp_directory_path() / fmt::format("twb-conformance-{}.onnx", ::getpid());
        exportOnnx(imported.graph, makeMemoryFiles(imported.tensors).get(), copy);
        check(copy);
        imported = importOnnx(copy, options);
        fs::remove(copy);
    }
    if (!how.pytorch.empty()) {
        const std::string name =
            model.parent_path().filename().string() + "-" + set.filename().string().substr(14);
        const fs::path module = how.pytorch / (name + ".py");
        if (how.gradients) return exportGradients(imported, module, compared);
        return exportSet(imported, proto, set, module, compared);
    }
    const Device device = how.device;
    DeviceMap devices;
    Policy policy = Policy::strict;
    if (!device.isCpu()) {
        moveTo(imported.graph, device);
        static const ProfileLibrary profiles(resourceFolder() / "devices");
        if (how.cudaHost)
            devices.set(device, test::makeCudaHostBackend(device), true);
        else
            devices = makeDeviceMap(imported.graph, {}, profiles, how.gpuKernels);
        policy = Policy::implicit; // shapes are host values, which the policy copies
    }
    const auto files = makeMemoryFiles(imported.tensors);
    const Analysis analysis = analyze(imported.graph, devices, policy, files.get());
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error &&
            (d.code == "unknown-op" || (how.gpuKernels && d.code == "unsupported")))
            throw Unsupported(d.message);
    CompileOptions compiling;
    compiling.policy = policy;
    for (const auto& output : imported.outputs) compiling.keep.insert(output.from);
    const auto plan = compile(imported.graph, analysis, devices, files, compiling);
    const RunResult result = runToEnd(plan, {});
    if (result.status != RunStatus::finished)
        throw std::runtime_error(result.errors.empty() ? "the run failed" : result.errors[0].message);
    const std::vector<Tensor> wanted = expectedOf(proto, set, imported);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Tensor* got = result.tensor(imported.outputs[i].from);
        if (!got) throw std::runtime_error("output " + imported.outputs[i].name + " was not computed");
        const std::string problem = difference(toHost(*got, devices), wanted[i], how.halfUlps);
        if (!problem.empty())
            throw std::runtime_error(fmt::format("output {}: {}", imported.outputs[i].name, problem));
        ++compared;
    }
}

Verdict runCase(const fs::path& folder, const How& how) {
    Verdict verdict;
    try {
        const fs::path model = folder / "model.onnx";
        const auto proto = parse<onnx::ModelProto>(model);
        for (const auto& node : proto.graph().node()) verdict.ops.insert(node.op_type());
        std::set<std::string> held;
        for (const auto& tensor : proto.graph().initializer()) held.insert(tensor.name());
        for (const auto& value : proto.graph().input())
            if (!held.contains(value.name())) needTensors(value);
        for (const auto& value : proto.graph().output()) needTensors(value);
        int compared = 0;
        for (const auto& entry : fs::directory_iterator(folder))
            if (entry.path().filename().string().starts_with("test_data_set_"))
                runSet(model, proto, entry.path(), how, compared);
        if (compared == 0) throw std::runtime_error("no output was compared");
        verdict.outcome = Outcome::passed;
    } catch (const Unconcerned& e) {
        verdict = {Outcome::unconcerned, e.what(), verdict.ops};
    } catch (const Unsupported& e) {
        verdict = {Outcome::unsupported, e.what(), verdict.ops};
    } catch (const std::exception& e) {
        verdict.detail = e.what();
    }
    return verdict;
}

std::map<std::string, std::string> readExpectations(const fs::path& path) {
    std::map<std::string, std::string> out;
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path.string() + " cannot be read");
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t space = line.find(' ');
        out[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
    }
    return out;
}

const char* word(Outcome outcome) {
    return outcome == Outcome::passed ? "passed" : outcome == Outcome::failed ? "failed" : "unsupported";
}

} // namespace

int main(int argc, char** argv) try {
    CLI::App app("Runs ONNX backend test cases through the import and the executor.");
    std::vector<std::string> folders;
    std::string filter;
    std::string expect;
    std::string deviceName = "cpu";
    std::string kernels;
    How how;
    bool json = false;
    bool verbose = false;
    app.add_option("folders", folders, "Folders that hold cases, at any depth")->required();
    app.add_option("--filter", filter, "Only cases whose name has this in it");
    app.add_option("--expect", expect, "List of cases that may fail, with reasons");
    app.add_option("--device", deviceName, "cpu, or cuda:0 (simulated)");
    app.add_option("--kernels", kernels, "cuda: on a GPU; cuda-host: its kernels, run on the host")
        ->check(CLI::IsMember({"cuda", "cuda-host"}));
    app.add_flag("--round-trip", how.roundTrip, "Export and import again before running");
    app.add_option("--pytorch", how.pytorch, "Export to PyTorch in this folder instead of running")
        ->check(CLI::ExistingDirectory);
    app.add_flag("--gradients", how.gradients, "With --pytorch: compute the gradients of the inputs");
    app.add_option("--half-ulps", how.halfUlps, "Units in the last place by which f16 and bf16 may differ");
    app.add_flag("--json", json, "Print results as JSON");
    app.add_flag("--verbose", verbose, "Print passed cases too");
    CLI11_PARSE(app, argc, argv);

    const auto device = Device::parse(deviceName);
    if (!device) throw std::runtime_error("\"" + deviceName + "\" is not a device");
    how.gpuKernels = !kernels.empty();
    how.cudaHost = kernels == "cuda-host";
    how.device = how.gpuKernels ? Device::cuda(0) : *device;
    if (how.gpuKernels && !how.cudaHost && cudaDevices().backends.empty()) {
        fmt::print("skipped: no CUDA device: {}\n", cudaDevices().problem);
        return kSkipped;
    }
    std::vector<fs::path> cases;
    for (const std::string& folder : folders) {
        if (!fs::is_directory(folder)) {
            fmt::print("skipped: there is no folder {} (Debian: libonnx-testdata)\n", folder);
            return kSkipped;
        }
        if (fs::exists(fs::path(folder) / "model.onnx")) cases.emplace_back(folder);
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_directory() && fs::exists(entry.path() / "model.onnx"))
                cases.push_back(entry.path());
    }
    std::sort(cases.begin(), cases.end());
    std::map<std::string, std::string> expected;
    if (!expect.empty()) expected = readExpectations(expect);

    std::map<Outcome, int> totals;
    std::map<std::string, std::map<Outcome, int>> byOp;
    std::vector<std::string> surprises;
    nlohmann::json results = nlohmann::json::array();
    for (const fs::path& folder : cases) {
        const std::string name = folder.filename().string();
        if (name.find(filter) == std::string::npos) continue;
        const Verdict verdict = runCase(folder, how);
        if (verdict.outcome == Outcome::unconcerned) continue;
        ++totals[verdict.outcome];
        for (const std::string& op : verdict.ops) ++byOp[op][verdict.outcome];
        const bool listed = expected.contains(name);
        const bool isUnserved = how.gpuKernels && verdict.outcome == Outcome::unsupported;
        if (!expect.empty() && !isUnserved && listed == (verdict.outcome == Outcome::passed))
            surprises.push_back(name);
        if (json)
            results.push_back(
                {{"case", name}, {"outcome", word(verdict.outcome)}, {"detail", verdict.detail}});
        else if (verbose || verdict.outcome != Outcome::passed)
            fmt::print("{:<12}{}{}{}\n", word(verdict.outcome), name, verdict.detail.empty() ? "" : ": ",
                       verdict.detail);
        std::fflush(stdout);
    }
    if (json) {
        nlohmann::json ops = nlohmann::json::object();
        for (auto& [op, counts] : byOp)
            ops[op] = {{"passed", counts[Outcome::passed]},
                       {"failed", counts[Outcome::failed]},
                       {"unsupported", counts[Outcome::unsupported]}};
        std::cout << nlohmann::json{{"schema", "twb-conformance-1"}, {"cases", results}, {"ops", ops}}.dump(1)
                  << "\n";
    } else {
        fmt::print("\n{:<32}{:>8}{:>8}{:>13}\n", "op", "passed", "failed", "unsupported");
        for (auto& [op, counts] : byOp)
            fmt::print("{:<32}{:>8}{:>8}{:>13}\n", op, counts[Outcome::passed], counts[Outcome::failed],
                       counts[Outcome::unsupported]);
        fmt::print("\n{} passed, {} failed, {} unsupported\n", totals[Outcome::passed],
                   totals[Outcome::failed], totals[Outcome::unsupported]);
    }
    for (const std::string& name : surprises)
        fmt::print(stderr, "{}: {}\n", name,
                   expected.contains(name) ? "passes now; take it off the list"
                                           : "is not on the list of cases that may fail");
    if (!expect.empty()) return surprises.empty() ? 0 : 1;
    return totals[Outcome::failed] + totals[Outcome::unsupported] == 0 ? 0 : 1;
} catch (const std::exception& e) {
    fmt::print(stderr, "conformance: {}\n", e.what());
    return 2;
}
