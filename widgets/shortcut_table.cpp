#include "widgets/shortcut_table.h"

#include "widgets/actions/menu_action.h"
#include "widgets/labels.h"

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

QString textOf(const QKeySequence& keys) { return keys.toString(QKeySequence::NativeText); }

} // namespace

ShortcutTable::ShortcutTable(QWidget* parent)
    : QWidget(parent), m_search(new QLineEdit), m_list(new QTreeWidget), m_keys(new QKeySequenceEdit),
      m_reset(new QPushButton(tr("Reset"))),
      m_refusal(makeLabel({}, TextRole::small, QStringLiteral("error"))) {
    m_search->setObjectName(QStringLiteral("shortcutSearch"));
    m_search->setPlaceholderText(tr("Search actions"));
    m_list->setObjectName(QStringLiteral("shortcutList"));
    m_list->setAccessibleName(tr("Actions and their shortcuts"));
    m_list->setColumnCount(2);
    m_list->setHeaderLabels({tr("action"), tr("shortcut")});
    m_list->setRootIsDecorated(false);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    m_keys->setObjectName(QStringLiteral("shortcutKeys"));
    m_keys->setAccessibleName(tr("Shortcut of the action"));
    m_refusal->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(makeLabel(tr("Keys"), TextRole::body, QStringLiteral("secondary")));
    row->addWidget(m_keys, 1);
    row->addWidget(m_reset);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 12, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_search);
    layout->addWidget(m_list, 1);
    layout->addLayout(row);
    layout->addWidget(m_refusal);
    connect(m_search, &QLineEdit::textChanged, this, &ShortcutTable::filter);
    connect(m_list, &QTreeWidget::currentItemChanged, this, &ShortcutTable::showPresent);
    connect(m_keys, &QKeySequenceEdit::editingFinished, this, [this] { choose(m_keys->keySequence()); });
    connect(m_reset, &QPushButton::clicked, this, [this] {
        if (const int at = present(); at >= 0) choose(m_rows[std::size_t(at)].standard);
    });
    showPresent();
}

void ShortcutTable::add(const QAction& action, const QKeySequence& standard, const QKeySequence& chosen) {
    const QString text = pathOf(action).remove(QStringLiteral("…"));
    m_rows.push_back({text, standard, chosen});
    m_list->addTopLevelItem(new QTreeWidgetItem({text, textOf(chosen)}));
}

void ShortcutTable::reserve(const QAction& action, const QKeySequence& keys) {
    m_reserved.push_back({pathOf(action).remove(QStringLiteral("…")), keys, keys});
}

int ShortcutTable::present() const { return m_list->indexOfTopLevelItem(m_list->currentItem()); }

void ShortcutTable::filter(const QString& text) {
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* item = m_list->topLevelItem(i);
        item->setHidden(!item->text(0).contains(text, Qt::CaseInsensitive) &&
                        !item->text(1).contains(text, Qt::CaseInsensitive));
    }
}

void ShortcutTable::showPresent() {
    const int at = present();
    m_keys->setEnabled(at >= 0);
    m_reset->setEnabled(at >= 0 && m_rows[std::size_t(at)].chosen != m_rows[std::size_t(at)].standard);
    m_keys->setKeySequence(at >= 0 ? m_rows[std::size_t(at)].chosen : QKeySequence());
    m_refusal->clear();
}

const ShortcutTable::Row* ShortcutTable::clashing(const Row& with, const QKeySequence& keys) const {
    if (keys.isEmpty()) return nullptr;
    for (const std::vector<Row>* rows : {&m_rows, &m_reserved})
        for (const Row& row : *rows) {
            if (&row == &with || row.chosen.isEmpty()) continue;
            // matches() also finds the first sequence at the beginning of the second.
            if (row.chosen.matches(keys) != QKeySequence::NoMatch ||
                keys.matches(row.chosen) != QKeySequence::NoMatch)
                return &row;
        }
    return nullptr;
}

void ShortcutTable::choose(const QKeySequence& keys) {
    const int at = present();
    if (at < 0) return;
    Row& row = m_rows[std::size_t(at)];
    if (const Row* other = clashing(row, keys)) {
        m_keys->setKeySequence(row.chosen);
        const bool isReserved = std::ranges::any_of(m_reserved, [&](const Row& r) { return &r == other; });
        m_refusal->setText(isReserved ? tr("%1 is a fixed shortcut of \"%2\". Choose other keys.")
                                            .arg(textOf(other->chosen), other->text)
                                      : tr("%1 is the shortcut of \"%2\". Change that shortcut first.")
                                            .arg(textOf(other->chosen), other->text));
        return;
    }
    row.chosen = keys;
    m_list->topLevelItem(at)->setText(1, textOf(keys));
    showPresent();
}

} // namespace twb
