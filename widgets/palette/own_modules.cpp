#include "widgets/palette/own_modules.h"

#include "core/error.h"
#include "formats/project.h"
#include "ops/op_table.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QUrl>

#include <algorithm>
#include <filesystem>
#include <map>

namespace twb {
namespace {

constexpr std::uint64_t kLargestModule = std::uint64_t{64} << 20;

/// For translators.
struct ModuleNameWords {
    Q_DECLARE_TR_FUNCTIONS(OwnModules)
};

QString suffix() { return QStringLiteral(".twbmodule"); }

/// The name is the file's name, except for names that files cannot have.
QString pathOf(const QString& name) {
    return QDir(ownModulesFolder())
        .filePath(QString::fromLatin1(QUrl::toPercentEncoding(name, " ")) + suffix());
}

/// The main part of a module goes to the lane on which it is dropped; nodes from other devices go to lanes of
/// these devices.
void freeHomeLane(Fragment& fragment) {
    std::map<LaneId, std::size_t> counts;
    for (const Node& node : fragment.nodes) ++counts[node.lane];
    const auto home = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (home == counts.end()) return;
    const auto laneOf = [&](LaneId id) -> const Lane* {
        const auto found = std::find_if(fragment.lanes.begin(), fragment.lanes.end(),
                                        [id](const Lane& lane) { return lane.id == id; });
        return found == fragment.lanes.end() ? nullptr : &*found;
    };
    const Lane* homeLane = laneOf(home->first);
    const auto isFree = [&](LaneId id) {
        const Lane* lane = laneOf(id);
        return !lane || (homeLane && lane->device == homeLane->device);
    };
    for (Node& node : fragment.nodes)
        if (isFree(node.lane)) node.lane = LaneId::none;
    for (Route& route : fragment.routes)
        for (Dot& dot : route.dots)
            if (isFree(dot.lane)) dot.lane = LaneId::none;
}

std::optional<Composite> read(const QString& path) {
    const QString file = QFileInfo(path).fileName();
    const QString name = QUrl::fromPercentEncoding(file.chopped(suffix().size()).toLatin1());
    try {
        Composite module;
        module.name = name.toStdString();
        module.fragment =
            parseFragment(readFile(std::filesystem::path(path.toStdU16String()), kLargestModule));
        freeHomeLane(module.fragment);
        const std::size_t count = module.fragment.nodes.size();
        module.doc = (count == 1 ? ModuleNameWords::tr("Your module of 1 node")
                                 : ModuleNameWords::tr("Your module of %1 nodes").arg(count))
                         .toStdString();
        return module;
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// The modules as last read.
struct KnownModules {
    QString folder;
    QDateTime time; ///< when the folder last got, lost or replaced a file; invalid: read it again
    std::vector<Composite> modules;
};

KnownModules& known() {
    static KnownModules all;
    return all;
}

QDateTime timeOf(const QString& folder) { return QFileInfo(folder).lastModified(); }

} // namespace

QString ownModulesFolder() {
    return QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation))
        .filePath(QStringLiteral("modules"));
}

const std::vector<Composite>& ownModules() {
    KnownModules& all = known();
    all.folder = ownModulesFolder();
    all.time = timeOf(all.folder); // before the files, so that a change meanwhile is noticed
    all.modules.clear();
    const QDir folder(all.folder);
    for (const QString& file : folder.entryList({QLatin1Char('*') + suffix()}, QDir::Files, QDir::Name))
        if (auto module = read(folder.filePath(file))) all.modules.push_back(std::move(*module));
    return all.modules;
}

const Composite* ownModule(const QString& name) {
    const KnownModules& all = known();
    const QString folder = ownModulesFolder();
    if (!all.time.isValid() || all.folder != folder || all.time != timeOf(folder)) ownModules();
    const auto found = std::ranges::find(all.modules, name.toStdString(), &Composite::name);
    return found == all.modules.end() ? nullptr : &*found;
}

std::optional<EntryPort> inputOfEntry(const QString& entry, DTypeSet offered) {
    const std::string name = entry.toStdString();
    if (findOp(name) || findComposite(name)) return inputFor(name, offered);
    const Composite* module = ownModule(entry);
    return module ? inputFor(module->fragment, offered) : std::nullopt;
}

std::optional<EntryPort> outputOfEntry(const QString& entry, DTypeSet wanted) {
    const std::string name = entry.toStdString();
    if (findOp(name) || findComposite(name)) return outputFor(name, wanted);
    const Composite* module = ownModule(entry);
    return module ? outputFor(module->fragment, wanted) : std::nullopt;
}

QString refusalOfName(const QString& name) {
    constexpr qsizetype kLongest = 60;
    if (name.trimmed().isEmpty()) return ModuleNameWords::tr("A module needs a name.");
    if (name.size() > kLongest) return ModuleNameWords::tr("A name can have at most 60 letters.");
    const std::string text = name.toStdString();
    if (findOp(text) || findComposite(text))
        return ModuleNameWords::tr("The palette already has a module %1. Choose another name.").arg(name);
    return {};
}

void saveOwnModule(const QString& name, const Fragment& fragment) {
    QDir().mkpath(ownModulesFolder());
    writeFileAtomically(std::filesystem::path(pathOf(name).toStdU16String()), toFragmentText(fragment));
    known().time = {}; // the folder's time may be too coarse to differ
}

void removeOwnModule(const QString& name) {
    QFile::remove(pathOf(name));
    known().time = {};
}

} // namespace twb
