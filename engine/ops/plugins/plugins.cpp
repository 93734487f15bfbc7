#include "ops/plugins/plugins.h"

#include "backends/cpu/strided.h"
#include "backends/cuda_plugin.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/gradient.h"
#include "ops/plugins/plugin_check.h"
#include "ops/plugins/plugin_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// A kernel of the op table is a function without state. So each op of a plug-in has one of these slots, and
/// a function that knows its number.
constexpr std::size_t kSlots = kMostPluginOps;

struct Slot {
    const twb_op* op = nullptr;
    decltype(twb_op::cuda) cuda = nullptr; ///< null: none
};

struct State {
    bool disabled = false;
    std::mutex mutex;                          ///< of the two lists
    std::map<std::string, std::string> owners; ///< by op: the plug-in; loading is one at a time
    std::vector<Plugin> loaded;
    std::vector<PluginProblem> problems;
    std::array<Slot, kSlots> slots{};
    std::size_t used = 0;
};

/// Never destroyed: kernels may run until the program ends.
State& state() {
    static auto* const one = new State;
    return *one;
}

/// The tensor as plug-ins read it: row-major and aligned. `copies` keeps a copy that this needs.
twb_tensor denseTensor(const TensorView& view, std::vector<Tensor>& copies) {
    twb_tensor out{};
    const TensorType type{view.dtype, view.shape};
    out.type = toPlugin(view.data ? &type : nullptr);
    out.data = view.data;
    const bool isAligned = reinterpret_cast<std::uintptr_t>(view.data) % 64 == 0;
    if (!view.data || (view.isDense() && isAligned)) return out;
    copies.push_back(Tensor::onHost(type));
    copyElements(view, copies.back().view());
    out.data = copies.back().data();
    return out;
}

void runKernel(std::size_t slot, const KernelContext& ctx) {
    const twb_op& op = *state().slots[slot].op;
    std::vector<Tensor> copies;
    copies.reserve(ctx.inputs.size() + ctx.outputs.size());
    std::vector<twb_tensor> inputs;
    std::vector<twb_type> types;
    for (const TensorView& view : ctx.inputs) {
        inputs.push_back(denseTensor(view, copies));
        types.push_back(inputs.back().type);
    }
    std::vector<twb_tensor> outputs;
    std::vector<std::pair<Tensor, const TensorView*>> scattered; // outputs to copy back
    for (const TensorView& view : ctx.outputs) {
        const std::size_t before = copies.size();
        outputs.push_back(denseTensor(view, copies));
        if (copies.size() > before) scattered.emplace_back(copies.back(), &view);
    }
    const PluginCall call(op, ctx.attributes, std::move(types));
    if (op.cpu(&call, inputs.data(), outputs.data()) != 0 || call.hasFailed())
        throw Error(ErrorCode::failed, call.sentence());
    for (const auto& [tensor, view] : scattered) copyElements(tensor.view(), *view);
}

/// The tensors are ready for the plug-in: see OutsideCudaKernel.
void runCudaKernel(std::size_t slot, const KernelContext& ctx, void* stream) {
    const Slot& one = state().slots[slot];
    const auto toTensors = [](std::span<const TensorView> views) {
        std::vector<twb_tensor> out;
        for (const TensorView& view : views) {
            const TensorType type{view.dtype, view.shape};
            out.push_back({toPlugin(view.data ? &type : nullptr), view.data});
        }
        return out;
    };
    const std::vector<twb_tensor> inputs = toTensors(ctx.inputs);
    const std::vector<twb_tensor> outputs = toTensors(ctx.outputs);
    std::vector<twb_type> types;
    for (const twb_tensor& input : inputs) types.push_back(input.type);
    const PluginCall call(*one.op, ctx.attributes, std::move(types));
    if (one.cuda(&call, inputs.data(), outputs.data(), stream) != 0 || call.hasFailed())
        throw Error(ErrorCode::failed, call.sentence());
}

/// A pass through a plug-in's gradient(). Exceptions wait until the plug-in has returned.
struct Backward : twb_gradient {
    GradientContext& context;
    std::vector<GraphTensor> tensors; ///< number 1 is the first
    std::exception_ptr error;

    explicit Backward(GradientContext& ctx) : twb_gradient{}, context(ctx) {}

    std::uint32_t numberOf(GraphTensor tensor) {
        if (!tensor) return 0;
        tensors.push_back(tensor);
        return static_cast<std::uint32_t>(tensors.size());
    }
    GraphTensor at(std::uint32_t number) const {
        return number == 0 || number > tensors.size() ? GraphTensor() : tensors[number - 1];
    }
    /// Calls f, unless an error came before it.
    template <class Result, class F> static Result guarded(twb_gradient* g, const F& f) {
        auto& pass = *static_cast<Backward*>(g);
        if (pass.error) return Result();
        try {
            return f(pass);
        } catch (...) {
            pass.error = std::current_exception();
            return Result();
        }
    }
};

