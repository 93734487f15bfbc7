#include "widgets/settings_dialog.h"

#include "core/error.h"
#include "widgets/labels.h"
#include "widgets/settings.h"
#include "widgets/shortcut_table.h"
#include "widgets/text.h"
#include "widgets/trust_table.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QMessageBox>
#include <QSpinBox>
#include <QTabWidget>
#include <QVBoxLayout>

namespace twb {
namespace {

const char* const kStandard = "standardShortcut";
const char* const kAlso = "secondShortcut";
constexpr int kMostThreads = 1024;
constexpr int kMostSeconds = 600;
constexpr int kFieldWidth = 216;

/// For translators.
struct SettingsWords {
    Q_DECLARE_TR_FUNCTIONS(SettingsDialog)
};

QComboBox* makeChoice(const char* name, const QString& present,
                      const std::vector<std::pair<QString, QString>>& choices) {
    auto* box = new QComboBox;
    box->setObjectName(QLatin1String(name));
    box->setFixedWidth(kFieldWidth);
    for (const auto& [key, text] : choices) box->addItem(text, key);
    box->setCurrentIndex(std::max(0, box->findData(present)));
    return box;
}

/// The first page.
struct General {
    QWidget* page = new QWidget;
    QComboBox* theme;
    QComboBox* language;
    QComboBox* policy;
    QComboBox* profile;
    QSpinBox* threads = new QSpinBox;
    QSpinBox* autosave = new QSpinBox;
    QLineEdit* editor = new QLineEdit;
    QCheckBox* simplify = new QCheckBox(SettingsWords::tr("Simplify the graph"));
    QCheckBox* restore = new QCheckBox(SettingsWords::tr("Reopen the files of the last session"));

    explicit General(const ProfileLibrary& profiles) {
        theme = makeChoice("settingsTheme", settings::theme(),
                           {{QString(), SettingsWords::tr("Same as system")},
                            {QStringLiteral("dark"), SettingsWords::tr("Dark")},
                            {QStringLiteral("light"), SettingsWords::tr("Light")},
                            {QStringLiteral("high-contrast"), SettingsWords::tr("High contrast")}});
        language = makeChoice("settingsLanguage", settings::language(),
                              {{QString(), SettingsWords::tr("Same as system")},
                               {QStringLiteral("en"), QStringLiteral("English")},
                               {QStringLiteral("de"), QStringLiteral("Deutsch")}});
        policy = makeChoice("settingsPolicy", toQt(settings::policy().toString()),
                            {{toQt(Policy::strict.toString()), SettingsWords::tr("Strict")},
                             {toQt(Policy::implicit.toString()), SettingsWords::tr("Implicit")}});
        std::vector<std::pair<QString, QString>> all;
        for (const DeviceProfile& p : profiles.all()) all.emplace_back(toQt(p.id), toQt(p.name));
        profile = makeChoice("settingsProfile", settings::profile(profiles), all);
        threads->setObjectName(QStringLiteral("settingsThreads"));
        threads->setRange(0, kMostThreads);
        threads->setSpecialValueText(SettingsWords::tr("All"));
        threads->setValue(settings::threads());
        threads->setFixedWidth(kFieldWidth);
        threads->setToolTip(SettingsWords::tr("Sets the number of CPU threads for runs, after a restart."));
        autosave->setObjectName(QStringLiteral("settingsAutosave"));
        autosave->setRange(1, kMostSeconds);
        autosave->setSuffix(SettingsWords::tr(" s"));
        autosave->setValue(
            int(std::chrono::ceil<std::chrono::seconds>(settings::autosaveInterval()).count()));
        autosave->setFixedWidth(kFieldWidth);
        editor->setObjectName(QStringLiteral("settingsEditor"));
        editor->setText(settings::editor());
        editor->setPlaceholderText(SettingsWords::tr("Same as desktop"));
        editor->setFixedWidth(kFieldWidth);
        editor->setToolTip(SettingsWords::tr(
            "Sets the command that opens a line of an imported program, such as: code -g %f:%l"));
        simplify->setObjectName(QStringLiteral("settingsSimplify"));
        simplify->setChecked(settings::simplifiesImports());
        simplify->setToolTip(
            SettingsWords::tr("Computes constants and replaces composed ops, such as a layer norm, "
                              "with one op. Undo restores the imported graph."));
        restore->setObjectName(QStringLiteral("settingsRestore"));
        restore->setChecked(settings::restoresSession());
        auto* form = new QFormLayout(page);
        form->setContentsMargins(4, 16, 4, 4);
        form->setHorizontalSpacing(24);
        form->setVerticalSpacing(12);
        form->setFieldGrowthPolicy(QFormLayout::FieldsStayAtSizeHint);
        form->addRow(SettingsWords::tr("&Theme"), theme);
        form->addRow(SettingsWords::tr("&Language (after restart)"), language);
        form->addRow(SettingsWords::tr("&Policy of new graphs"), policy);
        form->addRow(SettingsWords::tr("Simulate a missing &GPU as"), profile);
        form->addRow(SettingsWords::tr("CPU t&hreads (after restart)"), threads);
        form->addRow(SettingsWords::tr("&Autosave after"), autosave);
        form->addRow(SettingsWords::tr("&Editor for source lines"), editor);
        form->addRow(SettingsWords::tr("On import"), simplify);
        form->addRow(SettingsWords::tr("On startup"), restore);
    }

