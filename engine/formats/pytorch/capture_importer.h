#pragma once

#include "formats/pytorch/aten.h"
#include "formats/pytorch/capture.h"
#include "formats/pytorch/capture_steps.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace twb::capture {

/// The variable that a line of Python assigns: "scale" for "self.scale = torch.ones(64)". Empty if there is
/// none, or more than one.
std::string assignedName(std::string_view line);

/// Builds the graph of one capture.
class Import {
public:
    Import(Record record, const std::filesystem::path& path, const ImportOptions& options);

    ImportedModel run();

private:
    struct Frames {
        FrameId root = FrameId::none;
        std::map<Phase, FrameId> phases{};
        std::map<std::pair<FrameId, Index>, FrameId> modules{};
    };
    using Findings = std::map<Index, std::vector<const Transfer*>>;
    /// What belongs to no op, but follows one in the program.
    struct Loose {
        std::vector<const Transfer*> transfers;
        std::vector<const Sync*> syncs;
        std::vector<const Mismatch*> mismatches;
    };

    void begin(Part::Kind kind, const std::string& title);
    void addPart(const Part& part);
    void addOp(Index op);
    void addMove(Index op, const Form& form, Index from, Index result);
    void addHostRead(Index op, const Form& form);
    void addLoose(const Loose& loose);
    void addLooseTransfer(const Transfer& transfer);
    void addLooseSync(const Sync& sync);
    void addRest();
    void removeUnread(Delta& delta) const;
    void addNumpy(const Mismatch& mismatch);
    aten::Call callOf(Index op, const Form& form);
    void addOperands(aten::Call& call, Index op, const Form& form);

    const aten::Value& valueOf(Index value);
    const aten::Value& addSource(Index value);
    bool addViewAfterWrite(Index value);
    const aten::Value* folded(Index value);
    aten::ValueId idOf(Index value) const { return aten::ValueId(static_cast<std::int64_t>(value) + 1); }
    aten::ValueId newId() { return aten::ValueId(++m_lastId); }
    void define(aten::ValueId id, Index value, aten::Value from);
    void remember(Index value);
    const aten::Value* latest(Index value);

    NodeId addNode(const char* op, std::string name, Device device, FrameId frame, Index location);
    NodeId addTo(const aten::Value& from, Device target, std::string name, FrameId frame, Index location);
    FrameId frameOf(Phase phase, Index module);
    FrameId moduleFrame(FrameId phase, Index module);
    Device deviceOf(const std::string& name);
    TensorType typeOf(Index type);
    bool isForeign(Index value) const;
    std::optional<SourceLine> sourceOf(Index location) const;
    std::string nameOf(Index op, const Form& form) const;

    Record m_record;
    Steps m_steps;
    std::vector<Phase> m_phases; ///< by op
    std::set<std::uint64_t> m_writtenAgain;
    const std::filesystem::path& m_path;
    const ImportOptions& m_options;
    ImportedModel m_out;
    aten::GraphWriter m_writer;
    std::int64_t m_lastId = std::int64_t{1} << 40;
    Frames m_frames;                 ///< of the current part
    FrameId m_setUp = FrameId::none; ///< once it has begun
    std::set<NodeId> m_sources;      ///< made for values that no op makes
    Part::Kind m_kind = Part::Kind::setUp;
    Findings m_transfersOf; ///< by op
    std::map<Index, std::vector<const Sync*>> m_syncsOf;
    std::set<Index> m_wrong; ///< ops with a mismatch
    std::unordered_map<std::uint64_t, std::vector<Index>>
        m_written;                   ///< by storage: defined values, latest last
    std::set<std::string> m_foreign; ///< dtypes, layouts and devices without a counterpart
    std::map<Index, Loose> m_loose;  ///< by the previous op
};

} // namespace twb::capture
