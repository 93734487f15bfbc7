#include "widgets/canvas/note_text.h"

#include "widgets/text.h"
#include "widgets/theme.h"

#include <QAbstractTextDocumentLayout>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextLayout>
#include <QTextList>

namespace twb {
namespace {

/// Markdown ignores a line break unless two spaces precede it. In notes, line breaks are kept.
QString withHardBreaks(QString text) { return text.replace(QLatin1Char('\n'), QLatin1String("  \n")); }

/// Headings are small, and blocks are close together.
void settle(QTextDocument& text) {
    constexpr qreal kBetween = 6;
    for (QTextBlock block = text.begin(); block.isValid(); block = block.next()) {
        QTextCursor cursor(block);
        QTextBlockFormat format = block.blockFormat();
        format.setTopMargin(0);
        const bool isListed = block.textList() && block.next().isValid() && block.next().textList();
        format.setBottomMargin(!block.next().isValid() || isListed ? 0 : kBetween);
        cursor.setBlockFormat(format);
        if (format.headingLevel() == 0) continue;
        cursor.select(QTextCursor::BlockUnderCursor);
        QTextCharFormat heading;
        heading.setFont(font(format.headingLevel() == 1 ? TextRole::panelTitle : TextRole::strong));
        heading.setProperty(QTextFormat::FontSizeAdjustment, 0);
        cursor.mergeCharFormat(heading);
    }
}

} // namespace

std::shared_ptr<QTextDocument> makeNoteText(const std::string& markdown, double width) {
    auto text = std::make_shared<QTextDocument>();
    text->setUndoRedoEnabled(false);
    text->setDocumentMargin(0);
    text->setDefaultFont(font(TextRole::body));
    text->setIndentWidth(18);
    text->setMarkdown(withHardBreaks(toQt(markdown)), QTextDocument::MarkdownNoHTML);
    settle(*text);
    text->setTextWidth(width);
    return text;
}

void paintNoteText(QPainter& painter, const Theme& theme, const QTextDocument& text, QPointF at) {
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette = theme.palette();
    context.palette.setColor(QPalette::Text, theme.isDark ? theme.text.darker(112) : theme.text);
    painter.save();
    painter.translate(at);
    text.documentLayout()->draw(&painter, context);
    painter.restore();
}

void paintNoteLines(QPainter& painter, const Theme& theme, const QTextDocument& text, QPointF at) {
    constexpr double kInk = 0.4; ///< of the height of a line
    QColor ink = theme.secondaryText;
    ink.setAlphaF(0.35F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink);
    for (QTextBlock block = text.begin(); block.isValid(); block = block.next()) {
        const QPointF corner = at + text.documentLayout()->blockBoundingRect(block).topLeft();
        for (int i = 0; i < block.layout()->lineCount(); ++i) {
            const QRectF line = block.layout()->lineAt(i).naturalTextRect();
            painter.drawRect(QRectF(corner.x() + line.left(),
                                    corner.y() + line.center().y() - line.height() * kInk / 2, line.width(),
                                    line.height() * kInk));
        }
    }
}

} // namespace twb
