#include "profile/kineto_trace.h"

#include "core/error.h"
#include "core/format.h"
#include "graph/source_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace twb {
namespace {

constexpr std::size_t kMostProblems = 20;

/// The category of an event, by the names of all versions of Kineto.
enum class Category : std::uint8_t { other, op, annotation, function, call, kernel, copy, set };

Category categoryOf(std::string_view name) {
    static const std::map<std::string_view, Category> kCategories{{"cpu_op", Category::op},
                                                                  {"Operator", Category::op},
                                                                  {"user_annotation", Category::annotation},
                                                                  {"python_function", Category::function},
                                                                  {"cuda_runtime", Category::call},
                                                                  {"cuda_driver", Category::call},
                                                                  {"Runtime", Category::call},
                                                                  {"hip_runtime", Category::call},
                                                                  {"kernel", Category::kernel},
                                                                  {"Kernel", Category::kernel},
                                                                  {"gpu_memcpy", Category::copy},
                                                                  {"Memcpy", Category::copy},
                                                                  {"gpu_memset", Category::set},
                                                                  {"Memset", Category::set}};
    const auto found = kCategories.find(name);
    return found == kCategories.end() ? Category::other : found->second;
}

/// Files of 2021 list annotations as ops.
bool isAnnotation(std::string_view name) {
    return name.starts_with("ProfilerStep#") || name.starts_with("enumerate(DataLoader)") ||
           name.starts_with("Optimizer.");
}

/// A frame, "path/net.py(11): forward".
struct Frame {
    std::string_view file;
    int line = 0;
    std::string_view function;
};

std::optional<Frame> parseFrame(std::string_view text) {
    const auto open = text.rfind("): ");
    if (open == std::string_view::npos) return {};
    const auto bracket = text.rfind('(', open);
    if (bracket == std::string_view::npos || bracket == 0) return {};
    Frame frame{text.substr(0, bracket), 0, text.substr(open + 3)};
    const char* const end = text.data() + open;
    const auto [at, error] = std::from_chars(text.data() + bracket + 1, end, frame.line);
    if (error != std::errc() || at != end || frame.line < 1) return {};
    return frame;
}

enum class Owner : std::uint8_t { machinery, package, user };

/// Kineto shortens the paths of installed packages and of the standard library to those below sys.path.
Owner ownerOf(std::string_view file) {
    if (file.starts_with('<') || file.starts_with("torch/") || file.find("/torch/") != std::string_view::npos)
        return Owner::machinery;
    if (file.find("-packages/") != std::string_view::npos) return Owner::package;
    if (file.find("/lib/python") != std::string_view::npos) return Owner::machinery;
    for (const std::string_view module :
         {"abc.py", "contextlib.py", "copy.py", "dataclasses.py", "functools.py", "inspect.py", "runpy.py",
          "threading.py", "typing.py"})
        if (file == module) return Owner::machinery;
    return file.starts_with("multiprocessing/") || file.starts_with("concurrent/") ? Owner::machinery
                                                                                   : Owner::user;
}

std::string lineText(const Frame& frame) {
    SourceLine line{std::string(frame.file), frame.line, std::string(frame.function)};
    return toString(line);
}

struct CopyName {
    CopyKind kind = CopyKind::unknown;
    HostMemory memory = HostMemory::unknown;
};

HostMemory memoryNamed(std::string_view name) {
    if (name == "Pageable") return HostMemory::pageable;
    if (name == "Pinned") return HostMemory::pinned;
    if (name == "Managed" || name == "Unified") return HostMemory::managed;
    return HostMemory::unknown;
}

/// Reads "Memcpy HtoD (Pageable -> Device)".
CopyName parseCopyName(std::string_view text) {
    CopyName out;
    const auto has = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
    std::string_view from;
    std::string_view to;
    const auto open = text.find('(');
    const auto arrow = text.find(" -> ");
    if (open != std::string_view::npos && arrow != std::string_view::npos && open < arrow) {
        from = text.substr(open + 1, arrow - open - 1);
        to = text.substr(arrow + 4);
        to = to.substr(0, to.find(')'));
    }
    if (has("HtoD") || has("HostToDevice"))
        out = {CopyKind::hostToDevice, memoryNamed(from)};
    else if (has("DtoH") || has("DeviceToHost"))
        out = {CopyKind::deviceToHost, memoryNamed(to)};
    else if (has("PtoP") || has("PeerToPeer"))
        out = {CopyKind::peer, HostMemory::none};
    else if (has("DtoD") || has("DeviceToDevice"))
        out = {CopyKind::withinDevice, HostMemory::none};
    else if (has("HtoH"))
        out = {CopyKind::hostToHost, memoryNamed(from)};
    return out;
}

/// "cudaStreamSynchronize" → synchronize, "hipMemcpyWithStream" → blockingCopy, "cudaMalloc" → memory.
CallKind callKind(std::string_view name) noexcept {
    const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (has("Synchronize")) return CallKind::synchronize;
    if (has("Memcpy")) return has("Async") ? CallKind::other : CallKind::blockingCopy;
    if (has("Malloc") || has("Free") || has("HostAlloc") || has("MemAlloc") || has("HostRegister"))
        return CallKind::memory;
    return CallKind::other;
}

/// Fills a KinetoTrace, event by event.
class Collector {
public:
    explicit Collector(KinetoTrace& trace) : m_trace(trace) {}

