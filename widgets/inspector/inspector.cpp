#include "widgets/inspector/inspector.h"

#include "core/error.h"
#include "graph/routes.h"
#include "ops/op_table.h"
#include "placement/fixes.h"
#include "profile/report.h"
#include "widgets/edit_title.h"
#include "widgets/engine_words.h"
#include "widgets/finish_typing.h"
#include "widgets/graph_edits.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/inspector/op_help_view.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/inspector/tensor_panel.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/labels.h"
#include "widgets/price.h"
#include "widgets/text.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QShortcut>
#include <QSignalBlocker>
#include <QStylePainter>
#include <QVBoxLayout>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace twb {
namespace {

constexpr int kMargin = 16;
constexpr int kBesideName = 20;
constexpr int kNameWidth = 144;
constexpr int kLeastNameWidth = 72;

QString shapeText(const Shape& shape) {
    if (shape.rank() == 0) return QObject::tr("scalar");
    QStringList sizes;
    for (const std::int64_t size : shape)
        sizes << (size == kUnknownDim ? QStringLiteral("?") : grouped(size));
    return sizes.join(QStringLiteral(" × "));
}

constexpr int kAllOfIt = 10'000; ///< as a stretch factor

QWidget* section(std::initializer_list<QWidget*> widgets) {
    auto* box = new QWidget;
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(kMargin, 12, kMargin, 12);
    layout->setSpacing(8);
    for (QWidget* widget : widgets) layout->addWidget(widget);
    return box;
}

/// Elides the title of a lane that does not fit; the tooltip then has the whole text.
class LaneChoice : public QComboBox {
protected:
    void paintEvent(QPaintEvent* event) override {
        if (currentIndex() < 0) return QComboBox::paintEvent(event); // the placeholder
        constexpr int kInset = 4;
        QStyleOptionComboBox option;
        initStyleOption(&option);
        const QRect room =
            style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
        option.currentText = fontMetrics().elidedText(currentText(), Qt::ElideRight, room.width() - kInset);
        setToolTip(option.currentText == currentText() ? QString() : currentText());
        QStylePainter painter(this);
        painter.drawComplexControl(QStyle::CC_ComboBox, option);
        painter.drawControl(QStyle::CE_ComboBoxLabel, option);
    }
};

QString laneText(const Lane& lane) {
    const QString device = toQt(lane.device.toString());
    return lane.title.empty() ? device : QStringLiteral("%1 · %2").arg(device, toQt(lane.title));
}

} // namespace

Inspector::Inspector(Document& document, RunController& runs, TrainingRun& training, QWidget* parent)
    : QScrollArea(parent), m_document(document), m_runs(runs), m_training(training), m_name(new QLineEdit),
      m_title(new ElidedLabel), m_op(new ElidedLabel), m_device(new DevicePill),
      m_doc(makeLabel({}, TextRole::body, QStringLiteral("secondary"))), m_help(new OpHelpView),
      m_lane(new LaneChoice), m_attributes(new QWidget), m_attributeRows(new QVBoxLayout(m_attributes)),
      m_factsHeading(makeHeading({})), m_facts(new FactRows),
      m_tensor(new TensorPanel(tr("Tensor"), [this](const QString& path) { m_document.checkTarget(path); })),
      m_gradient(
          new TensorPanel(tr("Gradient"), [this](const QString& path) { m_document.checkTarget(path); })),
      m_problems(new ProblemCards(document)) {
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Inspector"));

    auto* content = new QWidget;
    content->setProperty("surface", QStringLiteral("panel"));
    content->setAttribute(Qt::WA_StyledBackground);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_attributeRows->setContentsMargins(0, 0, 0, 0);
    m_attributeRows->setSpacing(6);
    m_placement = makePlacement();
    layout->addWidget(makeHeader());
    layout->addWidget(section({m_attributes, m_placement, m_help}));
    layout->addWidget(makeLine());
    layout->addWidget(section({m_factsHeading, m_facts}));
    const auto addBelowLine = [&](QWidget* widget, int stretch) {
        auto* below = new QWidget;
        auto* column = new QVBoxLayout(below);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        column->addWidget(makeLine());
        column->addWidget(section({widget}));
        layout->addWidget(below, stretch);
        return below;
    };
    m_gradient->setObjectName(QStringLiteral("gradient"));
    m_tensorSection = addBelowLine(m_tensor, kAllOfIt); // takes the height that the other sections leave
    m_gradientSection = addBelowLine(m_gradient, 0);
    m_problemsSection = addBelowLine(m_problems, 0);
    layout->addStretch(1);
    setWidget(content);

    connect(m_help, &OpHelpView::exampleRequested, this, &Inspector::exampleRequested);
    connect(m_problems, &ProblemCards::fixRequested, this, &Inspector::fixRequested);
    connect(m_problems, &ProblemCards::allRequested, this, &Inspector::problemsRequested);
    connect(&m_document, &Document::changed, this, &Inspector::refresh);
    connect(&m_document, &Document::reset, this, &Inspector::refresh);
    connect(&m_document, &Document::selectionChanging, this, [this] {
        QWidget* focused = window()->focusWidget();
        if (focused && isAncestorOf(focused)) finishTyping(focused);
    });
    connect(&m_document, &Document::selectionChanged, this, &Inspector::refresh);
    connect(&m_document, &Document::pathChanged, this, &Inspector::refresh); // perhaps another folder
    connect(&m_document, &Document::devicesChanged, this, &Inspector::refresh);
    connect(&m_runs, &RunController::preparing, this, &Inspector::refreshFigures);
    connect(&m_runs, &RunController::frame, this, &Inspector::refreshFigures);
    connect(&m_runs, &RunController::preparing, this, [this] { m_isTrained = false; });
    connect(&m_runs, &RunController::finished, this, &Inspector::refresh);
    connect(&m_training, &TrainingRun::stateChanged, this, [this] {
        m_isTrained = m_training.hasParameters();
        refresh();
    });
    refresh();
}

