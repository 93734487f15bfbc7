#include "widgets/monkey.h"

#include "ops/op_table.h"
#include "widgets/monkey_choices.h"
#include "widgets/palette/op_list_model.h"

#include <QContextMenuEvent>
#include <QDialog>
#include <QDropEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QUndoView>
#include <QWheelEvent>

#include <iterator>
#include <numeric>

namespace twb::test {
namespace {

/// type() supports only Latin-1 letters.
void type(QWidget* widget, const QString& text) {
    for (const QChar letter : text)
        for (const QEvent::Type event : {QEvent::KeyPress, QEvent::KeyRelease}) {
            QKeyEvent key(event, 0, kNone, QString(letter));
            QApplication::sendEvent(widget, &key);
        }
}

} // namespace

Monkey::Monkey(WindowHand& hand, std::uint64_t seed) : m_hand(hand), m_random(seed) {
    // Queued, because an answer may open the next dialog, and a timer does not fire recursively.
    connect(&m_answers, &QTimer::timeout, this, &Monkey::answerWhatIsOpen, Qt::QueuedConnection);
    m_answers.start(1);
}

const std::vector<Monkey::Trick>& Monkey::tricks() {
    static const std::vector<Trick> all{
        {"click a node", 12, &Monkey::clickNode},
        {"click anywhere", 4, &Monkey::clickAnywhere},
        {"click a wire", 4, &Monkey::clickWire},
        {"put a dot on a wire", 5, &Monkey::putDot},
        {"drag a dot", 5, &Monkey::dragDot},
        {"double click", 3, &Monkey::doubleClick},
        {"drag a node", 14, &Monkey::dragNode},
        {"connect two ports", 10, &Monkey::connectPorts},
        {"draw a wire somewhere", 4, &Monkey::plugElsewhere},
        {"draw a wire into the void", 4, &Monkey::drawIntoTheVoid},
        {"plug a wire elsewhere", 4, &Monkey::replug},
        {"rubber band", 4, &Monkey::rubberBand},
        {"cut by a stroke", 2, &Monkey::cutByStroke},
        {"search by Shift+A", 4, &Monkey::searchByKey},
        {"add from the palette", 3, &Monkey::addFromPalette},
        {"drop an op", 4, &Monkey::dropOp},
        {"press a shortcut", 30, &Monkey::pressShortcut},
        {"undo", 8, &Monkey::undoSome},
        {"redo", 5, &Monkey::redoSome},
        {"press an arrow", 4, &Monkey::pressArrow},
        {"edit an attribute", 10, &Monkey::editAttribute},
        {"rename", 2, &Monkey::rename},
        {"context menu", 4, &Monkey::contextMenu},
        {"lane menu", 3, &Monkey::laneMenu},
        {"drag a lane", 2, &Monkey::dragLane},
        {"drag a module", 3, &Monkey::dragModule},
        {"collapse a lane", 2, &Monkey::collapseLane},
        {"click a stub", 3, &Monkey::clickStub},
        {"click into the history", 2, &Monkey::clickHistory},
        {"zoom and pan", 4, &Monkey::zoomAndPan},
        {"save", 2, &Monkey::save},
        {"run", 2, &Monkey::runAndWait},
        {"run and stop", 1, &Monkey::runAndStop},
        {"run on and on", 1, &Monkey::runOnAndOn},
        {"overlay a profile", 2, &Monkey::overlayProfile},
    };
    return all;
}

QString Monkey::doSomething() {
    constexpr std::size_t kMany = 60;
    // The offscreen platform does not reactivate a window when its popup closes.
    if (QApplication::activeWindow() != m_hand.window.get()) {
        m_hand.window->activateWindow();
        QCoreApplication::processEvents();
    }
    if (m_hand.graph().nodes().size() > kMany) {
        deleteSome();
        return QStringLiteral("delete some of many");
    }
    static const int sum = std::accumulate(tricks().begin(), tricks().end(), 0,
                                           [](int n, const Trick& t) { return n + t.weight; });
    int chosen = below(sum);
    for (const Trick& trick : tricks()) {
        chosen -= trick.weight;
        if (chosen >= 0) continue;
        (this->*trick.act)();
        return QString::fromLatin1(trick.name);
    }
    return {};
}

QPoint Monkey::anywhere() { return {below(m_hand.canvas.width()), below(m_hand.canvas.height())}; }

QPoint Monkey::somewhereOn(NodeId id) {
    const QRectF rect = m_hand.shape(id).rect;
    return m_hand.pixel(
        {rect.left() + below(100) * rect.width() / 100, rect.top() + below(100) * rect.height() / 100});
}

std::optional<NodeId> Monkey::anyNode() {
    const auto& nodes = m_hand.graph().nodes();
    if (nodes.empty()) return std::nullopt;
    return std::next(nodes.begin(), below(int(nodes.size())))->id;
}

std::optional<Edge> Monkey::anyWire() {
    const std::vector<Edge> edges = m_hand.graph().edges();
    if (edges.empty()) return std::nullopt;
    return edges[std::size_t(below(int(edges.size())))];
}

std::optional<QPoint> Monkey::anyDot() {
    const auto& routes = m_hand.graph().routes();
    if (routes.empty()) return std::nullopt;
    const Route& route = *std::next(routes.begin(), below(int(routes.size())));
    const DotShape* dot =
        m_hand.canvas.scene().wires().dot({route.id, std::size_t(below(int(route.dots.size())))});
    return dot ? std::optional(m_hand.pixel(dot->at)) : std::nullopt;
}

Qt::KeyboardModifiers Monkey::anyModifiers() {
    const Qt::KeyboardModifiers choices[] = {kNone, kNone, kNone, kCtrl, kShift};
    return choices[below(int(std::size(choices)))];
}

QString Monkey::anyText() { return QString::fromUtf8(kTexts[below(int(std::size(kTexts)))]); }

QString Monkey::anyOp() {
    const auto& table = opTable();
    return QString::fromStdString(std::next(table.begin(), below(int(table.size())))->name);
}

void Monkey::dragSomehow(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers) {
    const int disturbed = oneIn(6) ? below(4) : -1;
    m_hand.press(from, modifiers);
    for (int step = 0; step < 4; ++step) {
        m_hand.moveTo(from + (to - from) * (step + 1) / 4, modifiers);
        if (oneIn(8)) m_hand.canvas.grab();
        if (step != disturbed) continue;
        if (oneIn(2))
            m_hand.key(Qt::Key_Escape);
        else
            m_hand.key(Qt::Key_Z, kCtrl);
    }
    m_hand.release(to, modifiers);
}

void Monkey::clickNode() {
    if (const auto id = anyNode()) m_hand.click(somewhereOn(*id), anyModifiers());
}

void Monkey::clickAnywhere() { m_hand.click(anywhere(), anyModifiers()); }

void Monkey::clickWire() {
    if (const auto edge = anyWire()) m_hand.click(m_hand.onWire(*edge, below(10) / 10.0), anyModifiers());
}

void Monkey::putDot() {
    const auto edge = anyWire();
    if (!edge) return;
    const QPoint at = m_hand.onWire(*edge, below(100) / 100.0);
    if (oneIn(3)) return dragSomehow(at, anywhere(), kShift);
    m_hand.click(at);
    QTest::mouseDClick(&m_hand.canvas, Qt::LeftButton, {}, at);
    answerSearch(); // opens the search if no wire was drawn there
}

void Monkey::dragDot() {
    const auto dot = anyDot();
    if (dot && oneIn(4))
        m_hand.click(*dot, anyModifiers());
    else if (dot)
        dragSomehow(*dot, anywhere(), oneIn(8) ? anyModifiers() : kNone);
    answerSearch(); // the drag may have started at a port under the dot
}

void Monkey::doubleClick() {
    const auto id = anyNode();
    const QPoint at = id && oneIn(2) ? somewhereOn(*id) : anywhere();
    m_hand.click(at);
    QTest::mouseDClick(&m_hand.canvas, Qt::LeftButton, {}, at);
    answerSearch();
}

void Monkey::dragNode() {
    const auto id = anyNode();
    if (!id) return;
    QPoint to = anywhere();
    // Sometimes onto a wire.
    if (const auto edge = anyWire(); edge && oneIn(4)) to = m_hand.onWire(*edge);
    dragSomehow(somewhereOn(*id), to, oneIn(8) ? anyModifiers() : kNone);
    answerSearch(); // the drag may have started at a port
}

void Monkey::connectPorts() {
    const auto from = anyNode();
    const auto to = anyNode();
    if (!from || !to) return;
    const int outputs = m_hand.shape(*from).outputs;
    const int inputs = m_hand.shape(*to).inputs;
    if (outputs == 0 || inputs == 0) return;
    const QPoint output = m_hand.output(*from, below(outputs));
    const QPoint input = m_hand.input(*to, below(inputs));
    if (oneIn(2))
        dragSomehow(output, input);
    else
        dragSomehow(input, output);
    answerSearch();
}

void Monkey::plugElsewhere() {
    const auto id = anyNode();
    if (!id || m_hand.shape(*id).inputs == 0) return;
    dragSomehow(m_hand.input(*id, below(m_hand.shape(*id).inputs)), anywhere());
    answerSearch();
}

void Monkey::drawIntoTheVoid() {
    const auto id = anyNode();
    if (!id || m_hand.shape(*id).outputs == 0) return;
    dragSomehow(m_hand.output(*id, below(m_hand.shape(*id).outputs)), anywhere());
    answerSearch();
}

void Monkey::replug() {
    const auto edge = anyWire();
    const auto id = anyNode();
    if (!edge || !id) return;
    dragSomehow(m_hand.onWire(*edge, 0.8), oneIn(2) ? somewhereOn(*id) : anywhere());
    answerSearch();
}

void Monkey::rubberBand() { dragSomehow(anywhere(), anywhere(), anyModifiers()); }

void Monkey::cutByStroke() { dragSomehow(anywhere(), anywhere(), kCtrlShift); }

void Monkey::answerSearch() {
    QWidget* popup = QApplication::activePopupWidget();
    if (!popup || qobject_cast<QMenu*>(popup)) return;
    QWidget* field = popup->focusProxy();
    if (!field) return;
    type(field, anyOp().left(2 + below(6)));
    for (int i = below(3); i > 0; --i) QTest::keyClick(field, Qt::Key_Down);
    QTest::keyClick(field, oneIn(4) ? Qt::Key_Escape : Qt::Key_Return);
    // Without a match, the search stays open.
    if (popup->isVisible()) QTest::keyClick(field, Qt::Key_Escape);
}

void Monkey::searchByKey() {
    m_hand.moveTo(anywhere());
    m_hand.key(Qt::Key_A, Qt::ShiftModifier);
    answerSearch();
}

void Monkey::addFromPalette() {
    auto* search = find<QLineEdit>(*m_hand.window, "paletteSearch");
    search->setFocus();
    search->selectAll();
    type(search, anyOp());
    QTest::keyClick(search, Qt::Key_Return);
    m_hand.canvas.setFocus();
}

void Monkey::dropOp() {
    QMimeData data;
    data.setData(QLatin1String(kOpMimeType), anyOp().toUtf8());
    const auto edge = anyWire();
    const QPoint at = edge && oneIn(2) ? m_hand.onWire(*edge) : anywhere();
    QDragEnterEvent enter(anywhere(), Qt::CopyAction, &data, Qt::LeftButton, kNone);
    QApplication::sendEvent(&m_hand.canvas, &enter);
    QDragMoveEvent move(at, Qt::CopyAction, &data, Qt::LeftButton, kNone);
    QApplication::sendEvent(&m_hand.canvas, &move);
    if (oneIn(6)) {
        QDragLeaveEvent leave;
        QApplication::sendEvent(&m_hand.canvas, &leave);
        return;
    }
    QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, kNone);
    QApplication::sendEvent(&m_hand.canvas, &drop);
}

