#include "widgets/panels/log_panel.h"

#include "widgets/theme.h"

#include <QEvent>
#include <QPlainTextEdit>
#include <QTime>
#include <QVBoxLayout>

namespace twb {
namespace {

constexpr std::size_t kMostLines = 2000;

} // namespace

LogPanel::LogPanel(QWidget* parent) : QWidget(parent), m_text(new QPlainTextEdit) {
    m_text->setObjectName(QStringLiteral("log"));
    m_text->setReadOnly(true);
    m_text->setFont(twb::font(TextRole::smallFigure));
    m_text->setMaximumBlockCount(int(kMostLines));
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setProperty("role", QStringLiteral("log"));
    m_text->setAccessibleName(tr("Log"));
    m_text->setPlaceholderText(tr("No messages yet."));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 8, 0, 0);
    layout->addWidget(m_text);
}

void LogPanel::add(Severity severity, const QString& sentence) {
    if (m_lines.size() == kMostLines) m_lines.erase(m_lines.begin());
    m_lines.push_back({QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), severity, sentence});
    write(m_lines.back());
}

void LogPanel::write(const Line& line) {
    const Theme& theme = Theme::current();
    const QColor color = line.severity == Severity::error     ? theme.error
                         : line.severity == Severity::warning ? theme.warning
                                                              : theme.text;
    m_text->appendHtml(
        QStringLiteral("<span style=\"color:%1\">%2</span>&nbsp;&nbsp;<span style=\"color:%3\">%4</span>")
            .arg(theme.secondaryText.name(), line.time, color.name(), line.sentence.toHtmlEscaped()));
}

void LogPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    m_text->clear();
    for (const Line& line : m_lines) write(line);
}

} // namespace twb
