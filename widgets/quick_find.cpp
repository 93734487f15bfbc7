#include "widgets/quick_find.h"

#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/theme.h"

#include <QAbstractItemView>
#include <QAbstractListModel>
#include <QAction>
#include <QCompleter>
#include <QKeyEvent>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTimer>

#include <utility>

namespace twb {
namespace {

constexpr int kItemRole = Qt::UserRole; ///< its index
constexpr int kHintRole = Qt::UserRole + 1;
constexpr int kAroundWords = 48; ///< px: icon, frame and cursor

class ItemDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {80, 26}; }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            QColor wash = theme.accent;
            wash.setAlphaF(option.state.testFlag(QStyle::State_Selected) ? 0.2f : 0.08f);
            painter->setPen(Qt::NoPen);
            painter->setBrush(wash);
            painter->drawRoundedRect(QRectF(option.rect).adjusted(0, 1, 0, -1), 4, 4);
        }
        QRect room = option.rect.adjusted(8, 0, -8, 0);
        painter->setFont(twb::font(TextRole::small));
        painter->setPen(theme.secondaryText);
        const QString hint = index.data(kHintRole).toString();
        painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, hint);
        room.setRight(room.right() - painter->fontMetrics().horizontalAdvance(hint) - 8);
        painter->setFont(twb::font(TextRole::body));
        painter->setPen(theme.text);
        painter->drawText(
            room, Qt::AlignLeft | Qt::AlignVCenter,
            painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room.width()));
        painter->restore();
    }
};

/// The list of matches, always placed within the window.
class MatchList : public QListView {
public:
    explicit MatchList(const QWidget& field) : m_field(field) {}

protected:
    void moveEvent(QMoveEvent* event) override {
        QListView::moveEvent(event);
        keepInside();
    }
    void resizeEvent(QResizeEvent* event) override {
        QListView::resizeEvent(event);
        keepInside();
    }

private:
    void keepInside() {
        const QRect inside = withinWindow(m_field, geometry());
        if (inside != geometry()) setGeometry(inside);
    }

    const QWidget& m_field;
};

} // namespace

/// All items are replaced at once: for every change of its model, the completer looks at all rows.
class QuickFind::Model : public QAbstractListModel {
public:
    using QAbstractListModel::QAbstractListModel;

    const std::vector<Item>& items() const noexcept { return m_items; }
    void setItems(std::vector<Item> items) {
        beginResetModel();
        m_items = std::move(items);
        endResetModel();
    }
    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(m_items.size());
    }
    QVariant data(const QModelIndex& index, int role) const override {
        const Item& item = m_items[std::size_t(index.row())];
        switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
            return item.text;
        case kItemRole:
            return index.row();
        case kHintRole:
            return item.hint;
        default:
            return {};
        }
    }

private:
    std::vector<Item> m_items;
};

QuickFind::QuickFind(QWidget* parent)
    : QLineEdit(parent), m_model(new Model(this)), m_completer(new QCompleter(m_model, this)) {
    setObjectName(QStringLiteral("quickFind"));
    setProperty("role", QStringLiteral("pill"));
    setScope(Scope::all);
    setAccessibleName(tr("Search actions and nodes"));
    setToolTip(tr("Searches actions and nodes (Ctrl+Shift+P), or nodes alone (Ctrl+P)."));
    addAction(icon(QStringLiteral("search"), Theme::current().secondaryText), QLineEdit::LeadingPosition);
    m_completer->setFilterMode(Qt::MatchContains);
    m_completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_completer->setMaxVisibleItems(14);
    auto* list = new MatchList(*this);
    list->setProperty("role", QStringLiteral("popup"));
    list->setAccessibleName(tr("Matches"));
    list->setMinimumWidth(320);
    list->setUniformItemSizes(true); // else it measures each match
    m_completer->setPopup(list);
    list->setItemDelegate(new ItemDelegate(list)); // setPopup sets its own delegate, so this comes later
    setCompleter(m_completer);
    connect(m_completer, qOverload<const QModelIndex&>(&QCompleter::activated), this, &QuickFind::take);
}

void QuickFind::setSource(std::function<std::vector<Item>(Scope)> source) { m_source = std::move(source); }

void QuickFind::setScope(Scope scope) {
    m_scope = scope;
    fitPlaceholder();
}

/// The longest placeholder that fits, since elided words say less than fewer words. The icon alone says
/// enough.
void QuickFind::fitPlaceholder() {
    QString words;
    for (const QString& some : m_scope == Scope::nodes
                                   ? QStringList{tr("Go to a node"), tr("Node"), QString()}
                                   : QStringList{tr("Search actions and nodes"), tr("Search"), QString()}) {
        words = some;
        if (fontMetrics().horizontalAdvance(words) <= width() - kAroundWords) break;
    }
    setPlaceholderText(words);
}

void QuickFind::resizeEvent(QResizeEvent* event) {
    QLineEdit::resizeEvent(event);
    fitPlaceholder();
}

void QuickFind::ask(Scope scope) {
    clearFocus(); // so that the next focus event requests the items again
    setScope(scope);
    setFocus(Qt::ShortcutFocusReason);
}

void QuickFind::focusOutEvent(QFocusEvent* event) {
    // The list of matches takes the focus, too, which does not end the scope.
    if (event->reason() != Qt::PopupFocusReason) setScope(Scope::all);
    QLineEdit::focusOutEvent(event);
}

void QuickFind::focusInEvent(QFocusEvent* event) {
    if (m_source && event->reason() != Qt::PopupFocusReason) m_model->setItems(m_source(m_scope));
    QLineEdit::focusInEvent(event);
}

void QuickFind::take(const QModelIndex& index) {
    const std::size_t at = index.data(kItemRole).toULongLong();
    if (at >= m_model->items().size()) return;
    m_completer->popup()->hide(); // the list has the keyboard until then
    const std::function<void()> taken = m_model->items()[at].take;
    // The completer writes the text into the field after this signal.
    QTimer::singleShot(0, this, [this, taken] {
        clear();
        setScope(Scope::all);
        Q_EMIT finished();
        taken();
    });
}

void QuickFind::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !text().isEmpty() && m_completer->completionCount() > 0) {
        const QModelIndex current = m_completer->popup()->currentIndex(); // after an arrow key
        take(current.isValid() ? current : m_completer->completionModel()->index(0, 0));
        return;
    }
    if (event->key() == Qt::Key_Escape) {
        m_completer->popup()->hide();
        clear();
        Q_EMIT finished();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

void QuickFind::changeEvent(QEvent* event) {
    QLineEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && !actions().isEmpty())
        actions().first()->setIcon(icon(QStringLiteral("search"), Theme::current().secondaryText));
}

} // namespace twb
