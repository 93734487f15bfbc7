#include "profile/traced_ops.h"

#include "core/error.h"
#include "core/format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_map>

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
            fmt::format("{}: not a profile of ONNX Runtime: it has {}, but no kernel time of a node{}",
                        path.string(), counted(events, "event"),
                        out.problems.empty() ? "" : "; " + out.problems.front()));
    out.spanNs = lastNs - firstNs;
    return out;
}

/// The ops of a Kineto trace.
class KinetoOps {
public:
    KinetoOps(const KinetoTrace& trace, const IsWanted& isWanted)
        : m_trace(trace), m_isWanted(isWanted), m_owner(trace.spans.size(), kNone),
          m_line(trace.spans.size(), NameId::none) {}

    TracedOps take() {
        findOwners();
        addWork();
        TracedOps out;
        out.profiler = "PyTorch's profiler";
        out.spanNs = m_trace.endNs - m_trace.startNs;
        out.problems = m_trace.problems;
        out.linesAreFunctions = m_trace.linesAreFunctions;
        if (!m_trace.activities.empty()) out.device = m_trace.deviceName(m_trace.activities.front().device);
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i < m_owner.size(); ++i)
            if (m_owner[i] == i || m_work.contains(i)) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
            return m_trace.spans[a].startNs < m_trace.spans[b].startNs;
        });
        for (const std::uint32_t i : order) out.ops.push_back(opOf(i));
        return out;
    }

private:
    static constexpr std::uint32_t kNone = RuntimeCall::kNoIndex;

    struct Work {
        std::int64_t startNs = 0;
        std::int64_t ns = 0;
        const GpuActivity* copy = nullptr;
        int copies = 0;
    };

    bool isWanted(NameId name) {
        const auto [at, isNew] = m_wanted.try_emplace(name);
        if (isNew) at->second = m_isWanted(m_trace.names.at(name));
        return at->second;
    }

    /// The op that each span counts as, and the innermost line around it.
    void findOwners() {
        struct Open {
            std::int64_t endNs = 0;
            std::uint32_t owner = kNone;
            NameId line = NameId::none;
        };
        std::vector<Open> open;
        std::uint32_t root = kNone; ///< the outermost op
        std::int64_t rootEndNs = 0;
        bool found = false; ///< a wanted op in the root
        std::vector<std::uint32_t> inRoot;
        const auto closeRoot = [&] {
            for (const std::uint32_t i : inRoot)
                if (!found) m_owner[i] = root;
            inRoot.clear();
            root = kNone;
        };
        std::uint32_t thread = kNone;
        for (std::uint32_t i = 0; i < m_trace.spans.size(); ++i) {
            const HostSpan& span = m_trace.spans[i];
            const bool isOtherThread = span.thread != thread;
            thread = span.thread;
            if (isOtherThread) open.clear();
            while (!open.empty() && open.back().endNs <= span.startNs) open.pop_back();
            Open now = open.empty() ? Open{} : open.back();
            now.endNs = span.endNs;
            if (span.line != NameId::none) now.line = span.line;
            m_line[i] = now.line;
            if (span.kind == HostSpan::Kind::op) {
                if (root == kNone || isOtherThread || span.startNs >= rootEndNs) {
                    closeRoot();
                    root = i;
                    rootEndNs = span.endNs;
                    found = false;
                    now.owner = kNone;
                }
                if (now.owner == kNone && isWanted(span.name)) {
                    now.owner = i;
                    found = true;
                }
                m_owner[i] = now.owner;
                if (now.owner == kNone) inRoot.push_back(i);
            }
            open.push_back(now);
        }
        closeRoot();
    }

    void addWork() {
        for (const GpuActivity& activity : m_trace.activities) {
            const RuntimeCall* call = m_trace.callOf(activity);
            if (!call || call->span == kNone) continue;
            const std::uint32_t owner = m_owner[call->span];
            Work& each = m_work[owner == kNone ? call->outerSpan : owner];
            if (each.ns == 0 || activity.startNs < each.startNs) each.startNs = activity.startNs;
            each.ns += activity.durationNs();
            if (activity.kind != GpuActivity::Kind::copy || !isTransfer(activity.copy)) continue;
            each.copy = &activity;
            ++each.copies;
        }
    }

    TracedOp opOf(std::uint32_t index) {
        const HostSpan& span = m_trace.spans[index];
        TracedOp op;
        op.name = m_trace.names.at(span.name);
        const auto [kind, isNewKind] = m_kinds.try_emplace(span.name);
        if (isNewKind) kind->second = canonicalOp(op.name);
        op.kind = kind->second;
        const auto [shape, isNewShape] = m_shapes.try_emplace(span.shapes);
        if (isNewShape) shape->second = firstShape(m_trace.names.at(span.shapes));
        op.shape = shape->second;
        op.line = m_trace.names.at(m_line[index]);
        op.startNs = span.startNs;
        op.ns = span.endNs - span.startNs;
        const auto found = m_work.find(index);
        if (found == m_work.end()) return op;
        const Work& work = found->second;
        op.onGpu = true;
        op.startNs = work.startNs;
        op.ns = work.ns;
        if (work.copies == 1) {
            op.copy = work.copy->copy;
            op.copyBytes = work.copy->bytes.value_or(0);
            op.copyNs = work.copy->durationNs();
        }
        return op;
    }

    const KinetoTrace& m_trace;
    const IsWanted& m_isWanted;
    std::vector<std::uint32_t> m_owner; ///< by span: the op that it counts as; of an op that counts, itself
    std::vector<NameId> m_line;         ///< by span: the innermost line around it
    std::unordered_map<std::uint32_t, Work> m_work; ///< by op
    std::map<NameId, bool> m_wanted;                // few names differ
    std::map<NameId, std::string> m_kinds, m_shapes;
};

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

TracedOps readTracedOps(const std::filesystem::path& path, const IsWanted& isWanted,
                        const ReadProgress& progress) {
    int first = ' ';
    {
        GzipInput input(path);
        while (std::isspace(first)) first = input.sbumpc();
    }
    return first == '[' ? readOnnxRuntime(path, progress)
                        : KinetoOps(readKinetoTrace(path, progress), isWanted).take();
}

} // namespace twb
