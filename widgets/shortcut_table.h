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
    /// `action` has the selected shortcut now.
    void add(const QAction& action, const QKeySequence& standard);
    const std::vector<Row>& rows() const noexcept { return m_rows; }

private:
    int present() const; ///< the selected row; -1: none
    void filter(const QString& text);
    void showPresent();
    void choose(const QKeySequence& keys);

    std::vector<Row> m_rows;
    QLineEdit* m_search;
    QTreeWidget* m_list;
    QKeySequenceEdit* m_keys;
    QPushButton* m_reset;
    QLabel* m_refusal;
};

} // namespace twb
