#include "widgets/wheel_guard.h"

#include <QEvent>
#include <QWidget>

namespace twb {
namespace {

class WheelGuard : public QObject {
public:
    using QObject::QObject;

    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::Wheel || static_cast<QWidget*>(watched)->hasFocus()) return false;
        event->ignore();
        return true;
    }
};

} // namespace

void needFocusForWheel(QWidget& box) {
    if (box.focusPolicy() == Qt::WheelFocus) box.setFocusPolicy(Qt::StrongFocus);
    box.installEventFilter(new WheelGuard(&box));
}

} // namespace twb
