#include "ops/einsum_equation.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace twb {
namespace {

constexpr int kLetters = 128;

[[noreturn]] void refuse(const std::string& sentence) {
    throw Error(ErrorCode::invalidArgument, "einsum(): " + sentence);
}

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The labels of one term. `ellipsis` is the number of axes of "..."; -1 derives it from `rank`.
std::vector<EinsumLabel> readTerm(std::string_view term, int rank, int ellipsis, int& found) {
    const auto letters = static_cast<int>(std::count_if(term.begin(), term.end(), isLetter));
    std::vector<EinsumLabel> labels;
    bool seen = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
        if (isLetter(term[i])) {
            labels.push_back(term[i]);
        } else if (term.substr(i, 3) == "...") {
            if (seen) refuse(fmt::format("found \"...\" twice in the term \"{}\"", term));
            seen = true;
            const int axes = ellipsis >= 0 ? ellipsis : rank - letters;
            for (int k = axes; k > 0; --k) labels.push_back(kLetters + k);
            found = std::max(found, axes);
            i += 2;
        } else {
            refuse(fmt::format("invalid subscript '{}' in the term \"{}\": subscripts are letters", term[i],
                               term));
        }
    }
    return labels;
}

} // namespace

EinsumEquation parseEinsum(std::string_view given, const std::vector<int>& ranks) {
    std::string text;
    std::copy_if(given.begin(), given.end(), std::back_inserter(text), [](char c) { return c != ' '; });
    const std::size_t arrow = text.find("->");
    const std::string_view all(text);
    std::string_view left = all.substr(0, arrow);

    EinsumEquation out;
    int ellipsis = 0;
    for (bool more = true; more;) {
        const std::size_t comma = left.find(',');
        more = comma != std::string_view::npos;
        const std::string_view term = left.substr(0, comma);
        left.remove_prefix(more ? comma + 1 : left.size());
        const std::size_t n = out.operands.size();
        if (n >= ranks.size())
            refuse(fmt::format("more subscripts than operands ({}) in the equation", ranks.size()));
        std::vector<EinsumLabel> labels = readTerm(term, ranks[n], -1, ellipsis);
        if (static_cast<int>(labels.size()) != ranks[n])
            refuse(fmt::format("the number of subscripts in the equation ({}) does not match the number of "
                               "dimensions ({}) for operand {}",
                               labels.size(), ranks[n], n));
        out.operands.push_back(std::move(labels));
    }
    if (out.operands.size() < ranks.size())
        refuse(fmt::format("fewer subscripts ({}) than operands ({}) in the equation", out.operands.size(),
                           ranks.size()));

    std::array<int, kLetters> uses{};
    for (const auto& labels : out.operands)
        for (EinsumLabel label : labels)
            if (label < kLetters) ++uses[static_cast<std::size_t>(label)];
    if (arrow == std::string::npos) {
        for (int k = ellipsis; k > 0; --k) out.result.push_back(kLetters + k);
        for (int c = 0; c < kLetters; ++c)
            if (uses[static_cast<std::size_t>(c)] == 1) out.result.push_back(c);
        return out;
    }
    int unused = 0;
    out.result = readTerm(all.substr(arrow + 2), 0, ellipsis, unused);
    for (std::size_t i = 0; i < out.result.size(); ++i) {
        const EinsumLabel label = out.result[i];
        if (label >= kLetters) continue;
        if (uses[static_cast<std::size_t>(label)] == 0)
            refuse(fmt::format("output subscript {} does not appear in the equation for any input operand",
                               static_cast<char>(label)));
        if (std::find(out.result.begin(), out.result.begin() + static_cast<std::ptrdiff_t>(i), label) !=
            out.result.begin() + static_cast<std::ptrdiff_t>(i))
            refuse(fmt::format("output subscript {} appears more than once in the output",
                               static_cast<char>(label)));
    }
    return out;
}

} // namespace twb
