#pragma once

#include <QAbstractListModel>
#include <QString>

#include <functional>
#include <vector>

namespace twb {

/// The MIME type of a dragged op: its name in UTF-8.
inline constexpr char kOpMimeType[] = "application/x-tensor-workbench-op";

/// The op table and the composites as a list, filtered by a search text.
class OpListModel : public QAbstractListModel {
    Q_OBJECT

public:
    enum Role { IsHeaderRole = Qt::UserRole, CategoryRole, DocRole, TypesRole };
    enum class Order {
        sections, ///< as in the op table, with section headers, which cannot be selected
        nearest,  ///< the best match first; no headers
    };

    explicit OpListModel(Order order, QObject* parent = nullptr);

    /// By sections: keeps ops with every word of `text` in their name, section or description. Nearest: also
    /// ops whose name contains the letters in order.
    void setFilter(const QString& text);
    /// Reloads the user's modules.
    void reload();
    /// Hides ops for which `accepted` is false. Ops with equal match scores (all ops without a search text)
    /// are ordered by `usage`, the greatest first. Either may be empty.
    void setAccepted(std::function<bool(const QString& op)> accepted,
                     std::function<int(const QString& op)> usage = {});
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
        QString types; ///< "float int → bool"
        bool header = false;
    };
    std::vector<Row> matching(const QString& text) const;
    std::vector<Row> nearestTo(const QString& text) const;

    Order m_order;
    std::function<bool(const QString&)> m_accepted;
    std::function<int(const QString&)> m_usage;
    QString m_filter;
    std::vector<Row> m_all;
    std::vector<Row> m_shown;
};

} // namespace twb
