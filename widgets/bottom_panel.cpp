#include "widgets/bottom_panel.h"

#include "widgets/labels.h"

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

namespace twb {

BottomPanel::BottomPanel(QWidget* parent)
    : QWidget(parent), m_bar(new QBoxLayout(QBoxLayout::LeftToRight)), m_tabs(new QTabBar),
      m_pages(new QStackedWidget), m_corners(new QStackedWidget) {
    setProperty("surface", QStringLiteral("panel"));
    setAttribute(Qt::WA_StyledBackground);
    m_tabs->setObjectName(QStringLiteral("bottomTabs"));
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setMinimumWidth(64); // it scrolls
    m_tabs->setAccessibleName(tr("Panels"));
    m_corners->setFixedHeight(24);
    m_bar->setContentsMargins(12, 0, 0, 0);
    m_bar->setSpacing(8);
    m_bar->addWidget(m_tabs, 1);
    m_bar->addWidget(m_corners);
    m_pages->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Expanding); // a page fits itself to its width
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 2, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(m_bar);
    layout->addWidget(makeLine());
    layout->addWidget(m_pages, 1);
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int index) {
        m_pages->setCurrentIndex(index);
        m_corners->setCurrentIndex(index);
        fitCorner();
    });
}

void BottomPanel::addPage(QWidget* page, const QString& key, const QString& title, QWidget* corner) {
    m_pages->addWidget(page);
    m_corners->addWidget(corner ? corner : new QWidget);
    m_tabs->setTabData(m_tabs->addTab(title), key);
    fitCorner();
}

/// The tabs use the width that the corner of the current page leaves.
void BottomPanel::fitCorner() {
    for (int i = 0; i < m_corners->count(); ++i)
        m_corners->widget(i)->setSizePolicy(i == m_corners->currentIndex() ? QSizePolicy::Preferred
                                                                           : QSizePolicy::Ignored,
                                            QSizePolicy::Preferred);
    const QWidget* corner = m_corners->currentWidget();
    if (!corner) return;
    const int needed = m_tabs->sizeHint().width() + corner->sizeHint().width() + 24;
    const bool isBelow = corner->sizeHint().width() > 0 && needed > width();
    m_bar->setDirection(isBelow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_bar->setSpacing(isBelow ? 0 : 8);
    m_bar->setAlignment(m_corners, isBelow ? Qt::AlignLeft : Qt::Alignment()); // not stretched over the row
    // A bar that had to scroll would stay where it was scrolled to.
    m_tabs->setUsesScrollButtons(m_tabs->sizeHint().width() + 12 > width());
}

void BottomPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitCorner();
}

void BottomPanel::setTitle(QWidget* page, const QString& title) {
    m_tabs->setTabText(m_pages->indexOf(page), title);
}

void BottomPanel::showPage(QWidget* page) { showIndex(m_pages->indexOf(page)); }

void BottomPanel::setTabVisible(QWidget* page, bool visible) {
    m_tabs->setTabVisible(m_pages->indexOf(page), visible);
}

void BottomPanel::showIndex(int index) {
    m_tabs->setTabVisible(index, true);
    m_tabs->setCurrentIndex(index);
}

bool BottomPanel::showPage(const QString& key) {
    const qsizetype index = keys().indexOf(key);
    if (index >= 0) showIndex(int(index));
    return index >= 0;
}

void BottomPanel::restorePage(const QString& key) {
    const qsizetype index = keys().indexOf(key);
    if (index >= 0 && m_tabs->isTabVisible(int(index))) showIndex(int(index));
}

QStringList BottomPanel::keys() const {
    QStringList out;
    for (int i = 0; i < m_tabs->count(); ++i) out << m_tabs->tabData(i).toString();
    return out;
}

QString BottomPanel::currentKey() const { return m_tabs->tabData(m_tabs->currentIndex()).toString(); }

QWidget* BottomPanel::currentPage() const { return m_pages->currentWidget(); }

int BottomPanel::currentIndex() const { return m_tabs->currentIndex(); }

} // namespace twb
