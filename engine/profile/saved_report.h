#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace twb {

inline constexpr std::uint64_t kLargestReport = std::uint64_t{1} << 30; ///< bytes that are read of one

/// A report as `twb run --report` wrote it. `origin` is for messages. Throws Error(badFile) when it is none,
/// or one of a schema that this program does not know.
nlohmann::json parseReport(std::string_view text, const std::string& origin);

/// Calls `f`; what it misses in a report becomes an Error(badFile) that names `origin`.
template <class F> auto withReport(const std::string& origin, const F& f) -> decltype(f());

/// For withReport().
[[noreturn]] void refuseReport(const std::string& origin, const std::string& what);

template <class F> auto withReport(const std::string& origin, const F& f) -> decltype(f()) {
    try {
        return f();
    } catch (const nlohmann::json::exception& error) {
        refuseReport(origin, error.what());
    }
}

} // namespace twb
