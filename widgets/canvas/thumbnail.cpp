#include "widgets/canvas/thumbnail.h"

#include <utility>

namespace twb {
namespace {

Analysis withoutFileErrors(Analysis analysis) {
    std::erase_if(analysis.diagnostics, [](const Diagnostic& problem) { return problem.code == "file"; });
    return analysis;
}

PaintState stateWith(double headerWidth) {
    PaintState state(Theme::current());
    state.headerWidth = headerWidth;
    return state;
}

Scene& rebuilt(Scene& scene, const SceneSource& source) {
    scene.rebuild(source);
    return scene;
}

} // namespace

Thumbnail::Thumbnail(const Graph& graph, Analysis analysis, const DeviceMap& devices, double headerWidth)
    : m_analysis(withoutFileErrors(std::move(analysis))),
      m_picture(rebuilt(m_scene, {graph, m_analysis, devices}), {graph, m_analysis, devices},
                stateWith(headerWidth)) {}

} // namespace twb
