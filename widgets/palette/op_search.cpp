#include "widgets/palette/op_search.h"

#include "widgets/engine_words.h"
#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/theme.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kWidth = 440;
constexpr int kResultHeight = 44;
constexpr int kRows = 8;
constexpr int kMargin = 8;

/// Two lines: the name and types, the description and section.
class FoundDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
        return {80, kResultHeight};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        const bool isCurrent = option.state.testFlag(QStyle::State_Selected);
        painter->save();
        paintRowWash(*painter, option);
        const QString category = index.data(OpListModel::CategoryRole).toString();
        const QRect row = option.rect.adjusted(kMargin, 0, -kMargin, 0);
        categoryIcon(category, isCurrent ? theme.accent : theme.secondaryText)
            .paint(painter, QRect(row.left(), row.top() + 6, 14, 14));
        const QRect upper(row.left() + 22, row.top() + 4, row.width() - 22, 18);
        const QRect lower(upper.left(), row.top() + 22, upper.width(), 16);
        painter->setPen(theme.secondaryText);
        const int typesWidth = drawRight(*painter, upper, font(TextRole::smallFigure),
                                         index.data(OpListModel::TypesRole).toString());
        const int categoryWidth = drawRight(*painter, lower, font(TextRole::small), sectionWord(category));
        painter->setFont(font(TextRole::small));
        drawElided(*painter, lower.adjusted(0, 0, -categoryWidth, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   index.data(OpListModel::DocRole).toString());
        painter->setFont(font(TextRole::strong));
        painter->setPen(theme.text);
        drawElided(*painter, upper.adjusted(0, 0, -typesWidth, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   index.data(Qt::DisplayRole).toString());
        painter->restore();
    }

private:
    /// Draws text right-aligned in at most half of the line; returns its width.
    static int drawRight(QPainter& painter, const QRect& line, const QFont& font, const QString& text) {
        constexpr int kGap = 12;
        painter.setFont(font);
        const int width = std::min(line.width() / 2, painter.fontMetrics().horizontalAdvance(text) + 1);
        drawElided(painter, QRect(line.right() - width, line.top(), width + 1, line.height()),
                   Qt::AlignVCenter | Qt::AlignRight, text);
        return width + kGap;
    }
};

} // namespace

OpSearch::OpSearch(QWidget* parent)
    : QFrame(parent, Qt::Popup), m_model(new OpListModel(OpListModel::Order::nearest, this)),
      m_heading(makeLabel({}, TextRole::small, QStringLiteral("secondary"), this)),
      m_search(new QLineEdit(this)), m_list(new QListView(this)),
      m_nothing(makeLabel({}, TextRole::body, QStringLiteral("secondary"), this)) {
    setObjectName(QStringLiteral("opSearch"));
    setProperty("role", QStringLiteral("popup"));
    setAccessibleName(tr("Add an op"));
    m_heading->setObjectName(QStringLiteral("opSearchHeading"));
    m_heading->setContentsMargins(4, 0, 4, 0);

    m_search->setObjectName(QStringLiteral("opSearchField"));
    m_search->setPlaceholderText(tr("Search for an op to add"));
    m_search->setAccessibleName(tr("Find an op to add"));
    m_search->addAction(icon(QStringLiteral("search"), Theme::current().secondaryText),
                        QLineEdit::LeadingPosition);
    m_search->installEventFilter(this);

    m_list->setObjectName(QStringLiteral("opSearchList"));
    m_list->setAccessibleName(tr("Matching ops"));
    m_list->setModel(m_model);
    m_list->setItemDelegate(new FoundDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus); // keys still go to the text field
    m_list->setSelectionMode(QAbstractItemView::SingleSelection);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setMouseTracking(true);
    m_list->setUniformItemSizes(true);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setFixedHeight(kRows * kResultHeight);
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setWordWrap(true);
    m_nothing->setFixedHeight(2 * kResultHeight);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    layout->setSpacing(6);
    layout->addWidget(m_heading);
    layout->addWidget(m_search);
    layout->addWidget(m_list);
    layout->addWidget(m_nothing);
    setFixedWidth(kWidth);
    setFocusProxy(m_search);

    connect(m_search, &QLineEdit::textChanged, this, &OpSearch::filter);
    connect(m_list, &QListView::clicked, this, &OpSearch::take);
}

void OpSearch::open(QPoint globalPosition, Wanted wanted) {
    m_heading->setText(wanted.heading);
    m_heading->setVisible(!wanted.heading.isEmpty());
    m_search->actions().first()->setIcon(icon(QStringLiteral("search"), Theme::current().secondaryText));
    m_model->setAccepted(std::move(wanted.accepted), std::move(wanted.usage));
    m_search->clear();
    filter({});
    adjustSize();
    setGeometry(withinWindow(*parentWidget(), QRect(globalPosition, size())));
    show();
    m_search->setFocus(Qt::PopupFocusReason);
}

void OpSearch::reload() { m_model->reload(); }

void OpSearch::filter(const QString& text) {
    m_model->setFilter(text);
    m_list->setCurrentIndex(m_model->firstOp());
    m_list->scrollToTop();
    const bool isEmpty = m_model->rowCount() == 0;
    m_nothing->setText(m_heading->text().isEmpty() ? tr("No op matches “%1”.").arg(text)
                                                   : tr("No op that fits here matches “%1”.").arg(text));
    m_list->setVisible(!isEmpty);
    m_nothing->setVisible(isEmpty);
    adjustSize();
}

void OpSearch::step(int rows) {
    const int count = m_model->rowCount();
    if (count == 0) return;
    const int row = m_list->currentIndex().row() + rows;
    // A single step wraps around; a page step stops at the end.
    const int wanted = rows == 1 || rows == -1 ? (row + count) % count : std::clamp(row, 0, count - 1);
    m_list->setCurrentIndex(m_model->index(wanted));
}

void OpSearch::take(const QModelIndex& index) {
    const QString op = m_model->op(index);
    if (op.isEmpty()) return;
    close(); // first: an op that cannot be added opens a message box
    Q_EMIT chosen(op);
}

bool OpSearch::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
    switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Down:
    case Qt::Key_Tab:
        step(1);
        return true;
    case Qt::Key_Up:
    case Qt::Key_Backtab:
        step(-1);
        return true;
    case Qt::Key_PageDown:
        step(kRows);
        return true;
    case Qt::Key_PageUp:
        step(-kRows);
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        take(m_list->currentIndex());
        return true;
    case Qt::Key_Escape:
        close();
        return true;
    default:
        return QFrame::eventFilter(watched, event);
    }
}

void OpSearch::hideEvent(QHideEvent* event) {
    QFrame::hideEvent(event);
    Q_EMIT closed();
}

} // namespace twb
