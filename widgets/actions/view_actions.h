#pragma once

#include <QCoreApplication>
#include <QString>

class QAction;
class QMenu;
class QWidget;

namespace twb {

class BottomPanel;
class CanvasWidget;

/// The menu View: the zoom, the panels, the shades of the cards and the theme.
class ViewActions {
    Q_DECLARE_TR_FUNCTIONS(ViewActions)

public:
    explicit ViewActions(CanvasWidget& canvas);

    void fillZoom(QMenu& menu);
    /// Entries that show and hide the columns, and what the canvas has over the graph.
    void fillPanels(QMenu& menu, QWidget& palette, QWidget& inspector, BottomPanel& bottom);
    void fillPages(QMenu& menu, BottomPanel& bottom);
    void fillThemes(QMenu& menu);

    QAction* fit() const { return m_fit; }
    QAction* legend() const { return m_legend; }
    /// "dark", "light", or empty for that of the system.
    static void setTheme(const QString& name);

private:
    CanvasWidget& m_canvas;
    QAction* m_fit = nullptr;
    QAction* m_legend = nullptr;
};

} // namespace twb