void Monkey::pressShortcut() {
    const Press& press = kPresses[below(int(std::size(kPresses)))];
    m_hand.key(press.key, press.modifiers);
}

void Monkey::undoSome() {
    for (int i = oneIn(4) ? below(20) : 1; i > 0; --i) m_hand.key(Qt::Key_Z, kCtrl);
}

void Monkey::redoSome() {
    for (int i = oneIn(4) ? below(20) : 1; i > 0; --i) m_hand.key(Qt::Key_Z, kCtrlShift);
}

void Monkey::pressArrow() {
    constexpr Qt::Key keys[] = {Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down};
    m_hand.key(keys[below(4)], oneIn(2) ? kCtrl : oneIn(3) ? kCtrlShift : kNone);
}

void Monkey::editAttribute() {
    if (const auto id = anyNode()) m_hand.click(m_hand.middle(*id));
    QList<QLineEdit*> lines;
    for (QLineEdit* line : m_hand.window->findChildren<QLineEdit*>())
        if (line->objectName().startsWith(QLatin1String("attribute.")) && line->isVisible()) lines << line;
    if (!lines.isEmpty()) {
        QLineEdit* line = lines[below(int(lines.size()))];
        line->setFocus();
        line->selectAll();
        QTest::keyClick(line, Qt::Key_Delete);
        type(line, anyText());
        QTest::keyClick(line, oneIn(6) ? Qt::Key_Escape : Qt::Key_Return);
    }
    m_hand.canvas.setFocus();
}

