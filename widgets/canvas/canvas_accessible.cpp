#include "widgets/canvas/canvas_accessible.h"

#include "core/format.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/module_edits.h"
#include "widgets/price.h"
#include "widgets/text.h"

#include <QAccessibleWidget>
#include <QPointer>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace twb {
namespace {

/// For translators.
struct CanvasWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

/// A card, the frame or card of a module, or a wire.
struct CanvasItem {
    NodeId node = NodeId::none;
    FrameId frame = FrameId::none;
    std::optional<Edge> wire;
    bool operator<(const CanvasItem& other) const {
        return std::tie(node, frame, wire) < std::tie(other.node, other.frame, other.wire);
    }
};

QString errorsOf(const Analysis& analysis, NodeId node) {
    const NodeFacts* facts = analysis.find(node);
    if (facts && !facts->noted) return {};
    QStringList out;
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.node == node && diagnostic.severity == Severity::error)
            out << toQt(diagnostic.message);
    return out.join(QStringLiteral(". "));
}

class ItemAccessible : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    ItemAccessible(CanvasWidget& canvas, CanvasItem item) : m_canvas(&canvas), m_item(item) {}

    bool isValid() const override {
        if (!m_canvas) return false;
        const Graph& g = graph();
        return m_item.wire ? g.find(m_item.wire->to.node) && g.sourceOf(m_item.wire->to) == m_item.wire->from
               : m_item.frame != FrameId::none ? g.find(m_item.frame) != nullptr
                                               : g.find(m_item.node) != nullptr;
    }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return m_canvas ? m_canvas->window()->windowHandle() : nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_canvas); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }

    QAccessible::Role role() const override {
        return m_item.wire                     ? QAccessible::Link
               : m_item.frame != FrameId::none ? QAccessible::Grouping
                                               : QAccessible::ListItem;
    }

    QString text(QAccessible::Text kind) const override {
        if (!isValid()) return {};
        if (kind == QAccessible::Name) return name();
        return kind == QAccessible::Description ? description() : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}

    QRect rect() const override {
        if (!isValid()) return {};
        const CanvasView& view = m_canvas->view();
        const QRectF shape = sceneRect();
        const QRectF pixels(view.toPixel(shape.topLeft()), view.toPixel(shape.bottomRight()));
        return {m_canvas->mapToGlobal(pixels.topLeft().toPoint()), pixels.size().toSize()};
    }

    QAccessible::State state() const override {
        QAccessible::State state;
        state.invalid = !isValid();
        if (state.invalid) return state;
        state.selectable = state.focusable = true;
        const Selection& selection = m_canvas->document().selection();
        state.selected = m_item.wire                     ? selection.edge == m_item.wire
                         : m_item.frame != FrameId::none ? selection.nodes == nodesOf(m_item.frame)
                                                         : selection.nodes.contains(m_item.node);
        state.focused = state.selected && m_canvas->hasFocus() &&
                        (m_item.node == NodeId::none || selection.nodes.size() == 1);
        state.offscreen = !m_canvas->view().freeViewport().intersects(sceneRect());
        if (const Frame* frame = graph().find(m_item.frame)) {
            state.expandable = true;
            state.expanded = !frame->collapsed;
            state.collapsed = frame->collapsed;
        }
        return state;
    }

    void* interface_cast(QAccessible::InterfaceType type) override {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this)
                                                    : nullptr;
    }

    QStringList actionNames() const override { return {pressAction()}; }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }
    /// Selects the item and shows it.
    void doAction(const QString& action) override {
        if (action != pressAction() || !isValid()) return;
        Selection selection;
        if (m_item.wire)
            selection.edge = m_item.wire;
        else if (m_item.frame != FrameId::none)
            selection.nodes = nodesOf(m_item.frame);
        else
            selection.nodes.insert(m_item.node);
        m_canvas->document().select(std::move(selection));
        if (m_item.frame == FrameId::none)
            m_canvas->navigator().reveal(m_item.wire ? m_item.wire->to.node : m_item.node);
        m_canvas->setFocus();
    }

