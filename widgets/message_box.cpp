#include "widgets/message_box.h"

#include "widgets/icon.h"
#include "widgets/theme.h"

#include <QMessageBox>

namespace twb {

void dress(QMessageBox& box, Severity severity) {
    const QString name = severity == Severity::note ? QStringLiteral("note") : QStringLiteral("warning");
    box.setIconPixmap(
        icon(name, Theme::current().severity(severity)).pixmap(QSize(32, 32), box.devicePixelRatioF()));
}

void showError(const QString& title, const QString& sentence, QWidget* parent) {
    QMessageBox box(QMessageBox::NoIcon, title, title, QMessageBox::Ok, parent);
    box.setInformativeText(sentence);
    dress(box, Severity::error);
    box.exec();
}

} // namespace twb
