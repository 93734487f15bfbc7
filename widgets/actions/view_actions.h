#pragma once

#include <QCoreApplication>
#include <QString>

class QAction;
class QMenu;
class QWidget;

namespace twb {

class BottomPanel;
class CanvasWidget;
class WindowLayout;

/// The View menu: zoom, panels, card colours and theme.
class ViewActions {
    Q_DECLARE_TR_FUNCTIONS(ViewActions)

public:
    explicit ViewActions(CanvasWidget& canvas);

    void fillZoom(QMenu& menu);
    /// Adds entries that show and hide the panels and the canvas' overlays, and one that resets the layout,
    /// to which the overlays belong.
    void fillPanels(QMenu& menu, QWidget& palette, QWidget& inspector, BottomPanel& bottom,
                    WindowLayout& layout);
    void fillPages(QMenu& menu, BottomPanel& bottom);
    void fillThemes(QMenu& menu);

    QAction* fit() const { return m_fit; }
    QAction* legend() const { return m_legend; }
    /// A name of Theme::named().
    static void setTheme(const QString& name);

private:
    CanvasWidget& m_canvas;
    QAction* m_fit = nullptr;
    QAction* m_legend = nullptr;
};

} // namespace twb
