#include "widgets/finish_typing.h"

#include <QLineEdit>

namespace twb {

void finishTyping(QWidget* focused) {
    auto* line = qobject_cast<QLineEdit*>(focused);
    if (line && line->isModified()) Q_EMIT line->editingFinished();
}

} // namespace twb
