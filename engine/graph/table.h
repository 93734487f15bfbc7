#pragma once

#include "graph/ids.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace twb {

/// Records in id order. Copies of the table share pages until one copy writes to a page. A snapshot of
/// 100,000 nodes costs a few hundred pointers, and an edit copies one page. T has a member `id`.
template <class T> class Table {
    static constexpr std::size_t kPage = 128;
    using Page = std::vector<T>;
    using Pages = std::vector<std::shared_ptr<Page>>;

public:
    using Id = decltype(T::id);

    class Iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        Iterator() = default;
        Iterator(const Pages* pages, std::size_t page) : m_pages(pages), m_page(page) {}
        const T& operator*() const { return (*(*m_pages)[m_page])[m_index]; }
        const T* operator->() const { return &**this; }
        Iterator& operator++() {
            if (++m_index == (*m_pages)[m_page]->size()) {
                ++m_page;
                m_index = 0;
            }
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator& o) const { return m_page == o.m_page && m_index == o.m_index; }

    private:
        const Pages* m_pages = nullptr;
        std::size_t m_page = 0;
        std::size_t m_index = 0;
    };

    Iterator begin() const { return {&m_pages, 0}; }
    Iterator end() const { return {&m_pages, m_pages.size()}; }
    std::size_t size() const noexcept { return m_size; }
    bool empty() const noexcept { return m_size == 0; }
    Id lastId() const { return m_pages.empty() ? Id{} : m_pages.back()->back().id; }

    const T* find(Id id) const noexcept {
        const auto page = pageOf(id);
        if (page == m_pages.end()) return nullptr;
        const auto at = lowerBound(**page, id);
        return at != (*page)->end() && at->id == id ? &*at : nullptr;
    }

    /// The record, in a page that only this table uses; null if there is none.
    T* edit(Id id) {
        const T* found = find(id);
        if (!found) return nullptr;
        auto& page = m_pages[static_cast<std::size_t>(pageOf(id) - m_pages.begin())];
        if (page.use_count() > 1) page = std::make_shared<Page>(*page);
        return &*lowerBound(*page, id);
    }

    /// Adds a record or replaces the one with its id.
    void set(T record) {
        if (T* existing = edit(record.id)) {
            *existing = std::move(record);
            return;
        }
        ++m_size;
        if (m_pages.empty() || (record.id > lastId() && m_pages.back()->size() >= kPage)) {
            auto fresh = std::make_shared<Page>();
            fresh->reserve(kPage);
            fresh->push_back(std::move(record));
            m_pages.push_back(std::move(fresh));
            return;
        }
        auto position = static_cast<std::size_t>(pageOf(record.id) - m_pages.begin());
        if (position == m_pages.size()) --position;
        auto& page = m_pages[position];
        if (page.use_count() > 1) page = std::make_shared<Page>(*page);
        page->insert(lowerBound(*page, record.id), std::move(record));
        if (page->size() <= 2 * kPage) return;
        auto upper = std::make_shared<Page>(page->begin() + kPage, page->end());
        page->erase(page->begin() + kPage, page->end());
        m_pages.insert(m_pages.begin() + static_cast<std::ptrdiff_t>(position) + 1, std::move(upper));
    }

    bool erase(Id id) {
        T* existing = edit(id);
        if (!existing) return false;
        const auto position = pageOf(id) - m_pages.begin();
        auto& page = m_pages[static_cast<std::size_t>(position)];
        page->erase(page->begin() + (existing - page->data()));
        if (page->empty()) m_pages.erase(m_pages.begin() + position);
        --m_size;
        return true;
    }

    bool operator==(const Table& other) const {
        if (m_size != other.m_size) return false;
        return std::equal(begin(), end(), other.begin());
    }

private:
    /// The page that may hold `id`: the first page whose last id is not below it.
    auto pageOf(Id id) const noexcept {
        return std::lower_bound(m_pages.begin(), m_pages.end(), id,
                                [](const auto& page, Id wanted) { return page->back().id < wanted; });
    }
    template <class P> static auto lowerBound(P& page, Id id) noexcept {
        return std::lower_bound(page.begin(), page.end(), id,
                                [](const T& r, Id wanted) { return r.id < wanted; });
    }

    Pages m_pages;
    std::size_t m_size = 0;
};

} // namespace twb
