#include "widgets/document.h"

#include "core/error.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/pytorch/python_fixes.h"
#include "formats/pytorch/python_source.h"
#include "training/training.h"

#include <QDir>
#include <QFileInfo>
#include <QUndoCommand>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace twb {
namespace {

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

QString folderOf(const QString& path) {
    return path.isEmpty() ? QDir::currentPath() : QFileInfo(path).absolutePath();
}

/// A new document has one lane per kind of device.
Graph emptyGraph(Policy policy) {
    Graph graph;
    DeltaBuilder builder(graph, "New");
    GraphInfo info;
    info.policy = policy;
    builder.setInfo(info);
    builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
    graph.apply(builder.take());
    return graph;
}

/// Of one graph on the same devices.
bool isSame(const Analysis& a, const Analysis& b) {
    return a.diagnostics == b.diagnostics && std::ranges::all_of(a.nodes, [&](const NodeFacts& facts) {
               const NodeFacts* other = b.find(facts.id);
               return other && other->outputs == facts.outputs;
           });
}

} // namespace

DeviceMap HardwareChoice::devicesOf(const Graph& graph) const {
    return makeDeviceMap(graph, choices, *profiles, false, standIn);
}

DeviceMap HardwareChoice::usableDevicesOf(const Graph& graph) const {
    try {
        return devicesOf(graph);
    } catch (const Error&) {
        std::vector<DeviceChoice> usable;
        for (const DeviceChoice& choice : choices) {
            try {
                makeDeviceMap({}, {choice}, *profiles);
                usable.push_back(choice);
            } catch (const Error&) {
            }
        }
        return makeDeviceMap(graph, usable, *profiles, false, standIn);
    }
}

/// One undo step. The document applies the Delta before it pushes the command, because apply may throw and
/// Qt's stack must not see that. The first redo therefore only notifies.
class DeltaCommand : public QUndoCommand {
public:
    DeltaCommand(Document& document, Delta delta)
        : QUndoCommand(QString::fromStdString(delta.title)), m_document(document), m_delta(std::move(delta)) {
    }

    void redo() override {
        if (m_applied) m_document.m_graph.apply(m_delta);
        m_document.applyNow(m_delta);
        if (!std::exchange(m_applied, true)) m_after = m_document.remadeBackward(m_delta);
        if (m_after.empty()) return;
        m_document.m_graph.apply(m_after);
        m_document.applyNow(m_after);
    }
    void undo() override {
        for (const Delta* delta : {&m_after, &m_delta}) {
            if (delta->empty()) continue;
            const Delta inverse = delta->inverse();
            m_document.m_graph.apply(inverse);
            m_document.applyNow(inverse);
        }
    }

private:
    Document& m_document;
    Delta m_delta;
    Delta m_after; ///< follows from the change: the rebuilt backward pass
    bool m_applied = false;
};

Document::Document(std::shared_ptr<const ProfileLibrary> profiles, QObject* parent)
    : QObject(parent), m_hardware{std::move(profiles), {}, std::string(kDefaultProfile)} {
    connect(&m_undo, &QUndoStack::cleanChanged, this, [this](bool clean) { Q_EMIT modifiedChanged(!clean); });
    clear();
}

void Document::apply(Delta delta) {
    if (delta.empty()) return;
    m_graph.apply(delta);
    m_undo.push(new DeltaCommand(*this, std::move(delta)));
}

/// While the forward graph has errors, the backward pass stays as it is.
Delta Document::remadeBackward(const Delta& delta) const {
    if (!touchesForward(m_graph, delta)) return {};
    try {
        return remakeBackward(m_graph, m_devices, m_files.get());
    } catch (const Error&) {
        return {};
    }
}

