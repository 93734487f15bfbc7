#include "widgets/plain_text.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QHelpEvent>
#include <QLabel>
#include <QMenu>
#include <QTextDocument>
#include <QToolTip>

namespace twb {
namespace {

/// The tooltip that Qt would show at a position of a widget.
QString tipAt(const QWidget& widget, QPoint position) {
    if (const auto* view = qobject_cast<const QAbstractItemView*>(widget.parentWidget());
        view && view->viewport() == &widget)
        return view->indexAt(position).data(Qt::ToolTipRole).toString();
    if (const auto* menu = qobject_cast<const QMenu*>(&widget)) {
        const QAction* action = menu->toolTipsVisible() ? menu->actionAt(position) : nullptr;
        return action ? action->toolTip() : QString();
    }
    return widget.toolTip();
}

class LiteralTexts : public QObject {
public:
    using QObject::QObject;

    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Polish) {
            auto* label = qobject_cast<QLabel*>(watched);
            // Qt's tooltip is a label too; the canvas shows formatted text in it.
            if (label && label->textFormat() == Qt::AutoText && !label->inherits("QTipLabel"))
                label->setTextFormat(Qt::PlainText);
        } else if (event->type() == QEvent::ToolTip) {
            auto* widget = qobject_cast<QWidget*>(watched);
            const auto* help = static_cast<const QHelpEvent*>(event);
            const QString tip = widget ? tipAt(*widget, help->pos()) : QString();
            if (!Qt::mightBeRichText(tip)) return false;
            showTip(help->globalPos(), tip, widget);
            return true;
        }
        return false;
    }
};

} // namespace

void showTextsLiterally(QApplication& app) { app.installEventFilter(new LiteralTexts(&app)); }

void showTip(QPoint globalPosition, const QString& text, QWidget* widget) {
    const QString literal = Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text) : text;
    if (literal.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(globalPosition, literal, widget);
}

} // namespace twb