private:
    const Graph& graph() const { return m_canvas->document().graph(); }
    const Analysis& analysis() const { return m_canvas->document().analysis(); }

    std::set<NodeId> nodesOf(FrameId module) const {
        const std::vector<NodeId> nodes = nodesOfModule(graph(), module);
        return {nodes.begin(), nodes.end()};
    }

    QRectF sceneRect() const {
        const Scene& scene = m_canvas->scene();
        if (m_item.wire) {
            const WireShape* wire = scene.wires().find(*m_item.wire);
            return wire ? wire->bounds : QRectF();
        }
        if (m_item.frame != FrameId::none) {
            if (const NodeShape* card = scene.modules().cardOf(m_item.frame)) return card->rect;
            const FrameShape* frame = scene.frames().find(m_item.frame);
            return frame ? frame->rect : QRectF();
        }
        const NodeShape* node = scene.nodes().find(m_item.node);
        return node ? node->rect : QRectF();
    }

    QString nameOf(NodeId id) const {
        const Node* node = graph().find(id);
        return node ? toQt(node->name) : QString();
    }
    QString deviceOf(NodeId id) const {
        const NodeFacts* facts = analysis().find(id);
        return toQt((facts ? facts->device : graph().deviceOf(*graph().find(id))).toString());
    }
    QString typeOf(PortRef output) const {
        const std::optional<TensorType>& type = analysis().typeOf(output);
        return type ? toQt(type->toString()) : QString();
    }

    QString name() const {
        if (m_item.wire)
            return CanvasWords::tr("Wire from %1 to %2")
                .arg(nameOf(m_item.wire->from.node), nameOf(m_item.wire->to.node));
        if (m_item.frame != FrameId::none)
            return CanvasWords::tr("Module %1").arg(toQt(graph().find(m_item.frame)->title));
        const Node& node = *graph().find(m_item.node);
        const QString name =
            CanvasWords::tr("%1, %2 on %3").arg(toQt(node.name), toQt(node.op), deviceOf(node.id));
        return errorsOf(analysis(), node.id).isEmpty() ? name : CanvasWords::tr("%1, error").arg(name);
    }

    /// The type, the time or the price, and the errors.
    QString description() const {
        QStringList parts;
        const auto add = [&](const QString& part) {
            if (!part.isEmpty()) parts << part;
        };
        const RunState* run = m_canvas->figures().run();
        if (m_item.wire) {
            add(typeOf(m_item.wire->from));
            const NodeId from = m_item.wire->from.node;
            const NodeId to = m_item.wire->to.node;
            if (deviceOf(from) != deviceOf(to))
                add(CanvasWords::tr("transfer from %1 to %2").arg(deviceOf(from), deviceOf(to)));
            if (run)
                if (const auto found = run->edges.find(*m_item.wire); found != run->edges.end())
                    add(CanvasWords::tr("%1 in %2, %3")
                            .arg(localized(formatBytes(found->second.bytes)),
                                 localized(formatMs(found->second.ns)),
                                 timing(*run, found->second.predicted, found->second.modelled)));
        } else if (m_item.frame != FrameId::none) {
            const auto count = qint64(nodesOfModule(graph(), m_item.frame).size());
            add(count == 1 ? CanvasWords::tr("1 node") : CanvasWords::tr("%1 nodes").arg(grouped(count)));
        } else {
            add(typeOf({m_item.node, 0}));
            if (run)
                if (const auto found = run->nodes.find(m_item.node);
                    found != run->nodes.end() && found->second.ns > 0)
                    add(CanvasWords::tr("%1, %2").arg(localized(formatMs(found->second.ns)),
                                                      timing(*run, false, found->second.modelled)));
            add(errorsOf(analysis(), m_item.node));
        }
        return parts.join(QStringLiteral("; "));
    }

    static QString timing(const RunState& run, bool isPredicted, bool isModelled) {
        return isPredicted  ? CanvasWords::tr("predicted")
               : isModelled ? CanvasWords::tr("modelled")
                            : measuredText(run.host);
    }

    QPointer<CanvasWidget> m_canvas;
    CanvasItem m_item;
};

class CanvasAccessible : public QAccessibleWidget {
public:
    explicit CanvasAccessible(CanvasWidget& canvas)
        : QAccessibleWidget(&canvas, QAccessible::Canvas), m_canvas(canvas) {}
    ~CanvasAccessible() override {
        for (const auto& [item, id] : m_ids) QAccessible::deleteAccessibleInterface(id);
    }

    int childCount() const override { return ownChildCount() + int(items().size()); }

    QAccessibleInterface* child(int index) const override {
        if (index < ownChildCount()) return QAccessibleWidget::child(index);
        const std::size_t at = std::size_t(index - ownChildCount());
        return index >= 0 && at < items().size() ? interfaceOf(items()[at]) : nullptr;
    }

    int indexOfChild(const QAccessibleInterface* child) const override {
        const QAccessible::Id id = QAccessible::uniqueId(const_cast<QAccessibleInterface*>(child));
        for (const auto& [item, known] : m_ids) {
            if (known != id) continue;
            const auto at = std::lower_bound(items().begin(), items().end(), item);
            if (at == items().end() || item < *at) return -1;
            return ownChildCount() + int(at - items().begin());
        }
        return QAccessibleWidget::indexOfChild(child);
    }

