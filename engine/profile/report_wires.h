#pragma once

#include <string>
#include <vector>

namespace twb {

/// A card in a picture, in px.
struct PictureCard {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
};

/// The SVG path of a wire from the right side of one card to the left side of another, both of `cards`,
/// around the cards between them. A wire goes straight where nothing is in the way, and else by way of a free
/// row; it crosses a card only where there is no free row at all.
std::string wirePath(const std::vector<PictureCard>& cards, std::size_t from, std::size_t to);

} // namespace twb
