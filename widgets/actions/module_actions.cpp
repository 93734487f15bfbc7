#include "widgets/actions/module_actions.h"

#include "graph/module_levels.h"
#include "graph/module_tree.h"
#include "graph/module_versions.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/edit_title.h"
#include "widgets/module_edits.h"
#include "widgets/notice_bar.h"
#include "widgets/palette/own_modules.h"
#include "widgets/panels/log_panel.h"
#include "widgets/save_module_dialog.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QInputDialog>
#include <QLineEdit>
#include <QPainter>
#include <QPixmap>

#include <algorithm>
#include <iterator>
#include <utility>

namespace twb {
namespace {

/// For translators.
QString colorText(FrameColor color) {
    switch (color) {
    case FrameColor::none:
        return ModuleActions::tr("No colour");
    case FrameColor::blue:
        return ModuleActions::tr("Blue");
    case FrameColor::teal:
        return ModuleActions::tr("Teal");
    case FrameColor::green:
        return ModuleActions::tr("Green");
    case FrameColor::yellow:
        return ModuleActions::tr("Yellow");
    case FrameColor::orange:
        return ModuleActions::tr("Orange");
    case FrameColor::pink:
        return ModuleActions::tr("Pink");
    case FrameColor::purple:
        return ModuleActions::tr("Purple");
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

ModuleActions::ModuleActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, LogPanel& log,
                             NoticeBar& notice, QWidget& window)
    : m_document(document), m_canvas(canvas), m_editor(editor), m_log(log), m_notice(notice),
      m_window(window) {
    connect(&document, &Document::reset, this, &ModuleActions::tellOfVersions);
}

FrameId ModuleActions::atHand() const {
    return moduleOf(m_document.graph(), m_document.selection(), m_canvas.navigator().inside());
}

void ModuleActions::fill(QMenu& menu) {
    m_menu = &menu;
    menu.setToolTipsVisible(true);
    needSelection(
        addAction(menu, tr("Make &module from selection"), QKeySequence(QStringLiteral("Ctrl+G")),
                  [this] { m_editor.edit(makeModule(m_document.graph(), m_document.selection())); }),
        m_document, Part::nodes);
    const auto add = [&](const QString& text, const QString& shortcut, const std::function<void()>& act) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), act);
        m_needModule.push_back(action);
        return action;
    };
    m_rename = add(tr("Re&name module…"), QStringLiteral("Shift+F2"), [this] { renameAtHand(); });
    QMenu* colors = menu.addMenu(tr("&Colour"));
    m_colors = colors;
    m_needModule.push_back(colors->menuAction());
    connect(colors, &QMenu::aboutToShow, this, [this, colors] { fillColors(*colors); });
    fillColors(*colors);
    m_open = add(tr("Open &inside"), QStringLiteral("Ctrl+Return"),
                 [this] { m_canvas.navigator().enter(atHand()); });
    m_open->setToolTip(tr("Shows the module alone. You can also double-click a collapsed module."));
    m_leave = addAction(menu, tr("&Leave the module"), QKeySequence(QStringLiteral("Ctrl+Backspace")),
                        [this] { m_canvas.navigator().leave(); });
    m_collapse = add(tr("C&ollapse module"), QStringLiteral("Ctrl+Alt+E"), [this] { toggleAtHand(); });
    m_collapse->setToolTip(tr("Draws the module as one card. Double-click the card to open the module."));
    m_dissolve = add(tr("&Dissolve module"), QStringLiteral("Ctrl+Shift+G"), [this] {
        const FrameId module = atHand();
        Delta delta = dissolveModule(m_document.graph(), module);
        if (delta.empty() && module != FrameId::none)
            m_editor.say(tr("This frame is the body of a node. Delete that node to remove the frame."),
                         Severity::warning);
        m_editor.edit(std::move(delta));
    });
    m_dissolve->setToolTip(tr("Removes the frame and keeps its nodes."));
    m_update = addAction(menu, tr("&Update module"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+U")),
                         [this] { updateVersions(olderAtHand()); });
    m_update->setToolTip(
        tr("Replaces the nodes of the module with those of the installed version of its op. Keeps wires and "
           "the values of attributes."));
    add(tr("Save to &palette…"), QStringLiteral("Ctrl+Alt+B"), [this] {
        keep();
    })->setToolTip(tr("Saves the module with its nodes, to add it to any graph."));
    menu.addSeparator();
    const auto level = [&](const QString& text, const QString& shortcut, int by, const QString& why) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [this, by] {
            openLevels(twb::openLevels(m_document.graph(), m_canvas.navigator().inside()) + by);
        });
        action->setToolTip(why);
        return action;
    };
    m_moreLevels = level(tr("E&xpand one level"), QStringLiteral("Ctrl+]"), 1,
                         tr("Expands the outermost collapsed modules and arranges all cards."));
    m_fewerLevels = level(tr("Co&llapse one level"), QStringLiteral("Ctrl+["), -1,
                          tr("Collapses the innermost expanded modules and arranges all cards."));
    addAction(menu, tr("&Arrange all cards"), QKeySequence(QStringLiteral("Alt+Shift+A")), [this] {
        arrangeAll();
    })->setToolTip(tr("Places the cards from left to right along their wires. Nodes stay on their lanes."));
    connect(&m_canvas.navigator(), &CanvasNavigator::insideChanged, this, &ModuleActions::refresh);
    connect(&m_document, &Document::changed, this, &ModuleActions::refresh);
    for (const auto signal : {&Document::reset, &Document::selectionChanged})
        connect(&m_document, signal, this, &ModuleActions::refresh);
    refresh();
}

