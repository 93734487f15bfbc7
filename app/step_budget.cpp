#include "app/step_budget.h"

#include "app/shared_options.h"
#include "core/error.h"
#include "core/format.h"
#include "placement/device_rule.h"
#include "placement/step_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace twb {
namespace {

constexpr std::size_t kMostPlaces = 5; ///< named in a sentence

/// The places with the most of something, as "a.py:3 in f (3), ...".
std::string placesOf(const std::map<std::string, std::uint64_t>& byPlace, bool asBytes) {
    std::vector<std::pair<std::uint64_t, std::string>> places;
    for (const auto& [place, amount] : byPlace) places.emplace_back(amount, place);
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (i == kMostPlaces) return out + fmt::format(", and {} more places", places.size() - i);
        const auto& [amount, place] = places[i];
        out += fmt::format("{}{}", i ? ", " : "", place);
        if (asBytes)
            out += fmt::format(" ({})", formatExactBytes(amount));
        else if (amount > 1)
            out += fmt::format(" ({})", amount);
    }
    return out;
}

/// "20MB", "512 KiB", "1000": bytes; kB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.
std::uint64_t parseBytes(const std::string& text) {
    static const std::map<std::string, double, std::less<>> units{{"", 1},
                                                                  {"B", 1},
                                                                  {"kB", 1e3},
                                                                  {"KB", 1e3},
                                                                  {"MB", 1e6},
                                                                  {"GB", 1e9},
                                                                  {"KiB", 1024.0},
                                                                  {"MiB", 1024.0 * 1024},
                                                                  {"GiB", 1024.0 * 1024 * 1024}};
    double amount = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, amount);
    std::string_view unit(at, static_cast<std::size_t>(end - at));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    const auto factor = units.find(unit);
    if (error != std::errc() || factor == units.end() || !(amount >= 0) || amount * factor->second > 0x1p62)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--max-transfer-bytes \"{}\" must be a size, such as 20MB or 512KiB", text));
    return static_cast<std::uint64_t>(amount * factor->second);
}

} // namespace

void StepBudget::addTo(CLI::App& command) {
    command
        .add_option("--max-syncs", syncs,
                    "Fail if the CPU waits for a device more often than this in one iteration, "
                    "which is a training step in a capture")
        ->type_name("N")
        ->check(wholeBetween(0));
    command
        .add_option("--max-transfer-bytes", transferBytes,
                    "Fail if one iteration copies more than this between devices, such as 20MB")
        ->type_name("SIZE");
}

StepCosts stepCosts(const PlacedGraph& placed, const StepBudget& budget) {
    StepCosts out;
    std::map<std::string, std::uint64_t> syncs;
    std::map<std::string, std::uint64_t> bytes;
    for (const StepTransfer& transfer : stepTransfers(placed.graph, placed.analysis)) {
        const Node& node = *placed.graph.find(transfer.node);
        const std::string place = node.source ? toShortString(*node.source) : labelOf(placed.graph, node.id);
        if (transfer.isSync) {
            ++out.syncs;
            ++syncs[place];
        }
        out.bytes += transfer.bytes;
        if (transfer.bytes > 0) bytes[place] += transfer.bytes;
    }
    if (budget.syncs && out.syncs > *budget.syncs)
        out.exceeded.push_back(
            fmt::format("the CPU waits for a device {} times per iteration, but --max-syncs allows {}: {}",
                        out.syncs, *budget.syncs, placesOf(syncs, false)));
    if (!budget.transferBytes.empty()) {
        const std::uint64_t most = parseBytes(budget.transferBytes);
        if (out.bytes > most)
            out.exceeded.push_back(
                fmt::format("one iteration copies {} between devices, but --max-transfer-bytes allows {}: {}",
                            formatExactBytes(out.bytes), formatExactBytes(most), placesOf(bytes, true)));
    }
    return out;
}

} // namespace twb