QWidget* Inspector::makeHeader() {
    m_name->setObjectName(QStringLiteral("nodeName"));
    m_name->setProperty("role", QStringLiteral("name"));
    m_name->setAccessibleName(tr("Name of the node"));
    m_name->setFont(twb::font(TextRole::panelTitle));
    connect(m_name, &QLineEdit::editingFinished, this, &Inspector::rename);
    const auto restoreName = [this] {
        if (const Node* node = onlyNode()) m_name->setText(toQt(node->name));
    };
    new QShortcut(QKeySequence(Qt::Key_Escape), m_name, restoreName, Qt::WidgetShortcut);
    connect(m_name, &QLineEdit::textChanged, this, [this](const QString& text) {
        const int width = std::clamp(m_name->fontMetrics().horizontalAdvance(text) + 14, 24, kNameWidth);
        m_name->setMinimumWidth(std::min(width, kLeastNameWidth)); // in a narrow inspector it scrolls
        m_name->setMaximumWidth(width);
    });
    m_title->setFont(twb::font(TextRole::panelTitle));
    m_doc->setWordWrap(true);
    m_op->setFont(twb::font(TextRole::body));
    m_op->setProperty("role", QStringLiteral("secondary"));
    m_op->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);

    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(m_name);
    row->addWidget(m_title, 1);
    row->addWidget(m_op);
    row->addStretch(0);
    row->addWidget(m_device);
    auto* header = new QWidget;
    auto* layout = new QVBoxLayout(header);
    layout->setContentsMargins(kMargin, 12, kMargin, 0);
    layout->setSpacing(4);
    layout->addLayout(row);
    layout->addWidget(m_doc);
    return header;
}

QWidget* Inspector::makePlacement() {
    auto* box = new QWidget;
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(makeLabel(tr("lane"), TextRole::body, QStringLiteral("secondary")), 1);
    m_lane->setObjectName(QStringLiteral("laneChoice"));
    m_lane->setAccessibleName(tr("Lane of the selection"));
    m_lane->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    fitEditor(*m_lane);
    row->addSpacing(kBesideName); // the width of the reset button of attributes
    row->addWidget(m_lane, 2);
    connect(m_lane, &QComboBox::activated, this, &Inspector::moveToLane);
    return box;
}

const Node* Inspector::onlyNode() const {
    const Selection& selection = m_document.selection();
    return selection.nodes.size() == 1 ? m_document.graph().find(*selection.nodes.begin()) : nullptr;
}