/// The colours of the current theme.
void ModuleActions::fillColors(QMenu& menu) {
    menu.clear();
    const Frame* module = m_document.graph().find(atHand());
    for (std::size_t i = 0; i < kFrameColorNames.size(); ++i) {
        const auto color = FrameColor(i);
        QAction* action = menu.addAction(swatch(color), colorText(color), this, [this, color] {
            m_editor.edit(colorModule(m_document.graph(), atHand(), color));
        });
        action->setCheckable(true);
        action->setChecked(module && module->color == color);
    }
}

void ModuleActions::renameAtHand() {
    const FrameId id = atHand();
    const Frame* module = m_document.graph().find(id);
    if (!module) return;
    bool ok = false;
    const QString title = QInputDialog::getText(&m_window, tr("Rename module"), tr("Name of the module"),
                                                QLineEdit::Normal, toQt(module->title), &ok);
    if (ok) m_editor.edit(renameModule(m_document.graph(), id, title));
}

void ModuleActions::keep() {
    const FrameId id = atHand();
    const Frame* module = m_document.graph().find(id);
    if (!module) return;
    const std::optional<ModuleRef> ref = madeFrom(*module);
    const ModuleOp* before = ref ? ownModule(toQt(ref->name)) : nullptr;
    SaveModuleDialog dialog(moduleOpOf(m_document.graph(), id, before),
                            before && isSaved(*before) ? toQt(before->name) : toQt(module->title), &m_window);
    if (dialog.exec() != QDialog::Accepted) return;
    m_editor.attempt(tr("Cannot save the module"), [&] {
        const ModuleOp op = dialog.op();
        const QString name = toQt(op.name);
        const bool isNew = !ownModule(name);
        const std::int64_t version = saveOwnModule(op);
        Q_EMIT ownModulesChanged();
        refresh(); // this may be a newer version of modules in the graph
        m_editor.say(isNew ? tr("%1 is in the palette, under “Your modules”.").arg(name)
                           : tr("Replaced %1 in the palette. It has version %2.").arg(name).arg(version));
    });
}

namespace {

/// The modules that were made from an older version of their op, of which one is installed.
std::vector<FrameId> olderModules(const Graph& graph) {
    std::vector<FrameId> out;
    if (!hasModuleOps(graph)) return out;
    for (const OtherVersion& other : otherVersions(graph, knownModules()))
        if (other.isOlder()) out.insert(out.end(), other.modules.begin(), other.modules.end());
    return out;
}

} // namespace

/// The module at hand and those inside it.
std::vector<FrameId> ModuleActions::olderAtHand() const {
    std::vector<FrameId> out = olderModules(m_document.graph());
    const FrameId module = atHand();
    std::erase_if(out, [&](FrameId id) { return !liesIn(m_document.graph(), id, module); });
    return out;
}

