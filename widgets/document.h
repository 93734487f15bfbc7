#pragma once

#include "core/tensor_files.h"
#include "formats/file_claims.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/causes.h"
#include "profile/profiles.h"
#include "widgets/dot_ref.h"

#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <QUndoStack>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace twb {

class PythonSource;

/// The selection. One item has one colour in canvas, tables and plots.
struct Selection {
    std::set<NodeId> nodes;
    std::set<NoteId> notes;
    std::optional<Edge> edge;
    std::set<DotRef> dots{};
    bool empty() const noexcept { return nodes.empty() && notes.empty() && !edge && dots.empty(); }
    bool operator==(const Selection&) const = default;
};

/// What the user has chosen as the hardware of devices.
struct HardwareChoice {
    std::shared_ptr<const ProfileLibrary> profiles;
    std::vector<DeviceChoice> choices;
    std::string standIn{kDefaultProfile}; ///< the profile of simulated GPUs

    /// Throws like makeDeviceMap().
    DeviceMap devicesOf(const Graph& graph) const;
    /// The same, but a device whose profile is in a file that can no longer be read is that of a graph
    /// without a choice.
    DeviceMap usableDevicesOf(const Graph& graph) const;
};

/// The document at one moment, for work on another thread. Later edits do not change it.
struct DocumentSnapshot {
    Graph graph;
    Analysis analysis;
    DeviceMap devices;
    std::shared_ptr<const TensorFiles> files;
    HardwareChoice hardware;
};

/// The open graph: its content, its undo history, its analysis, and the selection. It is the only writer of
/// its Graph; all other code passes Deltas.
class Document : public QObject {
    Q_OBJECT

public:
    explicit Document(std::shared_ptr<const ProfileLibrary> profiles, QObject* parent = nullptr);

    const Graph& graph() const noexcept { return m_graph; }
    const Analysis& analysis() const noexcept { return m_analysis; }
    /// The nodes whose analysis the last change altered, for receivers of changed().
    const Revised& revised() const noexcept { return m_revised; }
    const DeviceMap& devices() const noexcept { return m_devices; }
    const ProfileLibrary& profiles() const noexcept { return *m_hardware.profiles; }
    std::shared_ptr<const ProfileLibrary> sharedProfiles() const noexcept { return m_hardware.profiles; }
    std::shared_ptr<const TensorFiles> files() const noexcept { return m_files; }
    DocumentSnapshot snapshot() const { return {m_graph, m_analysis, m_devices, m_files, m_hardware}; }
    /// Increases with every change, including undo and redo.
    std::uint64_t revision() const noexcept { return m_revision; }
    QUndoStack& undoStack() noexcept { return m_undo; }

    /// One undo step. Does nothing for an empty Delta; throws like Graph::apply.
    void apply(Delta delta);

    const Selection& selection() const noexcept { return m_selection; }
    void select(Selection selection); ///< ignores items that do not exist

    QString path() const { return m_path; }     ///< empty: never saved
    QString title() const;                      ///< file name, else the model's, else the graph's title
    QString folder() const { return m_folder; } ///< base of the paths of File and Save nodes
    bool isModified() const;

    /// Replaces the content after the file was read completely. Throws, and changes nothing, if it cannot be
    /// read.
    void open(const QString& path);
    /// Like open(), from text that is not the user's file (an example; its tensors are in `folder`).
    void setGraph(Graph graph, const QString& path, const QString& folder);
    /// Like setGraph(), for a model that is not saved as a project yet. Its tensors are in `folder`, which
    /// exists until the document gets another one. The document counts as modified, and Save as proposes
    /// `suggestedPath`. `model`: the imported file, if there is one.
    void import(Graph graph, const QString& suggestedPath, std::shared_ptr<const QTemporaryDir> folder,
                const QString& model = {});
    QString suggestedPath() const { return m_suggestedPath; } ///< empty except after import()
    /// Like setGraph(), for a graph that was never saved: it counts as modified.
    void restore(Graph graph, const QString& path, const QString& folder);
    /// Throws Error(io), and what checkTarget() throws for a project, and then changes nothing. `rename`:
    /// gives tensor files the names that they have beside `path`. It ends the undo history, whose steps have
    /// the old names.
    void save(const QString& path, const Delta& rename = {});
    /// Throws, as FileClaims does, if a file written to `path` would replace the document's project, a tensor
    /// file of its graph, or a file of another kind than `content`.
    void checkTarget(const QString& path, FileClaims::Content content = FileClaims::Content::other) const;
    /// The file changed or was removed: the document counts as modified until it is saved.
    void markModified() { m_undo.resetClean(); }
    void clear(Policy policy = Policy::strict); ///< a new graph

    /// Sets the hardware of the devices; revalidates.
    void setDeviceChoices(std::vector<DeviceChoice> choices);
    /// Sets the default profile of simulated GPUs; revalidates. Throws like ProfileLibrary::at().
    void setStandIn(const std::string& profile);
    /// The diagnostics by cause; computed on demand, once per change.
    const std::vector<Cause>& causes() const;
    /// The same, perhaps without sentences and remedies, which take longer.
    const std::vector<Cause>& causeGroups() const;
    /// The fix of a mismatch as a change of the imported Python program; empty if it has none. Computed on
    /// demand, once per change.
    QString pythonFix(const Diagnostic& mismatch) const;
    /// Causes whose first diagnostic has this severity.
    std::size_t causeCount(Severity severity) const;
    /// Number of causes of errors and warnings; notes do not count.
    std::size_t problemCount() const { return causeCount(Severity::error) + causeCount(Severity::warning); }
    std::size_t noteCount() const { return causeCount(Severity::note); }
    const std::vector<DeviceChoice>& deviceChoices() const noexcept { return m_hardware.choices; }

Q_SIGNALS:
    void changed(const twb::Delta& delta); ///< after every apply, undo and redo; the analysis is up to date
    void reset();                          ///< another graph was set
    void selectionChanging(); ///< before select() changes the selection; edits of the selected items are due
    void selectionChanged();
    void devicesChanged(); ///< or the tensor files: the analysis has changed, the graph has not
    void modifiedChanged(bool modified);
    void pathChanged();

private:
    friend class DeltaCommand;
    void adoptDevices(DeviceMap devices);
    void applyNow(const Delta& delta);
    Delta remadeBackward(const Delta& delta) const;
    void revalidate();
    void forgetFindings();
    void dropDeadSelection();

    HardwareChoice m_hardware;
    Graph m_graph;
    DeviceMap m_devices;
    std::shared_ptr<const TensorFiles> m_files;
    Analysis m_analysis;
    Revised m_revised;
    mutable std::optional<std::vector<Cause>> m_causes; ///< of the analysis; empty: not computed yet
    mutable bool m_areCausesDescribed = false;          ///< they have sentences and remedies
    QString m_model;                                    ///< the imported file
    mutable std::shared_ptr<PythonSource> m_source;
    mutable std::optional<std::map<NodeId, QString>>
        m_pythonFixes; ///< of the analysis, by the mismatch's node
    Selection m_selection;
    QUndoStack m_undo;
    QString m_path;
    QString m_folder;
    QString m_suggestedPath;
    std::shared_ptr<const QTemporaryDir> m_importFolder;
    std::uint64_t m_revision = 0;
};

} // namespace twb
