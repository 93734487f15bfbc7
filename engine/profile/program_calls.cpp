#include "profile/program_calls.h"

#include "graph/unique_names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace twb {
namespace {

/// A node's name, taken apart.
struct NodeName {
    std::string_view op;
    bool isMain = true;
};

NodeName nameOf(const Node& node) {
    NodeName out{stemOf(node.name)};
    const std::size_t size = node.op.size();
    const auto isLowered = [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); };
    if (out.op.size() > size + 1 && out.op[out.op.size() - size - 1] == ' ' &&
        std::equal(out.op.end() - static_cast<std::ptrdiff_t>(size), out.op.end(), node.op.begin(),
                   isLowered)) {
        out.op.remove_suffix(size + 1);
        out.isMain = false;
    }
    // torch.export numbers its nodes: "linear_1".
    const std::size_t line = out.op.rfind('_');
    if (line != std::string_view::npos && line > 0 && line + 1 < out.op.size() &&
        std::all_of(out.op.begin() + static_cast<std::ptrdiff_t>(line) + 1, out.op.end(),
                    [](char c) { return c >= '0' && c <= '9'; }))
        out.op.remove_suffix(out.op.size() - line);
    return out;
}

/// The number of nodes after which the ops and roles of `run` repeat; all of them if they do not.
std::size_t periodOf(const std::vector<const Node*>& run) {
    for (std::size_t period = 1; period <= run.size() / 2; ++period) {
        if (run.size() % period != 0) continue;
        bool repeats = true;
        for (std::size_t i = period; i < run.size() && repeats; ++i)
            repeats = run[i]->op == run[i - period]->op &&
                      nameOf(*run[i]).isMain == nameOf(*run[i - period]).isMain;
        if (repeats) return period;
    }
    return run.size();
}

} // namespace

std::vector<ProgramCall> programCalls(const Graph& graph) {
    std::vector<ProgramCall> out;
    std::vector<const Node*> run; // neighbours of one op, frame and source line
    const auto flush = [&] {
        if (run.empty()) return;
        const std::string op = "aten::" + std::string(nameOf(*run.front()).op);
        const bool isOfLists = op.starts_with("aten::_foreach_") || op.starts_with("aten::_fused_");
        const std::size_t period = periodOf(run);
        for (std::size_t i = 0; i < run.size() && !isOfLists; i += period) {
            ProgramCall call;
            call.op = op;
            for (std::size_t at = i; at < i + period; ++at) {
                call.nodes.push_back(run[at]->id);
                if (call.main == NodeId::none && nameOf(*run[at]).isMain) call.main = run[at]->id;
            }
            if (call.main != NodeId::none) out.push_back(std::move(call));
        }
        run.clear();
    };
    for (const Node& node : graph.nodes()) {
        if (!run.empty() && (nameOf(*run.front()).op != nameOf(node).op ||
                             run.front()->source != node.source || run.front()->frame != node.frame))
            flush();
        run.push_back(&node);
    }
    flush();
    return out;
}

} // namespace twb