void ModuleActions::tellOfVersions() {
    m_remark = 0; // the notices of the last document are gone
    const Graph& graph = m_document.graph();
    if (!hasModuleOps(graph)) return;
    std::vector<OtherVersion> all = otherVersions(graph, knownModules());
    for (const OtherVersion& other : all)
        m_log.add(Severity::warning, tr("Changed op: %1").arg(toQt(toSentence(graph, other))));
    std::erase_if(all, [](const OtherVersion& other) { return !other.isOlder(); });
    if (all.empty()) return;
    std::size_t modules = 0;
    for (const OtherVersion& other : all) modules += other.modules.size();
    const OtherVersion& first = all.front();
    m_remark = m_notice.tell(modules == 1
                                 ? tr("Module %1 was made from version %2 of %3. Version %4 is installed.")
                                       .arg(toQt(graph.find(first.modules.front())->title))
                                       .arg(first.made.version)
                                       .arg(toQt(first.made.name))
                                       .arg(first.installed)
                                 : tr("%1 modules were made from older versions of their ops.").arg(modules),
                             {{tr("Update"),
                               [this] {
                                   m_remark = 0;
                                   updateVersions(olderModules(m_document.graph()));
                               }},
                              {tr("Close"), [this] { m_remark = 0; }}});
}

void ModuleActions::updateVersions(const std::vector<FrameId>& modules) {
    m_editor.attempt(tr("Cannot update the module"), [&] {
        ModuleUpdate update = updateModules(m_document.graph(), modules, knownModules());
        if (update.modules == 0) return;
        const Frame* first = m_document.graph().find(modules.front());
        update.delta.title = update.modules == 1 ? editTitle(EditTitle::tr("Update module %1"), first->title)
                                                 : editTitle(EditTitle::tr("Update %1 modules"),
                                                             std::to_string(update.modules));
        Graph after = m_document.graph();
        after.apply(update.delta);
        Selection updated;
        for (const FrameId id : modules)
            if (after.find(id)) {
                const std::vector<NodeId> nodes = nodesOfModule(after, id);
                updated.nodes.insert(nodes.begin(), nodes.end());
            }
        m_editor.edit(std::move(update.delta), std::move(updated));
        for (const std::string& sentence : update.remarks) m_log.add(Severity::note, toQt(sentence));
        if (update.remarks.empty())
            m_editor.say(update.modules == 1 ? tr("Module updated. All wires and values are kept.")
                                             : tr("Modules updated. All wires and values are kept."));
        else
            m_editor.say(update.modules == 1 ? tr("Module updated. Log lists what has changed.")
                                             : tr("Modules updated. Log lists what has changed."));
    });
}

void ModuleActions::toggleAtHand() {
    const Graph& graph = m_document.graph();
    const Frame* module = graph.find(atHand());
    if (!module) return;
    m_editor.edit(module->collapsed ? expandModule(graph, module->id, m_canvas.navigator().inside())
                                    : collapseModule(graph, module->id));
}

void ModuleActions::openLevels(int levels) {
    const FrameId inside = m_canvas.navigator().inside();
    const int all = moduleLevels(m_document.graph(), inside);
    levels = std::clamp(levels, 0, all);
    if (all == 0) return;
    applyLayout(tr("Arranging modules…"), [&, graph = m_document.graph()](const auto& isCancelled) {
        return openLevelsTo(graph, levels, inside, isCancelled).delta;
    });
}

void ModuleActions::arrangeAll() {
    const FrameId inside = m_canvas.navigator().inside();
    applyLayout(tr("Arranging cards…"), [&, graph = m_document.graph()](const auto& isCancelled) {
        return twb::arrangeAll(graph, inside, isCancelled).delta;
    });
}

/// Makes a layout on a thread of its own, applies it, and shows all of it.
void ModuleActions::applyLayout(const QString& text,
                                const std::function<Delta(const std::function<bool()>& isCancelled)>& make) {
    Delta delta;
    if (!workCancellable(text, &m_window, [&](const auto& isCancelled) { delta = make(isCancelled); }))
        return;
    m_editor.edit(std::move(delta));
    m_canvas.navigator().zoomToFit();
}

void ModuleActions::refresh() {
    const Frame* module = m_document.graph().find(atHand());
    for (QAction* action : m_needModule) action->setEnabled(module != nullptr);
    m_collapse->setText(module && module->collapsed ? tr("E&xpand module") : tr("C&ollapse module"));
    const FrameId inside = m_canvas.navigator().inside();
    const int open = twb::openLevels(m_document.graph(), inside);
    m_moreLevels->setEnabled(open < moduleLevels(m_document.graph(), inside));
    m_fewerLevels->setEnabled(open > 0);
    m_leave->setEnabled(m_canvas.navigator().inside() != FrameId::none);
    m_update->setEnabled(!olderAtHand().empty());
    if (m_remark != 0 && olderModules(m_document.graph()).empty())
        m_notice.endRemark(std::exchange(m_remark, 0));
}

} // namespace twb