void Monkey::rename() {
    if (const auto id = anyNode()) m_hand.click(m_hand.middle(*id));
    m_hand.key(Qt::Key_F2);
    auto* name = find<QLineEdit>(*m_hand.window, "nodeName");
    if (name->hasFocus()) {
        type(name, anyText());
        QTest::keyClick(name, Qt::Key_Return);
    }
    m_hand.canvas.setFocus();
}

void Monkey::contextMenu() {
    const auto id = anyNode();
    const QPoint at = id && !oneIn(3) ? somewhereOn(*id) : anywhere();
    QTest::mousePress(&m_hand.canvas, Qt::RightButton, {}, at);
    QTest::mouseRelease(&m_hand.canvas, Qt::RightButton, {}, at);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, m_hand.canvas.mapToGlobal(at));
    QApplication::sendEvent(&m_hand.canvas, &event); // returns when answerWhatIsOpen() has answered
    answerSearch();
    m_hand.canvas.setFocus();
}

void Monkey::laneMenu() {
    const auto& lanes = m_hand.canvas.scene().lanes().bands();
    if (lanes.empty()) return;
    const LaneBand& band = lanes[std::size_t(below(int(lanes.size())))];
    const QPoint at(20, m_hand.pixel({0, band.top + band.height / 2}).y());
    if (!m_hand.canvas.rect().contains(at)) return;
    m_hand.click(at);
}

