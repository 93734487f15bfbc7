#include "widgets/actions/view_actions.h"

#include "widgets/actions/menu_action.h"
#include "widgets/bottom_panel.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/legend.h"
#include "widgets/settings.h"
#include "widgets/theme.h"
#include "widgets/window_layout.h"

#include <QActionGroup>
#include <QApplication>
#include <QEvent>
#include <QWidget>

#include <tuple>
#include <utility>

namespace twb {

namespace {

/// Keeps the check mark of an action in step with a panel, which other actions show, too.
class PanelMark : public QObject {
public:
    PanelMark(QAction& action, QWidget& panel) : QObject(&action), m_action(action), m_panel(panel) {
        panel.installEventFilter(this);
    }
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::ShowToParent || event->type() == QEvent::HideToParent)
            m_action.setChecked(!m_panel.isHidden());
        return false;
    }

private:
    QAction& m_action;
    const QWidget& m_panel;
};

/// The name of the action that chooses a theme.
QString actionOf(const QString& theme) {
    return QStringLiteral("theme.") + (theme.isEmpty() ? QStringLiteral("system") : theme);
}

} // namespace

ViewActions::ViewActions(CanvasWidget& canvas) : m_canvas(canvas) {}

void ViewActions::fillZoom(QMenu& menu) {
    addAction(menu, tr("Zoom &in"), QKeySequence::ZoomIn, [this] { m_canvas.navigator().zoomIn(); });
    addAction(menu, tr("Zoom &out"), QKeySequence::ZoomOut, [this] { m_canvas.navigator().zoomOut(); });
    m_fit = addAction(menu, tr("Zoom to &fit"), QKeySequence(QStringLiteral("Ctrl+0")),
                      [this] { m_canvas.navigator().zoomToFit(); });
    addAction(menu, tr("Zoom to 100 %"), QKeySequence(QStringLiteral("Ctrl+1")),
              [this] { m_canvas.navigator().zoom100(); });
    addAction(menu, tr("Zoom to &selection"), QKeySequence(QStringLiteral("Ctrl+2")),
              [this] { m_canvas.navigator().zoomToSelection(); });
}

void ViewActions::fillPanels(QMenu& menu, QWidget& palette, QWidget& inspector, BottomPanel& bottom,
                             WindowLayout& layout) {
    const auto addPanel = [&](const QString& text, const QString& shortcut, QWidget* panel) {
        QAction* action =
            addAction(menu, text, QKeySequence(shortcut), [panel] { panel->setVisible(panel->isHidden()); });
        action->setCheckable(true);
        action->setChecked(true);
        new PanelMark(*action, *panel);
    };
    addPanel(tr("&Palette"), QStringLiteral("F9"), &palette);
    addPanel(tr("&Inspector"), QStringLiteral("Ctrl+F9"), &inspector);
    addPanel(tr("&Bottom panel"), QStringLiteral("Shift+F9"), &bottom);
    QAction* minimap = addAction(menu, tr("&Minimap"), QKeySequence(QStringLiteral("Ctrl+M")), [] {});
    minimap->setCheckable(true);
    minimap->setChecked(true);
    QObject::connect(minimap, &QAction::toggled, &m_canvas.minimap(), &Minimap::setWanted);
    auto* const legend = new Legend(&m_canvas);
    m_legend = addAction(menu, tr("Le&gend"), QKeySequence(QStringLiteral("Shift+F1")), [] {});
    m_legend->setCheckable(true);
    QObject::connect(m_legend, &QAction::toggled, legend, &QWidget::setVisible);
    layout.addSwitch(*minimap, QStringLiteral("minimap"));
    layout.addSwitch(*m_legend, QStringLiteral("legend"));
    addAction(menu, tr("Reset layout"), QKeySequence(QStringLiteral("Ctrl+Shift+F9")),
              [&layout] { layout.reset(); });
    QMenu& heat = *menu.addMenu(tr("&Heat"));
    auto* shades = new QActionGroup(&heat);
    const std::tuple<HeatBy, QString, QString> heats[] = {
        {HeatBy::none, tr("&None"), QStringLiteral("Ctrl+Shift+U")},
        {HeatBy::time, tr("By &time"), QStringLiteral("Ctrl+Shift+I")},
        {HeatBy::bytes, tr("By &bytes"), QStringLiteral("Ctrl+Shift+Y")}};
    for (const auto& [by, text, shortcut] : heats) {
        QAction* action =
            addAction(heat, text, QKeySequence(shortcut), [this, by = by] { m_canvas.setHeat(by); });
        action->setCheckable(true);
        action->setChecked(by == HeatBy::none);
        shades->addAction(action);
    }
}

void ViewActions::fillPages(QMenu& menu, BottomPanel& bottom) {
    const std::pair<QString, QString> pages[] = {{QStringLiteral("transfers"), tr("&Transfers")},
                                                 {QStringLiteral("timeline"), tr("Time&line")},
                                                 {QStringLiteral("memory"), tr("M&emory")},
                                                 {QStringLiteral("problems"), tr("P&roblems")},
                                                 {QStringLiteral("log"), tr("Lo&g")},
                                                 {QStringLiteral("nodes"), tr("&Node table")},
                                                 {QStringLiteral("history"), tr("Undo &history")},
                                                 {QStringLiteral("breakpoints"), tr("&Breakpoints")},
                                                 {QStringLiteral("training"), tr("Tra&ining")}};
    int number = 0;
    for (const auto& [key, text] : pages)
        addAction(menu, text, QKeySequence(QStringLiteral("Alt+%1").arg(++number)), [&bottom, key = key] {
            bottom.show();
            bottom.showPage(key);
        });
}

void ViewActions::fillThemes(QMenu& menu) {
    auto* group = new QActionGroup(&menu);
    const QString present = settings::theme();
    const std::tuple<QString, QString, QString> choices[] = {
        {QStringLiteral("dark"), tr("&Dark"), QStringLiteral("Ctrl+Alt+D")},
        {QStringLiteral("light"), tr("&Light"), QStringLiteral("Ctrl+Alt+L")},
        {QStringLiteral("high-contrast"), tr("&High contrast"), QStringLiteral("Ctrl+Alt+Shift+Y")},
        {QString(), tr("&Same as system"), QStringLiteral("Ctrl+Alt+Y")}};
    for (const auto& [key, text, shortcut] : choices) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [key = key] { setTheme(key); });
        action->setCheckable(true);
        action->setChecked(key == present);
        action->setObjectName(actionOf(key));
        group->addAction(action);
    }
}

void ViewActions::setTheme(const QString& name) {
    const Theme& theme = Theme::named(name);
    settings::setTheme(name);
    for (QWidget* window : QApplication::topLevelWidgets()) // the other windows have the choice, too
        if (auto* action = window->findChild<QAction*>(actionOf(name))) action->setChecked(true);
    if (&theme != &Theme::current()) Theme::apply(*qobject_cast<QApplication*>(qApp), theme);
}

} // namespace twb
