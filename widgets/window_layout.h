#pragma once

#include <QString>

#include <vector>

class QAction;
class QMainWindow;
class QSplitter;

namespace twb {

class BottomPanel;

/// The size and place of a window and its panels: which are shown, their sizes, the current page of the
/// bottom panel, and the switches of the canvas. The settings keep one layout: that of the window that was
/// closed last, or from which another one was opened last.
class WindowLayout {
public:
    /// `columns`: palette, middle, inspector. `middle`: canvas, bottom panel. All outlive it.
    WindowLayout(QMainWindow& window, QSplitter& columns, QSplitter& middle, BottomPanel& bottom);

    /// Adds a switch: a checkable action that outlives the layout. Its present state is the standard one.
    void addSwitch(QAction& action, const QString& name);
    /// Before the window is shown: takes the layout from the settings instead of the standard layout. A
    /// window that does not fit the screen is made smaller and moved.
    void restore();
    /// When the window is first shown: divides it among the panels.
    void divide();
    /// Writes the layout to the settings.
    void remember() const;
    /// Goes back to the standard layout. The window keeps its size and place.
    void reset();

private:
    struct Switch {
        QAction& action;
        QString key; ///< of its setting
        bool standard;
    };

    QMainWindow& m_window;
    QSplitter& m_columns;
    QSplitter& m_middle;
    BottomPanel& m_bottom;
    std::vector<Switch> m_switches;
    bool m_isRestored = false;
};

} // namespace twb
