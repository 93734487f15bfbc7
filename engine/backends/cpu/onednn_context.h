#pragma once

#include "backends/cpu/host_threads.h"
#include "backends/cpu/window.h"
#include "core/buffer.h"
#include "core/dtype.h"

#include <cstdint>
#include <dnnl.hpp>
#include <dnnl_version.h>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace twb::onednn {

// Shared by the files that call oneDNN. No other file includes this.

using dnnl::memory;

const dnnl::engine& engine();
/// One per thread.
dnnl::stream& stream();

/// Requires isServed(dtype).
memory::data_type typeOf(DType dtype);
/// Whether oneDNN is used for this dtype: f32 and bf16.
bool isServed(DType dtype);

/// Allocates memory for `desc` from the process's caching allocator; null if its size is 0.
BufferPtr room(const memory::desc& desc);

/// The same tensor in any layout that a primitive prefers.
memory::desc anyLayout(const memory::desc& desc);

/// Primitives with memory of the caller for scratch.
dnnl::primitive_attr ownScratch();

// oneDNN 2 (Debian 12) and 3 (Ubuntu 24.04) describe a primitive in different ways.

/// `parts`: those of oneDNN's constructor without engine and attributes. Throws dnnl::error.
template <class Primitive, class... Parts>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes, const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(engine(), parts..., attributes);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(parts...), attributes, engine());
#endif
}
/// Of a primitive that computes a gradient.
template <class Backward, class Forward, class... Parts>
typename Backward::primitive_desc
describeBackward(const Forward& forward, const dnnl::primitive_attr& attributes, const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Backward::primitive_desc(engine(), parts..., forward, attributes);
#else
    return
        typename Backward::primitive_desc(typename Backward::desc(parts...), attributes, engine(), forward);
#endif
}
/// An activation after the product.
void appendActivation(dnnl::post_ops& ops, dnnl::algorithm kind, float alpha, float beta);

/// Whether an implementation is a reference loop. The kernels of this project are faster.
bool isReference(std::string_view implementation);

/// Whether an instruction of any thread made an infinity from numbers, or met or made a NaN, since the last
/// call. The minimum and maximum of SSE and AVX set the flag of an invalid operation for every NaN; sums and
/// products only for a NaN that they make (Intel's manual, volume 1, 4.8.3.6 and 11.5.2.1). A flag stays set
/// until it is cleared. Other instructions set them, too.
bool hasMetNaN();

/// batch × channels × sizes, row-major or channels last.
memory::desc planes(std::int64_t batch, std::int64_t channels, const memory::dims& sizes,
                    memory::data_type type, bool channelsLast);
/// One value per axis.
memory::dims dimsOf(const Window& window, std::int64_t WindowAxis::*member);

/// How a convolution's window slides, in oneDNN's terms: a dilation of 0 is none. The padding at the end is
/// negative if windows leave the last elements unread.
struct Slide {
    memory::dims strides, dilations, padBegin, padEnd;
};
Slide slideOf(const Window& window);

/// The key of a primitive: sizes, types, layouts; never the contents of tensors.
using Key = std::vector<std::int64_t>;
void append(Key& key, const Window& window);

/// A cache of recent primitives: making one takes as long as a small convolution.
template <class Made> class Cache {
public:
    /// Returns the primitive for this key, and calls `make` if there is none.
    template <class Make> std::shared_ptr<const Made> find(Key key, const Make& make) {
        key.push_back(regionThreads());
        {
            const std::scoped_lock lock(m_mutex);
            if (const auto at = m_entries.find(key); at != m_entries.end()) {
                m_order.splice(m_order.begin(), m_order, at->second);
                return at->second->second;
            }
        }
        std::shared_ptr<const Made> made = make();
        const std::scoped_lock lock(m_mutex);
        if (const auto at = m_entries.find(key); at != m_entries.end()) return at->second->second;
        m_order.emplace_front(key, made);
        m_entries.emplace(std::move(key), m_order.begin());
        if (m_order.size() > kEntries) {
            m_entries.erase(m_order.back().first);
            m_order.pop_back();
        }
        return made;
    }

private:
    static constexpr std::size_t kEntries = 512;
    using Entry = std::pair<Key, std::shared_ptr<const Made>>;

    std::mutex m_mutex;
    std::list<Entry> m_order; ///< most recently used first
    std::map<Key, typename std::list<Entry>::iterator> m_entries;
};

/// A primitive for tensors in their given layouts. Safe to run from several threads at a time: every run has
/// its own scratch memory.
class Ready {
public:
    /// `arguments`: oneDNN's argument numbers.
    Ready(dnnl::primitive primitive, std::map<int, memory::desc> arguments, const memory::desc& scratch)
        : m_primitive(std::move(primitive)), m_arguments(std::move(arguments)), m_scratch(scratch) {}
    /// One address per argument.
    void run(const std::map<int, const void*>& data) const;

private:
    dnnl::primitive m_primitive;
    std::map<int, memory::desc> m_arguments;
    memory::desc m_scratch;
};

/// The primitive described by `parts`; null if oneDNN has none, or only a reference implementation.
/// `arguments` as for Ready.
template <class Primitive, class... Parts>
std::shared_ptr<const Ready> ready(std::map<int, memory::desc> arguments, const Parts&... parts) try {
    const auto described = describe<Primitive>(ownScratch(), dnnl::prop_kind::forward_inference, parts...);
    if (isReference(described.impl_info_str())) return nullptr;
    return std::make_shared<const Ready>(Primitive(described), std::move(arguments),
                                         described.scratchpad_desc());
} catch (const dnnl::error&) {
    return nullptr;
}

} // namespace twb::onednn
