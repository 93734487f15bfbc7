#pragma once

#include <QTextBrowser>

class QTextDocument;

namespace twb {

/// Shows a page of Markdown with the theme's spacing, tables and code. Pictures are at most as wide as the
/// text.
class ManualPage : public QTextBrowser {
    Q_OBJECT

public:
    explicit ManualPage(QWidget* parent = nullptr);
    QVariant loadResource(int type, const QUrl& name) override;

private:
    void dress();
};

} // namespace twb
