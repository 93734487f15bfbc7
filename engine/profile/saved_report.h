#pragma once

#include "core/json_fault.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace twb {

inline constexpr std::uint64_t kLargestReport = std::uint64_t{1} << 30; ///< size limit of a report in bytes

/// A report written by `twb run --report`. `origin` is for messages. Throws Error(badFile) if it is not a
/// report, or if its schema is unknown.
nlohmann::json parseReport(std::string_view text, const std::string& origin);

/// Calls `f`. A field that is missing in the report becomes an Error(badFile) that names `origin`.
template <class F> auto withReport(const std::string& origin, const F& f) -> decltype(f());

/// Helper of withReport().
[[noreturn]] void refuseReport(const std::string& origin, const std::string& what);

template <class F> auto withReport(const std::string& origin, const F& f) -> decltype(f()) {
    try {
        return f();
    } catch (const nlohmann::json::exception& error) {
        refuseReport(origin, jsonFault(error.what()));
    }
}

} // namespace twb
