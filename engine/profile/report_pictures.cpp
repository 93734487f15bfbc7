#include "profile/report_pictures.h"

#include "core/device.h"
#include "core/format.h"
#include "profile/markup.h"
#include "profile/report_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace twb {
namespace {

using Json = nlohmann::json;

constexpr double kWidth = 1100;          ///< of the timeline and the memory plot
constexpr double kNames = 190;           ///< of kWidth, for the names of rows
constexpr std::size_t kMostNodes = 3000; ///< a larger graph is not drawn

/// The part of a name that fits into `width` at `size` px, by the average width of a letter.
std::string fitted(const std::string& text, double width, double size) {
    const int room = static_cast<int>(width / (size * 0.56));
    if (displayWidth(text) <= room) return escaped(text);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t length = 1;
        while (at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80)
            ++length;
        const std::string next = out + text.substr(at, length);
        if (displayWidth(next) > room - 1) break;
        out = next;
        at += length;
    }
    return escaped(out) + "…";
}

std::string tag(bool modelled) { return modelled ? ", modelled" : ""; }

bool isSimulated(const Json& report, const std::string& device) {
    return std::any_of(report.at("devices").begin(), report.at("devices").end(), [&](const Json& row) {
        return row.at("device") == device && row.at("simulated").get<bool>();
    });
}

constexpr double kCardWidth = 144;
constexpr double kCardHeight = 44;

/// A round number of ms; about eight of them make `total`.
double tickOf(double total) {
    const double raw = total / 8;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double step : {1.0, 2.0, 5.0})
        if (raw <= step * power) return step * power;
    return 10 * power;
}

/// Grid lines and times from 0 to `total` ms.
std::string axis(double total, double height, bool modelled) {
    std::string out;
    if (!(total > 0)) return out;
    const double tick = tickOf(total);
    for (int i = 0; i * tick <= total * 1.0001; ++i) {
        const double x = kNames + (kWidth - kNames - 10) * (i * tick / total);
        out += fmt::format(
            "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1:.0f}\"/>"
            "<text class=\"small\" x=\"{0:.1f}\" y=\"{2:.0f}\" text-anchor=\"middle\">{3:g}</text>\n",
            x, height, height + 14, i * tick);
    }
    return out +
           fmt::format("<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">ms{}</text>\n",
                       kNames - 12, height + 14, tag(modelled));
}

double lengthOf(const Json& timeline) {
    double total = 0;
    for (const Json& slice : timeline.at("slices"))
        total = std::max(total, slice.at("start_ms").get<double>() + slice.at("ms").get<double>());
    return total;
}

/// Wide pictures scroll; they are not shrunk until they are illegible.
std::string opened(double width, double height, const std::string& title) {
    return fmt::format(
        "<svg{3} viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
        "aria-label=\"{2}\">\n",
        width, height, escaped(title), width <= 2000 ? " class=\"fit\"" : "");
}

} // namespace

std::string deviceClass(const std::string& device) {
    const std::optional<Device> known = Device::parse(device);
    return known && known->isCuda() ? "gpu" + std::to_string(known->index % 3) : "cpu";
}

