#include "profile/traced_ops.h"

#include "core/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace twb {
namespace {

using nlohmann::json;

/// The first non-empty list of whole numbers: PyTorch's "Input Dims", or the values of ONNX Runtime's
/// "input_type_shape".
std::string firstShape(std::string_view text) {
    const json lists = json::parse(text, nullptr, false);
    if (!lists.is_array() || lists.empty()) return {};
    const json& first = lists.front();
    if (first.is_array()) return first.dump();
    return first.is_object() && !first.empty() && first.begin()->is_array() ? first.begin()->dump()
                                                                            : std::string();
}

bool isTransfer(CopyKind kind) {
    return kind == CopyKind::hostToDevice || kind == CopyKind::deviceToHost || kind == CopyKind::peer;
}

TracedOps readOnnxRuntime(const std::filesystem::path& path, const ReadProgress& progress) {
    constexpr std::string_view kKernel = "_kernel_time";
    TracedOps out;
    out.profiler = "ONNX Runtime";
    std::int64_t firstNs = 0;
    std::int64_t lastNs = 0;
    std::uint64_t events = 0;
    readTraceEvents(
        path,
        [&](const TraceEvent& event) {
            ++events;
            if (event.category != "Node" || !event.name.ends_with(kKernel)) return;
            if (!event.startNs || !event.durationNs) {
                out.problems.push_back(fmt::format("event {} ({}) has no valid \"{}\"; it is left out",
                                                   event.index, event.name.substr(0, 60),
                                                   event.startNs ? "dur" : "ts"));
                return;
            }
            TracedOp op;
            op.name = event.name.substr(0, event.name.size() - kKernel.size());
            op.kind = canonicalOp(std::string(event.argument("op_name")));
            op.shape = firstShape(event.argument("input_type_shape"));
            op.startNs = *event.startNs;
            op.ns = *event.durationNs;
            op.onGpu = event.argument("provider") != "CPUExecutionProvider";
            const std::string_view kind = event.argument("op_name");
            if (kind == "MemcpyToHost" || kind == "MemcpyFromHost") {
                op.copy = kind == "MemcpyToHost" ? CopyKind::deviceToHost : CopyKind::hostToDevice;
                op.copyBytes = event.number("output_size").value_or(0);
                op.copyNs = op.ns;
            }
            firstNs = out.ops.empty() ? op.startNs : std::min(firstNs, op.startNs);
            lastNs = std::max(lastNs, op.startNs + op.ns);
            out.ops.push_back(std::move(op));
        },
        progress);
    if (out.ops.empty())
        throw Error(
            ErrorCode::badFile,
            fmt::format("{}: not a profile of ONNX Runtime: none of its {} events is the kernel time of a "
                        "node{}",
                        path.string(), events, out.problems.empty() ? "" : "; " + out.problems.front()));
    out.spanNs = lastNs - firstNs;
    return out;
}

} // namespace

