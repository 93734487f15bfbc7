#pragma once

#include <memory>
#include <string>

class QPainter;
class QPointF;
class QTextDocument;

namespace twb {

struct Theme;

/// A note's Markdown, laid out `width` canvas units wide in the window's font. A line break of the text is
/// one of the note, too. No colours: these come when it is drawn.
std::shared_ptr<QTextDocument> makeNoteText(const std::string& markdown, double width);
void paintNoteText(QPainter& painter, const Theme& theme, const QTextDocument& text, QPointF at);

} // namespace twb
