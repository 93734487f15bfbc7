#include "widgets/manual_window.h"

#include "core/error.h"
#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/manual_page.h"
#include "widgets/theme.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

const QString kFirstPage = QStringLiteral("index.md");
constexpr int kPageRole = Qt::UserRole;
constexpr int kAnchorRole = Qt::UserRole + 1;
constexpr int kDeepest = 2; ///< deepest level of headings in the contents

/// Plain text of Markdown.
QString plain(QString text) {
    static const QRegularExpression link(QStringLiteral("\\[([^\\]]*)\\]\\([^)]*\\)"));
    static const QRegularExpression marks(QStringLiteral("[`*_]"));
    return text.replace(link, QStringLiteral("\\1")).remove(marks).trimmed();
}

/// Anchors in the style of Markdown sites: lower case, hyphens for spaces, no punctuation.
QString anchorOf(const QString& heading) {
    static const QRegularExpression punctuation(QStringLiteral("[^\\w\\- ]"),
                                                QRegularExpression::UseUnicodePropertiesOption);
    return plain(heading).toLower().remove(punctuation).replace(QLatin1Char(' '), QLatin1Char('-'));
}

} // namespace

ManualWindow::ManualWindow(const QString& folder, QWidget* parent)
    : QWidget(parent, Qt::Window), m_folder(folder), m_search(new QLineEdit), m_contents(new QTreeWidget),
      m_text(new ManualPage) {
    readPages();
    setObjectName(QStringLiteral("manual"));
    setWindowTitle(tr("Manual — Tensor Workbench"));
    setProperty("surface", QStringLiteral("window"));
    setAttribute(Qt::WA_StyledBackground);
    resize(1040, 760);
    m_search->setObjectName(QStringLiteral("manualSearch"));
    m_search->setPlaceholderText(tr("Search the manual"));
    m_search->setAccessibleName(m_search->placeholderText());
    m_search->setClearButtonEnabled(true);
    m_contents->setObjectName(QStringLiteral("manualContents"));
    m_contents->setAccessibleName(tr("Contents"));
    m_contents->setHeaderHidden(true);
    m_contents->setFrameShape(QFrame::NoFrame);
    m_contents->setTextElideMode(Qt::ElideRight);
    m_text->setObjectName(QStringLiteral("manualText"));
    m_text->setAccessibleName(tr("Page of the manual"));
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setOpenLinks(false);
    QFont body = twb::font(TextRole::body);
    body.setPixelSize(14);
    m_text->document()->setDefaultFont(body);
    m_text->document()->setDocumentMargin(24);
    m_text->setFont(body);

    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(12, 12, 12, 12);
    column->setSpacing(8);
    column->addWidget(m_search);
    column->addWidget(m_contents, 1);
    auto* both = new QSplitter;
    both->addWidget(side);
    both->addWidget(m_text);
    both->setStretchFactor(1, 1);
    both->setSizes({260, 780});
    both->setHandleWidth(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(both);

    connect(m_search, &QLineEdit::textChanged, this, &ManualWindow::fillContents);
    connect(m_search, &QLineEdit::returnPressed, this, [this] {
        if (QTreeWidgetItem* first = m_contents->topLevelItem(0)) m_contents->setCurrentItem(first);
    });
    connect(m_contents, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item) open(item->data(0, kPageRole).toString(), item->data(0, kAnchorRole).toString());
    });
    connect(m_text, &QTextBrowser::anchorClicked, this, &ManualWindow::follow);
    connect(new QShortcut(QKeySequence::Cancel, this), &QShortcut::activated, this, &QWidget::close);
    connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, this, [this] {
        m_search->setFocus(Qt::ShortcutFocusReason);
        m_search->selectAll();
    });
    fillContents({});
    open(kFirstPage);
    m_search->setFocus();
}

/// The index page, then the other pages in the order of its links.
void ManualWindow::readPages() {
    readPage(kFirstPage);
    if (m_sections.empty())
        throw Error(ErrorCode::io, "cannot read " + QDir(m_folder).filePath(kFirstPage).toStdString() +
                                       "; install the program's resources again");
    QString first;
    for (const Section& section : m_sections) first += section.text;
    QStringList pages = QDir(m_folder).entryList({QStringLiteral("*.md")}, QDir::Files, QDir::Name);
    pages.removeAll(kFirstPage);
    const auto place = [&first](const QString& page) {
        const qsizetype at = first.indexOf(QLatin1Char('(') + page);
        return at < 0 ? first.size() : at;
    };
    std::stable_sort(pages.begin(), pages.end(),
                     [&](const QString& a, const QString& b) { return place(a) < place(b); });
    for (const QString& page : pages) readPage(page);
}

