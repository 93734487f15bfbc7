#include "core/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace twb {
namespace {

/// Groups the digits of a whole number by three.
std::string grouped(std::uint64_t value) {
    const std::string digits = std::to_string(value);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

/// Three significant digits, but all digits of the whole part.
std::string threeDigits(double value) {
    if (value < 9.995) return fmt::format("{:.2f}", value);
    if (value < 99.95) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

constexpr char32_t kReplacement = 0xFFFD;

/// The code point at `at` and its length in bytes; kReplacement with length 1 for an invalid byte. Unicode
/// 15, table 3-7: well-formed UTF-8 byte sequences.
struct CodePoint {
    char32_t value = kReplacement;
    std::size_t length = 1;
};

CodePoint decode(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {};
    char32_t value = lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        value = value << 6U | (byte(i) & 0x3FU);
    }
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
    return {value, length};
}

/// Blocks of characters that terminals draw two columns wide (as in {fmt}'s estimate, after UAX 11).
bool isWide(char32_t c) noexcept {
    return c >= 0x1100 &&
           (c <= 0x115F || c == 0x2329 || c == 0x232A || (c >= 0x2E80 && c <= 0xA4CF && c != 0x303F) ||
            (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE10 && c <= 0xFE19) ||
            (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) || (c >= 0xFFE0 && c <= 0xFFE6) ||
            (c >= 0x1F300 && c <= 0x1F6FF) || (c >= 0x1F900 && c <= 0x1F9FF) ||
            (c >= 0x20000 && c <= 0x3FFFD));
}

/// Combining marks, joiners and variation selectors: no width of their own.
bool isZeroWidth(char32_t c) noexcept {
    return (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F);
}

/// Control characters, and characters that reorder text (UAX 9), which could disguise a message.
bool isUnprintable(char32_t c) noexcept {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

} // namespace

std::string formatBytes(double bytes) {
    constexpr std::array<const char*, 5> units{"kB", "MB", "GB", "TB", "PB"};
    if (!(bytes >= 1000)) return fmt::format("{:.0f} B", std::max(bytes, 0.0));
    double value = bytes / 1000;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return threeDigits(value) + ' ' + units[unit];
}

std::string formatCount(double count) {
    constexpr std::array<const char*, 5> kUnits{"", "k", "M", "B", "T"};
    std::size_t unit = 0;
    while (count >= 999.5 && unit + 1 < kUnits.size()) {
        count /= 1000;
        ++unit;
    }
    return (unit == 0 ? fmt::format("{:.0f}", count) : threeDigits(count)) + kUnits[unit];
}

std::string formatExactBytes(std::uint64_t bytes) { return grouped(bytes) + " B"; }

std::string formatNumber(double value, int digits) {
    return std::isnan(value) ? "nan" : fmt::format("{:.{}g}", value, digits);
}

std::string formatMs(double ns) {
    const double ms = ns / 1e6;
    if (!(ms > 0)) return "0 ms";
    if (ms < 0.0009995) return fmt::format("{:.5f} ms", ms);
    if (ms < 9.9995) return fmt::format("{:.3f} ms", ms);
    if (ms < 99.995) return fmt::format("{:.2f} ms", ms);
    if (ms < 999.95) return fmt::format("{:.1f} ms", ms);
    return grouped(static_cast<std::uint64_t>(std::llround(ms))) + " ms";
}

std::string formatRate(double gbPerSecond) {
    if (!(gbPerSecond > 0)) return "0 GB/s";
    if (gbPerSecond < 0.0005) // of a few bytes: one digit that is not 0
        return fmt::format("{:.{}f} GB/s", gbPerSecond, int(std::ceil(-std::log10(gbPerSecond))));
    if (gbPerSecond < 0.0995) return fmt::format("{:.3f} GB/s", gbPerSecond);
    if (gbPerSecond < 99.95) return fmt::format("{:.1f} GB/s", gbPerSecond);
    return fmt::format("{:.0f} GB/s", gbPerSecond);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    if (count == 1) return fmt::format("1 {}", one);
    return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decode(text, at);
        if (point.value == '\n')
            out += "\\n";
        else if (point.value == '\t')
            out += "\\t";
        else if (isUnprintable(point.value)) {
            const auto code = static_cast<unsigned>(point.value);
            out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
        } else if (point.value == kReplacement)
            out += "\uFFFD";
        else
            out += text.substr(at, point.length);
        at += point.length;
    }
    return out;
}

int displayWidth(std::string_view text) noexcept {
    int width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decode(text, at);
        width += isZeroWidth(point.value) ? 0 : isWide(point.value) ? 2 : 1;
        at += point.length;
    }
    return width;
}

} // namespace twb
