#include "widgets/run_bar.h"

#include "formats/own_profiles.h"
#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/text.h"
#include "widgets/wheel_guard.h"

#include <QActionGroup>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStyle>
#include <QStyleOptionSpinBox>

#include <algorithm>

namespace twb {
namespace {

constexpr int kHeight = 48;
constexpr int kMostBrief = 4;
constexpr int kLeastTitle = 88;  ///< px
constexpr int kLeastWidth = 640; ///< of the bar, px
constexpr double kTitleShare =
    0.16; ///< the title's share of the bar; constant, so that the following widgets do not move

constexpr int kIterationsWidth = 96; ///< px
constexpr int kAroundNumber = 8;     ///< px: the margins and the cursor of a line edit
constexpr int kMostIterations = 1'000'000'000;

QString behind(const Document& document, Device device) {
    const Backend* backend = document.devices().find(device);
    return backend ? toQt(backend->info().name) : QObject::tr("no hardware");
}

} // namespace

void addDeviceChoices(QMenu& menu, const Document& document, Device device,
                      const std::function<void(const DeviceChoice&)>& choose) {
    const QString present = behind(document, device);
    auto* group = new QActionGroup(&menu);
    const auto add = [&](const QString& text, bool checked, const DeviceChoice& choice) {
        QAction* action = menu.addAction(text);
        action->setCheckable(true);
        action->setChecked(checked);
        group->addAction(action);
        QObject::connect(action, &QAction::triggered, &menu, [choose, choice] { choose(choice); });
    };
    const auto addProfile = [&](const DeviceProfile& profile, const std::string& choice) {
        const QString name = QObject::tr("Simulated %1").arg(toQt(profile.name));
        const QString text =
            profile.link.empty() ? name : QStringLiteral("%1 · %2").arg(name, toQt(profile.link));
        add(text, document.devices().isSimulated(device) && present.endsWith(toQt(profile.name)),
            {device, choice});
    };
    for (const DeviceProfile& profile : document.profiles().all()) addProfile(profile, profile.id);
    const auto kept = keptProfiles();
    if (!kept.empty()) menu.addSeparator();
    for (const auto& [path, profile] : kept) addProfile(profile, path.string());
    if (device.rank != 0) return; // another process has the real one
    menu.addSeparator();
    add(QObject::tr("Real GPU (%1)").arg(toQt(device.toString())), !document.devices().isSimulated(device),
        {device, ""});
}

RunBar::RunBar(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_name(new QWidget), m_title(new ElidedLabel),
      m_edited(makeLabel(tr("· edited"), TextRole::body, QStringLiteral("secondary"))),
      m_run(new QPushButton(tr("Run"))), m_continuous(new QPushButton(tr("Run continuously"))),
      m_step(new QPushButton(tr("Step"))), m_stop(new QPushButton),
      m_iterationsLabel(makeLabel(tr("Iterations"), TextRole::body, QStringLiteral("secondary"))),
      m_iterations(new QSpinBox),
      m_policyLabel(makeLabel(tr("Policy"), TextRole::body, QStringLiteral("secondary"))),
      m_policy(new QComboBox), m_devices(new QHBoxLayout), m_layout(new QHBoxLayout(this)) {
    setProperty("surface", QStringLiteral("panel"));
    setAttribute(Qt::WA_StyledBackground);
    setFixedHeight(kHeight);
    setAccessibleName(tr("Run bar"));

    m_title->setFont(twb::font(TextRole::nodeTitle));
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_run->setObjectName(QStringLiteral("run"));
    m_run->setProperty("role", QStringLiteral("primary"));
    m_continuous->setObjectName(QStringLiteral("runContinuously"));
    m_continuous->setAccessibleName(tr("Run continuously"));
    m_continuous->setToolTip(tr("Runs the graph until you stop it (Ctrl+F5)."));
    m_step->setObjectName(QStringLiteral("step"));
    m_step->setToolTip(tr("Runs the next step, then pauses the run (F10)."));
    m_stop->setObjectName(QStringLiteral("stop"));
    m_stop->setAccessibleName(tr("Stop"));
    m_stop->setToolTip(tr("Stops the run (Shift+F5)."));
    m_stop->setFixedWidth(36);
    m_iterations->setObjectName(QStringLiteral("iterations"));
    m_iterations->setAccessibleName(tr("Iterations"));
    m_iterations->setToolTip(tr("Sets the number of iterations per run."));
    m_iterations->setRange(1, kMostIterations);
    m_iterations->setGroupSeparatorShown(true);
    m_iterations->setKeyboardTracking(false);
    m_iterations->setFont(twb::font(TextRole::figure));
    m_iterations->setAlignment(Qt::AlignRight);
    m_policy->setObjectName(QStringLiteral("policy"));
    m_policy->setAccessibleName(tr("Policy"));
    m_policy->setToolTip(
        tr("Treats an operand on another device as an error (strict), copies it (implicit), or "
           "allows, logs or disallows the copy by its direction (guard)."));
    m_policy->addItem(tr("Strict"), int(Policy::Kind::strict));
    m_policy->addItem(tr("Implicit"), int(Policy::Kind::implicit));
    m_policy->addItem(tr("Guard"), int(Policy::Kind::guard));
    m_policy->setMinimumWidth(96);
    m_policy->setFocusPolicy(Qt::TabFocus);
    needFocusForWheel(*m_iterations);
    needFocusForWheel(*m_policy);

    m_devices->setContentsMargins(0, 0, 0, 0);
    m_devices->setSpacing(8);
    m_layout->setContentsMargins(16, 0, 12, 0);
    m_layout->setSpacing(8);
    auto* name = new QHBoxLayout(m_name);
    name->setContentsMargins(0, 0, 0, 0);
    name->setSpacing(6);
    name->addWidget(m_title, 1000);
    name->addWidget(m_edited);
    name->addStretch(1);
    m_layout->addWidget(m_name);
    m_layout->addWidget(m_run);
    m_layout->addWidget(m_continuous);
    m_layout->addWidget(m_step);
    m_layout->addWidget(m_stop);
    m_layout->addSpacing(8);
    m_layout->addWidget(m_iterationsLabel);
    m_layout->addWidget(m_iterations);
    m_layout->addSpacing(8);
    m_layout->addWidget(m_policyLabel);
    m_layout->addWidget(m_policy);
    m_layout->addSpacing(8);
    m_layout->addLayout(m_devices);
    m_layout->addStretch(1);

    connect(m_run, &QPushButton::clicked, this, &RunBar::runRequested);
    connect(m_continuous, &QPushButton::clicked, this, &RunBar::continuousRequested);
    connect(m_step, &QPushButton::clicked, this, &RunBar::stepRequested);
    connect(m_stop, &QPushButton::clicked, this, &RunBar::stopRequested);
    connect(m_iterations, &QSpinBox::valueChanged, this, &RunBar::iterationsChosen);
    connect(m_iterations, &QSpinBox::textChanged, this, &RunBar::fitIterations);
    // The box does not report a number that is being typed.
    connect(m_iterations->findChild<QLineEdit*>(), &QLineEdit::textEdited, this, &RunBar::fitIterations);
    connect(m_policy, &QComboBox::activated, this,
            [this](int index) { choosePolicy(Policy::Kind(m_policy->itemData(index).toInt())); });
    connect(&m_document, &Document::changed, this, &RunBar::refresh);
    connect(&m_document, &Document::reset, this, &RunBar::refresh);
    connect(&m_document, &Document::pathChanged, this, &RunBar::refresh);
    connect(&m_document, &Document::modifiedChanged, this, &RunBar::refresh);
    connect(&m_document, &Document::reset, this, &RunBar::refreshDevices);
    connect(&m_document, &Document::changed, this, [this](const Delta& delta) {
        if (!delta.lanes.empty()) refreshDevices();
    });
    connect(&m_document, &Document::devicesChanged, this, &RunBar::refreshDevices);
    connect(&m_runs, &RunController::preparing, this, &RunBar::refreshRun);
    connect(&m_runs, &RunController::finished, this, &RunBar::refreshRun);
    connect(&m_runs, &RunController::stopped, this, &RunBar::refreshRun);
    connect(&m_runs, &RunController::resumed, this, &RunBar::refreshRun);
    setIcons();
    fitIterations();
    refresh();
    refreshDevices();
    refreshRun();
}

void RunBar::setTrailing(QWidget* widget) { m_layout->addWidget(widget, 100); }

std::int64_t RunBar::iterations() const {
    m_iterations->interpretText(); // commits a number that is being typed
    return m_iterations->value();
}

void RunBar::focusIterations() {
    m_iterations->setFocus(Qt::ShortcutFocusReason);
    m_iterations->selectAll();
}

void RunBar::setIcons() {
    const Theme& theme = Theme::current();
    m_run->setIcon(icon(QStringLiteral("run"), theme.onAccent));
    m_continuous->setIcon(icon(QStringLiteral("repeat"), theme.text));
    m_stop->setIcon(icon(QStringLiteral("stop"), theme.text));
    for (QPushButton* button : {m_run, m_continuous}) button->setIconSize({18, 14});
    m_stop->setIconSize({14, 14});
}

void RunBar::choosePolicy(Policy::Kind kind) {
    const Policy now = m_document.graph().info().policy;
    if (kind == now.kind()) return;
    Q_EMIT policyChosen(kind == Policy::Kind::strict     ? Policy::strict
                        : kind == Policy::Kind::implicit ? Policy::implicit
                                                         : *Policy::parse("guard"));
}

void RunBar::refresh() {
    m_title->setText(m_document.title());
    m_title->setMaximumWidth(m_title->fontMetrics().horizontalAdvance(m_document.title()) + 2);
    m_edited->setVisible(m_document.isModified());
    const int iterations = int(std::min<std::int64_t>(m_document.graph().info().iterations, kMostIterations));
    if (iterations != m_iterations->value()) { // else a number that is being typed would be lost
        const QSignalBlocker blocker(m_iterations);
        m_iterations->setValue(iterations);
        fitIterations();
    }
    m_policy->setCurrentIndex(m_policy->findData(int(m_document.graph().info().policy.kind())));
}

void RunBar::refreshDevices() {
    while (QLayoutItem* item = m_devices->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // this button's menu may have triggered the change
        delete item;
    }
    std::vector<Device> gpus;
    for (const Device device : m_document.devices().devices())
        if (device.isCuda()) gpus.push_back(device);
    // If auto chose cpu because there is no GPU, a GPU can be simulated.
    const auto& lanes = m_document.graph().lanes();
    if (gpus.empty() &&
        std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.device.isAuto(); }))
        gpus.push_back(Device::cuda(0));
    // More than two buttons do not fit; a single button then has one menu per device.
    const bool together = gpus.size() > 2;
    auto choose = [this](const DeviceChoice& choice) { Q_EMIT deviceChosen(choice); };
    const auto makeButton = [&](const QString& text, const QString& tip) {
        auto* button = new QPushButton(text);
        button->setProperty("role", QStringLiteral("menu"));
        button->setMenu(new QMenu(button));
        button->setFocusPolicy(Qt::TabFocus);
        button->setToolTip(tip);
        m_devices->addWidget(button);
        button->show(); // immediately, because fit() counts it
        return button;
    };
    const auto addElsewhere = [this](QMenu& menu) {
        menu.addSeparator();
        menu.addAction(tr("Predict on several ranks…"), this, &RunBar::ranksRequested);
        menu.addAction(tr("Run on another machine…"), this, &RunBar::thereRequested);
    };
    QPushButton* all =
        together ? makeButton(tr("%1 GPUs").arg(gpus.size()), tr("Chooses the hardware for each GPU."))
                 : nullptr;
    for (const Device device : gpus) {
        const QString name = toQt(device.toString());
        const QString what = QStringLiteral("%1: %2").arg(name, behind(m_document, device));
        if (together) {
            addDeviceChoices(*all->menu()->addMenu(what), m_document, device, choose);
            continue;
        }
        QPushButton* button = makeButton(what, tr("Chooses the hardware for %1.").arg(name));
        button->setObjectName(QStringLiteral("device.") + name);
        button->setProperty("longText", what);
        button->setProperty("shortText", name);
        button->setAccessibleName(tr("Hardware for %1").arg(name));
        addDeviceChoices(*button->menu(), m_document, device, choose);
        addElsewhere(*button->menu());
    }
    if (all) addElsewhere(*all->menu());
    fit();
}