void Document::applyNow(const Delta& delta) {
    ++m_revision;
    const std::vector<Device> before = m_devices.devices();
    if (!delta.lanes.empty()) m_devices = m_hardware.usableDevicesOf(m_graph);
    std::optional<Revised> revised = reanalyze(m_analysis, m_graph, delta, m_devices, m_files.get());
    if (revised) forgetFindings();
    m_revised = std::move(revised).value_or(Revised());
    const Selection selected = m_selection;
    dropDeadSelection();
    Q_EMIT changed(delta);
    if (before != m_devices.devices()) Q_EMIT devicesChanged();
    if (!(selected == m_selection)) Q_EMIT selectionChanged();
}

void Document::revalidate() {
    m_analysis = analyze(m_graph, m_devices, m_graph.info().policy, m_files.get());
    forgetFindings();
}

void Document::forgetFindings() {
    m_causes.reset();
    m_pythonFixes.reset();
}

void Document::dropDeadSelection() {
    std::erase_if(m_selection.nodes, [this](NodeId id) { return !m_graph.find(id); });
    std::erase_if(m_selection.notes, [this](NoteId id) { return !m_graph.find(id); });
    std::erase_if(m_selection.dots,
                  [this](const DotRef& dot) { return dot.index >= m_graph.dots(dot.wire).size(); });
    if (m_selection.edge && m_graph.sourceOf(m_selection.edge->to) != m_selection.edge->from)
        m_selection.edge.reset();
}

void Document::select(Selection selection) {
    if (!(selection == m_selection)) Q_EMIT selectionChanging();
    const Selection before = std::exchange(m_selection, std::move(selection));
    dropDeadSelection();
    if (!(before == m_selection)) Q_EMIT selectionChanged();
}

QString Document::title() const {
    if (!m_path.isEmpty()) return QFileInfo(m_path).fileName();
    if (!m_suggestedPath.isEmpty()) return QFileInfo(m_suggestedPath).completeBaseName();
    return m_graph.info().title.empty() ? tr("Untitled") : QString::fromStdString(m_graph.info().title);
}

bool Document::isModified() const { return !m_undo.isClean(); }

void Document::open(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    setGraph(loadProject(toPath(absolute)), absolute, folderOf(absolute));
}

void Document::setGraph(Graph graph, const QString& path, const QString& folder) {
    // Everything that may fail precedes the first change of a member.
    DeviceMap devices = m_hardware.usableDevicesOf(graph);
    std::shared_ptr<const TensorFiles> files = makeProjectFiles(toPath(folder));
    Analysis analysis = analyze(graph, devices, graph.info().policy, files.get());

    m_graph = std::move(graph);
    m_devices = std::move(devices);
    m_files = std::move(files);
    m_analysis = std::move(analysis);
    m_model.clear();
    m_source.reset();
    forgetFindings();
    m_path = path;
    m_folder = folder;
    m_suggestedPath.clear();
    m_importFolder.reset();
    m_selection = {};
    ++m_revision;
    m_undo.clear();
    m_undo.setClean(); // clear() leaves an empty stack as it is, and markModified() may have marked it
    Q_EMIT pathChanged();
    Q_EMIT reset();
    Q_EMIT selectionChanged();
    Q_EMIT devicesChanged();
    Q_EMIT modifiedChanged(false);
}

void Document::import(Graph graph, const QString& suggestedPath, std::shared_ptr<const QTemporaryDir> folder,
                      const QString& model) {
    setGraph(std::move(graph), {}, folder->path());
    m_model = model;
    m_importFolder = std::move(folder);
    m_suggestedPath = suggestedPath;
    m_undo.resetClean();
    Q_EMIT pathChanged(); // the title has changed
}

void Document::restore(Graph graph, const QString& path, const QString& folder) {
    setGraph(std::move(graph), path, folder);
    m_undo.resetClean();
}