void Inspector::editName() {
    if (!onlyNode()) return;
    m_name->setFocus(Qt::ShortcutFocusReason);
    m_name->selectAll();
}

void Inspector::openHelp() {
    if (!selectedModule() && (!onlyNode() || !findOp(onlyNode()->op))) {
        Q_EMIT said(tr("Select one node to see the help for its op."));
        return;
    }
    m_help->open();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest); // gives the help its size
    ensureWidgetVisible(m_help);
    ensureVisible(0, m_help->mapTo(widget(), QPoint()).y(), 0, 0); // if it does not fit: its beginning
}

void Inspector::refresh() {
    const Node* node = onlyNode();
    const Selection& selection = m_document.selection();
    // An editor that is hidden gives up the focus, and would then set the attribute of a graph that is gone.
    if (selection.nodes.empty()) dropEditors();
    m_name->setVisible(node != nullptr);
    m_title->setVisible(node == nullptr);
    m_op->setVisible(node != nullptr);
    m_device->setVisible(node != nullptr);
    m_attributes->setVisible(!selection.nodes.empty());
    m_placement->setVisible(!selection.nodes.empty());
    const Op* op = node ? findOp(node->op) : nullptr;
    const ModuleOp* module = selectedModule();
    m_help->setVisible(op || module);
    if (module)
        m_help->setModule(*module);
    else
        m_help->setOp(op);
    if (selection.nodes.empty()) m_builtFor.clear();

    if (node)
        showNode(*node);
    else if (selection.edge)
        showEdge(*selection.edge);
    else if (!selection.nodes.empty() && !showModule())
        showMany();
    else if (selection.nodes.empty())
        showGraph();
    refreshFigures();

    std::vector<const Diagnostic*> problems;
    const std::vector<Diagnostic>& all = m_document.analysis().diagnostics;
    if (m_problemsElsewhere) {
        // The panel below shows them.
    } else if (selection.empty()) {
        for (const Cause& cause : m_document.causeGroups())
            problems.push_back(&all[cause.diagnostics.front()]);
    } else {
        for (const Diagnostic& d : all)
            if (selection.nodes.contains(d.node) || (selection.edge && d.edge == selection.edge) ||
                (d.edge && selection.nodes.contains(d.edge->from.node)))
                problems.push_back(&d);
    }
    // The number of problems is the number of causes, as in the status line; notes count only if there is
    // nothing worse.
    Severity worst = Severity::note;
    for (const Diagnostic* d : problems) worst = std::max(worst, d->severity);
    const std::unordered_set<const Diagnostic*> shown(problems.begin(), problems.end());
    const auto isShown = [&](std::size_t i) {
        const bool counts = worst == Severity::note || all[i].severity != Severity::note;
        return counts && shown.contains(&all[i]);
    };
    const auto causes =
        problems.empty()
            ? std::ptrdiff_t(0)
            : std::ranges::count_if(m_document.causeGroups(), [&](const Cause& cause) {
                  return std::any_of(cause.diagnostics.begin(), cause.diagnostics.end(), isShown);
              });
    m_problems->setProblems(problems,
                            selection.empty() && !problems.empty() ? all.size() - problems.size() : 0,
                            std::size_t(causes));
    m_problemsSection->setVisible(!problems.empty());
}

void Inspector::setProblemsElsewhere(bool elsewhere) {
    if (std::exchange(m_problemsElsewhere, elsewhere) != elsewhere) refresh();
}

/// For an op that is not in the op table.
QString Inspector::placeholderText(const Node& node) const {
    QString text = tr("Unknown op. It is saved unchanged, but cannot run.");
    for (const NeededPlugin& plugin : m_document.graph().info().plugins) {
        if (std::ranges::find(plugin.ops, node.op) == plugin.ops.end()) continue;
        const QString name = toQt(plugin.version.empty() ? plugin.name : plugin.name + ' ' + plugin.version);
        text += QLatin1Char('\n') + tr("It is in the plug-in %1, which is not loaded.").arg(name);
        if (!plugin.homepage.empty())
            text += QLatin1Char('\n') + tr("Available at %1").arg(toQt(plugin.homepage));
    }
    return text;
}