void ManualWindow::readPage(const QString& page) {
    QFile file(QDir(m_folder).filePath(page));
    if (!file.open(QIODevice::ReadOnly)) return;
    static const QRegularExpression heading(QStringLiteral("^(#{1,4}) +(.*)$"));
    bool isCode = false;
    bool isFirst = true;
    for (const QString& line : QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'))) {
        if (line.startsWith(QLatin1String("```"))) isCode = !isCode;
        const QRegularExpressionMatch match = heading.match(line);
        if (match.hasMatch() && !isCode) {
            m_sections.push_back({page,
                                  plain(match.captured(2)),
                                  anchorOf(match.captured(2)),
                                  int(match.capturedLength(1)),
                                  {}});
            isFirst = false;
        } else if (!isFirst) {
            m_sections.back().text += line + QLatin1Char('\n');
        }
    }
}

/// The table of contents, or the sections that contain these words.
void ManualWindow::fillContents(const QString& words) {
    const QSignalBlocker blocker(m_contents);
    m_contents->clear();
    m_contents->setRootIsDecorated(words.isEmpty());
    QTreeWidgetItem* page = nullptr;
    QString pageTitle;
    for (const Section& section : m_sections) {
        const bool isPage = section.level == 1;
        if (isPage) pageTitle = section.heading;
        const bool hasWords = section.heading.contains(words, Qt::CaseInsensitive) ||
                              plain(section.text).contains(words, Qt::CaseInsensitive);
        if (words.isEmpty() ? section.level > kDeepest : !hasWords) continue;
        auto* item = new QTreeWidgetItem({section.heading});
        if (!words.isEmpty() && !isPage)
            item->setText(0, QStringLiteral("%1 · %2").arg(pageTitle, section.heading));
        item->setToolTip(0, item->text(0));
        item->setData(0, kPageRole, section.page);
        item->setData(0, kAnchorRole, isPage ? QString() : section.anchor);
        if (words.isEmpty() && !isPage && page) {
            page->addChild(item);
            continue;
        }
        m_contents->addTopLevelItem(item);
        if (isPage) page = item;
    }
    if (m_contents->topLevelItemCount() == 0) {
        auto* nothing = new QTreeWidgetItem({tr("No page contains “%1”.").arg(words)});
        nothing->setFlags(Qt::NoItemFlags);
        m_contents->addTopLevelItem(nothing);
    }
    markWords();
}

void ManualWindow::open(const QString& page, const QString& anchor) {
    const QUrl url = QUrl::fromLocalFile(QDir(m_folder).filePath(page));
    if (m_text->source() != url) m_text->setSource(url, QTextDocument::MarkdownResource);
    QTextBlock at = m_text->document()->begin();
    if (!anchor.isEmpty())
        while (at.isValid() && (at.blockFormat().headingLevel() == 0 || anchorOf(at.text()) != anchor))
            at = at.next();
    if (!at.isValid()) at = m_text->document()->begin();
    m_text->setTextCursor(QTextCursor(at));
    QScrollBar* bar = m_text->verticalScrollBar();
    bar->setValue(bar->value() + m_text->cursorRect().top() - 16);
    markWords();
}

void ManualWindow::follow(const QUrl& link) {
    const QFileInfo file(link.toLocalFile());
    if (link.isLocalFile() && QDir(m_folder).exists(file.fileName()) && file.suffix() == QLatin1String("md"))
        open(file.fileName(), link.fragment());
    else
        QDesktopServices::openUrl(link);
}

/// Highlights the searched words on the page.
void ManualWindow::markWords() {
    QList<QTextEdit::ExtraSelection> marks;
    QColor wash = Theme::current().warning;
    wash.setAlphaF(0.35F);
    const QString words = m_search->text();
    for (QTextCursor at(m_text->document()); !words.isEmpty();) {
        at = m_text->document()->find(words, at);
        if (at.isNull()) break;
        QTextEdit::ExtraSelection mark;
        mark.cursor = at;
        mark.format.setBackground(wash);
        marks.push_back(mark);
    }
    m_text->setExtraSelections(marks);
}

void ManualWindow::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_text->reload(); // its links have the old theme's colours
}

} // namespace twb