    void take(const TraceEvent& event) {
        if (event.phase != "X") return;
        const Category category = categoryOf(event.category);
        if (category == Category::other) return;
        if (!event.startNs || !event.durationNs) {
            report(event, fmt::format("has no valid \"{}\"", event.startNs ? "dur" : "ts"));
            return;
        }
        if (category == Category::function)
            takeFunction(event);
        else if (category == Category::op || category == Category::annotation)
            takeOp(event, category);
        else if (category == Category::call)
            takeCall(event);
        else
            takeActivity(event, category);
    }

private:
    void report(const TraceEvent& event, const std::string& fault) {
        ++m_trace.faultyEvents;
        if (m_trace.problems.size() < kMostProblems)
            m_trace.problems.push_back(fmt::format("event {} ({}{}{}) {}; it is left out", event.index,
                                                   event.category, event.name.empty() ? "" : " ",
                                                   event.name.substr(0, 60), fault));
    }

    void extend(const TraceEvent& event) {
        const std::int64_t end = *event.startNs + *event.durationNs;
        if (!m_any || *event.startNs < m_trace.startNs) m_trace.startNs = *event.startNs;
        if (!m_any || end > m_trace.endNs) m_trace.endNs = end;
        m_any = true;
    }

    std::uint32_t threadOf(const TraceEvent& event) {
        const std::string key = event.process + '/' + event.thread;
        const auto [at, isNew] = m_threads.try_emplace(key, static_cast<std::uint32_t>(m_threads.size()));
        if (isNew) m_trace.threads.push_back(key);
        return at->second;
    }

    static constexpr std::uint32_t kMostThreads = 1U << 28;

    HostSpan spanOf(const TraceEvent& event, HostSpan::Kind kind) {
        HostSpan span;
        span.startNs = *event.startNs;
        span.endNs = *event.startNs + *event.durationNs;
        span.thread = threadOf(event) % kMostThreads;
        span.kind = kind;
        return span;
    }

    /// Only frames of users matter; those of PyTorch and built-in functions are many.
    void takeFunction(const TraceEvent& event) {
        const auto frame = parseFrame(event.name);
        if (!frame || ownerOf(frame->file) == Owner::machinery) return;
        HostSpan span = spanOf(event, HostSpan::Kind::function);
        span.line = m_trace.names.add(lineText(*frame));
        m_trace.linesAreFunctions = true;
        m_trace.spans.push_back(span);
    }

    void takeOp(const TraceEvent& event, Category category) {
        extend(event);
        const bool isOp = category == Category::op && !isAnnotation(event.name);
        HostSpan span = spanOf(event, isOp ? HostSpan::Kind::op : HostSpan::Kind::annotation);
        span.name = m_trace.names.add(event.name);
        if (isOp) {
            if (const auto stack = event.argument("Call stack"); !stack.empty())
                if (const std::string& line = lineOf(stack); !line.empty())
                    span.line = m_trace.names.add(line);
            if (const auto shapes = event.argument("Input Dims"); !shapes.empty())
                span.shapes = m_trace.names.add(shapes);
            const auto types = event.argument("Input type");
            if (!types.empty()) span.types = m_trace.names.add(types);
            if (event.name.find("conv") != std::string::npos)
                if (const auto values = event.argument("Concrete Inputs"); !values.empty())
                    span.values = m_trace.names.add(values);
        }
        m_trace.spans.push_back(span);
    }

