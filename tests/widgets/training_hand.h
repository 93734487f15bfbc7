#pragma once

#include "widgets/panels/training_panel.h"
#include "widgets/window_hand.h"

#include <QLabel>
#include <QSpinBox>

#include <memory>

namespace twb::test {

inline constexpr const char* kLearns = "resources/examples/11-a-model-learns.twb";
inline constexpr const char* kLabels = "resources/examples/12-the-labels-stayed-on-the-cpu.twb";

/// A window with the Training panel in front.
inline std::unique_ptr<MainWindow> windowWith(const char* file) {
    auto window = makeWindow();
    window->load(sourcePath(file));
    window->bottom().showPage(QStringLiteral("training"));
    QCoreApplication::processEvents();
    return window;
}

inline void click(MainWindow& window, const char* name) {
    QTest::mouseClick(find<QPushButton>(window, name), Qt::LeftButton);
}

/// Trains for some epochs, from the start.
inline void train(MainWindow& window, int epochs) {
    find<QSpinBox>(window, "epochs")->setValue(epochs);
    click(window, "train");
    const auto& training = window.training();
    if (!QTest::qWaitFor([&] { return training.state() == TrainingRun::State::idle; }, 600'000))
        qCritical("the training does not end");
}

inline QString buttonText(MainWindow& window) { return find<QPushButton>(window, "train")->text(); }

/// All visible texts.
inline QString textsOf(const QWidget& widget) {
    QString out;
    for (const QLabel* label : widget.findChildren<QLabel*>())
        if (label->isVisible()) out += label->text() + QLatin1Char('\n');
    return out;
}

inline QString factsOf(MainWindow& window) { return textsOf(*window.findChild<TrainingPanel*>()); }

inline NodeId nodeNamed(const Graph& graph, const char* name) { return graph.findByName(name)->id; }

} // namespace twb::test
