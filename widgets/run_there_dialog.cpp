#include "widgets/run_there_dialog.h"

#include "widgets/labels.h"
#include "widgets/settings.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace twb {
namespace {

constexpr int kDialogWidth = 520;
constexpr int kMostRanks = 1024;
const QString kScheme = QStringLiteral("ssh:");

} // namespace

RunThereDialog::RunThereDialog(QWidget* parent)
    : QDialog(parent), m_machine(new QComboBox), m_program(new QLineEdit), m_ranks(new QSpinBox),
      m_buttons(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel)),
      m_calibrate(m_buttons->addButton(tr("Calibrate"), QDialogButtonBox::ActionRole)) {
    setObjectName(QStringLiteral("runThere"));
    setWindowTitle(tr("Run on another machine"));
    m_machine->setObjectName(QStringLiteral("machine"));
    m_machine->setEditable(true);
    m_machine->setInsertPolicy(QComboBox::NoInsert);
    m_machine->addItems(settings::machines());
    m_machine->setAccessibleName(tr("Machine"));
    m_machine->lineEdit()->setPlaceholderText(tr("user@host or host:folder"));
    m_program->setObjectName(QStringLiteral("program"));
    m_program->setAccessibleName(tr("Path of twb there"));
    m_program->setPlaceholderText(tr("Empty: found through PATH"));
    m_program->setText(settings::machineProgram());

    m_ranks->setObjectName(QStringLiteral("ranks"));
    m_ranks->setAccessibleName(tr("Ranks"));
    m_ranks->setRange(1, kMostRanks);
    m_ranks->setToolTip(tr("Sets the number of processes that mpirun starts on that machine. Each runs the "
                           "graph."));

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(12);
    form->setVerticalSpacing(8);
    form->addRow(tr("Machine"), m_machine);
    form->addRow(tr("Path of twb there"), m_program);
    form->addRow(tr("Ranks"), m_ranks);
    QLabel* help =
        makeLabel(tr("Copies the project and its data files to the machine by ssh, runs the graph there, and "
                     "shows the times measured there. The machine needs the command-line program twb in "
                     "the same version. ssh cannot ask for a password: use a key or an agent."),
                  TextRole::body, QStringLiteral("secondary"));
    help->setWordWrap(true);
    m_buttons->button(QDialogButtonBox::Ok)->setText(tr("Run"));
    m_calibrate->setObjectName(QStringLiteral("calibrate"));
    m_calibrate->setToolTip(tr("Measures the first GPU of that machine, or its CPU if it has none, and keeps "
                               "its profile for simulated GPUs."));
    connect(m_buttons, &QDialogButtonBox::accepted, this, [this] { choose(Accepted); });
    connect(m_calibrate, &QPushButton::clicked, this, [this] { choose(kCalibrate); });
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_machine, &QComboBox::editTextChanged, this, &RunThereDialog::refresh);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addWidget(help);
    layout->addLayout(form);
    layout->addStretch(1);
    layout->addWidget(m_buttons);
    resize(kDialogWidth, sizeHint().height());
    m_machine->setFocus();
    m_machine->lineEdit()->selectAll();
    refresh();
}

QString RunThereDialog::machine() const {
    const QString typed = m_machine->currentText().trimmed();
    return typed.startsWith(kScheme) ? typed.mid(kScheme.size()) : typed;
}

QString RunThereDialog::place() const { return kScheme + machine(); }

QString RunThereDialog::program() const { return m_program->text().trimmed(); }

int RunThereDialog::ranks() const { return m_ranks->value(); }

void RunThereDialog::refresh() {
    for (QPushButton* button : {m_buttons->button(QDialogButtonBox::Ok), m_calibrate})
        button->setEnabled(!machine().isEmpty());
}

void RunThereDialog::choose(int result) {
    settings::rememberMachine(machine());
    settings::setMachineProgram(program());
    done(result);
}

} // namespace twb
