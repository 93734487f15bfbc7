#include "widgets/learn_dialog.h"

#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "widgets/labels.h"
#include "widgets/number_box.h"
#include "widgets/text.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kWidth = 520;

quint64 keyOf(NodeId id) { return static_cast<quint64>(id); }

/// Whether the node's output 0 can be a loss: one floating number that is computed.
bool mayBeLoss(const Analysis& analysis, const NodeFacts& facts) {
    const std::optional<TensorType>& type = analysis.typeOf({facts.id, 0});
    return facts.op && facts.op->role == OpRole::compute && type && type->isKnown() &&
           isFloating(type->dtype) && type->shape.elementCount() == 1;
}

} // namespace

LearnDialog::LearnDialog(const Document& document, QWidget* parent)
    : QDialog(parent), m_document(document), m_loss(new QComboBox), m_parameters(new QListWidget),
      m_optimizer(new QComboBox), m_rate(new NumberBox(0, 1000, 0.001, 6)),
      m_momentum(new NumberBox(0, 1, 0, 4)), m_decay(new NumberBox(0, 10, 0.01, 6)),
      m_schedule(new QComboBox), m_steps(new QSpinBox), m_warmup(new QSpinBox),
      m_clip(new NumberBox(0, 1e6, 0, 4)), m_problem(makeLabel({}, TextRole::body, QStringLiteral("error"))),
      m_buttons(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel)) {
    setObjectName(QStringLiteral("learn"));
    setWindowTitle(tr("Add training to the graph"));
    const Graph& graph = document.graph();
    const Selection& selection = document.selection();
    // A selected node first, then losses by their name, then all others.
    std::vector<std::pair<int, NodeId>> losses;
    for (const NodeFacts& facts : document.analysis().nodes) {
        if (!mayBeLoss(document.analysis(), facts)) continue;
        const bool isSelected = selection.nodes.contains(facts.id);
        const bool isNamed =
            facts.op->name.ends_with("Loss") ||
            toQt(graph.find(facts.id)->name).contains(QStringLiteral("loss"), Qt::CaseInsensitive);
        losses.emplace_back(isSelected                         ? 0
                            : isNamed                          ? 1
                            : graph.outgoing(facts.id).empty() ? 2
                                                               : 3,
                            facts.id);
    }
    std::ranges::sort(losses);
    for (const auto& [order, id] : losses)
        m_loss->addItem(QStringLiteral("%1 (%2)").arg(toQt(graph.find(id)->name), toQt(graph.find(id)->op)),
                        keyOf(id));
    m_loss->setObjectName(QStringLiteral("loss"));
    m_parameters->setObjectName(QStringLiteral("parameters"));
    m_parameters->setAccessibleName(tr("Parameters"));
    m_parameters->setMaximumHeight(140);
    m_optimizer->setObjectName(QStringLiteral("optimizer"));
    for (const OptimizerName& known : optimizerNames())
        m_optimizer->addItem(toQt(known.title), toQt(known.name));
    m_optimizer->setCurrentText(QStringLiteral("AdamW"));
    m_rate->setObjectName(QStringLiteral("rate"));
    m_momentum->setObjectName(QStringLiteral("momentum"));
    m_schedule->setObjectName(QStringLiteral("schedule"));
    const std::pair<const char*, QString> schedules[] = {{"constant", tr("Constant")},
                                                         {"step", tr("Step")},
                                                         {"exponential", tr("Exponential")},
                                                         {"cosine", tr("Cosine")},
                                                         {"one_cycle", tr("One cycle")}};
    for (const auto& [name, title] : schedules) m_schedule->addItem(title, QString::fromLatin1(name));
    m_steps->setRange(1, 1000000000);
    m_steps->setValue(1000);
    m_steps->setToolTip(tr(
        "Length of the schedule after the warm-up. The schedule “Step” divides the learning rate by 10 after "
        "each third; “Exponential” ends at 1 % of the initial rate."));
    m_warmup->setRange(0, 1000000000);
    m_clip->setSpecialValueText(tr("Off"));
    m_problem->setWordWrap(true);

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(8);
    form->addRow(tr("Loss"), m_loss);
    form->addRow(tr("Parameters"), m_parameters);
    form->addRow(tr("Optimizer"), m_optimizer);
    form->addRow(tr("Learning rate"), m_rate);
    form->addRow(tr("Momentum"), m_momentum);
    form->addRow(tr("Weight decay"), m_decay);
    form->addRow(tr("Schedule"), m_schedule);
    form->addRow(tr("Schedule steps"), m_steps);
    form->addRow(tr("Warm-up steps"), m_warmup);
    form->addRow(tr("Max gradient norm"), m_clip);
    auto* intro = makeLabel(tr("Adds the backward pass and the optimizer to the graph, in one module."),
                            TextRole::body, QStringLiteral("secondary"));
    intro->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addWidget(intro);
    layout->addLayout(form);
    layout->addWidget(m_problem);
    layout->addWidget(m_buttons);
    m_buttons->button(QDialogButtonBox::Ok)->setText(tr("Add training"));
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_loss, &QComboBox::currentIndexChanged, this, &LearnDialog::listParameters);
    connect(m_optimizer, &QComboBox::currentIndexChanged, this, &LearnDialog::showSettings);
    connect(m_schedule, &QComboBox::currentIndexChanged, this, &LearnDialog::showSettings);
    connect(m_parameters, &QListWidget::itemChanged, this, &LearnDialog::check);
    resize(kWidth, sizeHint().height());
    listParameters();
    showSettings();
}

