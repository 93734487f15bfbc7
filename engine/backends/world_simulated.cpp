#include "backends/cpu/host_stream.h"
#include "backends/world.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

namespace twb {
namespace {

template <class T> void multiply(void* values, std::int64_t count, int by) {
    T* const all = static_cast<T*>(values);
    for (std::int64_t i = 0; i < count; ++i) all[i] = static_cast<T>(all[i] * static_cast<T>(by));
}

void multiply(void* values, std::int64_t count, int by, DType dtype) {
    switch (dtype) {
    case DType::f32:
        return multiply<float>(values, count, by);
    case DType::f64:
        return multiply<double>(values, count, by);
    case DType::i8:
    case DType::u8:
        return multiply<std::uint8_t>(values, count, by); // the same bits
    case DType::i16:
    case DType::u16:
        return multiply<std::uint16_t>(values, count, by);
    case DType::i32:
    case DType::u32:
        return multiply<std::uint32_t>(values, count, by);
    case DType::i64:
    case DType::u64:
        return multiply<std::uint64_t>(values, count, by);
    default:
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{} cannot be reduced over ranks; cast it to a number first", twb::name(dtype)));
    }
}

/// The modelled time of the calls that a launch has made. Its stream reads it when the launch is done.
class ModelledCalls final : public DurationModel {
public:
    std::int64_t launchNs(const Cost&, std::int64_t) const noexcept override { return m_ns.exchange(0); }
    std::int64_t copyNs(const Copy&, std::int64_t measuredNs) const noexcept override { return measuredNs; }
    void add(double ns) const noexcept { m_ns.fetch_add(std::llround(ns)); }

private:
    mutable std::atomic<std::int64_t> m_ns{0};
};

class SimulatedWorld final : public World {
public:
    SimulatedWorld(int size, const LinkProfile& link)
        : SimulatedWorld(size, link, std::make_unique<ModelledCalls>()) {}
    ~SimulatedWorld() override { stopThread(); }

    double predictNs(CollectiveKind kind, std::uint64_t bytes) const noexcept override {
        return m_link.timeNs(kind, bytes, size());
    }
    const LinkProfile* link() const noexcept override { return &m_link; }

protected:
    void perform(const Collective& call) override {
        m_calls.add(predictNs(call.kind, bytesOf(call, size())));
        const std::size_t bytes = static_cast<std::size_t>(call.count) * sizeOf(call.dtype);
        const auto copy = [&](std::size_t at) {
            if (bytes > 0 && call.target && call.source)
                std::memmove(static_cast<std::byte*>(call.target) + at, call.source, bytes);
        };
        switch (call.kind) {
        case CollectiveKind::allReduce:
        case CollectiveKind::reduce:
        case CollectiveKind::reduceScatter: // rank 0's part comes first
            copy(0);
            if (call.reduction == Reduction::sum) multiply(call.target, call.count, size(), call.dtype);
            break;
        case CollectiveKind::broadcast:
            copy(0);
            break;
        case CollectiveKind::allGather:
            for (int r = 0; r < size(); ++r) copy(static_cast<std::size_t>(r) * bytes);
            break;
        case CollectiveKind::receive: // of a rank that does not exist
            if (bytes > 0) std::memset(call.target, 0, bytes);
            break;
        case CollectiveKind::send:
        case CollectiveKind::barrier:
            break;
        }
    }
    void interrupt(int) noexcept override {}

private:
    SimulatedWorld(int size, const LinkProfile& link, std::unique_ptr<ModelledCalls> calls)
        : World({"simulated " + link.name, 0, size, 0, size, true},
                std::unique_ptr<const DurationModel>(calls.get())),
          m_link(link), m_calls(*calls.release()) {}

