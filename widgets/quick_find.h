#pragma once

#include <QLineEdit>

#include <functional>
#include <vector>

class QCompleter;

namespace twb {

/// A search over all actions and nodes, or over nodes alone: type a part of a name, choose it by Enter.
class QuickFind : public QLineEdit {
    Q_OBJECT

public:
    struct Item {
        QString text;
        QString hint; ///< a shortcut, an op
        std::function<void()> take;
    };

    enum class Scope { all, nodes };

    explicit QuickFind(QWidget* parent = nullptr);
    /// Called for the items whenever the field gets the focus.
    void setSource(std::function<std::vector<Item>(Scope)> source);
    /// Takes the focus; the scope lasts until the focus leaves.
    void ask(Scope scope);

Q_SIGNALS:
    /// A match was chosen (its action follows), or Esc was pressed.
    void finished();

protected:
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    class Model;

    void take(const QModelIndex& index);
    void setScope(Scope scope);
    void fitPlaceholder();

    std::function<std::vector<Item>(Scope)> m_source;
    Scope m_scope = Scope::all;
    Model* m_model;
    QCompleter* m_completer;
};

} // namespace twb
