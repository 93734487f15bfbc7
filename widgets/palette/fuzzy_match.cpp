#include "widgets/palette/fuzzy_match.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace twb {
namespace {

constexpr int kLetter = 2;
constexpr int kTogether = 8;  ///< bonus if it directly follows the previous letter's match
constexpr int kWordStart = 9; ///< at the start of a word: "S" in "LogSoftmax", "w" in "fc1.weight"
constexpr int kFirst = 5;     ///< at the start of the text, in addition to kWordStart
constexpr int kWhole = 40;    ///< the search text is the whole text
constexpr int kNoMatch = std::numeric_limits<int>::min() / 2;

bool beginsWord(QStringView text, qsizetype at) {
    if (at == 0) return true;
    const QChar before = text[at - 1];
    const QChar here = text[at];
    if (!before.isLetterOrNumber()) return here.isLetterOrNumber();
    return (here.isUpper() && !before.isUpper()) || (here.isDigit() && !before.isDigit());
}

} // namespace

std::optional<int> fuzzyScore(QStringView typed, QStringView text) {
    if (typed.isEmpty()) return 0;
    if (typed.size() > text.size()) return std::nullopt;
    // best[i]: the best score of the letters so far if the last one matches text[i].
    std::vector<int> best(std::size_t(text.size()), kNoMatch);
    for (qsizetype letter = 0; letter < typed.size(); ++letter) {
        std::vector<int> next(best.size(), kNoMatch);
        int before = kNoMatch; // the best score that ends left of the previous letter
        for (qsizetype at = letter; at < text.size(); ++at) {
            const auto i = std::size_t(at);
            if (at >= 2) before = std::max(before, best[i - 2]);
            if (text[at].toCaseFolded() != typed[letter].toCaseFolded()) continue;
            int score = kLetter + (beginsWord(text, at) ? kWordStart : 0);
            if (letter == 0) {
                next[i] = score + (at == 0 ? kFirst : 0);
                continue;
            }
            const int together = best[i - 1] == kNoMatch ? kNoMatch : best[i - 1] + kTogether;
            const int reached = std::max(together, before);
            if (reached != kNoMatch) next[i] = score + reached;
        }
        best = std::move(next);
    }
    const int score = *std::max_element(best.begin(), best.end());
    if (score < 0) return std::nullopt;
    return 4 * score - int(text.size()) + (typed.size() == text.size() ? kWhole : 0);
}

} // namespace twb