void RunBar::refreshRun() {
    const bool running = m_runs.isRunning();
    const bool stands = m_runs.isStopped();
    m_run->setEnabled(!running || stands);
    m_run->setText(stands ? tr("Continue") : tr("Run"));
    m_run->setToolTip(stands ? tr("Continues to the next breakpoint (F5).") : tr("Runs the graph (F5)."));
    m_continuous->setEnabled(!running);
    m_continuous->setVisible(!stands);
    m_step->setVisible(stands);
    m_stop->setEnabled(running);
    fit();
}

/// What a narrow bar hides, in order: labels, the text of buttons with an icon, the hardware of devices, then
/// the title, which the window also has.
void RunBar::leaveOut(int brevity) {
    m_iterationsLabel->setVisible(brevity < 1);
    m_policyLabel->setVisible(brevity < 1);
    m_continuous->setText(brevity < 2 ? tr("Run continuously") : QString());
    for (int i = 0; i < m_devices->count(); ++i) {
        QWidget* button = m_devices->itemAt(i)->widget();
        const QVariant text = button->property(brevity < 3 ? "longText" : "shortText");
        if (text.isValid()) static_cast<QPushButton*>(button)->setText(text.toString());
    }
    m_name->setVisible(brevity < kMostBrief);
    m_name->setFixedWidth(brevity < 3 ? int(kTitleShare * width()) : kLeastTitle);
    m_devices->invalidate();
    m_layout->invalidate();
}

/// The field is as wide as its number, and no narrower than one of six digits.
void RunBar::fitIterations() {
    QStyleOptionSpinBox option;
    option.initFrom(m_iterations);
    option.subControls = QStyle::SC_SpinBoxFrame | QStyle::SC_SpinBoxEditField | QStyle::SC_SpinBoxUp;
    const QRect edit = m_iterations->style()->subControlRect(QStyle::CC_SpinBox, &option,
                                                             QStyle::SC_SpinBoxEditField, m_iterations);
    const int around = m_iterations->width() - edit.width();
    const int number = m_iterations->fontMetrics().horizontalAdvance(m_iterations->text());
    const int needed = around + number + kAroundNumber;
    m_iterations->setFixedWidth(std::max(kIterationsWidth, needed));
    fit();
}

/// Hides no more than necessary.
void RunBar::fit() {
    for (int brevity = 0; brevity <= kMostBrief; ++brevity) {
        leaveOut(brevity);
        if (m_layout->totalMinimumSize().width() <= width()) return;
    }
}

QSize RunBar::minimumSizeHint() const { return {kLeastWidth, kHeight}; }

void RunBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void RunBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) setIcons();
}

} // namespace twb
