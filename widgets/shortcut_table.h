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

/// Every action with its shortcut: search, pick one, press the keys. Keys that another action has are
/// refused, with its name.
class ShortcutTable : public QWidget {
    Q_OBJECT

public:
    struct Row {
        QString text;
        QKeySequence standard;
        QKeySequence chosen;
    };

    explicit ShortcutTable(QWidget* parent = nullptr);
    /// `action` has the shortcut that is chosen at present.
    void add(const QAction& action, const QKeySequence& standard);
    const std::vector<Row>& rows() const noexcept { return m_rows; }

private:
    int present() const; ///< the row that is picked; -1: none
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
