#include "formats/pytorch/python_fixes.h"

#include "formats/pytorch/python_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

namespace twb {
namespace {

constexpr std::size_t kFarthestOrigin = 64; ///< nodes between an operand and the line that made it
constexpr int kContext = 3;                 ///< lines around a change in a diff
constexpr std::size_t kLongestLine = 400;   ///< longer lines are not changed

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

class Fixes {
public:
    Fixes(const Graph& graph, const Analysis& analysis, const ReadLine& readLine)
        : m_graph(graph), m_analysis(analysis), m_readLine(readLine) {}

    std::vector<PythonFix> run();

private:
    std::optional<PythonFix> fixOf(const Diagnostic& d) const;
    const Node* originOf(PortRef culprit) const;
    std::string deviceText(const SourceLine& at, const std::string& call, Device device) const;
    std::optional<PythonFix> change(const SourceLine& at, const std::string& words, const std::string& line,
                                    std::size_t from, std::size_t count, const std::string& with,
                                    std::string shown) const;
    std::optional<PythonFix> asBuffer(const SourceLine& at, const std::string& line) const;
    std::optional<PythonFix> created(const SourceLine& at, const std::string& line, Device device) const;
    std::optional<PythonFix> movedWhereMade(const Node& made, Device device) const;
    std::optional<PythonFix> movedWhereRead(const SourceLine& at, const std::string& variable,
                                            Device device) const;
    std::string variableOf(const Node& made) const;

