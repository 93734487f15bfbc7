#pragma once

#include "formats/project_fields.h"
#include "formats/project_parts.h"

#include <array>
#include <cstdint>
#include <vector>

namespace twb {

/// Collects the positions in the layout, by id, until all records have been read.
class ProjectPlaces {
public:
    void add(Section section, std::uint64_t id, const std::array<double, 4>& numbers);
    /// Assigns the positions to the records. Errors in the layout go to parts.misplaced.
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
