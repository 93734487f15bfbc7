#pragma once

#include "widgets/inspector/attribute_text.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace twb {

/// What an editor asks for: a value, or nothing to go back to the default.
struct AttributeEdit {
    std::optional<AttributeValue> value;
};

/// Edits one attribute: a check box, a list of choices or a line of text, whatever its type wants. What
/// cannot be a value is refused on the spot, with the reason below it, and never leaves the editor.
class AttributeEditor : public QWidget {
    Q_OBJECT

public:
    /// `op` is an entry of the op table. `folder` is where a file chooser begins and what its paths are
    /// relative to.
    AttributeEditor(const Op& op, const AttributeSpec& spec, const QString& folder,
                    QWidget* parent = nullptr);

    const AttributeSpec& spec() const noexcept { return m_spec; }
    /// Shows the node's value; nothing: the default holds.
    void setValue(const std::optional<AttributeValue>& value);

Q_SIGNALS:
    void edited(const twb::AttributeEdit& edit);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeEditor();
    void commitText();
    void commit(std::optional<AttributeValue> value);
    void setRefusal(const QString& sentence);
    void chooseFile();
    std::optional<AttributeValue> shown() const;

    const Op& m_op;
    AttributeSpec m_spec;
    QString m_folder;
    std::optional<AttributeValue> m_value;
    QCheckBox* m_check = nullptr;
    QComboBox* m_combo = nullptr;
    QLineEdit* m_line = nullptr;
    QToolButton* m_reset;
    QLabel* m_refusal;
};

} // namespace twb
