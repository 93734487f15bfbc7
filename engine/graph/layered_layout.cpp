#include "graph/layered_layout.h"

#include "graph/layout_lanes.h"
#include "graph/layout_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gvc.h>
#include <gvplugin.h>
#include <memory>
#include <mutex>

extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace twb {
namespace {

constexpr double kUnit = 8; ///< canvas units per inch of Graphviz: whole numbers are the same in every locale
constexpr double kPoints = 72;
constexpr double kColumnGap = 64;
constexpr double kRowGap = 24;

std::string inches(double units) { return std::to_string(static_cast<int>(std::ceil(units / kUnit))); }

/// Runs dot once. The lock must be held: Graphviz has global state.
class Drawing {
public:
    Drawing() : m_context(gvContextPlugins(builtins(), 0), gvFreeContext) {
        agseterr(AGMAX); // disables messages: a graph that dot cannot lay out gets plain columns
        m_graph.reset(agopen(text("layout"), Agdirected, nullptr));
        declare(AGRAPH, "rankdir", "LR");
        declare(AGRAPH, "ranksep", inches(kColumnGap));
        declare(AGRAPH, "nodesep", inches(kRowGap));
        declare(AGRAPH, "splines", "none");
        declare(AGRAPH, "nslimit", "4");
        declare(AGRAPH, "nslimit1", "4");
        declare(AGRAPH, "mclimit", "1");
        declare(AGRAPH, "margin", "200"); // points around a group, for its frame and the title above
        declare(AGNODE, "shape", "box");
        declare(AGNODE, "fixedsize", "true");
        declare(AGNODE, "label", "");
        declare(AGNODE, "width", "1");
        declare(AGNODE, "height", "1");
        declare(AGEDGE, "weight", "1");
    }

    void addGroups(std::span<const int> parents) {
        m_groups.assign(parents.size(), nullptr);
        for (std::size_t i = 0; i < parents.size(); ++i) group(parents, static_cast<int>(i));
    }

    void add(const LayoutBox& box) {
        const std::string name = fmt::format("n{}", m_boxes.size());
        Agraph_t* const in = box.group >= 0 ? m_groups[static_cast<std::size_t>(box.group)] : m_graph.get();
        Agnode_t* const node = agnode(in, text(name), 1);
        // Equal heights above and below the line of its wires, so that wires between unequal cards run
        // straight.
        const double half = std::max(box.anchor, box.height - box.anchor);
        agxset(node, agattr(m_graph.get(), AGNODE, text("width"), nullptr), text(inches(box.width)));
        agxset(node, agattr(m_graph.get(), AGNODE, text("height"), nullptr), text(inches(2 * half)));
        m_boxes.push_back(node);
    }

    void link(const LayoutLink& link) {
        agedge(m_graph.get(), m_boxes[link.from], m_boxes[link.to], nullptr, 1);
    }

    /// The middle of each box's line of wires; nothing if dot cannot lay it out.
    std::vector<Position> middles() {
        if (gvLayout(m_context.get(), m_graph.get(), "dot") != 0) return {};
        std::vector<Position> out;
        for (Agnode_t* node : m_boxes) {
            const pointf at = ND_coord(node);
            out.push_back({at.x / kPoints * kUnit, -at.y / kPoints * kUnit});
        }
        gvFreeLayout(m_context.get(), m_graph.get());
        return out;
    }

private:
    /// Only dot, linked statically: no plugin search, and no fonts for empty labels.
    static const lt_symlist_t* builtins() {
        static const lt_symlist_t list[] = {
            {"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library}, {nullptr, nullptr}};
        return list;
    }

    /// Graphviz takes constant strings as char*.
    static char* text(const char* constant) { return const_cast<char*>(constant); }
    static char* text(const std::string& constant) { return text(constant.c_str()); }

    void declare(int kind, const char* name, const std::string& value) {
        agattr(m_graph.get(), kind, text(name), text(value));
    }

    Agraph_t* group(std::span<const int> parents, int index) {
        Agraph_t*& at = m_groups[static_cast<std::size_t>(index)];
        if (at) return at;
        const int parent = parents[static_cast<std::size_t>(index)];
        Agraph_t* const around = parent >= 0 ? group(parents, parent) : m_graph.get();
        at = agsubg(around, text(fmt::format("cluster{}", index)), 1);
        return at;
    }

    struct Close {
        void operator()(Agraph_t* graph) const { agclose(graph); }
    };
    std::unique_ptr<GVC_t, int (*)(GVC_t*)> m_context;
    std::unique_ptr<Agraph_t, Close> m_graph;
    std::vector<Agraph_t*> m_groups;
    std::vector<Agnode_t*> m_boxes;
};

std::vector<Position> drawn(std::span<const LayoutBox> boxes, std::span<const LayoutLink> links,
                            std::span<const int> parents) {
    static std::mutex graphviz;
    const std::lock_guard lock(graphviz);
    Drawing drawing;
    drawing.addGroups(parents);
    for (const LayoutBox& box : boxes) drawing.add(box);
    for (const LayoutLink& link : links) drawing.link(link);
    return drawing.middles();
}

/// The length of the longest path to each box from a box without predecessors; 0 on cycles.
std::vector<int> depthsOf(std::size_t count, std::span<const LayoutLink> links) {
    std::vector<std::vector<std::size_t>> next(count);
    std::vector<int> missing(count, 0);
    for (const LayoutLink& link : links) {
        next[link.from].push_back(link.to);
        ++missing[link.to];
    }
    std::vector<int> depths(count, 0);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i)
        if (missing[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
        const std::size_t at = ready.back();
        ready.pop_back();
        for (const std::size_t reader : next[at]) {
            depths[reader] = std::max(depths[reader], depths[at] + 1);
            if (--missing[reader] == 0) ready.push_back(reader);
        }
    }
    return depths;
}

/// dot routes a link through every column that it crosses. A constant that all layers read would cost more
/// time than the network. Therefore the longest links are left out until the total is below the limit.
std::vector<LayoutLink> affordable(std::span<const LayoutLink> links, const std::vector<int>& depths,
                                   int mostPassed) {
    const auto length = [&](const LayoutLink& link) { return std::abs(depths[link.to] - depths[link.from]); };
    std::vector<LayoutLink> out(links.begin(), links.end());
    std::stable_sort(out.begin(), out.end(),
                     [&](const LayoutLink& a, const LayoutLink& b) { return length(a) < length(b); });
    int passed = 0;
    std::size_t kept = 0;
    for (; kept < out.size() && passed <= mostPassed; ++kept) passed += std::max(0, length(out[kept]) - 1);
    out.resize(kept);
    return out;
}

std::vector<Position> columns(std::span<const LayoutBox> boxes, const std::vector<int>& depths) {
    double widest = 0;
    for (const LayoutBox& box : boxes) widest = std::max(widest, box.width);
    std::vector<double> bottoms(boxes.size() + 1, 0.0);
    std::vector<Position> middles;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        double& bottom = bottoms[static_cast<std::size_t>(depths[i])];
        middles.push_back({depths[i] * (widest + kColumnGap), bottom + boxes[i].anchor});
        bottom += boxes[i].height + kRowGap;
    }
    return middles;
}

} // namespace

std::vector<Position> layeredLayout(std::span<const LayoutBox> boxes, std::span<const LayoutLink> links,
                                    std::span<const int> parents, int mostPassed) {
    if (boxes.empty()) return {};
    const std::vector<int> depths = depthsOf(boxes.size(), links);
    std::vector<Position> middles;
    // The time of dot grows with the product of both numbers: 0.5 s for 800 boxes and 1,500 columns.
    constexpr std::size_t kMostWork = 600'000;
    const int passed = std::min(mostPassed, static_cast<int>(kMostWork / boxes.size()));
    if (boxes.size() <= kMostLaidOut) middles = drawn(boxes, affordable(links, depths, passed), parents);
    if (middles.empty()) middles = columns(boxes, depths);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        middles[i].x -= boxes[i].width / 2;
        middles[i].y -= boxes[i].anchor;
    }
    if (!packLanes(middles, boxes, parents)) breakIntoRows(middles, boxes, links, parents);
    double left = middles[0].x;
    double top = middles[0].y;
    for (const Position& at : middles) {
        left = std::min(left, at.x);
        top = std::min(top, at.y);
    }
    const auto onGrid = [](double from, double to) { return std::round((to - from) / kUnit) * kUnit; };
    for (Position& at : middles) at = {onGrid(left, at.x), onGrid(top, at.y)};
    return middles;
}

} // namespace twb
