#include "graph/difference.h"

#include <algorithm>
#include <iterator>

namespace twb {
namespace {

template <class T> std::vector<Change<T>> changes(const Table<T>& before, const Table<T>& after) {
    std::vector<Change<T>> out;
    for (const T& record : before) {
        const T* now = after.find(record.id);
        if (!now)
            out.push_back({record, std::nullopt});
        else if (!(*now == record))
            out.push_back({record, *now});
    }
    for (const T& record : after)
        if (!before.find(record.id)) out.push_back({std::nullopt, record});
    return out;
}

} // namespace

Delta difference(const Graph& before, const Graph& after, std::string title) {
    Delta delta;
    delta.title = std::move(title);
    delta.nodes = changes(before.nodes(), after.nodes());
    delta.lanes = changes(before.lanes(), after.lanes());
    delta.frames = changes(before.frames(), after.frames());
    delta.notes = changes(before.notes(), after.notes());
    delta.routes = changes(before.routes(), after.routes());
    std::vector<Edge> old = before.edges();
    std::vector<Edge> now = after.edges();
    std::sort(old.begin(), old.end());
    std::sort(now.begin(), now.end());
    std::set_difference(old.begin(), old.end(), now.begin(), now.end(),
                        std::back_inserter(delta.edgesRemoved));
    std::set_difference(now.begin(), now.end(), old.begin(), old.end(), std::back_inserter(delta.edgesAdded));
    if (!(before.info() == after.info())) delta.info = Change<GraphInfo>{before.info(), after.info()};
    return delta;
}

} // namespace twb