std::string canonicalOp(const std::string& op) {
    static const std::map<std::string_view, std::string_view> kSame{
        {"linear", "MatMul"},
        {"addmm", "MatMul"},
        {"mm", "MatMul"},
        {"bmm", "MatMul"},
        {"matmul", "MatMul"},
        {"Gemm", "MatMul"},
        {"conv1d", "Conv"},
        {"conv2d", "Conv"},
        {"conv3d", "Conv"},
        {"convolution", "Conv"},
        {"batch_norm", "BatchNormalization"},
        {"layer_norm", "LayerNormalization"},
        {"group_norm", "GroupNormalization"},
        {"max_pool1d", "MaxPool"},
        {"max_pool2d", "MaxPool"},
        {"avg_pool2d", "AveragePool"},
        {"adaptive_avg_pool2d", "AveragePool"},
        {"GlobalAveragePool", "AveragePool"},
        {"flatten", "Reshape"},
        {"view", "Reshape"},
        {"reshape", "Reshape"},
        {"unsqueeze", "Reshape"},
        {"squeeze", "Reshape"},
        {"Flatten", "Reshape"},
        {"Unsqueeze", "Reshape"},
        {"Squeeze", "Reshape"},
        {"permute", "Transpose"},
        {"t", "Transpose"},
        {"transpose", "Transpose"},
        {"embedding", "Gather"},
        {"cat", "Concat"},
        {"mean", "ReduceMean"},
        {"sum", "ReduceSum"},
        {"hardtanh", "Clip"},
        {"clamp", "Clip"},
        {"log_softmax", "LogSoftmax"},
        {"scaled_dot_product_attention", "Attention"},
        {"cross_entropy_loss", "SoftmaxCrossEntropyLoss"},
        {"to", "Cast"},
        {"neg", "Neg"}};
    std::string name = op;
    const bool isAten = name.starts_with("aten::");
    if (isAten) name.erase(0, 6);
    if (isAten && name.ends_with('_')) name.pop_back();
    if (const auto found = kSame.find(name); found != kSame.end()) return std::string(found->second);
    if (!isAten) return name;
    // "leaky_relu" is "LeakyRelu".
    std::string out;
    bool isStart = true;
    for (const char c : name) {
        if (c == '_') {
            isStart = true;
            continue;
        }
        out += isStart ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        isStart = false;
    }
    return out;
}

TracedOps tracedOps(const KinetoTrace& trace) {
    TracedOps out;
    out.profiler = "PyTorch's profiler";
    out.spanNs = trace.endNs - trace.startNs;
    out.problems = trace.problems;
    struct Work {
        std::int64_t ns = 0;
        const GpuActivity* copy = nullptr;
        int copies = 0;
    };
    std::map<std::uint32_t, Work> work; // by the outermost span
    for (const GpuActivity& activity : trace.activities) {
        if (out.device.empty()) out.device = trace.deviceName(activity.device);
        const RuntimeCall* call = trace.callOf(activity);
        if (!call || call->outerSpan == RuntimeCall::kNoIndex) continue;
        Work& each = work[call->outerSpan];
        each.ns += activity.durationNs();
        if (activity.kind != GpuActivity::Kind::copy || !isTransfer(activity.copy)) continue;
        each.copy = &activity;
        ++each.copies;
    }
    std::uint32_t thread = RuntimeCall::kNoIndex;
    std::int64_t endNs = 0;
    std::map<NameId, std::string> kinds, shapes; // few differ
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
        const HostSpan& span = trace.spans[i];
        if (span.kind != HostSpan::Kind::op || (span.thread == thread && span.startNs < endNs)) continue;
        thread = span.thread;
        endNs = span.endNs;
        TracedOp op;
        op.name = trace.names.at(span.name);
        const auto [kind, isNewKind] = kinds.try_emplace(span.name);
        if (isNewKind) kind->second = canonicalOp(op.name);
        op.kind = kind->second;
        const auto [shape, isNewShape] = shapes.try_emplace(span.shapes);
        if (isNewShape) shape->second = firstShape(trace.names.at(span.shapes));
        op.shape = shape->second;
        op.line = trace.names.at(span.line);
        op.startNs = span.startNs;
        op.ns = span.endNs - span.startNs;
        if (const auto found = work.find(i); found != work.end()) {
            op.onGpu = true;
            op.ns = found->second.ns;
            if (found->second.copies == 1) {
                const GpuActivity& copy = *found->second.copy;
                op.copy = copy.copy;
                op.copyBytes = copy.bytes.value_or(0);
                op.copyNs = copy.durationNs();
            }
        }
        out.ops.push_back(std::move(op));
    }
    std::stable_sort(out.ops.begin(), out.ops.end(),
                     [](const TracedOp& a, const TracedOp& b) { return a.startNs < b.startNs; });
    return out;
}

TracedOps readTracedOps(const std::filesystem::path& path, const ReadProgress& progress) {
    int first = ' ';
    {
        GzipInput input(path);
        while (std::isspace(first)) first = input.sbumpc();
    }
    return first == '[' ? readOnnxRuntime(path, progress) : tracedOps(readKinetoTrace(path, progress));
}

} // namespace twb
