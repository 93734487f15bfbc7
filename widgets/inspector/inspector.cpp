#include "widgets/inspector/inspector.h"

#include "core/error.h"
#include "graph/routes.h"
#include "ops/op_table.h"
#include "placement/fixes.h"
#include "widgets/edit_title.h"
#include "widgets/finish_typing.h"
#include "widgets/graph_edits.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/inspector/attribute_form.h"
#include "widgets/inspector/op_help_view.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/inspector/selection_facts.h"
#include "widgets/inspector/tensor_panel.h"
#include "widgets/labels.h"
#include "widgets/module_edits.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"
#include "widgets/wrapped_label.h"

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
      m_title(new WrappedLabel), m_op(new ElidedLabel), m_device(new DevicePill),
      m_doc(makeLabel({}, TextRole::body, QStringLiteral("secondary"))), m_help(new OpHelpView),
      m_lane(new LaneChoice), m_attributes(new AttributeForm(document)), m_factsHeading(makeHeading({})),
      m_facts(new FactRows),
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

    connect(m_attributes, &AttributeForm::refused, this, &Inspector::refused);
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
    if (!selectedModule(m_document) && (!onlyNode() || !findOp(onlyNode()->op))) {
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
    if (selection.nodes.empty()) m_attributes->clear();
    m_name->setVisible(node != nullptr);
    m_title->setVisible(node == nullptr);
    m_op->setVisible(node != nullptr);
    m_device->setVisible(node != nullptr);
    m_attributes->setVisible(!selection.nodes.empty());
    m_placement->setVisible(!selection.nodes.empty());
    const Op* op = node ? findOp(node->op) : nullptr;
    const ModuleOp* module = selectedModule(m_document);
    m_help->setVisible(op || module);
    if (module)
        m_help->setModule(*module);
    else
        m_help->setOp(op);

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
    if (!m_name->hasFocus() || !m_attributes->isFor({node.id}) || m_shownName != node.name) {
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
    m_attributes->showNodes({&node});
    fillLanes({node.id});
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
    m_attributes->showNodes(selected);
    const std::vector<const Op*>& ops = m_attributes->ops();
    m_doc->setText(ops.size() == 1
                       ? tr("All are %1. Changes apply to all of them.").arg(toQt(ops.front()->name))
                   : m_attributes->isEmpty() ? tr("Move, copy or delete them together.")
                                             : tr("Changes apply to all of them."));
    fillLanes({nodes.begin(), nodes.end()});
}

/// A module that was made from a module op has the attributes of that. Returns false for other selections.
bool Inspector::showModule() {
    const ModuleOp* op = selectedModule(m_document);
    if (!op) return false;
    const Graph& graph = m_document.graph();
    m_title->setText(toQt(graph.find(moduleOf(graph, m_document.selection()))->title));
    m_doc->setText(tr("%1, version %2. %3").arg(toQt(op->name)).arg(op->version).arg(docOf(*op)));
    m_attributes->showModule(*op);
    const std::set<NodeId>& selected = m_document.selection().nodes;
    fillLanes({selected.begin(), selected.end()});
    return true;
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
    const SelectionFacts figures(m_document, m_runs, m_isTrained ? &m_training : nullptr);
    if (const Node* node = onlyNode()) {
        m_factsHeading->setText(tr("Output"));
        m_facts->setRows(figures.ofNode(*node));
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
        m_facts->setRows(figures.ofEdge(*selection.edge));
        showTensor(selection.edge->from);
        m_tensorSection->setVisible(true);
        return;
    }
    m_factsHeading->setText(selection.nodes.empty() ? tr("Graph") : tr("Selection"));
    if (!selection.nodes.empty()) {
        m_facts->setRows({{tr("nodes"), grouped(qint64(selection.nodes.size()))}});
        return;
    }
    m_facts->setRows(figures.ofGraph());
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

} // namespace twb
