#include "widgets/actions/graph_editor.h"

#include "core/error.h"
#include "widgets/message_box.h"
#include "widgets/panels/log_panel.h"
#include "widgets/status_line.h"
#include "widgets/text.h"

#include <utility>

namespace twb {

GraphEditor::GraphEditor(Document& document, LogPanel& log, StatusLine& status, QWidget& window)
    : m_document(document), m_log(log), m_status(status), m_window(window) {}

void GraphEditor::edit(Delta delta, Selection select) {
    if (delta.empty()) return;
    m_log.add(Severity::note, toQt(delta.title));
    m_document.apply(std::move(delta));
    if (!select.empty()) m_document.select(std::move(select));
}

bool GraphEditor::attempt(const QString& title, const std::function<void()>& change) {
    try {
        change();
        return true;
    } catch (const Error& error) {
        showError(title, toQt(error.what()));
        return false;
    }
}

void GraphEditor::showError(const QString& title, const QString& sentence) {
    twb::showError(title, sentence, &m_window);
}

void GraphEditor::say(const QString& sentence, Severity severity) { m_status.say(sentence, severity); }

} // namespace twb
