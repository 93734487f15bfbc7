#include "widgets/palette/op_palette.h"

#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/palette/own_modules.h"
#include "widgets/theme.h"

#include <QAction>
#include <QDrag>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace twb {
namespace {

constexpr int kRowHeight = 24;
constexpr int kHeaderHeight = 28;
constexpr int kIndent = 8;

class OpDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
        return {40, index.data(OpListModel::IsHeaderRole).toBool() ? kHeaderHeight : kRowHeight};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        const QString name = index.data(Qt::DisplayRole).toString();
        painter->save();
        if (index.data(OpListModel::IsHeaderRole).toBool()) {
            painter->setFont(twb::font(TextRole::capsLabel));
            painter->setPen(theme.secondaryText);
            painter->drawText(option.rect.adjusted(kIndent, 6, -kIndent, 0), Qt::AlignVCenter | Qt::AlignLeft,
                              name);
            painter->restore();
            return;
        }
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        paintRowWash(*painter, option);
        const QColor tint = selected ? theme.accent : theme.secondaryText;
        const QRect iconRect(option.rect.left() + kIndent, option.rect.center().y() - 6, 14, 14);
        categoryIcon(index.data(OpListModel::CategoryRole).toString(), tint).paint(painter, iconRect);
        painter->setFont(twb::font(TextRole::body));
        painter->setPen(theme.text);
        drawElided(*painter, option.rect.adjusted(kIndent + 22, 0, -kIndent, 0),
                   Qt::AlignVCenter | Qt::AlignLeft, name);
        painter->restore();
    }
};

/// Drags a chip with the op's name instead of a picture of the whole row.
class OpListView : public QListView {
public:
    using QListView::QListView;

protected:
    /// The row at the lower edge fades out if more rows follow.
    void paintEvent(QPaintEvent* event) override {
        QListView::paintEvent(event);
        if (verticalScrollBar()->value() == verticalScrollBar()->maximum()) return;
        const QRectF edge(0, viewport()->height() - kRowHeight, viewport()->width(), kRowHeight);
        QColor panel = Theme::current().panel;
        QLinearGradient fade(edge.topLeft(), edge.bottomLeft());
        fade.setColorAt(1, panel);
        panel.setAlpha(0);
        fade.setColorAt(0, panel);
        QPainter(viewport()).fillRect(edge, fade);
    }
    /// Without a current op, keys start at the first one.
    void focusInEvent(QFocusEvent* event) override {
        QListView::focusInEvent(event);
        const auto* ops = static_cast<const OpListModel*>(model());
        if (ops->op(currentIndex()).isEmpty()) setCurrentIndex(ops->firstOp());
    }
    void scrollContentsBy(int dx, int dy) override {
        QListView::scrollContentsBy(dx, dy);
        viewport()->update(); // the scrolled pixels contain the fade
    }
    void startDrag(Qt::DropActions) override {
        const QModelIndexList indexes = selectedIndexes();
        QMimeData* data = model()->mimeData(indexes);
        if (!data) return;
        auto* drag = new QDrag(this);
        drag->setMimeData(data);
        drag->setPixmap(chip(data->text()));
        drag->setHotSpot(QPoint(16, 16));
        drag->exec(Qt::CopyAction);
    }

private:
    QPixmap chip(const QString& text) const {
        const Theme& theme = Theme::current();
        const QFontMetrics measure(twb::font(TextRole::strong));
        const QSize size(measure.horizontalAdvance(text) + 32, 32);
        QPixmap pixmap(size * devicePixelRatioF());
        pixmap.setDevicePixelRatio(devicePixelRatioF());
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(theme.raised);
        painter.drawRoundedRect(QRectF(QPointF(), size).adjusted(0.5, 0.5, -0.5, -0.5), metrics::cardRadius,
                                metrics::cardRadius);
        painter.setFont(twb::font(TextRole::strong));
        painter.setPen(theme.text);
        painter.drawText(QRect(QPoint(), size), Qt::AlignCenter, text);
        return pixmap;
    }
};

} // namespace

