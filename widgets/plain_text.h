#pragma once

#include <QObject>
#include <QPoint>
#include <QString>

class QApplication;
class QWidget;

namespace twb {

/// Makes every label and every tooltip of the application show its text literally. By default, Qt renders a
/// text that looks like HTML as HTML, and the names of nodes, files and devices may contain markup. A label
/// that sets Qt::RichText itself keeps it.
void showTextsLiterally(QApplication& app);

/// Shows a tooltip that a widget makes for a part of itself, literally; hides the tooltip if `text` is empty.
void showTip(QPoint globalPosition, const QString& text, QWidget* widget);

} // namespace twb
