#include "widgets/actions/lane_actions.h"

#include "graph/rank_lanes.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/run_bar.h"
#include "widgets/text.h"

#include <QInputDialog>

#include <algorithm>

namespace twb {
namespace {

QString laneText(const Lane& lane) {
    const QString device = toQt(lane.device.toString());
    return lane.title.empty() ? device : QStringLiteral("%1 · %2").arg(device, toQt(lane.title));
}

/// The ranks, other than 0, with lanes, and the next one.
std::vector<int> otherRanks(const Graph& graph) {
    constexpr int last = 63;
    std::vector<int> out;
    for (int rank = 1; rank <= std::min(lastRankOf(graph) + 1, last); ++rank) out.push_back(rank);
    return out;
}

} // namespace

LaneActions::LaneActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window)
    : m_document(document), m_canvas(canvas), m_editor(editor), m_window(window) {}

void LaneActions::fillAddMenu(QMenu& menu) {
    m_addMenu = &menu;
    addAction(menu, tr("cpu lane"), QKeySequence(QStringLiteral("Ctrl+Alt+C")),
              [this] { m_editor.edit(addLane(m_document.graph(), Device::cpu())); });
    addAction(menu, tr("New cuda lane"), QKeySequence(QStringLiteral("Ctrl+Alt+G")),
              [this] { m_editor.edit(addLane(m_document.graph(), nextGpu(m_document.graph()))); });
    addAction(menu, tr("auto lane"), QKeySequence(QStringLiteral("Ctrl+Alt+A")), [this] {
        m_editor.edit(addLane(m_document.graph(), Device::automatic()));
    })->setToolTip(tr("Runs its nodes on cuda:0 if there is one, else on cpu."));
    QMenu* ranks = menu.addMenu(tr("Lane of another &rank"));
    ranks->setToolTipsVisible(true);
    connect(ranks, &QMenu::aboutToShow, this, [this, ranks] {
        ranks->clear();
        fillOtherRanks(*ranks);
    });
    menu.setToolTipsVisible(true);
}

/// Of each rank with a lane, and of the next one: its cpu, and its first GPU without a lane.
void LaneActions::fillOtherRanks(QMenu& menu) {
    for (const int rank : otherRanks(m_document.graph())) {
        for (const Device device : {Device::cpu(rank), nextGpu(m_document.graph(), rank)})
            menu.addAction(tr("%1 lane").arg(toQt(device.toString())), this,
                           [this, device] { m_editor.edit(addLane(m_document.graph(), device)); })
                ->setToolTip(tr("Its nodes are computed by another process. Here, it is simulated."));
        menu.addSeparator();
    }
}

/// The entries have shortcuts, so they must exist before the menu opens.
void LaneActions::keepSendMenu(QMenu& menu) {
    m_sendMenu = &menu;
    connect(&menu, &QMenu::aboutToShow, this, &LaneActions::fillSendMenu);
    connect(&m_document, &Document::changed, this, &LaneActions::fillSendMenu);
    for (const auto signal : {&Document::reset, &Document::selectionChanged})
        connect(&m_document, signal, this, &LaneActions::fillSendMenu);
    fillSendMenu();
}

/// The lane of the selection, else the lane in view.
LaneId LaneActions::laneAtHand() const {
    const Selection& selection = m_document.selection();
    if (!selection.nodes.empty()) return m_document.graph().find(*selection.nodes.begin())->lane;
    if (!selection.notes.empty()) return m_document.graph().find(*selection.notes.begin())->lane;
    return laneAt(m_canvas.scene(), m_canvas.middle());
}

