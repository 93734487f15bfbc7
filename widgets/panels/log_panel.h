#pragma once

#include "graph/diagnostic.h"

#include <QWidget>

#include <vector>

class QPlainTextEdit;

namespace twb {

/// The messages, oldest first; the oldest are dropped beyond a limit.
class LogPanel : public QWidget {
    Q_OBJECT

public:
    explicit LogPanel(QWidget* parent = nullptr);
    void add(Severity severity, const QString& sentence);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Line {
        QString time;
        Severity severity;
        QString sentence;
    };
    void write(const Line& line);

    QPlainTextEdit* m_text;
    std::vector<Line> m_lines;
};

} // namespace twb
