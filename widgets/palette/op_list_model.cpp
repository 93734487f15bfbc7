#include "widgets/palette/op_list_model.h"

#include "graph/composites.h"
#include "ops/op_table.h"
#include "widgets/text.h"

#include <QMimeData>

#include <algorithm>

namespace twb {

OpListModel::OpListModel(QObject* parent) : QAbstractListModel(parent) {
    for (const Op& op : opTable()) m_all.push_back({toQt(op.name), toQt(op.category), toQt(op.doc)});
    for (const Composite& c : composites()) m_all.push_back({toQt(c.name), tr("Modules"), toQt(c.doc)});
    setFilter({});
}

void OpListModel::setFilter(const QString& text) {
    const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    const auto matches = [&](const Row& row) {
        return std::all_of(words.begin(), words.end(), [&](const QString& word) {
            return row.name.contains(word, Qt::CaseInsensitive) ||
                   row.category.contains(word, Qt::CaseInsensitive) ||
                   row.doc.contains(word, Qt::CaseInsensitive);
        });
    };
    beginResetModel();
    m_shown.clear();
    for (const Row& row : m_all) {
        if (!matches(row)) continue;
        if (m_shown.empty() || m_shown.back().category != row.category)
            m_shown.push_back({row.category, row.category, {}, true});
        m_shown.push_back(row);
    }
    endResetModel();
}

QString OpListModel::op(const QModelIndex& index) const {
    if (!index.isValid()) return {};
    const Row& row = m_shown[std::size_t(index.row())];
    return row.header ? QString() : row.name;
}

QModelIndex OpListModel::firstOp() const { return m_shown.empty() ? QModelIndex() : index(1); }

int OpListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_shown.size());
}

QVariant OpListModel::data(const QModelIndex& index, int role) const {
    const Row& row = m_shown[std::size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return row.name;
    case Qt::ToolTipRole:
        return row.header ? QVariant() : row.doc;
    case Qt::AccessibleTextRole:
        return row.header ? tr("Section %1").arg(row.name) : row.name;
    case Qt::AccessibleDescriptionRole:
        return row.doc;
    case IsHeaderRole:
        return row.header;
    case CategoryRole:
        return row.category;
    default:
        return {};
    }
}

Qt::ItemFlags OpListModel::flags(const QModelIndex& index) const {
    if (!index.isValid() || m_shown[std::size_t(index.row())].header) return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsDragEnabled | Qt::ItemNeverHasChildren;
}

QStringList OpListModel::mimeTypes() const { return {QLatin1String(kOpMimeType)}; }

QMimeData* OpListModel::mimeData(const QModelIndexList& indexes) const {
    if (indexes.isEmpty()) return nullptr;
    auto* data = new QMimeData;
    data->setData(QLatin1String(kOpMimeType), op(indexes.first()).toUtf8());
    data->setText(op(indexes.first()));
    return data;
}

} // namespace twb
