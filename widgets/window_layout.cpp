#include "widgets/window_layout.h"

#include "widgets/bottom_panel.h"

#include <QAction>
#include <QMainWindow>
#include <QScreen>
#include <QSettings>
#include <QSplitter>
#include <QStyle>

#include <algorithm>
#include <array>

namespace twb {
namespace {

constexpr int kWideWindow =
    1600; ///< the width at which the palette and the inspector have their preferred widths
constexpr int kPaletteWidth = 208;
constexpr int kInspectorWidth = 312;
constexpr int kLeastBottom = 216;     ///< the ledger's sums and a few rows
constexpr double kBottomShare = 0.26; ///< share of the window's height
/// The largest share of the window that a restored panel takes, so that the canvas has room.
constexpr double kMostWidth = 0.4;
constexpr double kMostHeight = 0.6;

const QString kGeometry = QStringLiteral("window/geometry");
const QString kPage = QStringLiteral("window/page");

/// A panel at the edge of a splitter.
struct Panel {
    QSplitter& splitter;
    int index;
    QString key; ///< of its settings

    QString sizeKey() const { return key + QStringLiteral("Size"); }
    QString hiddenKey() const { return key + QStringLiteral("Hidden"); }
    QWidget& widget() const { return *splitter.widget(index); }
};

std::array<Panel, 3> panelsOf(QSplitter& columns, QSplitter& middle) {
    return {Panel{columns, 0, QStringLiteral("window/palette")},
            Panel{columns, 2, QStringLiteral("window/inspector")},
            Panel{middle, 1, QStringLiteral("window/bottom")}};
}

/// Moves a window that was elsewhere on to its screen, below a title bar, and makes it smaller if the screen
/// has too little room.
void moveOnScreen(QWidget& window) {
    const QScreen& screen = *window.screen();
    if (screen.availableVirtualGeometry().contains(window.geometry()))
        return; // it may lie across two screens
    const int title = window.style()->pixelMetric(QStyle::PM_TitleBarHeight, nullptr, &window);
    const QRect room = screen.availableGeometry().adjusted(0, title, 0, 0);
    QRect place(window.geometry().topLeft(), window.size().boundedTo(room.size()));
    place.moveLeft(std::clamp(place.left(), room.left(), room.right() + 1 - place.width()));
    place.moveTop(std::clamp(place.top(), room.top(), room.bottom() + 1 - place.height()));
    window.setGeometry(place);
}

} // namespace

WindowLayout::WindowLayout(QMainWindow& window, QSplitter& columns, QSplitter& middle, BottomPanel& bottom)
    : m_window(window), m_columns(columns), m_middle(middle), m_bottom(bottom) {}

void WindowLayout::addSwitch(QAction& action, const QString& name) {
    m_switches.push_back({action, QStringLiteral("window/") + name, action.isChecked()});
}

void WindowLayout::restore() {
    const QSettings settings;
    m_isRestored = true;
    if (!m_window.restoreGeometry(settings.value(kGeometry).toByteArray()))
        m_window.resize(m_window.size().boundedTo(m_window.screen()->availableSize()));
    else if (!m_window.isMaximized())
        moveOnScreen(m_window);
    for (const Panel& panel : panelsOf(m_columns, m_middle))
        panel.widget().setHidden(settings.value(panel.hiddenKey()).toBool());
    for (const Switch& part : m_switches)
        part.action.setChecked(settings.value(part.key, part.standard).toBool());
    m_bottom.restorePage(settings.value(kPage).toString());
}

void WindowLayout::divide() {
    // A maximised window has its final size only after it is shown.
    const QSize size = m_window.isMaximized() ? m_window.screen()->availableSize() : m_window.size();
    const int width = size.width();
    const int height = size.height();
    const auto [palette, inspector, bottom] = panelsOf(m_columns, m_middle);
    const auto sizeOf = [&](const Panel& panel, int standard, int least, int most) {
        const int kept = m_isRestored ? QSettings().value(panel.sizeKey()).toInt() : 0;
        return kept > 0 ? std::clamp(kept, least, std::max(least, most)) : standard;
    };
    // In a small window, the side panels shrink first.
    const auto widthOf = [&](const Panel& panel, int preferred) {
        const int least = panel.widget().minimumWidth();
        return sizeOf(panel, std::clamp(preferred * width / kWideWindow, least, preferred), least,
                      int(kMostWidth * width));
    };
    const int left = widthOf(palette, kPaletteWidth);
    const int right = widthOf(inspector, kInspectorWidth);
    const int below =
        sizeOf(bottom, std::max(kLeastBottom, int(kBottomShare * height)), 0, int(kMostHeight * height));
    m_middle.setSizes({height - below, below});
    m_columns.setSizes({left, width - left - right, right});
}

void WindowLayout::remember() const {
    QSettings settings;
    settings.setValue(kGeometry, m_window.saveGeometry());
    settings.setValue(kPage, m_bottom.currentKey());
    for (const Panel& panel : panelsOf(m_columns, m_middle)) {
        const bool isHidden = panel.widget().isHidden();
        settings.setValue(panel.hiddenKey(), isHidden);
        // A hidden panel has no size; the start page leaves the splitters as they were.
        const int size = panel.splitter.sizes().at(panel.index);
        if (!isHidden && size > 0) settings.setValue(panel.sizeKey(), size);
    }
    for (const Switch& part : m_switches) settings.setValue(part.key, part.action.isChecked());
}

void WindowLayout::reset() {
    for (const Panel& panel : panelsOf(m_columns, m_middle)) panel.widget().show();
    for (const Switch& part : m_switches) part.action.setChecked(part.standard);
    m_isRestored = false;
    divide();
}

} // namespace twb
