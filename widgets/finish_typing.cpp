#include "widgets/finish_typing.h"

#include <QAbstractSpinBox>
#include <QLineEdit>

namespace twb {

void finishTyping(QWidget* focused) {
    if (auto* box = qobject_cast<QAbstractSpinBox*>(focused)) box->interpretText();
    auto* line = qobject_cast<QLineEdit*>(focused);
    if (line && line->isModified()) Q_EMIT line->editingFinished();
}

} // namespace twb