    /// Few stacks differ.
    const std::string& lineOf(std::string_view stack) {
        if (m_lines.size() > 100'000) m_lines.clear();
        const auto [at, isNew] = m_lines.try_emplace(std::hash<std::string_view>{}(stack));
        if (isNew || at->second.first != stack.size()) at->second = {stack.size(), userLine(stack)};
        return at->second.second;
    }

    void takeCall(const TraceEvent& event) {
        extend(event);
        RuntimeCall call;
        call.startNs = *event.startNs;
        call.endNs = *event.startNs + *event.durationNs;
        call.correlation = event.number("correlation").value_or(0);
        call.name = m_trace.names.add(event.name);
        call.kind = callKind(event.name);
        call.thread = threadOf(event) % kMostThreads;
        if (event.name.find("emcpy") != std::string::npos) call.bytes = event.number("size").value_or(0);
        m_trace.calls.push_back(call);
    }

    void takeActivity(const TraceEvent& event, Category category) {
        const std::optional<std::uint64_t> device =
            event.number("device") ? event.number("device") : wholeNumber(event.process);
        if (!device || *device > 0xffff) {
            report(event, "names no device");
            return;
        }
        extend(event);
        GpuActivity activity;
        activity.startNs = *event.startNs;
        activity.endNs = *event.startNs + *event.durationNs;
        activity.correlation = event.number("correlation").value_or(0);
        activity.device = static_cast<std::uint32_t>(*device);
        const std::string_view stream = event.argument("stream");
        activity.stream = streamOf(*device, stream.empty() ? std::string_view(event.thread) : stream);
        activity.name = m_trace.names.add(event.name);
        if (category != Category::kernel) activity.bytes = event.number("bytes");
        if (category == Category::copy) {
            activity.kind = GpuActivity::Kind::copy;
            const CopyName copy = parseCopyName(event.name);
            activity.copy = copy.kind;
            activity.memory = copy.memory;
        } else if (category == Category::set) {
            activity.kind = GpuActivity::Kind::set;
        }
        m_trace.activities.push_back(activity);
    }

    std::uint32_t streamOf(std::uint64_t device, std::string_view stream) {
        return m_streams
            .try_emplace({device, std::string(stream)}, static_cast<std::uint32_t>(m_streams.size()))
            .first->second;
    }

    KinetoTrace& m_trace;
    bool m_any = false;
    std::map<std::string, std::uint32_t> m_threads;
    std::map<std::pair<std::uint64_t, std::string>, std::uint32_t> m_streams;
    std::unordered_map<std::size_t, std::pair<std::size_t, std::string>> m_lines; ///< by hash of the stack
};

/// The spans around a moment, while the calls of a thread are gone through in order.
class OpenSpans {
public:
    explicit OpenSpans(const std::deque<HostSpan>& spans) : m_spans(spans) {}

    /// Only for calls sorted by thread and start.
    void fill(RuntimeCall& call) {
        while (m_next < m_spans.size() && isBefore(m_spans[m_next], call)) push(m_next++);
        while (!m_open.empty() && !covers(m_spans[m_open.back().index], call)) m_open.pop_back();
        if (m_open.empty()) return;
        call.op = m_open.back().op;
        call.line = m_open.back().line;
        call.span = m_open.back().innermost;
        call.outerSpan = m_open.back().outermost;
    }

private:
    struct Open {
        std::size_t index = 0;
        NameId op = NameId::none;   ///< the outermost op's
        NameId line = NameId::none; ///< the innermost one
        std::uint32_t innermost = RuntimeCall::kNoIndex;
        std::uint32_t outermost = RuntimeCall::kNoIndex;
    };

    static bool isBefore(const HostSpan& span, const RuntimeCall& call) {
        return span.thread != call.thread ? span.thread < call.thread : span.startNs <= call.startNs;
    }
    static bool covers(const HostSpan& span, const RuntimeCall& call) {
        return span.thread == call.thread && call.startNs < std::max(span.endNs, span.startNs + 1);
    }