void Monkey::dragLane() {
    const auto& lanes = m_hand.canvas.scene().lanes().bands();
    if (lanes.empty()) return;
    const LaneBand& band = lanes[std::size_t(below(int(lanes.size())))];
    const double y = oneIn(2) ? band.bottom() : band.top + band.height / 2;
    const QPoint at(20, m_hand.pixel({0, y}).y());
    if (m_hand.canvas.rect().contains(at)) dragSomehow(at, {20, anywhere().y()});
}

void Monkey::dragModule() {
    const auto& frames = m_hand.canvas.scene().frames().shapes();
    if (frames.empty()) return;
    const FrameShape& frame = frames[std::size_t(below(int(frames.size())))];
    const NodeShape* card = m_hand.canvas.scene().modules().cardOf(frame.id);
    const QPoint at = m_hand.pixel(card ? card->rect.center() : frame.titleRect.center());
    if (oneIn(4))
        QTest::mouseDClick(&m_hand.canvas, Qt::LeftButton, {}, at);
    else
        dragSomehow(at, anywhere());
    answerSearch();
}

void Monkey::collapseLane() {
    const auto& lanes = m_hand.canvas.scene().lanes().bands();
    if (lanes.empty()) return;
    const LaneBand& band = lanes[std::size_t(below(int(lanes.size())))];
    const QRectF header(0, m_hand.canvas.view().toPixel({0, band.top}).y(),
                        headerWidthFor(m_hand.canvas.width()), band.height * m_hand.canvas.view().zoom());
    m_hand.click(chevronOf(header, m_hand.canvas.height()).center().toPoint());
}

void Monkey::clickStub() {
    const auto& stubs = m_hand.canvas.scene().stubs().shapes();
    if (stubs.empty()) return;
    const QPoint at = m_hand.pixel(stubs[std::size_t(below(int(stubs.size())))].rect.center());
    m_hand.click(at, anyModifiers());
    if (oneIn(3)) QTest::mouseDClick(&m_hand.canvas, Qt::LeftButton, {}, at);
}

void Monkey::clickHistory() {
    m_hand.key(Qt::Key_7, Qt::AltModifier);
    auto* view = find<QUndoView>(*m_hand.window, "history");
    const int rows = view->model()->rowCount();
    const QModelIndex row = view->model()->index(below(rows), 0);
    view->scrollTo(row);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(row).center());
    m_hand.canvas.setFocus();
}

void Monkey::zoomAndPan() {
    const QPointF at = anywhere();
    if (oneIn(2)) {
        QWheelEvent wheel(at, m_hand.canvas.mapToGlobal(at), {}, {0, oneIn(2) ? 120 : -240}, Qt::NoButton,
                          kNone, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&m_hand.canvas, &wheel);
        return;
    }
    QTest::mousePress(&m_hand.canvas, Qt::MiddleButton, {}, at.toPoint());
    m_hand.moveTo(anywhere());
    QTest::mouseRelease(&m_hand.canvas, Qt::MiddleButton, {}, at.toPoint());
    if (oneIn(2)) m_hand.key(Qt::Key_0, kCtrl);
}

void Monkey::save() {
    // An open search takes all keys.
    if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
    m_hand.key(Qt::Key_S, kCtrl);
}

void Monkey::deleteSome() {
    for (int i = 0; i < 30; ++i) {
        const auto id = anyNode();
        if (!id) return;
        m_hand.key(Qt::Key_0, kCtrl);
        m_hand.key(Qt::Key_Escape);
        m_hand.click(m_hand.middle(*id));
        m_hand.key(Qt::Key_Delete);
    }
}

void Monkey::answerWhatIsOpen() {
    if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) {
        if (oneIn(5)) {
            QTest::keyClick(menu, Qt::Key_Escape);
            return;
        }
        for (int i = below(24); i >= 0; --i) QTest::keyClick(menu, Qt::Key_Down);
        QTest::keyClick(menu, Qt::Key_Return); // opens a submenu or triggers an action
        return;
    }
    auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
    if (!dialog) return;
    if (auto* line = dialog->findChild<QLineEdit*>(); line && oneIn(2)) {
        type(line, anyText());
        QTest::keyClick(line, Qt::Key_Return);
        return;
    }
    QTest::keyClick(dialog, Qt::Key_Escape);
}

} // namespace twb::test