void Inspector::showNode(const Node& node) {
    const Op* op = findOp(node.op);
    if (!m_name->hasFocus() || m_builtFor != std::set{node.id} || m_shownName != node.name) {
        m_name->setText(toQt(node.name));
        m_name->setCursorPosition(0);
        m_shownName = node.name;
    }
    m_op->setText(toQt(node.op));
    const NodeFacts* facts = m_document.analysis().find(node.id);
    m_device->setDevice(facts ? facts->device : m_document.graph().deviceOf(node));
    if (!op)
        m_doc->setText(placeholderText(node));
    else
        m_doc->setText(toQt(op->formula.empty() ? op->doc : op->doc + "\n" + op->formula));
    showAttributes({&node});
    fillLanes({node.id});
}

/// The attributes that all of these nodes have.
void Inspector::showAttributes(const std::vector<const Node*>& nodes) {
    std::set<NodeId> ids;
    std::vector<const Op*> ops;
    for (const Node* node : nodes) {
        ids.insert(node->id);
        const Op* op = findOp(node->op);
        if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    }
    if (std::find(ops.begin(), ops.end(), nullptr) != ops.end())
        ops.clear(); // an unknown op has no known attributes
    if (ids != m_builtFor || ops != m_builtOps || m_document.folder() != m_builtFolder || m_builtModule) {
        m_builtFor = std::move(ids);
        m_builtFolder = m_document.folder();
        buildAttributes(ops);
    }
    for (AttributeEditor* editor : m_editors) {
        const auto valueOf = [&](const Node* node) {
            const AttributeValue* value = node->attributes.find(editor->spec().name);
            return value ? std::optional(*value) : std::nullopt;
        };
        const auto first = valueOf(nodes.front());
        const bool same =
            std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return valueOf(node) == first; });
        if (same)
            editor->setValue(first);
        else
            editor->setMixed();
    }
}

void Inspector::dropEditors() {
    for (AttributeEditor* editor : std::exchange(m_editors, {})) {
        editor->disconnect(this); // hide() takes the focus from the editor, which then reports its text
        editor->hide();
        editor->deleteLater(); // the call may come from this editor
    }
    m_builtOps.clear();
    m_builtModule.reset();
}

void Inspector::buildAttributes(const std::vector<const Op*>& ops) {
    dropEditors();
    m_builtOps = ops;
    if (ops.empty()) return;
    for (const AttributeSpec& spec : ops.front()->attributes) {
        const bool isShared = std::all_of(ops.begin(), ops.end(), [&](const Op* op) {
            const AttributeSpec* other = op->attribute(spec.name);
            return other && other->type == spec.type && other->choices == spec.choices &&
                   other->defaultValue == spec.defaultValue;
        });
        if (!isShared) continue;
        auto* editor = new AttributeEditor(ops, spec, m_document.folder(), m_attributes);
        connect(editor, &AttributeEditor::edited, this,
                [this, editor, nodes = m_builtFor](const AttributeEdit& edit) {
                    setAttribute(nodes, editor->spec(), edit.value);
                });
        m_attributeRows->addWidget(editor);
        m_editors.push_back(editor);
    }
}

void Inspector::showEdge(const Edge& edge) {
    const Graph& graph = m_document.graph();
    const auto nameOf = [&](NodeId id) { return graph.find(id) ? toQt(graph.find(id)->name) : QString(); };
    m_title->setText(QStringLiteral("%1 → %2").arg(nameOf(edge.from.node), nameOf(edge.to.node)));
    const Node* consumer = graph.find(edge.to.node);
    const Op* op = consumer ? findOp(consumer->op) : nullptr;
    m_doc->setText(op ? tr("Edge to input %1 of %2").arg(toQt(op->inputAt(edge.to.port).name), toQt(op->name))
                      : tr("Edge"));
}

void Inspector::showMany() {
    const std::set<NodeId>& nodes = m_document.selection().nodes;
    m_title->setText(tr("%1 nodes").arg(grouped(qint64(nodes.size()))));
    std::vector<const Node*> selected;
    for (const NodeId id : nodes) selected.push_back(m_document.graph().find(id));
    showAttributes(selected);
    const bool oneOp = m_builtOps.size() == 1;
    m_doc->setText(oneOp ? tr("All are %1. Changes apply to all of them.").arg(toQt(m_builtOps.front()->name))
                   : m_editors.empty() ? tr("Move, copy or delete them together.")
                                       : tr("Changes apply to all of them."));
    fillLanes({nodes.begin(), nodes.end()});
}

