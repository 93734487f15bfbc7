#include "widgets/main_window.h"
#include "widgets/module_edits.h"
#include "widgets/palette/op_search.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"

#include <QApplication>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPixmap>

namespace twb {
namespace {

/// For translators.
QString colorText(FrameColor color) {
    switch (color) {
    case FrameColor::none:
        return MainWindow::tr("No colour");
    case FrameColor::blue:
        return MainWindow::tr("Blue");
    case FrameColor::teal:
        return MainWindow::tr("Teal");
    case FrameColor::green:
        return MainWindow::tr("Green");
    case FrameColor::yellow:
        return MainWindow::tr("Yellow");
    case FrameColor::orange:
        return MainWindow::tr("Orange");
    case FrameColor::pink:
        return MainWindow::tr("Pink");
    case FrameColor::purple:
        return MainWindow::tr("Purple");
    }
    return {};
}

QIcon swatch(FrameColor color) {
    QPixmap pixmap(24, 24);
    pixmap.setDevicePixelRatio(2);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(Theme::current().frame(color));
    painter.drawEllipse(QRectF(1, 1, 10, 10));
    return pixmap;
}

} // namespace

FrameId MainWindow::moduleAtHand() const {
    return moduleOf(m_document.graph(), m_document.selection(), m_canvas->inside());
}

void MainWindow::fillModuleMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    m_needSelection.push_back(
        addAction(menu, tr("Make &module from selection"), QKeySequence(tr("Ctrl+G")),
                  [this] { edit(makeModule(m_document.graph(), m_document.selection())); }));
    const auto add = [&](const QString& text, const QString& shortcut, const std::function<void()>& act) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), act);
        m_needModule.push_back(action);
        return action;
    };
    m_common.renameModule = add(tr("Re&name module…"), tr("Shift+F2"), [this] { renameModuleAtHand(); });
    QMenu* colors = menu.addMenu(tr("&Colour"));
    m_common.moduleColors = colors;
    m_needModule.push_back(colors->menuAction());
    connect(colors, &QMenu::aboutToShow, this, [this, colors] { fillColorMenu(*colors); });
    fillColorMenu(*colors);
    m_common.openModule =
        add(tr("Open &inside"), tr("Ctrl+Return"), [this] { m_canvas->enter(moduleAtHand()); });
    m_common.openModule->setToolTip(
        tr("Shows the module alone. You can also double-click a collapsed module."));
    m_leaveAction = addAction(menu, tr("&Leave the module"), QKeySequence(tr("Ctrl+Backspace")),
                              [this] { m_canvas->leave(); });
    connect(m_canvas, &CanvasWidget::insideChanged, this, &MainWindow::refreshActions);
    m_collapseAction = add(tr("C&ollapse module"), tr("Ctrl+Alt+E"), [this] {
        const Frame* module = m_document.graph().find(moduleAtHand());
        if (module) edit(collapseModule(m_document.graph(), module->id, !module->collapsed));
    });
    m_collapseAction->setToolTip(
        tr("Draws the module as one card. Double-click the card to open the module."));
    m_common.dissolveModule = add(tr("&Dissolve module"), tr("Ctrl+Shift+G"), [this] {
        const FrameId module = moduleAtHand();
        Delta delta = dissolveModule(m_document.graph(), module);
        if (delta.empty() && module != FrameId::none)
            m_status->say(tr("This frame is the body of a node. Delete that node to remove the frame."),
                          Severity::warning);
        edit(std::move(delta));
    });
    m_common.dissolveModule->setToolTip(tr("Removes the frame and keeps its nodes."));
    add(tr("&Put into the palette…"), tr("Ctrl+Alt+B"), [this] {
        keepModule();
    })->setToolTip(tr("Saves the module with its nodes, to add it to any graph."));
}

/// The colours of the current theme.
void MainWindow::fillColorMenu(QMenu& menu) {
    menu.clear();
    const Frame* module = m_document.graph().find(moduleAtHand());
    for (std::size_t i = 0; i < kFrameColorNames.size(); ++i) {
        const auto color = FrameColor(i);
        QAction* action = menu.addAction(swatch(color), colorText(color), this, [this, color] {
            edit(colorModule(m_document.graph(), moduleAtHand(), color));
        });
        action->setCheckable(true);
        action->setChecked(module && module->color == color);
    }
}

void MainWindow::renameModuleAtHand() {
    const FrameId id = moduleAtHand();
    const Frame* module = m_document.graph().find(id);
    if (!module) return;
    bool ok = false;
    const QString title = QInputDialog::getText(this, tr("Rename module"), tr("Name of the module"),
                                                QLineEdit::Normal, toQt(module->title), &ok);
    if (ok) edit(renameModule(m_document.graph(), id, title));
}

void MainWindow::keepModule() {
    const FrameId id = moduleAtHand();
    const Frame* module = m_document.graph().find(id);
    if (!module) return;
    QString name = toQt(module->title);
    QString question = tr("Name in the palette");
    for (;;) {
        bool ok = false;
        name = QInputDialog::getText(this, tr("Put into the palette"), question, QLineEdit::Normal, name, &ok)
                   .trimmed();
        if (!ok) return;
        const QString refusal = refusalOfName(name);
        if (refusal.isEmpty()) break;
        question = refusal;
    }
    attempt(tr("Cannot save the module"), [&] {
        const bool isNew = !ownModule(name);
        saveOwnModule(name, moduleFragment(m_document.graph(), id));
        reloadPalettes();
        m_status->say(isNew ? tr("%1 is in the palette, under “Your modules”.").arg(name)
                            : tr("Replaced %1 in the palette.").arg(name));
    });
}

void MainWindow::reloadPalettes() {
    for (QWidget* window : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(window)) {
            other->m_palette->reload();
            other->m_search->reload();
        }
}

} // namespace twb
