#pragma once

#include <map>
#include <mutex>
#include <optional>

namespace twb::cuda {

/// A cache of a library's choices by their key: querying the library takes longer than a small launch. Kept
/// until the program ends. Thread-safe.
template <class Key, class Choice> class KnownChoices {
public:
    /// Nothing if it is not cached.
    std::optional<Choice> find(const Key& key) const {
        const std::scoped_lock lock(m_mutex);
        const auto known = m_all.find(key);
        return known == m_all.end() ? std::nullopt : std::optional<Choice>(known->second);
    }
    void keep(const Key& key, const Choice& choice) {
        const std::scoped_lock lock(m_mutex);
        m_all.insert_or_assign(key, choice);
    }

private:
    mutable std::mutex m_mutex;
    std::map<Key, Choice> m_all;
};

} // namespace twb::cuda