void runGradient(std::size_t slot, GradientContext& context) {
    const twb_op& op = *state().slots[slot].op;
    Backward pass(context);
    std::vector<twb_type> types;
    for (int i = 0; i < context.inputCount(); ++i) {
        const GraphTensor input = context.input(i);
        types.push_back(toPlugin(input ? &input.type() : nullptr));
    }
    const PluginCall call(op, context.attributes(), std::move(types));
    using Self = Backward;
    pass.size = sizeof(twb_gradient);
    pass.input_count = static_cast<std::uint32_t>(context.inputCount());
    pass.call = &call;
    pass.input = [](twb_gradient* g, std::uint32_t port) {
        return Self::guarded<std::uint32_t>(
            g, [&](Self& pass) { return pass.numberOf(pass.context.input(static_cast<int>(port))); });
    };
    pass.output = [](twb_gradient* g, std::uint32_t port) {
        return Self::guarded<std::uint32_t>(
            g, [&](Self& pass) { return pass.numberOf(pass.context.output(static_cast<int>(port))); });
    };
    pass.output_gradient = [](twb_gradient* g, std::uint32_t port) {
        return Self::guarded<std::uint32_t>(
            g, [&](Self& pass) { return pass.numberOf(pass.context.gradient(static_cast<int>(port))); });
    };
    pass.is_wanted = [](twb_gradient* g, std::uint32_t input) {
        return Self::guarded<int>(
            g, [&](Self& pass) { return pass.context.isWanted(static_cast<int>(input)) ? 1 : 0; });
    };
    pass.add = [](twb_gradient* g, const char* name, const std::uint32_t* inputs, std::uint32_t count) {
        return Self::guarded<std::uint32_t>(g, [&](Self& pass) {
            std::vector<GraphTensor> tensors;
            for (std::uint32_t i = 0; i < count; ++i) tensors.push_back(pass.at(inputs[i]));
            return pass.numberOf(pass.context.add(name, tensors, {}));
        });
    };
    pass.constant = [](twb_gradient* g, std::uint32_t like, double value) {
        return Self::guarded<std::uint32_t>(g, [&](Self& pass) {
            const GraphTensor tensor = pass.at(like);
            const DType dtype = tensor ? tensor.type().dtype : DType::f32;
            return pass.numberOf(full(pass.context, {dtype, Shape()}, value));
        });
    };
    pass.give = [](twb_gradient* g, std::uint32_t input, std::uint32_t gradient) {
        Self::guarded<int>(g, [&](Self& pass) {
            if (const GraphTensor tensor = pass.at(gradient))
                pass.context.give(static_cast<int>(input), tensor);
            return 0;
        });
    };
    op.gradient(&pass);
    if (pass.error) std::rethrow_exception(pass.error);
    if (call.hasFailed()) context.refuse(call.sentence());
}

template <std::size_t... N>
constexpr std::array<HostKernel, sizeof...(N)> kernels(std::index_sequence<N...>) {
    return {+[](const KernelContext& ctx) { runKernel(N, ctx); }...};
}
template <std::size_t... N>
constexpr std::array<void (*)(GradientContext&), sizeof...(N)> gradients(std::index_sequence<N...>) {
    return {+[](GradientContext& ctx) { runGradient(N, ctx); }...};
}
template <std::size_t... N>
constexpr std::array<OutsideCudaKernel, sizeof...(N)> cudaKernels(std::index_sequence<N...>) {
    return {+[](const KernelContext& ctx, void* stream) { runCudaKernel(N, ctx, stream); }...};
}
constexpr auto kCudaKernels = cudaKernels(std::make_index_sequence<kSlots>());
constexpr auto kKernels = kernels(std::make_index_sequence<kSlots>());
constexpr auto kGradients = gradients(std::make_index_sequence<kSlots>());

void infer(const twb_op& op, InferContext& ctx) {
    std::vector<twb_type> types;
    for (int i = 0; i < ctx.inputCount(); ++i) types.push_back(toPlugin(ctx.input(i)));
    const PluginCall call(op, ctx.attributes(), std::move(types));
    std::vector<twb_type> outputs(op.output_count);
    if (op.infer(&call, outputs.data()) != 0 || call.hasFailed())
        ctx.fail("shape-mismatch", call.port(), call.sentence());
    for (std::uint32_t i = 0; i < op.output_count; ++i)
        ctx.output(static_cast<int>(i), fromPlugin(outputs[i], op, i));
}

Cost cost(const twb_op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs,
          const Attributes& attributes) {
    std::vector<twb_type> in;
    for (const TensorType& type : inputs) in.push_back(toPlugin(&type));
    std::vector<twb_type> out;
    for (const TensorType& type : outputs) out.push_back(toPlugin(&type));
    const PluginCall call(op, attributes, std::move(in));
    Cost result{};
    double flops = 0;
    double bytes = 0;
    op.cost(&call, out.data(), &flops, &bytes);
    const auto positive = [](double figure) { return std::isfinite(figure) && figure > 0 ? figure : 0; };
    result.flops = positive(flops);
    result.bytes = positive(bytes);
    return result;
}

