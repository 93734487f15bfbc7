// Frames of the canvas on the raster paint engine, as painted by a window of 1600×1000: zoomed to fit and at
// 100 %. The budget is 16.7 ms per frame at the 95th percentile for 10,000 nodes with their edges, and 2 KiB
// per node for the window's memory, including the diagnostics, in addition to the graph's.
#include "bench/cpu_time.h"
#include "graph/delta.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "widgets/canvas/canvas_widget.h"

#include <QApplication>
#include <QImage>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <malloc.h>

using namespace twb;

namespace {

/// The heap memory in use by this process.
double heapBytes() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

struct Percentiles {
    double median = 0;
    double p95 = 0;
};

/// Paints the canvas while it moves by one pixel per frame.
Percentiles frames(CanvasWidget& canvas, int count) {
    QImage image(canvas.size(), QImage::Format_ARGB32_Premultiplied);
    std::vector<double> times;
    canvas.render(&image);
    for (int i = 0; i < count; ++i) {
        // centerOn refers to the middle of the area beside the lane headers.
        const double step = (headerWidthFor(canvas.width()) / 2 + (i % 2 ? 1 : -1)) / canvas.view().zoom();
        canvas.navigator().centerOn(canvas.view().viewport().center() + QPointF(step, 0));
        const double start = cpuMs();
        canvas.render(&image);
        times.push_back(cpuMs() - start);
    }
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times[times.size() * 95 / 100]};
}

} // namespace

int main(int argc, char** argv) {
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    Theme::apply(application, Theme::dark());
    const auto profiles = std::make_shared<const ProfileLibrary>(std::filesystem::path(TWB_SOURCE_DIR) /
                                                                 "resources" / "devices");
    fmt::print("{:>8} {:>8} {:>24} {:>12} {:>12}\n", "nodes", "edges", "view", "median ms", "p95 ms");
    bool isWithin = true;
    bool isSmall = true; // for small graphs, a window's fixed memory dominates
    for (const int count : {1000, 10000, 100000}) {
        Document document(profiles);
        CanvasWidget canvas(document);
        canvas.resize(1600, 1000);
        canvas.show();
        const double empty = heapBytes();
        Graph graph = test::cardRows(count);
        const double withGraph = heapBytes();
        document.setGraph(std::move(graph), {}, QString());
        const auto report = [&](const std::string& view, int repeats) {
            const Percentiles p = frames(canvas, repeats);
            fmt::print("{:>8} {:>8} {:>24} {:>12.2f} {:>12.2f}\n", count, document.graph().edgeCount(), view,
                       p.median, p.p95);
            if (count <= 10000) isWithin = isWithin && p.p95 < 16.7;
        };
        canvas.navigator().zoomToFit();
        report("all in view", 60);
        canvas.navigator().zoom100();
        report("100 %", 60);
        while (canvas.view().zoom() > 0.7) canvas.navigator().zoomOut();
        report(fmt::format("{:.0f} %", canvas.view().zoom() * 100), 60);
        while (canvas.view().zoom() > 0.5) canvas.navigator().zoomOut();
        report(fmt::format("{:.0f} %", canvas.view().zoom() * 100), 60);

        // Includes the text layouts of all cards shown in the frames above.
        const double kiB = 1024.0 * count;
        const double window = (heapBytes() - withGraph) / kiB;
        fmt::print("{:>8} {:>8} {:>24} {:>12.2f} {:>12.2f}\n", count, document.graph().edgeCount(),
                   "KiB a node: graph, window", (withGraph - empty) / kiB, window);
        if (count >= 10000) isSmall = isSmall && window <= 2;

        const auto print = [&](const char* what, double since) {
            fmt::print("{:>8} {:>8} {:>24} {:>12.2f}\n", count, document.graph().edgeCount(), what,
                       cpuMs() - since);
        };
        double since = cpuMs();
        Scene scene;
        scene.rebuild({document.graph(), document.analysis(), document.devices()});
        print("scene built anew", since);
        const auto change = [&](NodeId id, const auto& how) {
            Delta delta;
            delta.nodes.push_back({*document.graph().find(id), *document.graph().find(id)});
            how(*delta.nodes[0].after);
            return delta;
        };
        const Delta move = change(NodeId(5), [](Node& node) { node.position.x += 8; });
        since = cpuMs();
        scene.update({document.graph(), document.analysis(), document.devices()}, move);
        print("one node moved", since);
        // The whole edit: graph, diagnostics and canvas update.
        since = cpuMs();
        document.apply(move);
        print("moved in the document", since);
        const Delta set =
            change(NodeId(1), [](Node& node) { node.attributes.set("shape", std::vector<std::int64_t>{4}); });
        since = cpuMs();
        document.apply(set);
        print("an attribute set there", since);
        since = cpuMs();
        const Analysis analysis = analyze(document.graph(), document.devices(), Policy::strict, nullptr);
        print("of it, the rules", since);
    }
    fmt::print("{}\n", isWithin ? "within 16.7 ms up to 10,000 nodes" : "OVER 16.7 ms");
    fmt::print("{}\n",
               isSmall ? "within 2 KiB a node beyond the graph" : "OVER 2 KiB a node beyond the graph");
    return isWithin && isSmall ? 0 : 1;
}
