#include "graph/delta.h"
#include "placement/analysis.h"

#include <algorithm>

namespace twb {
namespace {

bool counts(const Change<Node>& change) {
    if (!change.before || !change.after) return true;
    // Where it is drawn is nothing to the rules; everything else may be.
    Node alike = *change.after;
    alike.position = change.before->position;
    alike.folded = change.before->folded;
    return alike != *change.before;
}

bool counts(const Change<Lane>& change) {
    return !change.before || !change.after || change.before->device != change.after->device;
}

bool counts(const Change<Frame>& change) {
    if (!change.before || !change.after) return true;
    Frame alike = *change.after;
    alike.title = change.before->title;
    alike.color = change.before->color;
    alike.collapsed = change.before->collapsed;
    return alike != *change.before;
}

template <class T> bool anyCounts(const std::vector<Change<T>>& changes) {
    return std::any_of(changes.begin(), changes.end(), [](const auto& change) { return counts(change); });
}

} // namespace

bool changesAnalysis(const Delta& delta) {
    if (!delta.edgesAdded.empty() || !delta.edgesRemoved.empty()) return true;
    if (delta.info && delta.info->before && delta.info->after &&
        delta.info->before->policy != delta.info->after->policy)
        return true;
    return anyCounts(delta.nodes) || anyCounts(delta.lanes) || anyCounts(delta.frames);
}

} // namespace twb