    const LinkProfile m_link;
    const ModelledCalls& m_calls; ///< owned by the base
};

} // namespace

double LinkProfile::timeNs(CollectiveKind kind, std::uint64_t bytes, int ranks) const noexcept {
    if (ranks < 2) return 0;
    const double n = ranks;
    const double rounds = std::bit_width(static_cast<unsigned>(ranks - 1)); // ⌈log₂ n⌉
    const double wire = gbPerSecond > 0 ? static_cast<double>(bytes) / gbPerSecond : 0;
    const auto choose = [&](double ring, double tree) {
        return algorithm == Algorithm::ring   ? ring
               : algorithm == Algorithm::tree ? tree
                                              : std::min(ring, tree);
    };
    switch (kind) {
    case CollectiveKind::allReduce:
        return choose(2 * (n - 1) * alphaNs + 2 * (n - 1) / n * wire, 2 * rounds * (alphaNs + wire));
    case CollectiveKind::reduceScatter:
    case CollectiveKind::allGather:
        return (n - 1) * alphaNs + (n - 1) / n * wire;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
        return choose((n - 1) * alphaNs + wire, rounds * (alphaNs + wire)); // the ring works as a pipeline
    case CollectiveKind::send:
    case CollectiveKind::receive:
        return alphaNs + wire;
    case CollectiveKind::barrier:
        return 2 * rounds * alphaNs;
    }
    return 0;
}

const std::vector<LinkProfile>& linkProfiles() {
    using enum LinkProfile::Algorithm;
    static const std::vector<LinkProfile> profiles{
        {"nvlink", "NVLink 4", 3000, 450, best,
         "NVIDIA H100 datasheet: 900 GB/s in both directions; latency estimated"},
        {"pcie", "PCIe 4.0 x16", 8000, 26, best,
         "PCIe 4.0: 31.5 GB/s in each direction, of which copies reach about 26; latency estimated"},
        {"25gbe", "25 GbE", 30000, 2.9, best,
         "25 Gbit/s less the headers of Ethernet, IP and TCP; latency estimated"}};
    return profiles;
}

const LinkProfile& defaultLink() { return linkProfiles().back(); }

std::shared_ptr<World> makeSimulatedWorld(int size, const LinkProfile& link) {
    return std::make_shared<SimulatedWorld>(size, link);
}

namespace {

/// "30us,2.9GB/s": a link of the user's own. Nothing if the text is none.
std::optional<LinkProfile> linkOf(std::string_view text) {
    LinkProfile link;
    const auto take = [&](double& value, std::string_view unit) {
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (failed != std::errc() || !text.starts_with(unit)) return false;
        text.remove_prefix(unit.size());
        return true;
    };
    double us = 0;
    if (!take(us, "us,") || !take(link.gbPerSecond, "GB/s") || !text.empty()) return std::nullopt;
    if (!(us >= 0) || !(us < 1e9) || !(link.gbPerSecond > 0) || !(link.gbPerSecond < 1e9))
        return std::nullopt;
    link.alphaNs = us * 1000;
    link.id = "own";
    link.name = fmt::format("link of {:g} µs and {:g} GB/s", us, link.gbPerSecond);
    link.source = "given on the command line";
    return link;
}

} // namespace

std::shared_ptr<World> makeSimulatedWorld(std::string_view text) {
    const auto refuse = [&] {
        std::vector<std::string> ids;
        for (const LinkProfile& link : linkProfiles()) ids.push_back(link.id);
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("\"simulated:{}\" is not a world; write simulated:RANKS:LINK, for example "
                                "simulated:4:nvlink, with 2 to 65536 ranks and one of the links {} or your "
                                "own, for example 30us,2.9GB/s, and, if wanted, :ring or :tree after it",
                                text, fmt::join(ids, ", ")));
    };
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) refuse();
    int ranks = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + colon, ranks);
    if (failed != std::errc() || end != text.data() + colon || ranks < 2 || ranks > 65536) refuse();
    std::string_view id = text.substr(colon + 1);
    auto algorithm = LinkProfile::Algorithm::best;
    if (const auto second = id.find(':'); second != std::string_view::npos) {
        const std::string_view how = id.substr(second + 1);
        if (how != "ring" && how != "tree") refuse();
        algorithm = how == "ring" ? LinkProfile::Algorithm::ring : LinkProfile::Algorithm::tree;
        id = id.substr(0, second);
    }
    const auto known = std::ranges::find(linkProfiles(), id, &LinkProfile::id);
    std::optional<LinkProfile> link = known == linkProfiles().end() ? linkOf(id) : *known;
    if (!link) refuse();
    link->algorithm = algorithm;
    return makeSimulatedWorld(ranks, *link);
}

} // namespace twb
