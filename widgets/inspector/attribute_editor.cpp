#include "widgets/inspector/attribute_editor.h"

#include "widgets/icon.h"
#include "widgets/inspector/file_chooser.h"
#include "widgets/labels.h"
#include "widgets/text.h"
#include "widgets/wheel_guard.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPointer>
#include <QToolButton>
#include <QVBoxLayout>

namespace twb {
namespace {

QStringList choicesOf(const AttributeSpec& spec) {
    QStringList out;
    for (const std::string& choice : spec.choices) out.push_back(toQt(choice));
    if (out.isEmpty() && spec.type == AttributeType::dtype)
        for (const DType dtype : kAllDTypes) out.push_back(toQt(name(dtype)));
    return out;
}

QToolButton* makeSmallButton(const QString& iconName, const QString& what, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(icon(iconName, Theme::current().secondaryText));
    button->setIconSize({12, 12});
    button->setFixedSize(20, 20);
    button->setToolTip(what);
    button->setAccessibleName(what);
    return button;
}

} // namespace

void fitEditor(QWidget& editor) {
    constexpr int kLeast = 124;
    constexpr int kMost = 144;
    editor.setSizePolicy(QSizePolicy::Expanding, editor.sizePolicy().verticalPolicy());
    editor.setMinimumWidth(kLeast);
    editor.setMaximumWidth(kMost);
    needFocusForWheel(editor);
}

AttributeEditor::AttributeEditor(std::vector<const Op*> ops, const AttributeSpec& spec, const QString& folder,
                                 QWidget* parent)
    : QWidget(parent), m_ops(std::move(ops)), m_spec(spec), m_folder(folder),
      m_reset(
          makeSmallButton(QStringLiteral("reset"), tr("Reset %1 to its default").arg(toQt(spec.name)), this)),
      m_refusal(makeLabel({}, TextRole::small, QStringLiteral("error"), this)) {
    auto* label = new ElidedLabel(this);
    label->setText(toQt(spec.name));
    label->setProperty("role", QStringLiteral("secondary"));
    setToolTip(toQt(spec.doc));

    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    row->addWidget(label, 1);
    row->addWidget(m_reset);
    row->addWidget(makeEditor(), 2);

    m_refusal->setWordWrap(true);
    m_refusal->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addLayout(row);
    layout->addWidget(m_refusal);

    QSizePolicy policy = m_reset->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    m_reset->setSizePolicy(policy);
    connect(m_reset, &QToolButton::clicked, this, [this] { commit(std::nullopt); });
    showValue(std::nullopt);
}

QWidget* AttributeEditor::makeEditor() {
    const QString name = toQt(m_spec.name);
    if (m_spec.type == AttributeType::flag) {
        m_check = new QCheckBox(this);
        m_check->setAccessibleName(name);
        m_check->setObjectName(QStringLiteral("attribute.") + name);
        fitEditor(*m_check);
        // Also from the partial state, which toggled() does not report.
        connect(m_check, &QCheckBox::clicked, this, [this](bool on) { commit(AttributeValue(on)); });
        return m_check;
    }
    const QStringList choices = choicesOf(m_spec);
    if (!choices.isEmpty()) {
        m_combo = new QComboBox(this);
        m_combo->setAccessibleName(name);
        m_combo->setObjectName(QStringLiteral("attribute.") + name);
        m_combo->setFont(twb::font(TextRole::figure));
        fitEditor(*m_combo);
        if (!m_spec.defaultValue && !m_spec.required) m_combo->addItem(tr("not set"), QString());
        for (const QString& choice : choices) m_combo->addItem(choice, choice);
        connect(m_combo, &QComboBox::activated, this, [this](int index) {
            const QString choice = m_combo->itemData(index).toString();
            commit(choice.isEmpty() ? std::nullopt : std::optional(AttributeValue(choice.toStdString())));
        });
        return m_combo;
    }
    m_line = new QLineEdit(this);
    m_line->setAccessibleName(name);
    m_line->setAccessibleDescription(toQt(m_spec.doc));
    m_line->setObjectName(QStringLiteral("attribute.") + name);
    m_line->setFont(twb::font(TextRole::figure));
    fitEditor(*m_line);
    const bool isText = m_spec.type == AttributeType::text || m_spec.type == AttributeType::file;
    m_line->setAlignment(isText ? Qt::AlignLeft : Qt::AlignRight);
    m_line->installEventFilter(this);
    connect(m_line, &QLineEdit::editingFinished, this, &AttributeEditor::commitText);
    if (m_spec.type == AttributeType::file) {
        QAction* choose = m_line->addAction(icon(QStringLiteral("folder"), Theme::current().secondaryText),
                                            QLineEdit::TrailingPosition);
        choose->setToolTip(tr("Choose a file…"));
        connect(choose, &QAction::triggered, this, &AttributeEditor::chooseFile);
    }
    return m_line;
}

std::optional<AttributeValue> AttributeEditor::shown() const {
    return m_value ? m_value : m_spec.defaultValue;
}

bool AttributeEditor::isTyping() const {
    return m_line && m_line->isModified() && m_line->window()->focusWidget() == m_line;
}

void AttributeEditor::setValue(const std::optional<AttributeValue>& value) {
    if (!m_isMixed && value == m_value && isTyping()) return;
    showValue(value);
}

void AttributeEditor::showValue(const std::optional<AttributeValue>& value) {
    m_value = value;
    m_isMixed = false;
    m_reset->setVisible(value.has_value() && (m_spec.defaultValue || !m_spec.required));
    setRefusal({});
    const QString text = textOf(shown());
    if (m_check) {
        m_check->setTristate(false);
        m_check->setChecked(text == QLatin1String("true") || text == QLatin1String("1"));
        m_check->setText(m_check->isChecked() ? tr("true") : tr("false"));
    } else if (m_combo) {
        const int index = m_combo->findData(text);
        m_combo->setCurrentIndex(index);
    } else {
        m_line->setText(text);
        m_line->setCursorPosition(0);
        m_line->setPlaceholderText(m_spec.defaultValue ? QString()
                                   : m_spec.required   ? tr("required")
                                                       : tr("not set"));
    }
}

void AttributeEditor::setMixed() {
    if (!m_isMixed || !isTyping()) showMixed();
}

void AttributeEditor::showMixed() {
    m_value.reset();
    m_isMixed = true;
    m_reset->setVisible(m_spec.defaultValue || !m_spec.required);
    setRefusal({});
    if (m_check) {
        m_check->setTristate(true);
        m_check->setCheckState(Qt::PartiallyChecked);
        m_check->setText(tr("several"));
    } else if (m_combo) {
        m_combo->setPlaceholderText(tr("several"));
        m_combo->setCurrentIndex(-1);
    } else {
        m_line->clear();
        m_line->setPlaceholderText(tr("several"));
    }
}

void AttributeEditor::commitText() {
    const QString text = m_line->text();
    if (m_isMixed ? text.isEmpty() : text == textOf(shown())) {
        setRefusal({});
        return;
    }
    if (text.trimmed().isEmpty() && !m_spec.required) {
        commit(std::nullopt);
        return;
    }
    TypedValue typed;
    for (const Op* op : m_ops) {
        typed = readValueFor(*op, m_spec, text);
        if (!typed.value) break;
    }
    setRefusal(typed.refusal);
    if (typed.value) commit(typed.value);
}

void AttributeEditor::commit(std::optional<AttributeValue> value) {
    if (!m_isMixed && value == m_value) {
        showValue(m_value);
        return;
    }
    Q_EMIT edited({std::move(value)});
}

void AttributeEditor::setRefusal(const QString& sentence) {
    m_refusal->setText(sentence);
    m_refusal->setVisible(!sentence.isEmpty());
    if (m_line) setStyleProperty(m_line, "invalid", !sentence.isEmpty());
}

void AttributeEditor::chooseFile() {
    FileChooser chooser(window(), m_folder);
    const QPointer<AttributeEditor> self(this); // deleted with the selection, which may change meanwhile
    if (chooser.exec() != QDialog::Accepted || !self || chooser.chosen().isEmpty()) return;
    m_line->setText(QDir(m_folder).relativeFilePath(chooser.chosen()));
    commitText();
}

bool AttributeEditor::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        if (m_isMixed)
            showMixed();
        else
            showValue(m_value);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace twb
