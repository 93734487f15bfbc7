#include "widgets/manual_page.h"

#include "widgets/theme.h"

#include <QTextBlock>
#include <QTextCursor>
#include <QTextTable>

namespace twb {
namespace {

constexpr int kWidestPicture = 680;
constexpr int kGap = 8; ///< between paragraphs

bool isCode(const QTextBlock& block) {
    return block.isValid() && (block.blockFormat().hasProperty(QTextFormat::BlockCodeFence) ||
                               block.blockFormat().hasProperty(QTextFormat::BlockCodeLanguage));
}

/// The space around a block, which Qt's reader of Markdown sets to none.
QTextBlockFormat spaced(const QTextBlock& block, bool isInTable) {
    QTextBlockFormat format;
    format.setTopMargin(0);
    format.setBottomMargin(isInTable ? 0 : kGap);
    if (const int level = block.blockFormat().headingLevel(); level > 0) {
        format.setTopMargin(block.blockNumber() == 0 ? 0 : level == 1 ? 0 : level == 2 ? 3 * kGap : 2 * kGap);
    } else if (isCode(block)) {
        format.setBackground(Theme::current().canvas);
        format.setLeftMargin(kGap);
        format.setBottomMargin(isCode(block.next()) ? 0 : 1.5 * kGap);
    } else {
        const bool isPicture = block.text().contains(QChar::ObjectReplacementCharacter);
        format.setLineHeight(isInTable || isPicture ? 100 : 120, QTextBlockFormat::ProportionalHeight);
        if (block.textList() && block.next().textList()) format.setBottomMargin(kGap / 2.0);
    }
    return format;
}

void dress(QTextTable& table) {
    QTextTableFormat format = table.format();
    format.setBorder(1);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderBrush(Theme::current().border);
    format.setBorderCollapse(true);
    format.setCellSpacing(0);
    format.setCellPadding(6);
    format.setTopMargin(kGap / 2.0);
    format.setBottomMargin(1.5 * kGap);
    table.setFormat(format);
}

} // namespace

ManualPage::ManualPage(QWidget* parent) : QTextBrowser(parent) {
    connect(this, &QTextBrowser::sourceChanged, this, &ManualPage::dress);
}

QVariant ManualPage::loadResource(int type, const QUrl& name) {
    QVariant resource = QTextBrowser::loadResource(type, name);
    if (type != QTextDocument::ImageResource) return resource;
    QImage image(source().resolved(name).toLocalFile());
    if (image.width() > kWidestPicture) image = image.scaledToWidth(kWidestPicture, Qt::SmoothTransformation);
    return image.isNull() ? resource : QVariant(image);
}

void ManualPage::dress() {
    QTextCursor cursor(document());
    cursor.beginEditBlock();
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        cursor.setPosition(block.position());
        cursor.mergeBlockFormat(spaced(block, cursor.currentTable() != nullptr));
    }
    for (QTextFrame* frame : document()->rootFrame()->childFrames())
        if (auto* table = qobject_cast<QTextTable*>(frame)) twb::dress(*table);
    cursor.endEditBlock();
}

} // namespace twb
