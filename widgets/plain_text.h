#pragma once

#include <QObject>
#include <QPoint>
#include <QString>

class QApplication;
class QWidget;

namespace twb {

/// Makes every label and every tooltip of the application show its text literally. Qt takes a text that looks
/// like HTML for HTML, and the names of nodes, files and devices may look like anything. A label that sets
/// Qt::RichText itself keeps it.
void showTextsLiterally(QApplication& app);

/// Shows a tooltip that a widget makes for a part of itself, literally; hides the tooltip if `text` is empty.
void showTip(QPoint globalPosition, const QString& text, QWidget* widget);

} // namespace twb