    const Graph& m_graph;
    const Analysis& m_analysis;
    const ReadLine& m_readLine;
};

/// The node whose line made a tensor on its device.
const Node* Fixes::originOf(PortRef culprit) const {
    const Node* out = m_graph.find(culprit.node);
    PortRef at = culprit;
    for (std::size_t i = 0; i < kFarthestOrigin; ++i) {
        const NodeFacts* facts = m_analysis.find(at.node);
        if (!facts || !facts->op || facts->op->role != OpRole::compute) break;
        const auto before = std::find_if(facts->inputs.begin(), facts->inputs.end(), [&](const auto& from) {
            const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
            return source && source->device == facts->device;
        });
        if (before == facts->inputs.end()) break;
        at = **before;
        if (const Node* node = m_graph.find(at.node); node && node->source) out = node;
    }
    return out;
}

std::optional<PythonFix> Fixes::change(const SourceLine& at, const std::string& words,
                                       const std::string& line, std::size_t from, std::size_t count,
                                       const std::string& with, std::string shown) const {
    PythonFix fix;
    fix.at = at;
    fix.before = line;
    fix.after = line;
    fix.after.replace(from, count, with);
    fix.advice = fmt::format("{}: `{}` at {}", words, shown, toShortString({at.file, at.line, {}}));
    return fix;
}

/// `device` if the program defines it at its top level before the line, else the device's name.
std::string Fixes::deviceText(const SourceLine& at, const std::string& call, Device device) const {
    static const std::regex like(R"(\(\s*\(?\s*(?:\*\s*)?([A-Za-z_]\w*)\.(?:shape|size\())");
    if (std::smatch match; std::regex_search(call, match, like)) return match[1].str() + ".device";
    for (int line = 1; line < at.line; ++line) {
        const auto text = m_readLine(at.file, line);
        const auto assignment = text ? python::assignmentOf(*text) : std::nullopt;
        if (assignment && assignment->start == 0 && assignment->owner.empty() && assignment->name == "device")
            return "device";
    }
    return fmt::format("\"{}\"", device.toString());
}

/// self.scale = torch.ones(64) -> self.register_buffer("scale", torch.ones(64))
std::optional<PythonFix> Fixes::asBuffer(const SourceLine& at, const std::string& line) const {
    const auto code = python::codeOf(line);
    const auto assignment = code ? python::assignmentOf(*code) : std::nullopt;
    if (at.function != "__init__" || !assignment || !assignment->isWhole || assignment->owner.empty())
        return std::nullopt;
    const std::string text =
        fmt::format("{}.register_buffer(\"{}\", {})", assignment->owner, assignment->name, assignment->value);
    return change(at, fmt::format("register {} as a buffer", assignment->name), line, assignment->start,
                  code->size() - assignment->start, text, text);
}

/// mean = images.mean(0) -> mean = images.mean(0).to(device)
/// The other readers of the variable must be on the device, too.
std::optional<PythonFix> Fixes::movedWhereMade(const Node& made, Device device) const {
    const auto line = m_readLine(made.source->file, made.source->line);
    const auto code = line && line->size() <= kLongestLine ? python::codeOf(*line) : std::nullopt;
    const auto assignment = code ? python::assignmentOf(*code) : std::nullopt;
    if (!assignment || !assignment->isWhole || !assignment->owner.empty()) return std::nullopt;
    for (const Edge& edge : m_graph.outgoing(made.id)) {
        const NodeFacts* reader = m_analysis.find(edge.to.node);
        if (!reader || reader->device != device || m_graph.find(edge.to.node)->source == made.source)
            return std::nullopt;
    }
    const std::string_view value = assignment->value;
    const std::string moved =
        fmt::format("{}.to({})", python::isPrimary(value) ? std::string(value) : fmt::format("({})", value),
                    deviceText(*made.source, "", device));
    const auto start = static_cast<std::size_t>(value.data() - code->data());
    return change(*made.source, fmt::format("move {}", assignment->name), *line, start, code->size() - start,
                  moved, fmt::format("{} = {}", assignment->name, moved));
}

/// The variable that the line of a node assigns; empty if there is none.
std::string Fixes::variableOf(const Node& made) const {
    const auto line = made.source ? m_readLine(made.source->file, made.source->line) : std::nullopt;
    const auto assignment = line ? python::assignmentOf(*line) : std::nullopt;
    return assignment ? std::string(assignment->name) : std::string();
}

/// typical = images - mean -> typical = images - mean.to(device)
std::optional<PythonFix> Fixes::movedWhereRead(const SourceLine& at, const std::string& variable,
                                               Device device) const {
    const auto line = m_readLine(at.file, at.line);
    const auto code = line && line->size() <= kLongestLine ? python::codeOf(*line) : std::nullopt;
    const std::size_t use = code ? python::onlyUse(*code, variable) : std::string::npos;
    if (use == std::string::npos) return std::nullopt;
    const std::string moved = fmt::format("{}.to({})", variable, deviceText(at, "", device));
    return change(at, fmt::format("move {}", variable), *line, use, variable.size(), moved, moved);
}

/// torch.randn(h.shape) -> torch.randn(h.shape, device=h.device)
std::optional<PythonFix> Fixes::created(const SourceLine& at, const std::string& line, Device device) const {
    const auto code = python::codeOf(line);
    static const std::regex factory(
        R"(torch\.(randn|rand|randint|randperm|zeros|ones|full|empty|arange|linspace|eye|tensor|as_tensor)\()");
    if (!code) return std::nullopt;
    std::smatch match;
    if (!std::regex_search(*code, match, factory)) return std::nullopt;
    const auto begin = static_cast<std::size_t>(match.position(0));
    const std::size_t open = begin + static_cast<std::size_t>(match.length(0)) - 1;
    const std::size_t close = python::closing(*code, open);
    if (close == std::string::npos) return std::nullopt;
    std::string call = code->substr(begin, close - begin + 1);
    if (call.find("device=") != std::string::npos) return std::nullopt;
    // Another factory on the line may be the one that is meant.
    if (std::smatch other; std::regex_search(match.suffix().first, match.suffix().second, other, factory))
        return std::nullopt;
    call.insert(call.size() - 1, fmt::format(", device={}", deviceText(at, call, device)));
    return change(at, fmt::format("create the tensor on {}", device.toString()), line, begin,
                  close - begin + 1, call, call);
}

std::optional<PythonFix> Fixes::fixOf(const Diagnostic& d) const {
    const Node& reader = *m_graph.find(d.node);
    const NodeFacts& facts = *m_analysis.find(d.node);
    PortRef culprit = m_analysis.sourceOf(d.edge->to).value_or(d.edge->from);
    const NodeFacts* source = m_analysis.find(culprit.node);
    if (!source) return std::nullopt;
    if (facts.op && facts.op->role == OpRole::sink && facts.device.isCpu()) {
        const auto line = m_readLine(reader.source->file, reader.source->line);
        const std::size_t at = line ? line->find(".numpy()") : std::string::npos;
        if (at == std::string::npos || line->find(".numpy()", at + 1) != std::string::npos)
            return std::nullopt;
        return change(*reader.source, "copy the tensor to the CPU before numpy()", *line, at, 0, ".cpu()",
                      ".cpu().numpy()");
    }
    // The tensor on the CPU is the one to move.
    Device device = facts.device;
    if (!source->device.isCpu())
        for (const auto& from : facts.inputs)
            if (const NodeFacts* other = from ? m_analysis.find(from->node) : nullptr;
                other && other->device.isCpu()) {
                device = source->device;
                culprit = *from;
                break;
            }
    if (device.isCpu()) return std::nullopt;
    const Node* origin = originOf(culprit);
    if (!origin || !origin->source) return std::nullopt;
    const SourceLine& at = *origin->source;
    const auto line = m_readLine(at.file, at.line);
    if (line && line->size() <= kLongestLine) {
        if (auto fix = asBuffer(at, *line)) return fix;
        if (origin->op == "To") {
            const std::size_t host = line->find(".cpu()");
            if (host != std::string::npos && line->find(".cpu()", host + 1) == std::string::npos) {
                std::string without = *line;
                without.erase(host, 6);
                return change(at, "remove .cpu() to keep the tensor on the GPU", *line, host, 6, "",
                              std::string(trimmed(without)));
            }
        }
        if (auto fix = created(at, *line, device)) return fix;
    }
    const Node& made = *m_graph.find(culprit.node);
    const std::string variable = variableOf(made);
    if (!variable.empty() && made.source != reader.source) {
        if (auto fix = movedWhereMade(made, device)) return fix;
        if (made.source->file == reader.source->file && made.source->function == reader.source->function)
            if (auto fix = movedWhereRead(*reader.source, variable, device)) return fix;
    }
    PythonFix fix;
    fix.at = *reader.source;
    fix.advice = fmt::format("move {}: `.to(\"{}\", non_blocking=True)` at {}",
                             variable.empty() ? "the operand" : variable, device.toString(),
                             toShortString({fix.at.file, fix.at.line, {}}));
    return fix;
}

std::vector<PythonFix> Fixes::run() {
    std::vector<PythonFix> out;
    for (const Diagnostic& d : m_analysis.diagnostics) {
        if (d.code != "device-mismatch" || d.root != NodeId::none || !d.edge) continue;
        const Node* node = m_graph.find(d.node);
        if (!node || !node->source || !m_analysis.find(d.node)) continue;
        auto fix = fixOf(d);
        const auto isSame = [&](const PythonFix& other) { return fix && other.advice == fix->advice; };
        if (!fix || std::any_of(out.begin(), out.end(), isSame)) continue;
        fix->node = d.node;
        out.push_back(std::move(*fix));
    }
    return out;
}

} // namespace

std::vector<PythonFix> pythonFixes(const Graph& graph, const Analysis& analysis, const ReadLine& readLine) {
    return Fixes(graph, analysis, readLine).run();
}

std::string toPatch(const std::vector<PythonFix>& fixes, const ReadLine& readLine,
                    const std::function<std::string(const std::string& file)>& name) {
    std::map<std::string, std::map<int, const PythonFix*>> files;
    for (const PythonFix& fix : fixes)
        if (fix.before != fix.after) files[fix.at.file].try_emplace(fix.at.line, &fix);
    std::string out;
    for (const auto& [file, changes] : files) {
        out += fmt::format("--- {0}\n+++ {0}\n", name(file));
        for (auto at = changes.begin(); at != changes.end();) {
            const int first = std::max(1, at->first - kContext);
            auto last = at; // changes that are close together share a hunk
            while (std::next(last) != changes.end() && std::next(last)->first - last->first <= 2 * kContext)
                ++last;
            std::string lines;
            int count = 0;
            for (int line = first; line <= last->first + kContext; ++line) {
                const auto text = readLine(file, line);
                if (!text) break;
                ++count;
                const auto change = changes.find(line);
                if (change == changes.end())
                    lines += fmt::format(" {}\n", *text);
                else
                    lines += fmt::format("-{}\n+{}\n", change->second->before, change->second->after);
            }
            out += fmt::format("@@ -{0},{1} +{0},{1} @@\n{2}", first, count, lines);
            at = std::next(last);
        }
    }
    return out;
}

} // namespace twb
