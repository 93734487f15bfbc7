#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The name of a device: `cpu`, `cuda:0`. The DeviceMap of a run maps it to hardware. The DeviceMap also
/// resolves `automatic` ("auto") before a run.
struct Device {
    enum class Kind : std::uint8_t { cpu, cuda, automatic };

    Kind kind = Kind::cpu;
    int index = 0; ///< 0 for cpu and auto

    bool isCpu() const noexcept { return kind == Kind::cpu; }
    bool isCuda() const noexcept { return kind == Kind::cuda; }
    bool isAuto() const noexcept { return kind == Kind::automatic; }
    /// "cpu", "cuda:1", "auto".
    std::string toString() const;

    auto operator<=>(const Device&) const = default;

    static Device cpu() noexcept { return {}; }
    static Device cuda(int index) noexcept { return {Kind::cuda, index}; }
    static Device automatic() noexcept { return {Kind::automatic, 0}; }
    /// Accepts "cpu", "cuda" (= cuda:0), "cuda:N" for N in 0..63, and "auto".
    static std::optional<Device> parse(std::string_view text) noexcept;
};

} // namespace twb

template <> struct std::hash<twb::Device> {
    std::size_t operator()(const twb::Device& d) const noexcept {
        return static_cast<std::size_t>(d.kind) * 64 + static_cast<std::size_t>(d.index);
    }
};
