#include "formats/project_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace twb {

std::string keyOf(PortRef input) { return fmt::format("{}:{}", value(input.node), input.port); }

std::optional<PortRef> parseInput(std::string_view key) {
    std::uint64_t node = 0;
    std::int32_t port = -1;
    const char* end = key.data() + key.size();
    const char* colon = std::from_chars(key.data(), end, node).ptr;
    if (colon != end) std::from_chars(colon + 1, end, port);
    const PortRef input{NodeId(node), port};
    const bool isSound = node >= 1 && node <= kLargestId && port >= 0 && port <= 0xffff;
    return isSound && keyOf(input) == key ? std::optional(input) : std::nullopt;
}

void ProjectPlaces::add(Section section, std::uint64_t id, const std::array<double, 4>& numbers) {
    auto& places = section == Section::nodes ? m_nodes : section == Section::notes ? m_notes : m_lanes;
    places.push_back({id, numbers});
}

void ProjectPlaces::give(ProjectParts& parts) {
    place(parts, parts.nodes, m_nodes, "nodes", [](Node& n, const auto& p) {
        n.position = {p[0], p[1]};
        n.folded = p[2] != 0;
    });
    place(parts, parts.notes, m_notes, "notes", [](Note& n, const auto& p) {
        n.position = {p[0], p[1]};
        n.width = p[2];
        n.height = p[3];
    });
    place(parts, parts.lanes, m_lanes, "lanes", [](Lane& l, const auto& p) { l.height = p[0]; });
}

/// In our own files both are sorted by id.
template <class T, class Give>
void ProjectPlaces::place(ProjectParts& parts, std::vector<T>& records, std::vector<Place>& places,
                          std::string_view section, Give give) {
    const auto byId = [](const Place& a, const Place& b) { return a.id < b.id; };
    if (!std::is_sorted(places.begin(), places.end(), byId))
        std::stable_sort(places.begin(), places.end(), byId);
    std::vector<bool> given(places.size());
    for (T& record : records) {
        const auto at = std::lower_bound(places.begin(), places.end(), Place{value(record.id), {}}, byId);
        if (at == places.end() || at->id != value(record.id)) continue;
        give(record, at->numbers);
        given[static_cast<std::size_t>(at - places.begin())] = true;
    }
    for (std::size_t i = 0; i < places.size() && parts.misplaced.empty(); ++i)
        if (!given[i])
            parts.misplaced =
                fmt::format("layout.{}.{} {}", section, places[i].id,
                            i && places[i - 1].id == places[i].id ? "is given twice"
                                                                  : "positions an item that does not exist");
}

} // namespace twb