    void write() const {
        settings::setTheme(theme->currentData().toString());
        settings::setLanguage(language->currentData().toString());
        if (const auto chosen = Policy::parse(policy->currentData().toString().toStdString()))
            settings::setPolicy(*chosen);
        settings::setProfile(profile->currentData().toString());
        // The settings file may have fractions of a second; this field shows them rounded and does not change
        // them.
        const std::chrono::seconds seconds(autosave->value());
        if (std::chrono::ceil<std::chrono::seconds>(settings::autosaveInterval()) != seconds)
            settings::setAutosaveInterval(seconds);
        settings::setThreads(threads->value());
        settings::setEditor(editor->text());
        settings::setSimplifiesImports(simplify->isChecked());
        settings::setRestoresSession(restore->isChecked());
    }
};

} // namespace

void makeEditable(QAction& action, const QKeySequence& standard, const QKeySequence& also) {
    action.setProperty(kStandard, QVariant::fromValue(standard));
    action.setProperty(kAlso, QVariant::fromValue(also));
    readShortcut(action);
}

void readShortcut(QAction& action) {
    const auto standard = action.property(kStandard).value<QKeySequence>();
    if (standard.isEmpty()) return;
    QList<QKeySequence> keys{settings::shortcut(standard), action.property(kAlso).value<QKeySequence>()};
    keys.removeAll(QKeySequence());
    action.setShortcuts(keys);
}

bool askForSettings(const ProfileLibrary& profiles, const QList<QAction*>& actions, SettingsPage page,
                    QWidget* parent) {
    QDialog dialog(parent);
    dialog.setObjectName(QStringLiteral("settings"));
    dialog.setWindowTitle(SettingsWords::tr("Settings"));
    dialog.resize(600, 480);
    const General general(profiles);
    auto* shortcuts = new ShortcutTable;
    for (const QAction* action : actions) {
        const auto standard = action->property(kStandard).value<QKeySequence>();
        if (!standard.isEmpty()) shortcuts->add(*action, standard, settings::shortcut(standard));
        for (const QKeySequence& keys : action->shortcuts())
            if (standard.isEmpty() || keys == action->property(kAlso).value<QKeySequence>())
                shortcuts->reserve(*action, keys);
    }
    auto* pages = new QTabWidget;
    pages->addTab(general.page, SettingsWords::tr("General"));
    pages->addTab(shortcuts, SettingsWords::tr("Shortcuts"));
    auto* trust = new TrustTable;
    pages->addTab(trust, SettingsWords::tr("Plug-ins"));
    pages->setCurrentIndex(page == SettingsPage::shortcuts ? 1 : 0);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    QObject::connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(&dialog);
    layout->setContentsMargins(16, 12, 16, 16);
    layout->setSpacing(12);
    layout->addWidget(pages, 1);
    layout->addWidget(buttons);
    if (dialog.exec() != QDialog::Accepted) return false;
    general.write();
    for (const ShortcutTable::Row& row : shortcuts->rows()) settings::setShortcut(row.standard, row.chosen);
    try {
        trust->write();
    } catch (const Error& error) {
        QMessageBox::warning(parent, SettingsWords::tr("Settings"), toQt(error.what()));
    }
    return true;
}

} // namespace twb
