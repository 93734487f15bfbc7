#include "widgets/inspector/op_help_view.h"

#include "widgets/labels.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QDrag>
#include <QLabel>
#include <QMimeData>
#include <QMouseEvent>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace twb {
namespace {

/// A button that can also be dragged to a lane, as an entry of the palette.
class EntryButton : public QPushButton {
public:
    using QPushButton::QPushButton;
    QString entry;

protected:
    void mousePressEvent(QMouseEvent* event) override {
        m_pressed = event->position().toPoint();
        QPushButton::mousePressEvent(event);
    }
    void mouseMoveEvent(QMouseEvent* event) override {
        const QPoint way = event->position().toPoint() - m_pressed;
        if (!isDown() || way.manhattanLength() < QApplication::startDragDistance()) return;
        setDown(false);
        auto* data = new QMimeData;
        data->setData(QLatin1String(kOpMimeType), entry.toUtf8());
        auto* drag = new QDrag(this); // deletes itself
        drag->setMimeData(data);
        drag->exec(Qt::CopyAction);
    }

private:
    QPoint m_pressed;
};

QString helpEscaped(const std::string& text) { return toQt(text).toHtmlEscaped(); }

QString helpHeading(const QString& text) {
    return QStringLiteral("<p style='margin-top:8px; margin-bottom:0px'><b>%1</b></p>")
        .arg(text.toHtmlEscaped());
}

/// `quiet` is in the colour of secondary text.
QString helpRow(const QString& text, const QString& quiet = {}) {
    QString out = QStringLiteral("<p style='margin-top:2px; margin-bottom:0px'>%1").arg(text);
    if (!quiet.isEmpty())
        out += QStringLiteral(" <span style='color:%1'>%2</span>")
                   .arg(Theme::current().secondaryText.name(), quiet);
    return out + QStringLiteral("</p>");
}

QString helpRows(const std::vector<OpHelp::Port>& ports) {
    QString out;
    for (const OpHelp::Port& port : ports) {
        QString name = QStringLiteral("<b>%1</b>").arg(helpEscaped(port.name));
        if (!port.argument.empty()) name += QStringLiteral(" (%1)").arg(helpEscaped(port.argument));
        out += helpRow(name, helpEscaped(port.note.empty() ? port.dtypes : port.dtypes + "; " + port.note));
    }
    return out;
}

} // namespace

OpHelpView::OpHelpView(QWidget* parent)
    : QWidget(parent), m_toggle(new QToolButton), m_body(new QWidget), m_text(new QLabel),
      m_example(new EntryButton(tr("Add example"))) {
    m_toggle->setObjectName(QStringLiteral("opHelpToggle"));
    m_toggle->setText(tr("Help"));
    m_toggle->setCheckable(true);
    m_toggle->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_toggle->setFocusPolicy(Qt::StrongFocus);
    m_toggle->setToolTip(tr("Shows the operands, attributes and names of the op, with an example."));
    m_text->setObjectName(QStringLiteral("opHelpText"));
    m_text->setTextFormat(Qt::RichText);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setFocusPolicy(Qt::StrongFocus); // the flags have set ClickFocus
    // It has no accessible name: screen readers would read the name instead of the text.
    m_text->setFont(twb::font(TextRole::body));
    m_example->setObjectName(QStringLiteral("opExample"));
    m_example->setToolTip(tr("Adds the op with operands that fit. Drag it to put it on a lane."));

    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(m_text);
    column->addWidget(m_example, 0, Qt::AlignLeft);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_toggle, 0, Qt::AlignLeft);
    layout->addWidget(m_body);
    connect(m_toggle, &QToolButton::toggled, this, &OpHelpView::refresh);
    connect(m_example, &QPushButton::clicked, this, [this] { Q_EMIT exampleRequested(m_entry); });
    refresh();
}

void OpHelpView::setOp(const Op* op) {
    const bool wasModule = m_module.has_value();
    m_module.reset();
    if (std::exchange(m_op, op) != op || wasModule) refresh();
}

void OpHelpView::setModule(const ModuleOp& op) {
    m_op = nullptr;
    m_module = helpOf(op);
    refresh();
}

void OpHelpView::open() {
    m_toggle->setChecked(true);
    m_text->setFocus(Qt::ShortcutFocusReason);
}

void OpHelpView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) refresh();
}

void OpHelpView::refresh() {
    const bool isOpen = m_toggle->isChecked();
    m_toggle->setIcon(
        QIcon(QStringLiteral(":/twb/icons/%1/%2.svg")
                  .arg(Theme::current().isDark ? QStringLiteral("dark") : QStringLiteral("light"),
                       isOpen ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right"))));
    m_body->setVisible(isOpen && (m_op || m_module));
    if (!isOpen || (!m_op && !m_module)) return;
    const OpHelp help = m_op ? helpOf(*m_op) : *m_module;
    QString text;
    if (!help.shapes.empty())
        text += helpHeading(m_op ? tr("Shapes") : tr("Contents")) + helpRow(helpEscaped(help.shapes));
    if (!help.inputs.empty()) text += helpHeading(tr("Inputs")) + helpRows(help.inputs);
    if (!help.outputs.empty()) text += helpHeading(tr("Outputs")) + helpRows(help.outputs);
    if (!help.attributes.empty()) text += helpHeading(tr("Attributes"));
    for (const OpHelp::Attribute& attribute : help.attributes) {
        const std::string facts =
            attribute.value.empty() ? attribute.type : attribute.type + ' ' + attribute.value;
        text += helpRow(QStringLiteral("<b>%1</b> %2").arg(helpEscaped(attribute.name), helpEscaped(facts)),
                        helpEscaped(attribute.doc));
    }
    if (!help.torch.empty())
        text += helpHeading(QStringLiteral("PyTorch")) +
                helpRow(QStringLiteral("<code>%1</code>").arg(helpEscaped(help.torch)));
    QStringList versions;
    for (const int version : help.onnxVersions) versions << QString::number(version);
    if (!help.onnx.empty())
        text += helpHeading(QStringLiteral("ONNX")) +
                helpRow(helpEscaped(help.onnx),
                        versions.size() < 2 ? QString()
                                            : tr("versions %1").arg(versions.join(QStringLiteral(", "))));
    if (!help.gradient.empty()) text += helpHeading(tr("Gradient")) + helpRow(helpEscaped(help.gradient));
    if (!help.example.empty()) text += helpHeading(tr("Example")) + helpRow(helpEscaped(help.example));
    m_text->setText(text);
    m_entry = toQt(help.exampleEntry);
    static_cast<EntryButton*>(m_example)->entry = m_entry;
    m_example->setVisible(!m_entry.isEmpty());
}

} // namespace twb
