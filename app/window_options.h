#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace twb {

/// The command line of tensor-workbench, in a file without Qt, so that `twb` can write its man page and
/// complete its options.
struct WindowOptions {
    std::vector<std::string> files;
    std::string screenshot; ///< the picture to write; empty: a window is shown
    std::string size = "1600x1000";
    std::string theme = "dark"; ///< or "light"
    std::optional<std::int64_t> iterations;
    std::optional<std::int64_t> epochs; ///< of a training before the picture
    std::string trace; ///< of `twb run --trace` or `twb train --trace`, shown before the picture
    std::string select;
    std::string tab;
    bool noPlugins = false;
    bool onlyGraph = false; ///< the picture has no window around the graph

    /// Also sets the program's name and description. `this` must outlive `app`.
    void addTo(CLI::App& app);
};

} // namespace twb
