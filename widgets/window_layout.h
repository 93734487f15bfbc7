#pragma once

class QMainWindow;
class QSplitter;

namespace twb {

class BottomPanel;

/// The size and place of a window and its panels: which are shown, their sizes, and the current page of the
/// bottom panel. The settings keep one layout: that of the window that was closed last, or from which another
/// one was opened last.
class WindowLayout {
public:
    /// `columns`: palette, middle, inspector. `middle`: canvas, bottom panel. All outlive it.
    WindowLayout(QMainWindow& window, QSplitter& columns, QSplitter& middle, BottomPanel& bottom);

    /// Before the window is shown: takes the layout from the settings instead of the standard layout. A
    /// window that does not fit the screen is made smaller and moved.
    void restore();
    /// When the window is first shown: divides it among the panels.
    void divide();
    /// Writes the layout to the settings.
    void remember() const;

private:
    QMainWindow& m_window;
    QSplitter& m_columns;
    QSplitter& m_middle;
    BottomPanel& m_bottom;
    bool m_isRestored = false;
};

} // namespace twb
