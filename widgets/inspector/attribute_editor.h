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

/// What an editor asks for: a value, or nothing to go back to the default.
struct AttributeEdit {
    std::optional<AttributeValue> value;
};

/// Beside a name: wide where there is room, so that the name is legible where there is little.
void fitEditor(QWidget& editor);

/// Edits one attribute: a check box, a list of choices or a line of text, whatever its type wants. What
/// cannot be a value is refused on the spot, with the reason below it, and never leaves the editor. Of
/// several nodes it edits what they have in common.
class AttributeEditor : public QWidget {
    Q_OBJECT

public:
    /// `ops` are entries of the op table that all have such an attribute: what one of them refuses is
    /// refused. `folder` is where a file chooser begins and what its paths are relative to.
    AttributeEditor(std::vector<const Op*> ops, const AttributeSpec& spec, const QString& folder,
                    QWidget* parent = nullptr);

    const AttributeSpec& spec() const noexcept { return m_spec; }
    /// Shows the node's value; nothing: the default holds.
    void setValue(const std::optional<AttributeValue>& value);
    /// Shows that nodes differ; an edit gives all of them one value.
    void setMixed();

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