    void push(std::size_t index) {
        const HostSpan& span = m_spans[index];
        while (!m_open.empty() && (m_spans[m_open.back().index].thread != span.thread ||
                                   m_spans[m_open.back().index].endNs <= span.startNs))
            m_open.pop_back();
        Open open = m_open.empty() ? Open{} : m_open.back();
        open.index = index;
        if (span.kind == HostSpan::Kind::op) {
            open.innermost = static_cast<std::uint32_t>(index);
            if (open.outermost == RuntimeCall::kNoIndex) {
                open.op = span.name;
                open.outermost = open.innermost;
            }
        }
        if (span.line != NameId::none) open.line = span.line;
        m_open.push_back(open);
    }

    const std::deque<HostSpan>& m_spans;
    std::size_t m_next = 0;
    std::vector<Open> m_open;
};

void join(KinetoTrace& trace) {
    std::sort(trace.spans.begin(), trace.spans.end(), [](const HostSpan& a, const HostSpan& b) {
        if (a.thread != b.thread) return a.thread < b.thread;
        if (a.startNs != b.startNs) return a.startNs < b.startNs;
        return a.endNs > b.endNs;
    });
    std::sort(trace.calls.begin(), trace.calls.end(), [](const RuntimeCall& a, const RuntimeCall& b) {
        return a.thread != b.thread ? a.thread < b.thread : a.startNs < b.startNs;
    });
    std::sort(trace.activities.begin(), trace.activities.end(),
              [](const GpuActivity& a, const GpuActivity& b) {
                  if (a.device != b.device) return a.device < b.device;
                  return a.startNs != b.startNs ? a.startNs < b.startNs : a.endNs < b.endNs;
              });
    OpenSpans spans(trace.spans);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> byCorrelation;
    for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
        spans.fill(trace.calls[i]);
        if (trace.calls[i].correlation > 0) byCorrelation.emplace_back(trace.calls[i].correlation, i);
    }
    std::sort(byCorrelation.begin(), byCorrelation.end());
    for (GpuActivity& activity : trace.activities) {
        const auto found =
            std::lower_bound(byCorrelation.begin(), byCorrelation.end(), std::pair(activity.correlation, 0U));
        if (activity.correlation == 0 || found == byCorrelation.end() || found->first != activity.correlation)
            continue;
        activity.call = found->second;
        const RuntimeCall& call = trace.calls[found->second];
        ++trace.launchesFound;
        if (call.op != NameId::none) ++trace.launchesInOps;
        if (activity.kind == GpuActivity::Kind::copy && !activity.bytes && call.bytes > 0) {
            activity.bytes = call.bytes;
            activity.bytesFromCall = true;
        }
    }
}

template <class Read> KinetoTrace collect(const std::string& origin, const Read& read) {
    KinetoTrace trace;
    trace.file = origin;
    Collector collector(trace);
    trace.facts = read([&collector](const TraceEvent& event) { collector.take(event); });
    if (trace.spans.empty() && trace.calls.empty() && trace.activities.empty())
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: not a profile of PyTorch: it has {}, but no op, CUDA call or kernel{}",
                                origin, counted(trace.facts.events, "event"),
                                trace.problems.empty() ? "" : "; " + trace.problems.front()));
    join(trace);
    return trace;
}

} // namespace

const TraceDevice* KinetoTrace::find(std::uint32_t device) const {
    for (const TraceDevice& each : facts.devices)
        if (each.id == static_cast<std::int64_t>(device)) return &each;
    return nullptr;
}

std::string KinetoTrace::deviceName(std::uint32_t device) const {
    const TraceDevice* found = find(device);
    return found ? found->name : std::string();
}

std::string userLine(std::string_view stack) {
    std::optional<Frame> inPackage;
    while (!stack.empty()) {
        const auto end = stack.find(';');
        const auto frame = parseFrame(stack.substr(0, end));
        stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
        if (!frame) continue;
        const Owner owner = ownerOf(frame->file);
        if (owner == Owner::user) return lineText(*frame);
        if (owner == Owner::package && !inPackage) inPackage = frame;
    }
    return inPackage ? lineText(*inPackage) : std::string();
}

KinetoTrace readKinetoTrace(const std::filesystem::path& path, const ReadProgress& progress) {
    return collect(path.string(), [&](const std::function<void(const TraceEvent&)>& take) {
        return readTraceEvents(path, take, progress);
    });
}

KinetoTrace parseKinetoTrace(std::string_view json, const std::string& origin) {
    return collect(origin, [&](const std::function<void(const TraceEvent&)>& take) {
        return parseTraceEvents(json, origin, take);
    });
}

} // namespace twb