    QAccessibleInterface* childAt(int x, int y) const override {
        if (QAccessibleInterface* own = QAccessibleWidget::childAt(x, y)) return own;
        const QPoint pixel = m_canvas.mapFromGlobal(QPoint(x, y));
        if (!m_canvas.rect().contains(pixel)) return nullptr;
        const Hit hit = hitTest(m_canvas.scene(), m_canvas.view().toScene(pixel), m_canvas.view().zoom());
        switch (hit.kind) {
        case Hit::Kind::wire:
        case Hit::Kind::dot:
            return interfaceOf({NodeId::none, FrameId::none, hit.wire});
        case Hit::Kind::frame:
            return interfaceOf({NodeId::none, hit.frame, std::nullopt});
        case Hit::Kind::node:
            return interfaceOf(itemOf(hit.node));
        case Hit::Kind::input:
        case Hit::Kind::output:
            return interfaceOf(itemOf(hit.port.node));
        default:
            return nullptr;
        }
    }

    QAccessibleInterface* focusChild() const override {
        const Selection& selection = m_canvas.document().selection();
        if (!m_canvas.hasFocus()) return nullptr;
        if (selection.edge) return interfaceOf({NodeId::none, FrameId::none, selection.edge});
        if (!selection.nodes.empty()) {
            const CanvasItem item = itemOf(*selection.nodes.begin());
            const auto nodes = item.frame == FrameId::none
                                   ? std::vector<NodeId>{item.node}
                                   : nodesOfModule(m_canvas.document().graph(), item.frame);
            if (std::ranges::equal(selection.nodes, nodes)) return interfaceOf(item);
        }
        return const_cast<CanvasAccessible*>(this);
    }

private:
    int ownChildCount() const { return QAccessibleWidget::childCount(); }

    /// The card of a node, or of the collapsed module that contains it.
    CanvasItem itemOf(NodeId node) const {
        const NodeShape* shape = m_canvas.scene().nodes().drawn(node);
        const ModuleShape* module = shape ? m_canvas.scene().modules().of(*shape) : nullptr;
        if (module) return {NodeId::none, module->frame, std::nullopt};
        return {node, FrameId::none, std::nullopt};
    }

    /// The drawn cards, the modules, and the wires between drawn cards, in a fixed order.
    const std::vector<CanvasItem>& items() const {
        const Scene& scene = m_canvas.scene();
        if (m_version == scene.version()) return m_items;
        m_version = scene.version();
        m_items.clear();
        const Graph& graph = m_canvas.document().graph();
        for (const Node& node : graph.nodes())
            if (const NodeShape* shape = scene.nodes().find(node.id); shape && shape->placed)
                m_items.push_back(itemOf(node.id));
        for (const FrameShape& frame : scene.frames().shapes())
            if (!frame.rect.isEmpty()) m_items.push_back({NodeId::none, frame.id, std::nullopt});
        for (const Edge& edge : graph.edges())
            if (const WireShape* wire = scene.wires().find(edge); wire && !wire->hidden)
                m_items.push_back({NodeId::none, FrameId::none, edge});
        std::sort(m_items.begin(), m_items.end());
        for (auto known = m_ids.begin(); known != m_ids.end();) {
            if (std::binary_search(m_items.begin(), m_items.end(), known->first)) {
                ++known;
            } else {
                QAccessible::deleteAccessibleInterface(known->second);
                known = m_ids.erase(known);
            }
        }
        return m_items;
    }

    QAccessibleInterface* interfaceOf(const CanvasItem& item) const {
        if (!std::binary_search(items().begin(), items().end(), item)) return nullptr;
        auto [at, isNew] = m_ids.emplace(item, 0);
        if (isNew) at->second = QAccessible::registerAccessibleInterface(new ItemAccessible(m_canvas, item));
        return QAccessible::accessibleInterface(at->second);
    }

    CanvasWidget& m_canvas;
    mutable std::vector<CanvasItem> m_items; ///< sorted
    mutable std::uint64_t m_version = 0;     ///< of the scene to which the items belong
    mutable std::map<CanvasItem, QAccessible::Id> m_ids;
};

QAccessibleInterface* makeInterface(const QString&, QObject* object) {
    auto* canvas = qobject_cast<CanvasWidget*>(object);
    return canvas ? new CanvasAccessible(*canvas) : nullptr;
}

} // namespace

void makeCanvasAccessible() {
    [[maybe_unused]] static const bool once = [] {
        QAccessible::installFactory(makeInterface);
        return true;
    }();
}

void announceSelection(CanvasWidget& canvas) {
    if (!QAccessible::isActive() || !canvas.hasFocus()) return;
    if (QAccessibleInterface* item = QAccessible::queryAccessibleInterface(&canvas)->focusChild()) {
        QAccessibleEvent event(item, QAccessible::Focus);
        QAccessible::updateAccessibility(&event);
    }
}

} // namespace twb