void Inspector::showGraph() {
    const GraphInfo& info = m_document.graph().info();
    m_title->setText(info.title.empty() ? m_document.title() : toQt(info.title));
    m_doc->setText(info.description.empty() ? tr("Select a node to see its settings and output.")
                                            : toQt(info.description));
}

void Inspector::fillLanes(const std::vector<NodeId>& nodes) {
    std::set<LaneId> current;
    for (const NodeId id : nodes)
        if (const Node* node = m_document.graph().find(id)) current.insert(node->lane);
    const QSignalBlocker blocker(m_lane);
    m_lane->clear();
    for (const Lane& lane : m_document.graph().lanesInOrder())
        m_lane->addItem(laneText(lane), QVariant::fromValue(qulonglong(value(lane.id))));
    m_lane->setCurrentIndex(current.size() == 1
                                ? m_lane->findData(QVariant::fromValue(qulonglong(value(*current.begin()))))
                                : -1);
    if (current.size() > 1) m_lane->setPlaceholderText(tr("several"));
}

void Inspector::moveToLane(int index) {
    const LaneId lane = LaneId(m_lane->itemData(index).toULongLong());
    Selection what;
    what.nodes = m_document.selection().nodes;
    apply(sendToLane(m_document.graph(), what, lane));
}

void Inspector::rename() {
    const Node* node = onlyNode();
    const std::string name = m_name->text().trimmed().toStdString();
    if (!node || node->name == name) return;
    if (name.empty()) {
        m_name->setText(toQt(node->name));
        return;
    }
    Node renamed = *node;
    renamed.name = name;
    DeltaBuilder builder(m_document.graph(), editTitle(EditTitle::tr("Rename %1 to %2"), node->name, name));
    builder.change(renamed);
    apply(builder.take());
}

void Inspector::setAttribute(const std::set<NodeId>& nodes, const AttributeSpec& spec,
                             const std::optional<AttributeValue>& value) {
    Delta delta;
    for (const NodeId id : nodes) {
        const Node* before = m_document.graph().find(id);
        if (!before) continue;
        Node after = *before;
        if (value)
            after.attributes.set(spec.name, *value);
        else
            after.attributes.erase(spec.name);
        if (after != *before) delta.nodes.push_back({*before, std::move(after)});
    }
    if (delta.nodes.empty()) return;
    delta.title =
        editTitle(EditTitle::tr("Set %1 of %2"), spec.name,
                  delta.nodes.size() == 1 ? delta.nodes.front().after->name : nodeCount(delta.nodes.size()));
    apply(std::move(delta));
}

void Inspector::apply(Delta delta) {
    try {
        m_document.apply(std::move(delta));
    } catch (const Error& error) {
        Q_EMIT refused(toQt(error.what()));
    }
}

