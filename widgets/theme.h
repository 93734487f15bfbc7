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

/// The colours, fonts and measures of the window, in one place. Every view asks here; nobody names a colour.
struct Theme {
    bool isDark = true;

    QColor window, panel, raised;
    QColor canvas, dotGrid, border;
    QColor laneHeader, cpuLane, cudaLane;
    QColor text, secondaryText, disabledText;
    QColor accent, onAccent;
    QColor error, warning, good;
    QColor floatWire, integerWire, boolWire;

    /// One accent a device; GPUs beyond the second rotate the hue.
    QColor device(Device device) const;
    /// The same for words: at least 4.5:1 on lane headers and cards.
    QColor deviceInk(Device device) const;
    QColor warningInk() const;
    /// Of a diagnostic; a note is no trouble and has the accent.
    QColor severity(Severity severity) const;
    QColor laneBackground(Device device) const;
    QColor wire(DType dtype) const;
    /// Of a module's outline, and of its title, which is legible on the canvas.
    QColor frame(FrameColor color) const;
    /// Of the index-th curve of a plot and its row in a legend.
    QColor series(std::size_t index) const;
    QPalette palette() const;

    static const Theme& dark();
    static const Theme& light();
    /// The theme in use. Changes only on the GUI thread; views repaint on QEvent::PaletteChange.
    static const Theme& current();
    /// Sets palette, fonts and style sheet of the application.
    static void apply(QApplication& app, const Theme& theme);
    /// Dark or light as the desktop has it.
    static const Theme& ofSystem();
};

/// The type scale: sizes in pixels at 100 %.
enum class TextRole { capsLabel, small, body, strong, nodeTitle, panelTitle, laneTitle, figure, smallFigure };
/// Inter or the system's sans; JetBrains Mono or the system's mono for figures. Cached.
const QFont& font(TextRole role);

namespace metrics {
inline constexpr int unit = 4; ///< spacing comes in steps of this
inline constexpr int cardRadius = 8;
inline constexpr int controlRadius = 6;
inline constexpr double portRadius = 4.6;
inline constexpr double portHitRadius = 12;
} // namespace metrics

} // namespace twb
