#pragma once

#include "core/device.h"
#include "core/dtype.h"
#include "graph/diagnostic.h"
#include "graph/frame_color.h"

#include <QColor>
#include <QFont>
#include <QPalette>

class QApplication;

namespace twb {

/// The colours, fonts and sizes of the window in one place. All views use them; no other code has a colour of
/// its own.
struct Theme {
    bool isDark = true;

    QColor window, panel, raised;
    QColor canvas, dotGrid, border;
    QColor laneHeader, cpuLane, cudaLane;
    QColor text, secondaryText, disabledText;
    QColor accent, onAccent;
    QColor error, warning, good;
    QColor floatWire, integerWire, boolWire;

    /// One accent per device; GPUs beyond the second rotate the hue. The first three also differ for people
    /// who are colour-blind.
    QColor device(Device device) const;
    /// The same for text: contrast at least 4.5:1 on lane headers and cards.
    QColor deviceInk(Device device) const;
    QColor warningInk() const;
    /// The colour of a diagnostic; a note has the accent colour.
    QColor severity(Severity severity) const;
    QColor laneBackground(Device device) const;
    QColor wire(DType dtype) const;
    /// The colour of a module's outline and of its title, which is legible on the canvas.
    QColor frame(FrameColor color) const;
    /// The colour of the index-th curve of a plot and of its row in a legend. The first four also differ for
    /// people who are colour-blind; marks distinguish all of them.
    QColor series(std::size_t index) const;
    QPalette palette() const;

    static const Theme& dark();
    static const Theme& light();
    /// Light text on black: contrast at least 7:1 for text, 4.5:1 for marks, 3:1 for borders.
    static const Theme& highContrast();
    /// "dark", "light" or "high-contrast"; any other name: the system's.
    static const Theme& named(const QString& name);
    /// The theme in use. Changes only on the GUI thread; views repaint on QEvent::PaletteChange.
    static const Theme& current();
    /// Sets palette, fonts and style sheet of the application.
    static void apply(QApplication& app, const Theme& theme);
    /// Dark or light, following the desktop.
    static const Theme& ofSystem();
};

/// The type scale: sizes in pixels at 100 %.
enum class TextRole { capsLabel, small, body, strong, nodeTitle, panelTitle, laneTitle, figure, smallFigure };
/// Inter or the system's sans; JetBrains Mono or the system's mono for figures. Cached.
const QFont& font(TextRole role);

namespace metrics {
inline constexpr int unit = 4; ///< all spacing is a multiple of this
inline constexpr int cardRadius = 8;
inline constexpr int controlRadius = 6;
inline constexpr double portRadius = 4.6;
inline constexpr double portHitRadius = 12;
} // namespace metrics

} // namespace twb
