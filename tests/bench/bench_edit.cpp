// The time that an edit takes in the whole window: graph, diagnostics and all views; and, separately, layout
// and painting until the next frame. The budget of connect, disconnect and undo is 2 ms at 100,000 nodes.
// `bench_edit [NODES] [NAME]` repeats only the edit with this name, for a profiler.
#include "bench/cpu_time.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "widgets/main_window.h"
#include "widgets/theme.h"

#include <QApplication>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace twb;

namespace {

double medianOf(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

struct Case {
    std::string name;
    std::function<void(DeltaBuilder&)> edit;
    bool isBudgeted = false;
};

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
    const std::string only = argc > 2 ? argv[2] : "";
    Theme::apply(application, Theme::dark());
    MainWindow window(std::make_shared<const ProfileLibrary>(TWB_SOURCE_DIR "/resources/devices"));
    window.resize(1600, 1000);
    window.show();
    Document& document = window.document();
    document.setGraph(test::cardRows(count), {}, {});
    application.processEvents();

    const auto change = [&](NodeId id, const std::function<void(Node&)>& how) {
        return [&document, id, how](DeltaBuilder& builder) {
            Node node = *document.graph().find(id);
            how(node);
            builder.change(node);
        };
    };
    // The very last card, so that only its own type changes, and one in the middle, on which many types
    // depend.
    const NodeId last = document.graph().nodes().lastId();
    const NodeId middle{value(last) / 2};
    const auto edgeInto = [&](NodeId id) { return Edge{*document.graph().inputs(id)[0], {id, 0}}; };
    const auto lanes = document.graph().lanesInOrder();
    const std::vector<Case> cases{
        {"disconnect", [&](DeltaBuilder& b) { b.disconnect(edgeInto(last)); }, true},
        {"rename", change(middle, [](Node& node) { node.name += "_renamed"; })},
        {"move", change(middle, [](Node& node) { node.position.x += 8; })},
        {"to the other lane",
         change(middle, [&](Node& node) { node.lane = lanes[node.lane == lanes.front().id ? 1 : 0].id; })},
        {"add a node",
         [&](DeltaBuilder& b) {
             Node node = *document.graph().find(middle);
             node.id = NodeId::none;
             b.addNode(node);
         }},
        {"delete a node", [&](DeltaBuilder& b) { b.removeNode(last); }},
        {"disconnect, and the rest of all rows below loses its types",
         [&](DeltaBuilder& b) { b.disconnect(edgeInto(middle)); }},
    };
    fmt::print("{} nodes, {} edges; ms of the window's thread\n", count, document.graph().edgeCount());
    fmt::print("{:<60} {:>9} {:>9} {:>9} {:>9}\n", "", "edit", "undo", "redo", "frame");
    bool isWithin = true;
    for (const Case& edit : cases) {
        if (!only.empty() && edit.name != only) continue;
        std::vector<double> there;
        std::vector<double> back;
        std::vector<double> again;
        std::vector<double> frame;
        const auto timed = [](std::vector<double>& times, const auto& act) {
            const double start = cpuMs();
            act();
            times.push_back(cpuMs() - start);
        };
        for (int i = 0; i < (only.empty() ? 11 : 101); ++i) {
            DeltaBuilder builder(document.graph(), edit.name);
            edit.edit(builder);
            Delta delta = builder.take();
            timed(there, [&] { document.apply(std::move(delta)); });
            timed(frame, [&] { application.processEvents(); });
            timed(back, [&] { document.undoStack().undo(); });
            application.processEvents();
            timed(again, [&] { document.undoStack().redo(); });
            document.undoStack().undo();
            application.processEvents();
        }
        const double worst = std::max({medianOf(there), medianOf(back), medianOf(again)});
        fmt::print("{:<60} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.1f}\n", edit.name, medianOf(there), medianOf(back),
                   medianOf(again), medianOf(frame));
        if (edit.isBudgeted) isWithin = isWithin && worst <= 2;
    }
    fmt::print("{}\n", isWithin ? "connect, disconnect and undo within 2 ms" : "OVER 2 ms");
    return isWithin ? 0 : 1;
}