OpPalette::OpPalette(QWidget* parent)
    : QWidget(parent), m_model(new OpListModel(OpListModel::Order::sections, this)),
      m_search(new QLineEdit(this)), m_list(new OpListView(this)) {
    setProperty("surface", QStringLiteral("panel"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Palette"));

    m_search->setObjectName(QStringLiteral("paletteSearch"));
    m_search->setPlaceholderText(tr("Find an op"));
    m_search->setAccessibleName(tr("Find an op"));
    m_search->setClearButtonEnabled(true);
    m_search->addAction(icon(QStringLiteral("search"), Theme::current().secondaryText),
                        QLineEdit::LeadingPosition);
    m_search->installEventFilter(this);

    m_list->setObjectName(QStringLiteral("paletteList"));
    m_list->setAccessibleName(tr("Ops"));
    m_list->setModel(m_model);
    m_list->setItemDelegate(new OpDelegate(m_list));
    m_list->setDragEnabled(true);
    m_list->setDragDropMode(QAbstractItemView::DragOnly);
    m_list->setSelectionMode(QAbstractItemView::SingleSelection);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setMouseTracking(true);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->installEventFilter(this);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 12, 8, 0);
    layout->setSpacing(4);
    layout->addWidget(m_search);
    layout->addWidget(m_list, 1);
    setFocusProxy(m_search);

    connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_model->setFilter(text);
        if (!text.isEmpty()) m_list->setCurrentIndex(m_model->firstOp());
    });
    m_list->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(m_list, &QListView::customContextMenuRequested, this, &OpPalette::showMenu);
    connect(m_list, &QListView::doubleClicked, this,
            [this](const QModelIndex& index) { choose(m_model->op(index)); });
}

void OpPalette::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void OpPalette::reload() { m_model->reload(); }

void OpPalette::showMenu(QPoint at) {
    const QString module = m_model->op(m_list->indexAt(at));
    const ModuleOp* own = module.isEmpty() ? nullptr : ownModule(module);
    if (!own || !isSaved(*own)) return;
    QMenu menu(this);
    menu.addAction(tr("Remove %1 from the palette").arg(module), this, [this, module] { takeOut(module); });
    menu.exec(m_list->viewport()->mapToGlobal(at));
}

void OpPalette::takeOut(const QString& module) {
    removeOwnModule(module);
    Q_EMIT ownModulesChanged();
}

void OpPalette::choose(const QString& op) {
    if (!op.isEmpty()) Q_EMIT opChosen(op);
}

bool OpPalette::eventFilter(QObject* watched, QEvent* event) {
    const bool isOverride = event->type() == QEvent::ShortcutOverride;
    if (!isOverride && event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool removes =
        watched == m_list && key->key() == Qt::Key_Delete && !(key->modifiers() & ~Qt::KeypadModifier);
    if (isOverride) {
        if (removes) event->accept(); // handled before the window's own Delete, which deletes nodes
        return QWidget::eventFilter(watched, event);
    }
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (enter) {
        const QModelIndex current = m_list->currentIndex();
        if (watched == m_list || !m_search->text().isEmpty()) choose(m_model->op(current));
        return true;
    }
    if (removes) {
        const QString module = m_model->op(m_list->currentIndex());
        const ModuleOp* own = module.isEmpty() ? nullptr : ownModule(module);
        if (own && isSaved(*own)) takeOut(module);
        return true;
    }
    if (watched == m_search && key->key() == Qt::Key_Down) {
        m_list->setFocus(Qt::TabFocusReason);
        return true;
    }
    if (watched == m_search && key->key() == Qt::Key_Escape && !m_search->text().isEmpty()) {
        m_search->clear();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void OpPalette::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || m_search->actions().isEmpty()) return;
    m_search->actions().first()->setIcon(icon(QStringLiteral("search"), Theme::current().secondaryText));
}

} // namespace twb
