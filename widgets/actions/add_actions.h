#pragma once

#include "widgets/add_op.h"
#include "widgets/document.h"

#include <QObject>
#include <QPoint>

#include <functional>
#include <optional>
#include <vector>

class QAction;
class QMenu;

namespace twb {

class CanvasWidget;
class GraphEditor;
class OpSearch;

/// Adds ops, composites, modules and notes to the graph: from the palette, by search, and by menu.
class AddActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of the search list and of dialogs.
    AddActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window);

    void fillOp(QMenu& menu);
    void fillNote(QMenu& menu);
    QAction* addOp() const { return m_addOp; }
    QAction* addNote() const { return m_addNote; }

    void addOpInView(const QString& op);
    void addOpAt(const QString& op, LaneId lane, Position position,
                 const std::optional<Splice>& splice = std::nullopt);
    /// Opens the search list at a point of the canvas.
    void searchOp(QPoint at, std::optional<LooseWire> wire);
    void editNote(NoteId id);
    /// Reloads the user's modules.
    void reload();

private:
    bool hasLaneFor(const QString& op, LaneId lane);
    void add(const std::function<Delta(std::vector<NodeId>*)>& make);
    void addFound(const QString& op);
    void addNoteInView();

    struct WantedOp {
        QPoint at; ///< of the canvas
        std::optional<LooseWire> wire;
    };

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
    OpSearch* m_search;
    QAction* m_addOp = nullptr;
    QAction* m_addNote = nullptr;
    WantedOp m_wanted; ///< the request for which m_search is open
};

} // namespace twb
