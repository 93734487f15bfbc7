#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The name of a place where tensors live: `cpu`, `cuda:0`. What stands behind the name in a run is
/// the DeviceMap's business. `automatic` ("auto") is resolved by the DeviceMap before anything runs.
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
    /// "cpu", "cuda" (= cuda:0), "cuda:N" for N in 0..63, "auto"; nothing for anything else.
    static std::optional<Device> parse(std::string_view text) noexcept;
};

} // namespace twb

template <> struct std::hash<twb::Device> {
    std::size_t operator()(const twb::Device& d) const noexcept {
        return static_cast<std::size_t>(d.kind) * 64 + static_cast<std::size_t>(d.index);
    }
};
