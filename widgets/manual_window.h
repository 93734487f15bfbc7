#pragma once

#include <QWidget>

#include <vector>

class QLineEdit;
class QTextBrowser;
class QTreeWidget;
class QTreeWidgetItem;

namespace twb {

/// The manual: Markdown pages with a table of contents and a search over all of them.
class ManualWindow : public QWidget {
    Q_OBJECT

public:
    /// Throws Error(io) if `folder` has no index.md.
    ManualWindow(const QString& folder, QWidget* parent);

    /// Shows a page ("canvas.md"), scrolled to the heading with this anchor ("frames-and-notes"), or to the
    /// top if there is none.
    void open(const QString& page, const QString& anchor = {});

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Section {
        QString page;
        QString heading;
        QString anchor;
        int level = 1;
        QString text; ///< the Markdown below the heading
    };
    void readPages();
    void readPage(const QString& page);
    void fillContents(const QString& words);
    void follow(const QUrl& link);
    void markWords();

    QString m_folder;
    std::vector<Section> m_sections;
    QLineEdit* m_search;
    QTreeWidget* m_contents;
    QTextBrowser* m_text;
};

} // namespace twb
