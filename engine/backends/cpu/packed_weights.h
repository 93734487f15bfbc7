#pragma once

#include "core/tensor.h"

#include <cstddef>
#include <functional>
#include <mutex>

namespace twb {

/// A constant tensor whose readers keep it in forms of their own (packed weights). Its memory is freed when
/// all of them have one. Thread-safe.
class PackedWeights {
public:
    /// `load` makes the same tensor again; it throws Error if it cannot.
    using Load = std::function<Tensor()>;
    PackedWeights(Tensor tensor, std::size_t readers, Load load)
        : m_tensor(std::move(tensor)), m_unpacked(readers), m_load(std::move(load)) {}

    /// A reader no longer reads the tensor; called once per reader.
    void packed() {
        const std::scoped_lock lock(m_mutex);
        if (--m_unpacked == 0) m_tensor = {};
    }
    /// The tensor, loaded again if it was freed; then only the caller owns it.
    Tensor tensor() const {
        const std::scoped_lock lock(m_mutex);
        return m_tensor ? m_tensor : m_load();
    }

private:
    mutable std::mutex m_mutex;
    Tensor m_tensor;
    std::size_t m_unpacked;
    Load m_load;
};

} // namespace twb
