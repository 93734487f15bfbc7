#pragma once

#include <QFrame>

#include <functional>

class QLabel;
class QLineEdit;
class QListView;

namespace twb {

class OpListModel;

/// The search popup of the canvas: type a few letters of an op, choose it by Enter or a click. Closes by Esc
/// or a click elsewhere.
class OpSearch : public QFrame {
    Q_OBJECT

public:
    explicit OpSearch(QWidget* parent);

    /// Starts a search among the ops for which `accepted` is true, ordered by `usage`; `heading` gives the
    /// reason. Empty: all ops, in the order of the op table.
    struct Wanted {
        QString heading;
        std::function<bool(const QString& op)> accepted;
        std::function<int(const QString& op)> usage;
    };
    /// Opens it with its corner at a point of the screen, or as near as the window allows.
    void open(QPoint globalPosition, Wanted wanted);

    /// Reloads the user's modules.
    void reload();

Q_SIGNALS:
    void chosen(const QString& op); ///< after closed()
    void closed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void filter(const QString& text);
    void step(int rows);
    void take(const QModelIndex& index);

    OpListModel* m_model;
    QLabel* m_heading;
    QLineEdit* m_search;
    QListView* m_list;
    QLabel* m_nothing;
};

} // namespace twb
