#pragma once

#include "formats/project_fields.h"
#include "formats/project_parts.h"

#include <array>
#include <cstdint>
#include <vector>

namespace twb {

/// What the layout says of nodes, notes and lanes, by id, until all records are there to take it.
class ProjectPlaces {
public:
    void add(Section section, std::uint64_t id, const std::array<double, 4>& numbers);
    /// Gives each record its place. What is wrong with the layout goes to parts.misplaced.
    void give(ProjectParts& parts);

private:
    struct Place {
        std::uint64_t id;
        std::array<double, 4> numbers;
    };
    template <class T, class Give>
    static void place(ProjectParts& parts, std::vector<T>& records, std::vector<Place>& places,
                      std::string_view section, Give give);

    std::vector<Place> m_nodes;
    std::vector<Place> m_notes;
    std::vector<Place> m_lanes;
};

} // namespace twb