/// Has the entries of the header's menu.
void LaneActions::fillLaneMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& shortcut, const std::function<void()>& act) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), act);
        action->setToolTip(
            tr("Applies to the lane of the selection, or to the lane in the middle of the view."));
        return action;
    };
    QAction* up = add(tr("Move &up"), QStringLiteral("Ctrl+Alt+PgUp"),
                      [this] { m_editor.edit(moveLane(m_document.graph(), laneAtHand(), -1)); });
    QAction* down = add(tr("Move &down"), QStringLiteral("Ctrl+Alt+PgDown"),
                        [this] { m_editor.edit(moveLane(m_document.graph(), laneAtHand(), 1)); });
    add(tr("C&ollapse or expand"), QStringLiteral("Ctrl+Alt+Z"), [this] {
        if (const Lane* lane = m_document.graph().find(laneAtHand()))
            m_editor.edit(collapseLane(m_document.graph(), lane->id, !lane->collapsed));
    });
    QMenu* devices = menu.addMenu(tr("De&vice of this lane"));
    connect(devices, &QMenu::aboutToShow, this, [this, devices] {
        devices->clear();
        fillDevices(*devices, laneAtHand());
    });
    QMenu* hardware = menu.addMenu(tr("&Hardware"));
    connect(hardware, &QMenu::aboutToShow, this, [this, hardware] {
        hardware->clear();
        if (const Lane* lane = m_document.graph().find(laneAtHand())) fillHardware(*hardware, lane->device);
    });
    // The keys work while the menu is closed: another lane may be at hand by then.
    connect(&menu, &QMenu::aboutToHide, this, [up, down] {
        up->setEnabled(true);
        down->setEnabled(true);
    });
    connect(&menu, &QMenu::aboutToShow, this, [this, up, down, devices, hardware] {
        const Lane* lane = m_document.graph().find(laneAtHand());
        up->setEnabled(lane && !moveLane(m_document.graph(), lane->id, -1).empty());
        down->setEnabled(lane && !moveLane(m_document.graph(), lane->id, 1).empty());
        devices->menuAction()->setEnabled(lane);
        hardware->menuAction()->setEnabled(lane && lane->device.isCuda());
    });
    add(tr("Re&name lane…"), QStringLiteral("Ctrl+Alt+F2"), [this] { rename(laneAtHand()); });
    add(tr("&Remove lane…"), QStringLiteral("Ctrl+Alt+Backspace"), [this] { askAndRemove(laneAtHand()); });
}

/// Applies to the selection or, without one, to all nodes.
void LaneActions::fillSendMenu() {
    QMenu& menu = *m_sendMenu;
    const Graph& graph = m_document.graph();
    const bool all = m_document.selection().nodes.empty();
    menu.clear();
    menu.setTitle(all ? tr("&Send all to lane") : tr("&Send to lane"));
    menu.setEnabled(!graph.nodes().empty());
    int number = 0;
    const auto nodes = [this] {
        Selection what = m_document.selection();
        if (what.nodes.empty())
            for (const Node& node : m_document.graph().nodes()) what.nodes.insert(node.id);
        return what;
    };
    for (const Lane& lane : graph.lanesInOrder()) {
        QString text = toQt(lane.device.toString());
        if (!lane.title.empty()) text += QStringLiteral(" · ") + toQt(lane.title);
        QAction* action = menu.addAction(text, this, [this, nodes, id = lane.id] {
            m_editor.edit(sendToLane(m_document.graph(), nodes(), id));
        });
        if (++number <= 9) action->setShortcut(QKeySequence(QStringLiteral("Ctrl+Alt+%1").arg(number)));
    }
    menu.addSeparator();
    const Device gpu = nextGpu(graph);
    menu.addAction(tr("New %1 lane").arg(toQt(gpu.toString())), this,
                   [this, nodes, gpu] { m_editor.edit(sendToNewLane(m_document.graph(), nodes(), gpu)); })
        ->setShortcut(QKeySequence(QStringLiteral("Ctrl+Alt+0")));
}

void LaneActions::rename(LaneId id) {
    const Lane* lane = m_document.graph().find(id);
    if (!lane) return;
    bool ok = false;
    const QString title = QInputDialog::getText(&m_window, tr("Rename lane"), tr("Title of the lane"),
                                                QLineEdit::Normal, toQt(lane->title), &ok);
    lane = m_document.graph().find(id);
    if (!ok || !lane) return;
    Lane changed = *lane;
    changed.title = title.trimmed().toStdString();
    DeltaBuilder builder(m_document.graph(), editTitle(EditTitle::tr("Rename lane")));
    builder.change(changed);
    m_editor.edit(builder.take());
}

