#pragma once

#include "core/tensor_files.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "placement/causes.h"
#include "profile/profiles.h"
#include "widgets/dot_ref.h"

#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <QUndoStack>

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace twb {

/// What is selected: one thing is one colour in canvas, tables and plots.
struct Selection {
    std::set<NodeId> nodes;
    std::set<NoteId> notes;
    std::optional<Edge> edge;
    std::set<DotRef> dots{};
    bool empty() const noexcept { return nodes.empty() && notes.empty() && !edge && dots.empty(); }
    bool operator==(const Selection&) const = default;
};

/// The open graph: its content, its undo history, what the rules say about it, and what is selected. The only
/// writer of its Graph; everyone else hands in Deltas.
class Document : public QObject {
    Q_OBJECT

public:
    explicit Document(std::shared_ptr<const ProfileLibrary> profiles, QObject* parent = nullptr);

    const Graph& graph() const noexcept { return m_graph; }
    const Analysis& analysis() const noexcept { return m_analysis; }
    /// The nodes of which the last change made it say something else, for those whom changed() tells.
    const Revised& revised() const noexcept { return m_revised; }
    const DeviceMap& devices() const noexcept { return m_devices; }
    const ProfileLibrary& profiles() const noexcept { return *m_profiles; }
    std::shared_ptr<const ProfileLibrary> sharedProfiles() const noexcept { return m_profiles; }
    std::shared_ptr<const TensorFiles> files() const noexcept { return m_files; }
    /// Grows with every change, undo and redo included.
    std::uint64_t revision() const noexcept { return m_revision; }
    QUndoStack& undoStack() noexcept { return m_undo; }

    /// One undo step. Shows nothing and changes nothing for an empty Delta; throws as Graph::apply does.
    void apply(Delta delta);

    const Selection& selection() const noexcept { return m_selection; }
    void select(Selection selection); ///< what no longer exists is left out

    QString path() const { return m_path; }     ///< empty: never saved
    QString title() const;                      ///< file name, else the model's, else the graph's title
    QString folder() const { return m_folder; } ///< what paths of File and Save nodes are relative to
    bool isModified() const;

    /// Replaces everything after the file was read completely. Throws and stays as it was when it cannot be
    /// read.
    void open(const QString& path);
    /// As open(), from text that is not a file of the user's (an example keeps `folder` for its tensors).
    void setGraph(Graph graph, const QString& path, const QString& folder);
    /// As setGraph(), for a model that is not saved as a project yet: its tensors are in `folder`, which
    /// lives as long as the document has no other. It counts as changed, and Save as proposes
    /// `suggestedPath`.
    void import(Graph graph, const QString& suggestedPath, std::shared_ptr<const QTemporaryDir> folder);
    QString suggestedPath() const { return m_suggestedPath; } ///< empty but after import()
    /// As setGraph(), for what was never saved: it counts as changed.
    void restore(Graph graph, const QString& path, const QString& folder);
    void save(const QString& path); ///< throws Error(io)
    /// Its file holds something else, or is gone: it counts as changed until it is saved.
    void markModified() { m_undo.resetClean(); }
    void clear(Policy policy = Policy::strict); ///< a new graph

    /// What stands behind the lanes; revalidates.
    void setDeviceChoices(std::vector<DeviceChoice> choices);
    /// The profile of a simulated GPU for which there is no choice; revalidates. Throws as
    /// ProfileLibrary::at().
    void setStandIn(const std::string& profile);
    /// The diagnostics by what caused them; worked out once a change, when somebody asks.
    const std::vector<Cause>& causes() const;
    /// Causes whose first diagnostic is of that severity.
    std::size_t causeCount(Severity severity) const;
    /// Causes of errors and warnings; notes are no trouble.
    std::size_t problemCount() const { return causeCount(Severity::error) + causeCount(Severity::warning); }
    std::size_t noteCount() const { return causeCount(Severity::note); }
    const std::vector<DeviceChoice>& deviceChoices() const noexcept { return m_choices; }

Q_SIGNALS:
    void changed(const twb::Delta& delta); ///< after every apply, undo and redo; analysis is up to date
    void reset();                          ///< another graph altogether
    void selectionChanged();
    void devicesChanged();
    void modifiedChanged(bool modified);
    void pathChanged();

private:
    friend class DeltaCommand;
    DeviceMap makeDevices(const Graph& graph, const std::vector<DeviceChoice>& choices) const;
    void applyNow(const Delta& delta);
    void revalidate();
    void dropDeadSelection();

    std::shared_ptr<const ProfileLibrary> m_profiles;
    std::vector<DeviceChoice> m_choices;
    std::string m_standIn{kDefaultProfile};
    Graph m_graph;
    DeviceMap m_devices;
    std::shared_ptr<const TensorFiles> m_files;
    Analysis m_analysis;
    Revised m_revised;
    mutable std::optional<std::vector<Cause>> m_causes; ///< of it; nothing: not asked for yet
    Selection m_selection;
    QUndoStack m_undo;
    QString m_path;
    QString m_folder;
    QString m_suggestedPath;
    std::shared_ptr<const QTemporaryDir> m_importFolder;
    std::uint64_t m_revision = 0;
};

} // namespace twb
