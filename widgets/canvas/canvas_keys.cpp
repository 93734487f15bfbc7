#include "widgets/canvas/canvas_keys.h"

#include "widgets/canvas/canvas_widget.h"

#include <QFocusEvent>
#include <QKeyEvent>

#include <optional>

namespace twb {
namespace {

std::optional<Way> wayOf(int key) {
    switch (key) {
    case Qt::Key_Left:
        return Way::toProducer;
    case Qt::Key_Right:
        return Way::toConsumer;
    case Qt::Key_Up:
        return Way::up;
    case Qt::Key_Down:
        return Way::down;
    default:
        return std::nullopt;
    }
}

} // namespace

CanvasKeys::CanvasKeys(CanvasWidget& canvas) : QObject(&canvas), m_canvas(canvas) {
    canvas.installEventFilter(this);
}

/// Whether the key means something on the canvas.
bool CanvasKeys::press(const QKeyEvent& event) {
    Document& document = m_canvas.document();
    CanvasNavigator& navigator = m_canvas.navigator();
    const Selection& selection = document.selection();
    const Qt::KeyboardModifiers modifiers = event.modifiers();
    const bool isInside = navigator.inside() != FrameId::none;
    if (event.key() == Qt::Key_Escape) {
        if (m_canvas.mouse().cancelGesture()) return true;
        if (isInside && selection.empty())
            navigator.leave();
        else
            document.select({});
        return true;
    }
    if (event.key() == Qt::Key_Space && !event.isAutoRepeat()) {
        m_canvas.mouse().setPanning(true);
        return true;
    }
    if (m_canvas.mouse().gesture()) return false;
    if (event.matches(QKeySequence::SelectAll)) {
        m_canvas.commands().selectAll();
        return true;
    }
    switch (event.key()) {
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
        if (modifiers & Qt::ControlModifier) return false;
        if (event.key() == Qt::Key_Backspace && isInside && selection.empty())
            navigator.leave();
        else
            m_canvas.commands().deleteSelection();
        return true;
    case Qt::Key_A:
        if (modifiers != Qt::ShiftModifier) return false;
        m_canvas.commands().requestOp();
        return true;
    case Qt::Key_F:
        if (modifiers & ~Qt::ShiftModifier) return false;
        navigator.zoomToSelection();
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (selection.nodes.size() == 1)
            Q_EMIT m_canvas.nodeActivated(*selection.nodes.begin());
        else if (selection.notes.size() == 1)
            Q_EMIT m_canvas.noteActivated(*selection.notes.begin());
        else
            return false;
        return true;
    default:
        break;
    }
    const std::optional<Way> way = wayOf(event.key());
    if (!way || modifiers & Qt::AltModifier) return false;
    if (!(modifiers & Qt::ControlModifier)) {
        m_canvas.commands().walk(*way);
        return true;
    }
    const QPointF steps[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    m_canvas.commands().nudge(steps[int(*way)] * (modifiers & Qt::ShiftModifier ? 4 : 1));
    return true;
}

bool CanvasKeys::eventFilter(QObject*, QEvent* event) {
    switch (event->type()) {
    case QEvent::KeyPress:
        return press(*static_cast<QKeyEvent*>(event));
    case QEvent::KeyRelease: {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() != Qt::Key_Space || key->isAutoRepeat()) return false;
        m_canvas.mouse().setPanning(false);
        return true;
    }
    case QEvent::FocusIn: {
        const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
        m_showsFocus = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                       reason == Qt::ShortcutFocusReason;
        m_canvas.update();
        return false;
    }
    case QEvent::FocusOut:
        m_canvas.mouse().setPanning(false);
        m_showsFocus = false;
        m_canvas.update();
        return false;
    case QEvent::MouseButtonPress:
        m_showsFocus = false;
        return false;
    default:
        return false;
    }
}

} // namespace twb
