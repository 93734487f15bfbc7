#pragma once

#include "graph/alignment.h"
#include "widgets/document.h"

#include <QCoreApplication>

#include <vector>

class QAction;
class QMenu;

namespace twb {

class CanvasWidget;
class GraphEditor;

/// The clipboard, the selection and the alignment of cards.
class EditActions {
    Q_DECLARE_TR_FUNCTIONS(EditActions)

public:
    EditActions(Document& document, CanvasWidget& canvas, GraphEditor& editor);

    /// Undo and Redo.
    void fillHistory(QMenu& menu);
    void fill(QMenu& menu);

    QAction* cut() const { return m_cut; }
    QAction* copy() const { return m_copy; }
    QAction* paste() const { return m_paste; }
    QAction* duplicate() const { return m_duplicate; }
    QAction* remove() const { return m_remove; }
    QAction* removeThrough() const { return m_removeThrough; }
    QAction* selectAll() const { return m_selectAll; }
    QMenu* align() const { return m_align; }

private:
    void fillSelectMenu(QMenu& menu);
    void fillAlignMenu(QMenu& menu);
    void connectByName();
    std::vector<AlignedCard> selectedCards() const;
    void copySelection();
    void pasteClipboard();
    void addCopies(Delta delta);

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QAction* m_cut = nullptr;
    QAction* m_copy = nullptr;
    QAction* m_paste = nullptr;
    QAction* m_duplicate = nullptr;
    QAction* m_remove = nullptr;
    QAction* m_removeThrough = nullptr;
    QAction* m_selectAll = nullptr;
    QMenu* m_align = nullptr;
};

} // namespace twb