void Inspector::refreshFigures() {
    const Selection& selection = m_document.selection();
    const Graph& graph = m_document.graph();
    if (const Node* node = onlyNode()) {
        m_factsHeading->setText(tr("Output"));
        m_facts->setRows(outputRows(*node));
        const NodeFacts* facts = m_document.analysis().find(node->id);
        const std::optional<PortRef> source = graph.sourceOf({node->id, 0});
        if (facts && !facts->outputs.empty())
            showTensor({node->id, 0});
        else if (source)
            showTensor(*source); // a sink has no output; its input is shown
        m_tensorSection->setVisible(true);
        showGradient();
        return;
    }
    m_tensorSection->setVisible(false);
    m_gradientSection->setVisible(false);
    if (selection.edge) {
        m_factsHeading->setText(tr("Transfer"));
        const auto found = m_runs.state().edges.find(*selection.edge);
        const std::optional<TensorType>& type = m_document.analysis().typeOf(selection.edge->from);
        std::vector<FactRows::Row> rows{{tr("tensor"), type ? toQt(type->toString()) : tr("unknown")}};
        if (found == m_runs.state().edges.end())
            rows.push_back({tr("transfer"), tr("none: both ends are on one device")});
        else {
            const EdgeRun& run = found->second;
            const QString known = priceKind(run.predicted, run.modelled);
            const QString kind = known.isEmpty() ? m_runs.measuredText() : known;
            rows.push_back({tr("bytes"), grouped(qint64(run.bytes))});
            rows.push_back({tr("time, %1").arg(kind), localized(formatMs(run.ns))});
            if (run.modelledNs > 0)
                rows.push_back({tr("time, modelled"), localized(formatMs(run.modelledNs))});
            rows.push_back({tr("rate, %1").arg(kind), localized(formatRate(run.gbPerSecond))});
        }
        m_facts->setRows(rows);
        showTensor(selection.edge->from);
        m_tensorSection->setVisible(true);
        return;
    }
    m_factsHeading->setText(selection.nodes.empty() ? tr("Graph") : tr("Selection"));
    if (!selection.nodes.empty()) {
        m_facts->setRows({{tr("nodes"), grouped(qint64(selection.nodes.size()))}});
        return;
    }
    std::vector<FactRows::Row> rows{{tr("nodes"), grouped(qint64(graph.nodes().size()))},
                                    {tr("edges"), grouped(qint64(graph.edgeCount()))},
                                    {tr("policy"), toQt(graph.info().policy.toString())}};
    for (const Device device : m_document.devices().devices())
        if (const Backend* backend = m_document.devices().find(device))
            rows.push_back({toQt(device.toString()), toQt(backend->info().name)});
    for (const ProbeValue& probe : m_runs.probes()) rows.push_back({toQt(probe.name), valueText(probe)});
    m_facts->setRows(rows);
}

void Inspector::showTensor(PortRef output) {
    readTensor(output);
    const auto vertical = m_tensor->hasPicture() ? QSizePolicy::Preferred : QSizePolicy::Fixed;
    m_tensorSection->setSizePolicy(QSizePolicy::Preferred, vertical);
}

void Inspector::readTensor(PortRef output) {
    if (m_runs.isRunning() && !m_runs.isStopped()) {
        m_tensor->setTensor(std::nullopt, tr("The tensor is shown after the run."), {});
        return;
    }
    const std::optional<Tensor> trained =
        m_isTrained && output.port == 0 ? m_training.value(output.node) : std::nullopt;
    const std::optional<Tensor> tensor = trained ? trained : m_runs.tensor(output);
    const Node* maker = m_document.graph().find(output.node);
    m_tensor->setTensor(
        tensor,
        m_runs.isStopped() ? tr("This tensor is not available at this breakpoint: the run computes it "
                                "later in the iteration, or has reused its memory.")
        : !m_runs.result() ? tr("Run the graph to see this tensor.")
        : !m_runs.host().isEmpty()
            ? tr("Runs on another machine return no tensors. Run the graph here to see this tensor.")
        : m_runs.overlaid()   ? tr("A profile has no tensors. Run the graph to see them.")
        : m_runs.showsTrace() ? tr("A trace has no tensors. Run the graph to see this tensor.")
                              : tr("The last run did not keep this tensor."),
        maker ? toQt(maker->name) : QString());
}

/// The gradient of a parameter: of the last training, or of the last run if that was later.
void Inspector::showGradient() {
    const NodeId id = onlyNode()->id;
    const std::optional<PortRef> gradient = gradientOf(m_document.graph(), id);
    m_gradientSection->setVisible(gradient.has_value());
    if (!gradient) return;
    const bool isRunning = m_runs.isRunning() && !m_runs.isStopped();
    m_gradient->setTensor(isRunning     ? std::nullopt
                          : m_isTrained ? m_training.gradient(id)
                                        : m_runs.tensor(*gradient),
                          isRunning     ? tr("The gradient is shown after the run.")
                          : m_isTrained ? tr("The gradient is shown after a complete epoch.")
                                        : tr("Train or run the graph to see this gradient."),
                          tr("%1 gradient").arg(toQt(onlyNode()->name)));
}

