#include "widgets/palette/own_modules.h"

#include "core/error.h"
#include "formats/project.h"
#include "graph/composites.h"
#include "graph/module_versions.h"
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
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// For translators.
struct ModuleNameWords {
    Q_DECLARE_TR_FUNCTIONS(OwnModules)
};

fs::path toPath(const QString& path) { return fs::path(path.toStdU16String()); }

/// The name is the file's name, except for names that files cannot have.
QString pathOf(const QString& name) {
    return QDir(ownModulesFolder())
        .filePath(QString::fromLatin1(QUrl::toPercentEncoding(name, " ")) + toQt(std::string(kModuleSuffix)));
}

/// When each place last got, lost or replaced a file.
using Times = std::vector<std::pair<fs::path, QDateTime>>;

/// A file as it was read.
struct Stamp {
    fs::path file;
    QDateTime time;
    qint64 size = 0;
    bool operator==(const Stamp&) const = default;
};

/// The modules as last read.
struct KnownModules {
    std::vector<fs::path> beside; ///< the folders of projects
    Times times;                  ///< of the places; empty: look at their files again
    std::optional<std::vector<Stamp>> files;
    std::size_t otherOps = 0; ///< in the op table, which their reading depends on
    std::vector<ModuleOp> ops;
};

KnownModules& known() {
    static KnownModules all;
    return all;
}

std::vector<fs::path> places() {
    std::vector<fs::path> out = modulePlaces(toPath(ownModulesFolder()));
    out.insert(out.end(), known().beside.begin(), known().beside.end());
    return out;
}

Times timesNow() {
    Times out;
    for (fs::path& place : places()) {
        const QDateTime time = QFileInfo(toQt(place.string())).lastModified();
        out.emplace_back(std::move(place), time);
    }
    return out;
}

std::vector<Stamp> filesNow() {
    std::vector<Stamp> out;
    for (const fs::path& place : places())
        for (fs::path& file : moduleFilesIn(place)) {
            const QFileInfo info(toQt(file.string()));
            out.push_back({std::move(file), info.lastModified(), info.size()});
        }
    return out;
}

void forgetFiles() {
    known().times.clear();
    known().files.reset();
}

std::optional<std::size_t> indexOf(const ModuleOp& op, NodeId node) {
    const auto at = std::ranges::find(op.fragment.nodes, node, &Node::id);
    if (at == op.fragment.nodes.end()) return std::nullopt;
    return static_cast<std::size_t>(at - op.fragment.nodes.begin());
}

bool meet(DTypeSet a, DTypeSet b) {
    return std::ranges::any_of(kAllDTypes,
                               [&](DType dtype) { return a.contains(dtype) && b.contains(dtype); });
}

} // namespace

QString ownModulesFolder() {
    return QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation))
        .filePath(QStringLiteral("modules"));
}

const std::vector<ModuleOp>& ownModules() {
    KnownModules& all = known();
    all.times = timesNow(); // before the files, so that a change meanwhile is noticed
    std::vector<Stamp> files = filesNow();
    if (all.files == files && all.otherOps == opTable().size()) return all.ops;
    all.files = std::move(files);
    all.otherOps = opTable().size();
    ModuleOps found = moduleOpsIn(places());
    for (PluginProblem& problem : found.problems) reportPlugin(std::move(problem));
    all.ops = std::move(found.ops);
    return all.ops;
}

const std::vector<ModuleOp>& knownModules() {
    if (known().times.empty() || known().times != timesNow()) ownModules();
    return known().ops;
}

QString docOf(const ModuleOp& op) {
    if (!op.doc.empty()) return toQt(op.doc);
    const std::size_t count = op.fragment.nodes.size();
    return count == 1 ? ModuleNameWords::tr("Your module of 1 node")
                      : ModuleNameWords::tr("Your module of %1 nodes").arg(count);
}

const ModuleOp* ownModule(const QString& name) {
    const std::vector<ModuleOp>& all = knownModules();
    const auto found = std::ranges::find(all, name.toStdString(), &ModuleOp::name);
    return found == all.end() ? nullptr : &*found;
}

bool addModulesBeside(const QString& project) {
    const fs::path folder = toPath(QFileInfo(project).absolutePath()) / "ops";
    KnownModules& all = known();
    if (std::ranges::find(all.beside, folder) != all.beside.end() || moduleFilesIn(folder).empty())
        return false;
    all.beside.push_back(folder);
    all.times.clear();
    return true;
}

std::optional<EntryPort> inputOfEntry(const QString& entry, DTypeSet offered) {
    const std::string name = entry.toStdString();
    if (findOp(name) || findComposite(name)) return inputFor(name, offered);
    const ModuleOp* module = ownModule(entry);
    if (!module) return std::nullopt;
    for (const ModuleOp::Port& port : module->inputs) {
        const auto node = indexOf(*module, port.at.node);
        if (node && meet(acceptedTypes(opOf(*module, {port.at.node, {}}), port.at.port), offered))
            return EntryPort{*node, port.at.port};
    }
    return std::nullopt;
}

std::optional<EntryPort> outputOfEntry(const QString& entry, DTypeSet wanted) {
    const std::string name = entry.toStdString();
    if (findOp(name) || findComposite(name)) return outputFor(name, wanted);
    const ModuleOp* module = ownModule(entry);
    if (!module) return std::nullopt;
    for (const ModuleOp::Port& port : module->outputs) {
        const auto node = indexOf(*module, port.at.node);
        const Op* op = opOf(*module, {port.at.node, {}});
        if (node && (!op || op->outputs.empty() || meet(op->outputAt(port.at.port).types, wanted)))
            return EntryPort{*node, port.at.port};
    }
    return std::nullopt;
}

QString refusalOfName(const QString& name) {
    constexpr qsizetype kLongest = 60;
    if (name.trimmed().isEmpty()) return ModuleNameWords::tr("A module needs a name.");
    if (name.size() > kLongest) return ModuleNameWords::tr("A name can have at most 60 letters.");
    const std::string text = name.toStdString();
    if (findOp(text) || findComposite(text))
        return ModuleNameWords::tr("The palette already has a module %1. Choose another name.").arg(name);
    const ModuleOp* other = ownModule(name);
    if (other && !isSaved(*other))
        return ModuleNameWords::tr("%1 is already an op of %2. Choose another name.")
            .arg(name, QDir::toNativeSeparators(toQt(other->file.string())));
    return {};
}

std::int64_t saveOwnModule(ModuleOp op) {
    op.version = 1;
    if (const ModuleOp* before = ownModule(toQt(op.name)); before && isSaved(*before)) {
        ModuleOp placed = op;
        frameFragment(placed);
        freeHomeLane(placed);
        if (const auto indices = sameMeaning(*before, placed)) {
            // Modules in graphs have their nodes in the order of the file.
            std::vector<Node> nodes;
            for (const std::size_t i : *indices) nodes.push_back(op.fragment.nodes[i]);
            op.fragment.nodes = std::move(nodes);
            op.version = before->version;
        } else {
            op.version = before->version + 1;
        }
    }
    frameFragment(op);
    QDir().mkpath(ownModulesFolder());
    writeFileAtomically(toPath(pathOf(toQt(op.name))), toModuleText(op));
    forgetFiles(); // their times may be too coarse to differ
    return op.version;
}

bool isSaved(const ModuleOp& op) { return op.file.parent_path() == toPath(ownModulesFolder()); }

void removeOwnModule(const QString& name) {
    const ModuleOp* module = ownModule(name);
    if (module && isSaved(*module)) QFile::remove(toQt(module->file.string()));
    forgetFiles();
}

} // namespace twb
