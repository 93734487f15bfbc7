#pragma once

#include <QWidget>

class QLineEdit;
class QListView;

namespace twb {

class OpListModel;

/// The left panel: ops by section, with a search. An op is dragged to a lane, or added by a double click or
/// Enter.
class OpPalette : public QWidget {
    Q_OBJECT

public:
    explicit OpPalette(QWidget* parent = nullptr);
    void focusSearch();
    /// Reloads the user's modules.
    void reload();

Q_SIGNALS:
    void opChosen(const QString& op);
    void ownModulesChanged(); ///< a module was removed

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void choose(const QString& op);
    /// For a user's module.
    void showMenu(QPoint at);
    void takeOut(const QString& module);

    OpListModel* m_model;
    QLineEdit* m_search;
    QListView* m_list;
};

} // namespace twb
