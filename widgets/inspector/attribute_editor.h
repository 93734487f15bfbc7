#pragma once

#include "widgets/inspector/attribute_text.h"

#include <QWidget>

#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace twb {

/// The change requested by an editor: a value, or nothing to reset to the default.
struct AttributeEdit {
    std::optional<AttributeValue> value;
};

/// The layout beside a name: the editor grows only if the name stays legible.
void fitEditor(QWidget& editor);

/// Edits one attribute with a check box, a list of choices or a line of text, by its type. An invalid value
/// is refused immediately, with the reason below, and never leaves the editor. For several nodes it edits the
/// common attribute.
class AttributeEditor : public QWidget {
    Q_OBJECT

public:
    /// `ops` are entries of the op table with this attribute; a value must be valid for all of them. `folder`
    /// is the start of the file chooser and the base of its paths.
    AttributeEditor(std::vector<const Op*> ops, const AttributeSpec& spec, const QString& folder,
                    QWidget* parent = nullptr);

    const AttributeSpec& spec() const noexcept { return m_spec; }
    /// Shows the node's value; nothing: the default applies. Text that the user is typing stays unless the
    /// value has changed.
    void setValue(const std::optional<AttributeValue>& value);
    /// Shows that nodes differ; an edit sets all of them. Text that the user is typing stays.
    void setMixed();

Q_SIGNALS:
    void edited(const twb::AttributeEdit& edit);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeEditor();
    bool isTyping() const;
    void showValue(const std::optional<AttributeValue>& value);
    void showMixed();
    void commitText();
    void commit(std::optional<AttributeValue> value);
    void setRefusal(const QString& sentence);
    void chooseFile();
    std::optional<AttributeValue> shown() const;

    std::vector<const Op*> m_ops;
    AttributeSpec m_spec;
    QString m_folder;
    std::optional<AttributeValue> m_value;
    bool m_isMixed = false;
    QCheckBox* m_check = nullptr;
    QComboBox* m_combo = nullptr;
    QLineEdit* m_line = nullptr;
    QToolButton* m_reset;
    QLabel* m_refusal;
};

} // namespace twb