void Document::save(const QString& path, const Delta& rename) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    checkTarget(absolute, FileClaims::Content::project);
    Graph renamed = m_graph;
    renamed.apply(rename);
    saveProject(renamed, toPath(absolute));
    const bool moved = folderOf(absolute) != m_folder;
    m_path = absolute;
    m_folder = folderOf(absolute);
    if (moved) {
        // File nodes name tensors relative to the project's folder, which has changed.
        m_files = makeProjectFiles(toPath(m_folder));
        m_suggestedPath.clear();
        m_importFolder.reset();
    }
    if (!rename.empty()) {
        m_graph = std::move(renamed);
        m_undo.clear();
        applyNow(rename);
    }
    m_undo.setClean();
    Q_EMIT pathChanged();
    if (!moved) return;
    const Analysis before = std::exchange(m_analysis, {});
    revalidate();
    if (!isSame(before, m_analysis)) Q_EMIT devicesChanged();
}

void Document::checkTarget(const QString& path, FileClaims::Content content) const {
    const bool isProject = content == FileClaims::Content::project;
    FileClaims claims;
    if (!isProject && !m_path.isEmpty()) claims.read(toPath(m_path), tr("the project").toStdString());
    claims.readGraph(m_graph, toPath(m_folder));
    claims.write(toPath(path), (isProject ? tr("the project") : tr("the new file")).toStdString(), content);
}

void Document::clear(Policy policy) { setGraph(emptyGraph(policy), {}, QDir::currentPath()); }

void Document::setStandIn(const std::string& profile) {
    if (profile == m_hardware.standIn) return;
    m_hardware.standIn = profiles().at(profile).id;
    adoptDevices(m_hardware.usableDevicesOf(m_graph));
}

void Document::setDeviceChoices(std::vector<DeviceChoice> choices) {
    HardwareChoice hardware = m_hardware;
    hardware.choices = std::move(choices);
    DeviceMap devices;
    try {
        devices = hardware.devicesOf(m_graph);
    } catch (const Error&) {
        // The file of an earlier choice may be gone, which must not prevent another one.
        for (const DeviceChoice& choice : hardware.choices) {
            const bool isNew = std::ranges::none_of(m_hardware.choices, [&](const DeviceChoice& known) {
                return known.device == choice.device && known.profile == choice.profile;
            });
            if (isNew) makeDeviceMap({}, {choice}, profiles());
        }
        devices = hardware.usableDevicesOf(m_graph);
    }
    m_hardware = std::move(hardware);
    adoptDevices(std::move(devices));
}

void Document::adoptDevices(DeviceMap devices) {
    m_devices = std::move(devices);
    ++m_revision;
    revalidate();
    Q_EMIT devicesChanged();
}

const std::vector<Cause>& Document::causes() const {
    causeGroups();
    if (!std::exchange(m_areCausesDescribed, true)) describe(*m_causes, m_graph, m_analysis, m_devices);
    return *m_causes;
}

const std::vector<Cause>& Document::causeGroups() const {
    if (!m_causes) {
        m_causes = groupByCause(m_graph, m_analysis, m_devices);
        m_areCausesDescribed = false;
    }
    return *m_causes;
}

QString Document::pythonFix(const Diagnostic& mismatch) const {
    if (mismatch.code != "device-mismatch") return {};
    if (!m_pythonFixes) {
        m_pythonFixes.emplace();
        if (!m_source) m_source = std::make_shared<PythonSource>(m_model.toStdString());
        try {
            for (const PythonFix& fix : pythonFixes(m_graph, m_analysis, m_source->reader()))
                m_pythonFixes->emplace(fix.node, QString::fromStdString(fix.advice));
        } catch (const Error&) {
            // The capture was removed or replaced since it was imported.
        }
    }
    const auto found = m_pythonFixes->find(mismatch.node);
    return found == m_pythonFixes->end() ? QString() : found->second;
}

std::size_t Document::causeCount(Severity severity) const {
    return std::size_t(std::ranges::count_if(causeGroups(), [&](const Cause& cause) {
        return m_analysis.diagnostics[cause.diagnostics.front()].severity == severity;
    }));
}

} // namespace twb
