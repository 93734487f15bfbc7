#pragma once

#include "widgets/document.h"

#include <functional>

class QWidget;

namespace twb {

class LogPanel;
class StatusLine;

/// Applies the user's edits, lists them in the log, and reports errors.
class GraphEditor {
public:
    /// Message boxes belong to `window`.
    GraphEditor(Document& document, LogPanel& log, StatusLine& status, QWidget& window);

    /// One undo step; does nothing for an empty Delta. Selects `select` unless it is empty.
    void edit(Delta delta, Selection select = {});
    /// Runs `change`; an Error is shown in a message box. True on success.
    bool attempt(const QString& title, const std::function<void()>& change);
    void showError(const QString& title, const QString& sentence);
    /// Shows a message in the status line.
    void say(const QString& sentence, Severity severity = Severity::note);

private:
    Document& m_document;
    LogPanel& m_log;
    StatusLine& m_status;
    QWidget& m_window;
};

} // namespace twb
