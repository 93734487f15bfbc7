#include "widgets/settings.h"

#include "widgets/text.h"

#include <QSettings>

#include <algorithm>

namespace twb::settings {
namespace {

constexpr std::chrono::milliseconds kAutosave{10'000};
constexpr qsizetype kMostMachines = 8;

const QString kTheme = QStringLiteral("theme");
const QString kLanguage = QStringLiteral("language");
const QString kEditor = QStringLiteral("editor");
const QString kAutosaveSeconds = QStringLiteral("autosaveSeconds");
const QString kRestore = QStringLiteral("restoreSession");
const QString kSimplify = QStringLiteral("simplifyImports");
const QString kThreads = QStringLiteral("threads");
const QString kPolicy = QStringLiteral("policy");
const QString kMachines = QStringLiteral("machines");
const QString kMachineProgram = QStringLiteral("machineProgram");
const QString kProfile = QStringLiteral("profile");

QString keyOf(const QKeySequence& standard) {
    return QStringLiteral("shortcuts/") + standard.toString(QKeySequence::PortableText);
}

} // namespace

QString theme() { return QSettings().value(kTheme).toString(); }
void setTheme(const QString& name) { QSettings().setValue(kTheme, name); }

QString language() { return QSettings().value(kLanguage).toString(); }
void setLanguage(const QString& code) { QSettings().setValue(kLanguage, code); }

QStringList machines() { return QSettings().value(kMachines).toStringList(); }
void rememberMachine(const QString& machine) {
    QStringList all = machines();
    all.removeAll(machine);
    all.prepend(machine);
    QSettings().setValue(kMachines, all.mid(0, kMostMachines));
}

QString machineProgram() { return QSettings().value(kMachineProgram).toString(); }
void setMachineProgram(const QString& program) { QSettings().setValue(kMachineProgram, program); }

QString editor() { return QSettings().value(kEditor).toString().trimmed(); }
void setEditor(const QString& command) { QSettings().setValue(kEditor, command); }

std::chrono::milliseconds autosaveInterval() {
    const double seconds = QSettings().value(kAutosaveSeconds).toDouble();
    return seconds > 0 ? std::chrono::milliseconds(std::int64_t(seconds * 1000)) : kAutosave;
}
void setAutosaveInterval(std::chrono::milliseconds interval) {
    QSettings().setValue(kAutosaveSeconds, double(interval.count()) / 1000);
}

int threads() { return std::max(0, QSettings().value(kThreads).toInt()); }
void setThreads(int count) { QSettings().setValue(kThreads, count); }

bool restoresSession() { return QSettings().value(kRestore, true).toBool(); }
void setRestoresSession(bool restores) { QSettings().setValue(kRestore, restores); }

bool simplifiesImports() { return QSettings().value(kSimplify, true).toBool(); }
void setSimplifiesImports(bool simplifies) { QSettings().setValue(kSimplify, simplifies); }

Policy policy() {
    return Policy::parse(QSettings().value(kPolicy).toString().toStdString()).value_or(Policy::strict);
}
void setPolicy(Policy policy) { QSettings().setValue(kPolicy, toQt(policy.toString())); }

QString profile(const ProfileLibrary& library) {
    const QString chosen = QSettings().value(kProfile).toString();
    const auto& all = library.all();
    const bool isThere =
        std::any_of(all.begin(), all.end(), [&](const DeviceProfile& p) { return toQt(p.id) == chosen; });
    return isThere ? chosen : toQt(kDefaultProfile);
}
void setProfile(const QString& id) { QSettings().setValue(kProfile, id); }

QKeySequence shortcut(const QKeySequence& standard) {
    const QVariant chosen = QSettings().value(keyOf(standard));
    return chosen.isValid() ? QKeySequence(chosen.toString(), QKeySequence::PortableText) : standard;
}

void setShortcut(const QKeySequence& standard, const QKeySequence& chosen) {
    if (chosen == standard)
        QSettings().remove(keyOf(standard));
    else
        QSettings().setValue(keyOf(standard), chosen.toString(QKeySequence::PortableText));
}

} // namespace twb::settings