NodeId LearnDialog::loss() const { return static_cast<NodeId>(m_loss->currentData().toULongLong()); }

void LearnDialog::listParameters() {
    m_parameters->clear();
    if (m_loss->count() > 0)
        for (const NodeId id : parametersOf(m_document.graph(), m_document.analysis(), loss())) {
            const auto& type = m_document.analysis().typeOf({id, 0});
            auto* item =
                new QListWidgetItem(QStringLiteral("%1   %2").arg(toQt(m_document.graph().find(id)->name),
                                                                  toQt(type->toString())),
                                    m_parameters);
            item->setData(Qt::UserRole, keyOf(id));
            item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
            item->setCheckState(Qt::Checked);
        }
    check();
}

std::vector<NodeId> LearnDialog::parameters() const {
    std::vector<NodeId> out;
    for (int row = 0; row < m_parameters->count(); ++row)
        if (m_parameters->item(row)->checkState() == Qt::Checked)
            out.push_back(static_cast<NodeId>(m_parameters->item(row)->data(Qt::UserRole).toULongLong()));
    return out;
}

void LearnDialog::check() {
    const QString problem =
        m_loss->count() == 0 ? tr("The graph has no loss. Add a node that computes one floating-point "
                                  "number, such as SoftmaxCrossEntropyLoss.")
        : m_parameters->count() == 0
            ? tr("The loss does not depend on any parameter. Add Parameter nodes upstream of it.")
        : parameters().empty() ? tr("Choose at least one parameter.")
                               : QString();
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(problem.isEmpty());
}

/// The settings that the optimizer and the schedule have.
void LearnDialog::showSettings() {
    const Op& op = *findOp(std::string(optimizerOp(m_optimizer->currentData().toString().toStdString())));
    m_momentum->setEnabled(op.attribute("momentum") != nullptr);
    if (!m_momentum->isEnabled()) m_momentum->setValue(0);
    if (sender() == m_optimizer || !sender()) {
        m_rate->setValue(std::get<double>(*op.attribute("lr")->defaultValue));
        m_decay->setValue(std::get<double>(*op.attribute("weight_decay")->defaultValue));
    }
    m_steps->setEnabled(m_schedule->currentData() != QStringLiteral("constant"));
}

Optimizer LearnDialog::optimizer() const {
    Optimizer out;
    out.op = optimizerOp(m_optimizer->currentData().toString().toStdString());
    out.rate = {{"lr", m_rate->value()}};
    setSchedule(out.rate, m_schedule->currentData().toString().toStdString(), m_steps->value(),
                m_warmup->value());
    if (m_momentum->value() > 0) out.attributes.set("momentum", m_momentum->value());
    out.attributes.set("weight_decay", m_decay->value());
    out.clipNorm = m_clip->value();
    return out;
}

} // namespace twb