/// Asks for the new lane of the lane's items; one undo step.
void LaneActions::askAndRemove(LaneId id) {
    const Graph& graph = m_document.graph();
    const Lane* lane = graph.find(id);
    if (!lane) return;
    const auto count = std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                     [id](const Node& node) { return node.lane == id; }) +
                       std::count_if(graph.notes().begin(), graph.notes().end(),
                                     [id](const Note& note) { return note.lane == id; });
    LaneId target = LaneId::none;
    if (count > 0) {
        std::vector<LaneId> others;
        QStringList choices;
        int number = 0;
        for (const Lane& other : graph.lanesInOrder()) {
            ++number; // in their order on the canvas
            if (other.id == id) continue;
            others.push_back(other.id);
            // Two lanes may have the same text.
            choices << tr("To lane %1: %2").arg(number).arg(laneText(other));
        }
        choices << tr("Delete the items");
        bool ok = false;
        const QString question = count == 1
                                     ? tr("Move the item on %1 to:").arg(laneText(*lane))
                                     : tr("Move the %2 items on %1 to:").arg(laneText(*lane)).arg(count);
        const QString chosen =
            QInputDialog::getItem(&m_window, tr("Remove lane"), question, choices, 0, false, &ok);
        if (!ok) return;
        const auto at = std::size_t(choices.indexOf(chosen));
        if (at < others.size()) target = others[at];
    }
    m_editor.edit(removeLane(m_document.graph(), id, target));
}

void LaneActions::fillDevices(QMenu& menu, LaneId id) {
    const Lane* lane = m_document.graph().find(id);
    if (!lane) return;
    const auto setDevice = [this, id](Device wanted) {
        Lane changed = *m_document.graph().find(id);
        changed.device = wanted;
        DeltaBuilder builder(m_document.graph(),
                             editTitle(EditTitle::tr("Set lane to %1"), wanted.toString()));
        builder.change(changed);
        m_editor.edit(builder.take());
    };
    const auto offer = [&](QMenu& to, Device other) {
        QAction* action =
            to.addAction(toQt(other.toString()), this, [setDevice, other] { setDevice(other); });
        action->setCheckable(true);
        action->setChecked(other == lane->device);
    };
    const auto offerRank = [&](QMenu& to, int rank) {
        offer(to, Device::cpu(rank));
        for (int i = 0; i <= nextGpu(m_document.graph(), rank).index; ++i) offer(to, Device::cuda(i, rank));
    };
    offerRank(menu, 0);
    offer(menu, Device::automatic());
    QMenu* ranks = menu.addMenu(tr("Of another &rank"));
    for (const int rank : otherRanks(m_document.graph())) {
        offerRank(*ranks, rank);
        ranks->addSeparator();
    }
}

void LaneActions::fillHardware(QMenu& menu, Device device) {
    addDeviceChoices(menu, m_document, device,
                     [this](const DeviceChoice& choice) { Q_EMIT deviceChosen(choice); });
}

void LaneActions::showHeaderMenu(LaneId id, QPoint at) {
    const Lane* lane = m_document.graph().find(id);
    if (!lane) return;
    QMenu menu(&m_window);
    fillDevices(*menu.addMenu(tr("Device of this lane")), id);
    if (lane->device.isCuda())
        fillHardware(*menu.addMenu(tr("Hardware for %1").arg(toQt(lane->device.toString()))), lane->device);
    menu.addAction(lane->collapsed ? tr("Expand lane") : tr("Collapse lane"), this,
                   [this, id, collapsed = lane->collapsed] {
                       m_editor.edit(collapseLane(m_document.graph(), id, !collapsed));
                   });
    menu.addAction(tr("Rename lane…"), this, [this, id] { rename(id); });
    menu.addAction(tr("Select all nodes"), this, [this, id] {
        Selection selection;
        for (const Node& node : m_document.graph().nodes())
            if (node.lane == id) selection.nodes.insert(node.id);
        m_document.select(std::move(selection));
    });
    menu.addSeparator();
    menu.addAction(tr("Move up"), this, [this, id] { m_editor.edit(moveLane(m_document.graph(), id, -1)); })
        ->setEnabled(!moveLane(m_document.graph(), id, -1).empty());
    menu.addAction(tr("Move down"), this, [this, id] { m_editor.edit(moveLane(m_document.graph(), id, 1)); })
        ->setEnabled(!moveLane(m_document.graph(), id, 1).empty());
    menu.addSeparator();
    menu.addAction(tr("Remove lane…"), this, [this, id] { askAndRemove(id); });
    menu.exec(at);
}

} // namespace twb
