#pragma once

#include <memory>
#include <string>

class QPainter;
class QPointF;
class QTextDocument;

namespace twb {

struct Theme;

/// A note's Markdown, laid out with a width of `width` canvas units in the window's font. Line breaks of the
/// source are kept. Colours are set when it is drawn.
std::shared_ptr<QTextDocument> makeNoteText(const std::string& markdown, double width);
void paintNoteText(QPainter& painter, const Theme& theme, const QTextDocument& text, QPointF at);
/// The lines of the text as bars, for a zoom at which letters cannot be read.
void paintNoteLines(QPainter& painter, const Theme& theme, const QTextDocument& text, QPointF at);

} // namespace twb