std::string graphPicture(const Json& report) {
    if (!report.contains("graph")) return {};
    const Json& graph = report["graph"];
    if (graph.at("nodes").empty() || graph["nodes"].size() > kMostNodes) return {};
    constexpr double kHead = 150;
    // Lanes one below the other, each as high as its nodes.
    std::map<std::uint64_t, double> top;
    std::map<std::uint64_t, std::string> deviceOf;
    std::vector<PictureCard> cards;
    std::map<std::uint64_t, std::size_t> cardOf; // by node
    std::map<std::uint64_t, std::string> laneOf; // by node
    double y = 0;
    double width = kHead + 200;
    std::string bands;
    for (const Json& lane : graph.at("lanes")) {
        const std::uint64_t id = lane.at("id");
        double low = 1e18;
        double high = -1e18;
        for (const Json& node : graph["nodes"]) {
            if (node.at("lane") != lane["id"]) continue;
            low = std::min(low, node.at("y").get<double>());
            high = std::max(high, node.at("y").get<double>() + kCardHeight);
        }
        if (low > high) low = high = 0;
        const double height = std::max(high - low + 48, 84.0);
        const std::string device = lane.at("resolved");
        deviceOf[id] = device;
        for (const Json& node : graph["nodes"]) {
            if (node.at("lane") != lane["id"]) continue;
            const PictureCard card{kHead + 24 + std::max(0.0, node.at("x").get<double>()),
                                   y + 24 + node.at("y").get<double>() - low, kCardWidth, kCardHeight};
            width = std::max(width, card.x + card.width + 24);
            cardOf[node.at("id")] = cards.size();
            laneOf[node.at("id")] = device;
            cards.push_back(card);
        }
        const bool simulated = isSimulated(report, device);
        bands +=
            fmt::format("<rect class=\"lane {}\" x=\"0\" y=\"{:.0f}\" width=\"100%\" height=\"{:.0f}\"/>\n"
                        "<rect class=\"head\" x=\"0\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n"
                        "<rect class=\"mark {}\" x=\"0\" y=\"{:.0f}\" width=\"3\" height=\"{:.0f}\"/>\n"
                        "<text class=\"device {}\" x=\"16\" y=\"{:.0f}\">{}</text>\n"
                        "<text class=\"small\" x=\"16\" y=\"{:.0f}\">{}</text>\n",
                        deviceClass(device), y, height, y, kHead, height, deviceClass(device), y, height,
                        deviceClass(device), y + 26, escaped(lane.at("device").get<std::string>()), y + 43,
                        fitted(lane.at("title"), kHead - 24, 11));
        const double below = lane.at("title").get<std::string>().empty() ? 44 : 62;
        if (simulated)
            bands += fmt::format("<text class=\"tag\" x=\"16\" y=\"{:.0f}\">MODELLED</text>\n", y + below);
        y += height;
    }
    std::string wires;
    for (const Json& edge : graph.at("edges")) {
        const auto from = cardOf.find(edge.at("from").at("node"));
        const auto to = cardOf.find(edge.at("to").at("node"));
        if (from == cardOf.end() || to == cardOf.end()) continue;
        const bool crosses = laneOf[from->first] != laneOf[to->first];
        wires += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", crosses ? "wire crossing" : "wire",
                             wirePath(cards, from->second, to->second));
    }
    // Median times by node.
    std::map<std::uint64_t, std::pair<double, bool>> times;
    for (const Json& step : report.at("steps"))
        if (step.value("count", 0) > 0)
            times[step.at("node")] = {step.at("median_ms").get<double>(), step.at("modelled").get<bool>()};
    std::string nodes;
    for (const Json& node : graph["nodes"]) {
        const auto at = cardOf.find(node.at("id"));
        if (at == cardOf.end()) continue; // its lane is not in the report
        const PictureCard& card = cards[at->second];
        const std::string& lane = laneOf.at(at->first);
        const std::string name = node.at("name");
        const auto time = times.find(node.at("id"));
        const std::string spent = time == times.end() ? "not run"
                                                      : formatMs(time->second.first * 1e6) +
                                                            (time->second.second ? " modelled" : " measured");
        nodes += fmt::format(
            "<g><title>{}\n{}  {}\n{}</title>"
            "<rect class=\"card\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"8\"/>"
            "<rect class=\"mark {}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"3\" height=\"{:.0f}\"/>"
            "<text class=\"name\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>"
            "<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n",
            escaped(name), escaped(node.at("op").get<std::string>()), escaped(node.value("type", "")), spent,
            card.x, card.y, card.width, card.height, deviceClass(lane), card.x, card.y + 8, card.height - 16,
            card.x + 12, card.y + 19, fitted(name, card.width - 20, 12.5), card.x + 12, card.y + 35,
            fitted(node.at("op"), card.width - 20, 11));
    }
    return opened(width, y, "The graph on its lanes") + bands + wires + nodes + "</svg>";
}

