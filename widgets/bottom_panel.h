#pragma once

#include <QWidget>

class QBoxLayout;
class QStackedWidget;
class QTabBar;

namespace twb {

/// Tabs with a corner for the widgets of the current page.
class BottomPanel : public QWidget {
    Q_OBJECT

public:
    explicit BottomPanel(QWidget* parent = nullptr);
    /// `key` is the page's name on the command line ("transfers").
    void addPage(QWidget* page, const QString& key, const QString& title, QWidget* corner = nullptr);
    void setTitle(QWidget* page, const QString& title);
    void showPage(QWidget* page); ///< also if its tab is hidden
    /// Whether it has a tab while another page is current.
    void setTabVisible(QWidget* page, bool visible);
    bool showPage(const QString& key);    ///< false if there is no such page
    void restorePage(const QString& key); ///< does nothing if the page has no tab at present
    QStringList keys() const;
    QString currentKey() const;
    int currentIndex() const;
    QWidget* currentPage() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showIndex(int index);
    void fitCorner();

    QBoxLayout* m_bar; ///< the tabs, and the corner beside them or, in a narrow panel, below
    QTabBar* m_tabs;
    QStackedWidget* m_pages;
    QStackedWidget* m_corners;
};

} // namespace twb
