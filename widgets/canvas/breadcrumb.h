#pragma once

#include <QWidget>

class QHBoxLayout;

namespace twb {

class CanvasWidget;
class Document;

/// The way to the module that is open: file › outer › inner. Each is a button that goes there. Hidden while
/// the whole graph is shown.
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
