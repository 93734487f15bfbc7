#pragma once

#include <QAbstractListModel>
#include <QString>

#include <vector>

namespace twb {

/// What the palette drags: the op's name in UTF-8.
inline constexpr char kOpMimeType[] = "application/x-tensor-workbench-op";

/// The op table and the composites as a list with section headers, filtered by a search text. Headers cannot
/// be selected and vanish with their last op.
class OpListModel : public QAbstractListModel {
    Q_OBJECT

public:
    enum Role { IsHeaderRole = Qt::UserRole, CategoryRole };

    explicit OpListModel(QObject* parent = nullptr);

    /// Keeps what has every word of `text` in its name, section or description.
    void setFilter(const QString& text);
    QString op(const QModelIndex& index) const; ///< empty for a header
    QModelIndex firstOp() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;

private:
    struct Row {
        QString name;
        QString category;
        QString doc;
        bool header = false;
    };
    std::vector<Row> m_all;
    std::vector<Row> m_shown;
};

} // namespace twb