std::vector<FactRows::Row> Inspector::outputRows(const Node& node) const {
    std::vector<FactRows::Row> rows;
    const NodeFacts* facts = m_document.analysis().find(node.id);
    const QString unknown = tr("unknown");
    for (std::size_t port = 0; facts && port < facts->outputs.size(); ++port) {
        const std::optional<TensorType>& type = facts->outputs[port];
        rows.push_back({tr("shape"), type ? shapeText(type->shape) : unknown});
        rows.push_back({tr("dtype"), type ? toQt(torchName(type->dtype)) : unknown});
        rows.push_back({tr("bytes"), type && type->isKnown() ? grouped(type->byteCount()) : unknown});
    }
    if (facts) rows.push_back({tr("device"), toQt(facts->device.toString())});
    if (node.source) rows.push_back({tr("source"), toQt(toShortString(*node.source))});
    const auto run = m_runs.state().nodes.find(node.id);
    const std::optional<PortRef> source = m_document.graph().sourceOf({node.id, 0});
    const bool isProbe = node.op == "Probe" && source;
    // A Probe that was added after the run shows the tensor, too.
    const std::optional<Tensor> seen = isProbe ? m_runs.tensor(*source) : std::nullopt;
    const bool isTrained = m_isTrained && m_training.value(node.id);
    if (node.disabled)
        rows.push_back({tr("state"), tr("disabled")});
    else if (isTrained)
        rows.push_back({tr("values"), m_training.place().steps == 1
                                          ? tr("trained, 1 step")
                                          : tr("trained, %1 steps").arg(grouped(m_training.place().steps))});
    else if (seen)
        rows.push_back({tr("value"),
                        seen->elementCount() == 1 ? valueText(probe(node.name, *seen)) : tr("shown below")});
    else if (run == m_runs.state().nodes.end() ||
             (run->second.state == StepState::pending && run->second.ns <= 0))
        rows.push_back({tr("state"), tr("not run yet")});
    else if (run->second.state != StepState::done && run->second.state != StepState::running &&
             run->second.state != StepState::pending)
        rows.push_back({tr("state"), stateWord(run->second.state)});
    else if (m_runs.isStopped() && run->second.ns <= 0)
        rows.push_back({tr("state"), tr("computed in this iteration")}); // its times are not known yet
    else if (const Node* last = m_document.graph().find(run->second.timedAt); last && last->id != node.id)
        rows.push_back({tr("time"), tr("in one step with %1").arg(toQt(last->name))});
    else
        rows.push_back({tr("time"), (run->second.modelled ? tr("modelled %1") : QStringLiteral("%1"))
                                            .arg(localized(formatMs(run->second.ns))) +
                                        (run->second.once ? tr(", once") : QString()) +
                                        (run->second.fused > 0 ? tr(", step of %1 ops").arg(run->second.fused)
                                                               : QString())});
    if (run != m_runs.state().nodes.end() && run->second.modelledNs > 0)
        rows.push_back({tr("modelled"), localized(formatMs(run->second.modelledNs))});
    const auto addRecomputed = [&](const QString& name, PortRef output) {
        if (const std::optional<std::int64_t> iteration = m_runs.iterationComputedAgain(output))
            rows.push_back({name, tr("iteration %1, computed again").arg(grouped(*iteration))});
    };
    if (!isTrained) addRecomputed(tr("value shown"), {node.id, 0});
    const std::optional<PortRef> gradient = gradientOf(m_document.graph(), node.id);
    if (gradient && !m_isTrained) addRecomputed(tr("gradient shown"), *gradient);
    const QString buffer = bufferText(node.id);
    if (!buffer.isEmpty()) rows.push_back({tr("buffer"), buffer});
    return rows;
}

/// The planner's use of memory for a node's output.
QString Inspector::bufferText(NodeId id) const {
    const Plan* plan = m_runs.leanPlan();
    if (!plan) return {};
    const std::uint32_t value = plan->valueOf({id, 0});
    if (value == kNone || plan->values[value].slot == kNone) return {};
    for (const Step& step : plan->steps) {
        if (step.inPlaceOf == kNone) continue;
        if (step.node == id)
            return tr("buffer of %1 (in place)").arg(toQt(plan->values[step.inPlaceOf].label));
        if (step.inPlaceOf == value) return tr("reused by %1 (in place)").arg(toQt(step.label));
    }
    for (std::uint32_t other = 0; other < plan->values.size(); ++other)
        if (other != value && plan->values[other].slot == plan->values[value].slot &&
            plan->values[other].source != plan->values[value].source)
            return tr("shared with %1").arg(toQt(plan->values[other].label));
    return tr("own buffer");
}

} // namespace twb
