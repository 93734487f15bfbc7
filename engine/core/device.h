#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The name of a device: `cpu`, `cuda:0`, `rank1/cuda:0`. The DeviceMap of a run maps it to hardware. The
/// DeviceMap also resolves `automatic` ("auto") before a run.
struct Device {
    enum class Kind : std::uint8_t { cpu, cuda, automatic };

    Kind kind = Kind::cpu;
    int index = 0; ///< 0 for cpu and auto
    int rank = 0;  ///< whose device it is, in a run on several ranks; 0 for auto

    /// Whether it is the cpu of some rank.
    bool isCpu() const noexcept { return kind == Kind::cpu; }
    bool isCuda() const noexcept { return kind == Kind::cuda; }
    bool isAuto() const noexcept { return kind == Kind::automatic; }
    /// The cpu of its rank, which reads shapes and files for it.
    Device host() const noexcept { return {Kind::cpu, 0, rank}; }
    bool sharesRankWith(Device other) const noexcept { return rank == other.rank; }
    /// "cpu", "cuda:1", "rank2/cuda:1", "auto".
    std::string toString() const;

    bool operator==(const Device&) const = default;
    /// By rank, then by kind and index.
    constexpr std::strong_ordering operator<=>(const Device& other) const noexcept {
        if (const auto byRank = rank <=> other.rank; byRank != 0) return byRank;
        if (const auto byKind = kind <=> other.kind; byKind != 0) return byKind;
        return index <=> other.index;
    }

    static Device cpu(int rank = 0) noexcept { return {Kind::cpu, 0, rank}; }
    static Device cuda(int index, int rank = 0) noexcept { return {Kind::cuda, index, rank}; }
    static Device automatic() noexcept { return {Kind::automatic, 0}; }
    /// Accepts "cpu", "cuda" (= cuda:0), "cuda:N" for N in 0..63, each also after "rankR/" with R in 0..63,
    /// and "auto".
    static std::optional<Device> parse(std::string_view text) noexcept;
};

} // namespace twb

template <> struct std::hash<twb::Device> {
    std::size_t operator()(const twb::Device& d) const noexcept {
        return (static_cast<std::size_t>(d.rank) * 4 + static_cast<std::size_t>(d.kind)) * 64 +
               static_cast<std::size_t>(d.index);
    }
};
