#pragma once

#include <QWidget>

class QHBoxLayout;

namespace twb {

class CanvasWidget;
class Document;

/// The path to the open module: file › outer › inner. Each part is a button that opens it. Hidden while the
/// whole graph is shown.
class Breadcrumb : public QWidget {
    Q_OBJECT

public:
    Breadcrumb(const Document& document, CanvasWidget& canvas, QWidget* parent = nullptr);

private:
    void refresh();

    const Document& m_document;
    CanvasWidget& m_canvas;
    QHBoxLayout* m_way;
};

} // namespace twb