Op completed(const twb_op& op, decltype(twb_op::cuda) cuda, const std::string& category) {
    State& all = state();
    if (all.used == kSlots)
        throw Error(ErrorCode::badFile, fmt::format("all plug-ins together have more than {} ops", kSlots));
    Op out = entryOf(op, category);
    const std::size_t slot = all.used++;
    all.slots[slot] = {&op, cuda};
    out.infer = [&op](InferContext& ctx) { infer(op, ctx); };
    if (op.cost)
        out.cost = [&op](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                         const Attributes& attributes) { return cost(op, inputs, outputs, attributes); };
    out.kernel = kKernels[slot];
    if (op.gradient)
        out.gradient = kGradients[slot];
    else
        out.noGradient = "comes from a plug-in without a gradient";
    return out;
}

} // namespace

void disablePlugins() noexcept { state().disabled = true; }

bool arePluginsDisabled() noexcept {
    const char* set = std::getenv("TWB_OPS");
    return state().disabled || (set && std::string_view(set) == "none");
}

std::vector<fs::path> librariesIn(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
        if (entry.path().extension() == ".so") out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<fs::path> opPlaces() {
    std::vector<fs::path> out;
    const char* set = std::getenv("TWB_OPS");
    std::string list = set ? set : "";
    if (list == "none") return out;
    std::error_code failed;
    while (!list.empty()) {
        const auto colon = list.find(':');
        const fs::path one = list.substr(0, colon);
        list = colon == std::string::npos ? "" : list.substr(colon + 1);
        if (one.empty()) continue;
        if (fs::exists(one, failed))
            out.push_back(fs::absolute(one, failed)); // a name without a slash would be searched for
        else
            reportPlugin({one, "there is no such file or folder; correct TWB_OPS"});
    }
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    fs::path base = data && *data ? fs::path(data) : fs::path();
    if (base.empty() && home && *home) base = fs::path(home) / ".local" / "share";
    const fs::path installed = base / "tensor-workbench" / "ops";
    if (!base.empty() && fs::is_directory(installed, failed)) out.push_back(installed);
    return out;
}

std::vector<fs::path> installedPlugins() {
    std::vector<fs::path> out;
    if (arePluginsDisabled()) return out;
    std::error_code failed;
    for (const fs::path& place : opPlaces()) {
        if (fs::is_directory(place, failed))
            std::ranges::move(librariesIn(place), std::back_inserter(out));
        else if (place.extension() != ".onnx" && place.extension() != ".twbmodule") // formats/module_files.h
            out.push_back(place);
    }
    return out;
}

std::vector<Op> loadPlugins(const std::vector<fs::path>& files,
                            const std::function<bool(std::string_view)>& isTaken) {
    State& all = state();
    std::vector<Op> out;
    if (arePluginsDisabled()) return out;
    for (const fs::path& file : files) {
        try {
            if (std::string wrong = checkPluginInChild(file); !wrong.empty())
                throw Error(ErrorCode::badFile, wrong);
            const PluginLibrary library = PluginLibrary::load(file);
            const auto text = [](const char* value) { return std::string(value ? value : ""); };
            Plugin plugin{text(library.table->name),
                          text(library.table->version),
                          text(library.table->homepage),
                          file,
                          {}};
            std::vector<Op> ops;
            const std::size_t before = all.used;
            try {
                for (std::uint32_t i = 0; i < library.table->op_count; ++i) {
                    const twb_op& op = library.op(i);
                    ops.push_back(completed(op, library.cudaOf(i), plugin.name));
                    if (const auto owner = all.owners.find(op.name); owner != all.owners.end())
                        throw Error(ErrorCode::badFile, fmt::format("its op {} is already in the plug-in {}",
                                                                    op.name, owner->second));
                    if (isTaken(op.name))
                        throw Error(ErrorCode::badFile,
                                    fmt::format("its op {} has the name of an op of the program; rename it",
                                                op.name));
                    plugin.ops.emplace_back(op.name);
                }
            } catch (const Error&) {
                all.used = before; // no kernel of these ops was called yet
                throw;
            }
            for (const std::string& name : plugin.ops) all.owners[name] = plugin.name;
            for (std::size_t slot = before; slot < all.used; ++slot)
                if (all.slots[slot].cuda) addCudaKernel(all.slots[slot].op->name, kCudaKernels[slot]);
            std::move(ops.begin(), ops.end(), std::back_inserter(out));
            const std::lock_guard lock(all.mutex);
            all.loaded.push_back(std::move(plugin));
        } catch (const Error& error) {
            reportPlugin({file, error.what()});
        }
    }
    return out;
}

std::vector<Plugin> loadedPlugins() {
    const std::lock_guard lock(state().mutex);
    return state().loaded;
}

std::vector<PluginProblem> pluginProblems() {
    const std::lock_guard lock(state().mutex);
    return state().problems;
}

void reportPlugin(PluginProblem problem) {
    const std::lock_guard lock(state().mutex);
    for (const PluginProblem& known : state().problems)
        if (known.file == problem.file && known.sentence == problem.sentence) return;
    state().problems.push_back(std::move(problem));
}

} // namespace twb
