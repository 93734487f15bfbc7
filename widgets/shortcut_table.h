#pragma once

#include <QKeySequence>
#include <QString>
#include <QWidget>

#include <vector>

class QAction;
class QKeySequenceEdit;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace twb {

/// Every action with its shortcut: search, select one, press the keys. Keys of another action are refused,
/// with its name.
class ShortcutTable : public QWidget {
    Q_OBJECT

public:
    struct Row {
        QString text;
        QKeySequence standard;
        QKeySequence chosen;
    };

    explicit ShortcutTable(QWidget* parent = nullptr);
    /// Adds an action that has the shortcut `chosen` now.
    void add(const QAction& action, const QKeySequence& standard, const QKeySequence& chosen);
    /// Refuses a shortcut of an action that cannot be changed here.
    void reserve(const QAction& action, const QKeySequence& keys);
    const std::vector<Row>& rows() const noexcept { return m_rows; }

private:
    int present() const; ///< the selected row; -1: none
    void filter(const QString& text);
    void showPresent();
    void choose(const QKeySequence& keys);
    /// The row whose shortcut keeps `keys` from being reached, or is kept from being reached by them.
    const Row* clashing(const Row& with, const QKeySequence& keys) const;

    std::vector<Row> m_rows;
    std::vector<Row> m_reserved;
    QLineEdit* m_search;
    QTreeWidget* m_list;
    QKeySequenceEdit* m_keys;
    QPushButton* m_reset;
    QLabel* m_refusal;
};

} // namespace twb
