#include "placement/proposal.h"

#include "core/error.h"
#include "core/format.h"
#include "placement/device_rule.h"
#include "placement/placement_delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace twb {
namespace {

struct Copies {
    int count = 0;
    double ns = 0;
};

Copies copiesOf(const AssignmentProblem& problem, const std::vector<int>& at) {
    Copies copies;
    for (const auto& tensor : problem.tensors) {
        const std::uint32_t places = problem.copiedTo(tensor, at);
        for (std::uint32_t to = 0; to < problem.places; ++to) {
            if (!(places >> to & 1U)) continue;
            const double ns =
                tensor.copyNs[static_cast<std::size_t>(at[tensor.producer]) * problem.places + to];
            copies.count += ns > 0 ? 1 : 0; // else the copy is made before the iterations
            copies.ns += ns;
        }
    }
    return copies;
}

double stepsOf(const AssignmentProblem& problem, const std::vector<int>& at) {
    double ns = 0;
    for (std::size_t i = 0; i < at.size(); ++i) ns += problem.items[i].ns[static_cast<std::size_t>(at[i])];
    return ns;
}

/// Groups items with the same move and common tensors, by the first of each.
std::vector<std::vector<std::uint32_t>> groupsOf(const AssignmentProblem& problem,
                                                 const std::vector<int>& at) {
    std::vector<std::uint32_t> root(at.size());
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](std::uint32_t i) {
        while (root[i] != i) i = root[i] = root[root[i]];
        return i;
    };
    const auto moves = [&](std::uint32_t i) { return at[i] != problem.items[i].now; };
    const auto isAlike = [&](std::uint32_t i, std::uint32_t k) {
        return moves(i) && moves(k) && at[i] == at[k] && problem.items[i].now == problem.items[k].now;
    };
    for (const auto& tensor : problem.tensors) {
        std::vector<std::uint32_t> ends = tensor.readers;
        ends.insert(ends.end(), tensor.scalarReaders.begin(), tensor.scalarReaders.end());
        ends.push_back(tensor.producer);
        for (std::size_t i = 0; i < ends.size(); ++i)
            for (std::size_t k = i + 1; k < std::min(ends.size(), i + 2); ++k)
                if (isAlike(ends[i], ends[k])) root[find(ends[i])] = find(ends[k]);
        for (const std::uint32_t end : ends)
            if (isAlike(end, tensor.producer)) root[find(end)] = find(tensor.producer);
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (std::uint32_t i = 0; i < at.size(); ++i)
        if (moves(i)) groups[find(i)].push_back(i);
    std::vector<std::vector<std::uint32_t>> out;
    for (auto& [first, group] : groups) out.push_back(std::move(group));
    return out;
}

std::string namesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), nodes.size() == 4 ? 4 : 3); ++i)
        names.push_back(labelOf(graph, nodes[i]));
    if (nodes.size() > names.size())
        return fmt::format("{}, {}, {} and {} others", names[0], names[1], names[2], nodes.size() - 3);
    std::string text = names[0];
    for (std::size_t i = 1; i < names.size(); ++i)
        text += (i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

std::string copyWords(int count) { return fmt::format("{} {}", count, count == 1 ? "copy" : "copies"); }

/// The reason for a move: its gain and its cost.
std::string reasonOf(const Graph& graph, const PlacementMove& move) {
    std::vector<std::string> gains;
    std::vector<std::string> costs;
    constexpr double kNoticed = 1; // ns
    bool hasTime = false;
    const auto time = [&](double ns) {
        hasTime = true;
        return formatMs(ns);
    };
    if (move.copies < 0)
        gains.push_back(fmt::format("removes {}", copyWords(-move.copies)));
    else if (move.copyNs < -kNoticed)
        gains.push_back(fmt::format("copies take {} less", time(-move.copyNs)));
    if (move.stepNs < -kNoticed) gains.push_back(fmt::format("steps take {} less", time(-move.stepNs)));
    if (move.copies > 0)
        costs.push_back(fmt::format("adds {} ({})", copyWords(move.copies), time(move.copyNs)));
    if (move.stepNs > kNoticed) costs.push_back(fmt::format("steps take {} longer", time(move.stepNs)));
    std::string text = fmt::format("{} to {}", namesOf(graph, move.nodes), move.to.toString());
    if (!gains.empty()) text += fmt::format(": {}", fmt::join(gains, ", "));
    if (!costs.empty()) text += fmt::format("{}{}", gains.empty() ? ": " : "; ", fmt::join(costs, ", "));
    if (gains.empty() && costs.empty()) text += ": moves with its neighbours at no cost";
    return hasTime ? text + ", modelled" : text;
}

class Proposer {
public:
    Proposer(const Graph& graph, const Analysis& analysis, const DeviceMap& devices, const TensorFiles* files)
        : m_graph(graph), m_analysis(analysis), m_devices(devices), m_files(files),
          m_model(graph, analysis, devices, optionsFor(graph)), m_problem(m_model.problem()) {}

    PlacementProposal run(const IterationNs& iterationNs, const IsCancelled& isCancelled) {
        Assignment best = solve(m_problem, isCancelled);
        if (iterationNs) settle(best, iterationNs, isCancelled);
        PlacementProposal proposal;
        proposal.nsNow = m_problem.nsOf(m_problem.now());
        proposal.ns = m_problem.nsOf(best.at);
        proposal.atLeastNs = best.atLeastNs;
        proposal.isExact = best.isExact;
        for (const auto& group : groupsOf(m_problem, best.at))
            proposal.moves.push_back(moveOf(best.at, group));
        std::stable_sort(proposal.moves.begin(), proposal.moves.end(),
                         [](const PlacementMove& a, const PlacementMove& b) {
                             return a.copyNs + a.stepNs < b.copyNs + b.stepNs;
                         });
        if (!proposal.moves.empty()) proposal.delta = deltaOf(best.at);
        return proposal;
    }

private:
    static PlacementModel::Options optionsFor(const Graph& graph) {
        PlacementModel::Options options;
        options.mayMove = [&graph](const NodeFacts& facts) { return !graph.find(facts.id)->pinned; };
        options.throughTransfers = true;
        options.withLimits = true;
        return options;
    }

    /// A smaller sum may still make an iteration longer if fewer steps overlap. Moves without which an
    /// iteration is shorter are removed; if no gain is left, all are.
    void settle(Assignment& best, const IterationNs& iterationNs, const IsCancelled& isCancelled) const {
        const auto timeOf = [&](const std::vector<int>& at) {
            Graph moved = m_graph;
            moved.apply(deltaOf(at));
            throwIfCancelled(isCancelled);
            return iterationNs(moved);
        };
        const std::vector<int> now = m_problem.now();
        const auto groups = groupsOf(m_problem, best.at);
        if (groups.empty()) return;
        const std::size_t tries =
            std::clamp<std::size_t>(kSettledNodes / m_problem.items.size(), 1, kMostSettled);
        double least = timeOf(best.at);
        bool changed = false;
        for (std::size_t tried = 0; tried < std::min(groups.size(), tries); ++tried) {
            std::vector<int> without = best.at;
            for (const std::uint32_t i : groups[tried]) without[i] = now[i];
            if (!m_problem.fits(without)) continue;
            const double ns = timeOf(without);
            if (ns >= least) continue;
            least = ns;
            best.at = std::move(without);
            changed = true;
        }
        if (least >= iterationNs(m_graph)) {
            best.at = now;
            changed = true;
        }
        if (changed) best.isExact = false;
    }

    PlacementMove moveOf(const std::vector<int>& at, const std::vector<std::uint32_t>& group) const {
        PlacementMove move;
        std::vector<int> without = at;
        for (const std::uint32_t i : group) {
            without[i] = m_problem.items[i].now;
            move.nodes.push_back(m_model.nodes()[i]);
        }
        move.from = deviceAt(without[group.front()]);
        move.to = deviceAt(at[group.front()]);
        const Copies copies = copiesOf(m_problem, at);
        const Copies before = copiesOf(m_problem, without);
        move.copies = copies.count - before.count;
        move.copyNs = copies.ns - before.ns;
        move.stepNs = stepsOf(m_problem, at) - stepsOf(m_problem, without);
        move.reason = reasonOf(m_graph, move);
        return move;
    }
    Device deviceAt(int place) const { return m_model.devices()[static_cast<std::size_t>(place)]; }

    Delta deltaOf(const std::vector<int>& at) const {
        return placementDelta(m_graph, m_analysis, m_devices, m_files, m_model, at,
                              "minimise the predicted time");
    }

    static constexpr std::size_t kMostSettled = 32;
    static constexpr std::size_t kSettledNodes = 100'000; ///< some seconds

    const Graph& m_graph;
    const Analysis& m_analysis;
    const DeviceMap& m_devices;
    const TensorFiles* m_files;
    const PlacementModel m_model;
    const AssignmentProblem& m_problem;
};

} // namespace

PlacementProposal proposePlacement(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                   const TensorFiles* files, const IterationNs& iterationNs,
                                   const IsCancelled& isCancelled) {
    return Proposer(graph, analysis, devices, files).run(iterationNs, isCancelled);
}

} // namespace twb
