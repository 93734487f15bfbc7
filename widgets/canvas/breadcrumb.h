#pragma once

#include <QWidget>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace twb {

class CanvasWidget;
class Document;

/// The path to the open module: file › outer › inner, where each part is a button that opens it, and the
/// number of levels of modules in it that are expanded, with buttons to change it. Hidden if the whole graph
/// is shown and none of its modules is collapsed.
class Breadcrumb : public QWidget {
    Q_OBJECT

public:
    Breadcrumb(const Document& document, CanvasWidget& canvas, QWidget* parent = nullptr);

Q_SIGNALS:
    void levelsWanted(int levels);

private:
    void refresh();
    void refreshLevels();

    const Document& m_document;
    CanvasWidget& m_canvas;
    QHBoxLayout* m_way;
    QLabel* m_hint;
    QLabel* m_levels;
    QPushButton* m_fewer;
    QPushButton* m_more;
    int m_open = 0; ///< levels
};

} // namespace twb