std::string timelinePicture(const Json& report) {
    if (!report.contains("timeline")) return {};
    const Json& timeline = report["timeline"];
    const double total = lengthOf(timeline);
    if (!(total > 0)) return {};
    constexpr double kRow = 30;
    const Json& streams = timeline.at("streams");
    const double height = kRow * static_cast<double>(streams.size());
    const bool virtualClock = report.at("clock") == "modelled";
    std::string out = opened(kWidth, height + 22, "Steps of the last iteration over time") +
                      axis(total, height, virtualClock);
    for (std::size_t i = 0; i < streams.size(); ++i)
        out +=
            fmt::format("<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n"
                        "<line class=\"grid\" x1=\"0\" y1=\"{:.0f}\" x2=\"{:.0f}\" y2=\"{:.0f}\"/>\n",
                        kNames - 12, kRow * static_cast<double>(i) + 19,
                        escaped(streams[i].at("label").get<std::string>() + tag(streams[i].at("modelled"))),
                        kRow * static_cast<double>(i + 1), kWidth, kRow * static_cast<double>(i + 1));
    const double perMs = (kWidth - kNames - 10) / total;
    for (const Json& slice : timeline.at("slices")) {
        const Json& step = report.at("steps").at(slice.at("step").get<std::size_t>());
        const std::size_t stream = slice.at("stream");
        const double ms = slice.at("ms");
        const double x = kNames + slice.at("start_ms").get<double>() * perMs;
        const double width = std::max(ms * perMs, 1.0);
        const std::string label = step.at("label");
        const bool copies = step.at("op") == "copy";
        out += fmt::format(
            "<g><title>{}\n{}{}</title><rect class=\"slice {}{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" "
            "height=\"{:.0f}\" rx=\"2\"/>",
            escaped(label), formatMs(ms * 1e6), step.at("modelled").get<bool>() ? " modelled" : " measured",
            copies ? "copy " : "", deviceClass(streams.at(stream).at("device")), x,
            kRow * static_cast<double>(stream) + 5, width, kRow - 10);
        if (width > 34)
            out += fmt::format("<text class=\"on\" x=\"{:.2f}\" y=\"{:.0f}\">{}</text>", x + 5,
                               kRow * static_cast<double>(stream) + 19, fitted(label, width - 8, 11));
        out += "</g>\n";
    }
    return out + "</svg>";
}

std::string memoryPicture(const Json& report) {
    if (!report.contains("memory") || !report.contains("timeline")) return {};
    const double total = lengthOf(report["timeline"]);
    if (!(total > 0)) return {};
    constexpr double kRow = 64;
    const Json& rows = report["memory"];
    const double height = kRow * static_cast<double>(rows.size());
    std::string out = opened(kWidth, height + 22, "Bytes of live tensors in the last iteration") +
                      axis(total, height, report.at("clock") == "modelled");
    const double perMs = (kWidth - kNames - 10) / total;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Json& samples = rows[i].at("samples");
        const double base = kRow * static_cast<double>(i + 1);
        std::uint64_t most = 1;
        for (const Json& sample : samples) most = std::max(most, sample.at(1).get<std::uint64_t>());
        const auto yOf = [&](std::uint64_t bytes) {
            return base - (kRow - 14) * static_cast<double>(bytes) / static_cast<double>(most);
        };
        std::string path = fmt::format("M{:.1f} {:.1f}", kNames, base);
        double x = kNames;
        for (const Json& sample : samples) {
            x = kNames + std::min(sample.at(0).get<double>(), total) * perMs;
            path += fmt::format("H{:.1f}V{:.1f}", x, yOf(sample.at(1)));
        }
        path += fmt::format("H{:.1f}V{:.1f}Z", kNames + total * perMs, base);
        const std::string device = rows[i].at("device");
        out += fmt::format(
            "<path class=\"area {}\" d=\"{}\"/>\n<text class=\"device {}\" x=\"{:.0f}\" y=\"{:.0f}\" "
            "text-anchor=\"end\">{}</text>\n<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\" "
            "text-anchor=\"end\">peak {}{}</text>\n",
            deviceClass(device), path, deviceClass(device), kNames - 12, base - 34, escaped(device),
            kNames - 12, base - 17, formatBytes(static_cast<double>(most)), tag(rows[i].at("modelled")));
    }
    return out + "</svg>";
}

} // namespace twb
