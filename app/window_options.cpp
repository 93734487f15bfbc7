#include "app/window_options.h"

#include "app/shared_options.h"

#include <CLI/CLI.hpp>

namespace twb {

void WindowOptions::addTo(CLI::App& app) {
    app.name("tensor-workbench");
    app.description("Shows which device holds each tensor, and what each transfer costs.");
    app.set_version_flag("-v,--version", "tensor-workbench " TWB_VERSION);
    app.add_option("FILE", files,
                   "Projects (.twb) and models (.onnx, .pt2, .twbcap) to open, each in its own window");
    app.add_flag("--no-plugins", noPlugins, "Leave out the ops of plug-ins");
    app.add_option("--screenshot", screenshot,
                   "Open FILE, or the start page, write a picture of the window, and exit")
        ->type_name("OUT.png");
    app.add_option("--size", size, "Size of the picture")->type_name("WxH")->capture_default_str();
    app.add_flag("--only-graph", onlyGraph,
                 "Draw the graph without the window, as large as --size allows; for file managers");
    app.add_option("--theme", theme, "Theme of the picture")
        ->check(CLI::IsMember({"dark", "light", "high-contrast"}))
        ->type_name("THEME")
        ->capture_default_str();
    app.add_option("--run", iterations, "Run this many iterations before the picture is taken")
        ->check(wholeBetween(1, 1'000'000'000))
        ->type_name("N");
    app.add_option("--train", epochs, "Train this many epochs before the picture is taken")
        ->check(wholeBetween(1, 1'000'000))
        ->type_name("EPOCHS");
    app.add_option("--trace", trace,
                   "Show this trace of twb run or twb train before the picture is taken; a trace of several "
                   "ranks fills the panel ranks")
        ->type_name("FILE.json");
    app.add_option("--select", select, "Select this node")->type_name("NODE");
    app.add_option("--tab", tab, "Show this panel")
        ->type_name("TAB:{transfers,timeline,memory,problems,log,nodes,history,training,breakpoints,ranks}");
}

} // namespace twb
