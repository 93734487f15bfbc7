#include "widgets/ask_for_path.h"

#include <QFileDialog>
#include <QFileInfo>

namespace twb {
namespace {

QString endingOf(const QString& filter) {
    return filter.section(QLatin1Char('*'), 1)
        .section(QLatin1Char(')'), 0, 0)
        .section(QLatin1Char(' '), 0, 0);
}

} // namespace

QString askForPath(QWidget* parent, const QString& title, const QString& start, const QStringList& filters) {
    QString filter = filters.front();
    QString path = QFileDialog::getSaveFileName(parent, title, start + endingOf(filter),
                                                filters.join(QStringLiteral(";;")), &filter);
    if (!path.isEmpty() && QFileInfo(path).suffix().isEmpty()) path += endingOf(filter);
    return path;
}

} // namespace twb
