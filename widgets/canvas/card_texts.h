#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <unordered_map>

namespace twb {

class Scene;

/// The texts of the cards that were shown, laid out once and drawn many times.
class CardTexts {
public:
    /// By slot; null until the card is shown.
    const NodeCard* find(std::uint32_t slot) const noexcept;

    /// Lays out the texts of a card as far as they are new. `run` may be null.
    void prepare(const Scene& scene, const SceneSource& source, const RunState* run, std::uint32_t slot);
    void forget(std::uint32_t slot) { m_cards.erase(slot); }
    void clear() { m_cards.clear(); }
    std::size_t count() const noexcept { return m_cards.size(); }

private:
    std::unordered_map<std::uint32_t, NodeCard> m_cards;
};

} // namespace twb
