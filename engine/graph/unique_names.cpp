#include "graph/unique_names.h"

#include <fmt/format.h>

namespace twb {

std::string_view stemOf(std::string_view name) noexcept {
    const auto space = name.rfind(' ');
    const bool isCounted = space != std::string_view::npos && space + 1 < name.size() &&
                           name.find_first_not_of("0123456789", space + 1) == std::string_view::npos;
    return isCounted ? name.substr(0, space) : name;
}

UniqueNames::UniqueNames(const Graph& graph) {
    m_taken.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) m_taken.insert(node.name);
}

std::string UniqueNames::take(std::string_view name) {
    std::string candidate(name);
    const std::string stem(stemOf(name));
    for (int& n = m_next.try_emplace(stem, 2).first->second; m_taken.contains(candidate); ++n)
        candidate = fmt::format("{} {}", stem, n);
    m_taken.insert(candidate);
    return candidate;
}

} // namespace twb
