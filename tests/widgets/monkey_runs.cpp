#include "core/error.h"
#include "formats/project.h"
#include "widgets/monkey.h"
#include "widgets/monkey_choices.h"

#include <nlohmann/json.hpp>

// The monkey's runs, and profiles of other programs' runs.

namespace twb::test {

void Monkey::runAndWait() {
    m_hand.key(Qt::Key_F5);
    const RunController& runs = m_hand.window->runs();
    if (runs.isContinuous()) return;
    const auto rests = [&] { return !runs.isRunning() || runs.isStopped(); };
    for (int stops = 0; QTest::qWaitFor(rests, 60'000) && runs.isStopped(); ++stops)
        m_hand.key(stops < 3 && oneIn(2) ? Qt::Key_F10 : Qt::Key_F5, stops < 3 ? kNone : kShift);
}

/// A profile of most of the nodes, or the end of the one that is shown.
void Monkey::overlayProfile() {
    RunController& runs = m_hand.window->runs();
    if (oneIn(3)) return action(*m_hand.window, QStringLiteral("Remove overlay"))->trigger();
    const QString path = m_folder.filePath(QStringLiteral("profile.json"));
    nlohmann::json events = nlohmann::json::array();
    for (const Node& node : m_hand.graph().nodes())
        for (int i = below(4); i > 0; --i)
            events.push_back({{"cat", "Node"},
                              {"name", node.name + "_kernel_time"},
                              {"ph", "X"},
                              {"pid", 1},
                              {"tid", 1},
                              {"ts", events.size() * 10},
                              {"dur", below(20)},
                              {"args", {{"op_name", node.op}}}});
    writeFileAtomically(path.toStdString(), events.dump());
    RunRequest request;
    request.graph = m_hand.graph();
    request.devices = m_hand.document.devices();
    request.files = m_hand.document.files();
    try {
        OverlaidProfile profile = readOverlay(request, path, {});
        if (!profile.isOfAnotherModel()) runs.overlay(std::move(profile));
    } catch (const Error&) {
        // The graph cannot run, or the profile is empty.
    }
}

void Monkey::runAndStop() {
    m_hand.key(Qt::Key_F5);
    QTest::qWait(below(10));
    m_hand.key(Qt::Key_F5, kShift);
    waitForRun(*m_hand.window);
}

/// The following gestures are done while the graph runs.
void Monkey::runOnAndOn() {
    if (m_hand.window->runs().isRunning()) {
        m_hand.key(Qt::Key_F5, kShift);
        waitForRun(*m_hand.window);
    } else
        m_hand.key(Qt::Key_F5, kCtrl);
}

} // namespace twb::test
