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

/// The SVG path of a wire from the right side of one card to the left side of another, around the cards
/// between them; both cards are among `cards`. The wire is straight if nothing is in the way, otherwise it
/// uses a free row. It crosses a card only if there is no free row.
std::string wirePath(const std::vector<PictureCard>& cards, std::size_t from, std::size_t to);

} // namespace twb
