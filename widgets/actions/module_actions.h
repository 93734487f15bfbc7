#pragma once

#include "widgets/document.h"

#include <QObject>

#include <functional>
#include <vector>

class QAction;
class QMenu;

namespace twb {

class CanvasWidget;
class GraphEditor;
class LogPanel;
class NoticeBar;

/// The actions on the module of the selection.
class ModuleActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs. When a graph is opened, `notice` and `log` say which of its modules
    /// were made from another version of their op.
    ModuleActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, LogPanel& log,
                  NoticeBar& notice, QWidget& window);

    void fill(QMenu& menu);
    QMenu* menu() const { return m_menu; }

    /// Expands or collapses the modules in view so that `levels` of them are open, and arranges the cards.
    void openLevels(int levels);

    QAction* open() const { return m_open; }
    QAction* leave() const { return m_leave; }
    QAction* collapse() const { return m_collapse; }
    QAction* rename() const { return m_rename; }
    QAction* dissolve() const { return m_dissolve; }
    QAction* update() const { return m_update; }
    QMenu* colors() const { return m_colors; }

Q_SIGNALS:
    void ownModulesChanged(); ///< a module was saved for the palette

private:
    FrameId atHand() const;
    void fillColors(QMenu& menu);
    void renameAtHand();
    void keep();
    std::vector<FrameId> olderAtHand() const;
    void tellOfVersions();
    void updateVersions(const std::vector<FrameId>& modules);
    void toggleAtHand();
    void arrangeAll();
    void applyLayout(const QString& text,
                     const std::function<Delta(const std::function<bool()>& isCancelled)>& make);
    void refresh();

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    LogPanel& m_log;
    NoticeBar& m_notice;
    QWidget& m_window;
    QMenu* m_menu = nullptr;
    std::vector<QAction*> m_needModule; ///< enabled while the selection is in a module
    QAction* m_open = nullptr;
    QAction* m_leave = nullptr;
    QAction* m_collapse = nullptr;
    QAction* m_rename = nullptr;
    QAction* m_dissolve = nullptr;
    QAction* m_update = nullptr;
    QAction* m_moreLevels = nullptr;
    QAction* m_fewerLevels = nullptr;
    QMenu* m_colors = nullptr;
    int m_remark = 0; ///< the remark that offers an update; 0: there is none
};

} // namespace twb
