#include "app/near_matches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace twb {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

/// The number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment
/// distance).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min(
                {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

} // namespace

std::string didYouMean(std::string_view wanted, const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 3;
    constexpr std::size_t kLongest = 80; // longer names are not compared: a hostile name must cost nothing
    if (wanted.size() > kLongest) return {};
    const std::string key = lower(wanted);
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > kLongest) continue;
        const std::string candidate = lower(name);
        const bool contains =
            candidate.find(key) != std::string::npos || key.find(candidate) != std::string::npos;
        const std::size_t far = distance(key, candidate);
        if (far <= std::max<std::size_t>(1, key.size() / 3) || (contains && key.size() > 2))
            near.emplace_back(far, name);
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    if (near.size() > kShown) near.resize(kShown);
    std::string out;
    for (std::size_t i = 0; i < near.size(); ++i)
        out += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 < near.size() ? ", " : " or ", near[i].second);
    return near.empty() ? "" : fmt::format("; did you mean {}?", out);
}

} // namespace twb
