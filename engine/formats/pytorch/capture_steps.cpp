#include "formats/pytorch/capture_steps.h"

#include "core/hash.h"
#include "graph/source_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace twb::capture {
namespace {

/// Different iterations beyond this number are left out.
constexpr std::size_t kMostDifferent = 8;

/// Ops [first, end) of the record.
struct Range {
    Index first = 0;
    Index end = 0;
    std::int64_t number = 0; ///< of the iteration
};

class Folding {
public:
    explicit Folding(const Record& record) : m_record(record) {}

    Steps run();

private:
    void findSteps();
    bool findLoop();
    void findIterations();
    void withoutLoop();
    int lineOf(Index op) const;
    bool isOptimizer(Index op) const { return m_record.formOf(m_record.ops[op]).phase == Phase::optimizer; }
    std::uint64_t signature(const Range& range) const;
    struct Alignment {
        std::vector<std::pair<Index, Index>> equal;
        std::vector<Index> more, fewer; ///< ops that only the first, or only the second one has
    };
    Alignment align(const Range& range, const Range& model) const;
    std::string difference(const Alignment& alignment) const;
    std::string nameOf(Index op) const;
    Index add(Part::Kind kind, std::string title, std::vector<Index> ops);
    void fold();

    const Record& m_record;
    std::vector<Range> m_steps;      ///< of the capture
    std::vector<Range> m_iterations; ///< of the loop
    std::uint32_t m_depth = 0;       ///< of the loop's function in a stack
    Index m_above = kNone;           ///< the location that called the loop's function
    std::string m_file, m_function;  ///< that contain the loop
    int m_firstLine = 0, m_lastLine = 0;
    Steps m_out;
};

std::vector<Index> opsOf(Index first, Index end) {
    std::vector<Index> out;
    for (Index op = first; op < end; ++op) out.push_back(op);
    return out;
}

void Folding::findSteps() {
    const auto& ops = m_record.ops;
    for (Index op = 0; op < ops.size(); ++op) {
        if (m_steps.empty() || ops[op].step != m_steps.back().number)
            m_steps.push_back({op, op, ops[op].step});
        m_steps.back().end = op + 1;
    }
}

/// The loop's function is the innermost one that all ops of a step have in their stacks.
bool Folding::findLoop() {
    std::vector<const Range*> whole;
    for (const Range& step : m_steps) {
        bool optimizes = false;
        for (Index op = step.first; op < step.end; ++op) optimizes = optimizes || isOptimizer(op);
        if (optimizes) whole.push_back(&step);
    }
    if (whole.size() < 2) return false;
    const Range& typical = *whole[std::max<std::size_t>(1, whole.size() / 2)];
    const auto& locations = m_record.locations;
    const auto above = [&](Index location, std::uint32_t depth) {
        while (location != kNone && locations[location].depth > depth) location = locations[location].caller;
        return location;
    };
    Index common = kNone; // the deepest location, from outside, that belongs to all stacks
    std::uint32_t depth = 0;
    bool isFirst = true;
    for (Index op = typical.first; op < typical.end; ++op) {
        const Index location = m_record.formOf(m_record.ops[op]).location;
        if (location == kNone) continue;
        if (isFirst) {
            common = location;
            depth = locations[location].depth;
            isFirst = false;
            continue;
        }
        depth = std::min(depth, locations[location].depth);
        const auto sameFunction = [&] {
            const Location& a = locations[above(common, depth)];
            const Location& b = locations[above(location, depth)];
            return a.caller == b.caller && a.function == b.function && a.file == b.file;
        };
        while (depth > 0 && !sameFunction()) --depth;
        if (!sameFunction()) return false;
    }
    if (isFirst) return false;
    const Location& inside = locations[above(common, depth)];
    m_depth = depth;
    m_above = inside.caller;
    m_file = inside.file;
    m_function = inside.function;
    m_firstLine = m_lastLine = 0;
    for (Index op = typical.first; op < typical.end; ++op) {
        const int line = lineOf(op);
        if (line == 0) continue;
        m_firstLine = m_firstLine == 0 ? line : std::min(m_firstLine, line);
        m_lastLine = std::max(m_lastLine, line);
    }
    return m_firstLine > 0;
}

/// The line of the loop's function from which an op was called; 0 for an op from elsewhere.
int Folding::lineOf(Index op) const {
    const auto& locations = m_record.locations;
    Index at = m_record.formOf(m_record.ops[op]).location;
    while (at != kNone && locations[at].depth > m_depth) at = locations[at].caller;
    if (at == kNone || locations[at].depth != m_depth || locations[at].caller != m_above) return 0;
    const Location& location = locations[at];
    return location.function == m_function && location.file == m_file ? location.line : 0;
}

void Folding::findIterations() {
    const auto isInside = [&](Index op) {
        const int line = lineOf(op);
        return line >= m_firstLine && line <= m_lastLine;
    };
    std::vector<Index> starts;
    for (const Range& step : m_steps) {
        Index start = step.end;
        for (Index op = step.first; op < step.end && start == step.end; ++op)
            if (lineOf(op) == m_firstLine) start = op;
        // A first step without the first line begins where the loop does.
        for (Index op = step.first; op < step.end && start == step.end && starts.empty(); ++op)
            if (isInside(op)) start = op;
        if (start != step.end) starts.push_back(start);
    }
    // The last iteration ends with the last op of the loop's lines after its step.
    Index end = m_steps.back().end;
    const Range& last = m_steps.back();
    const bool endsWithStep = isOptimizer(last.end - 1);
    if (!endsWithStep) {
        end = std::max(starts.back(), last.first);
        while (end < last.end && isInside(end)) ++end;
    }
    add(Part::Kind::setUp, "Set-up", opsOf(0, starts.front()));
    for (std::size_t i = 0; i < starts.size(); ++i)
        m_iterations.push_back(
            {starts[i], i + 1 < starts.size() ? starts[i + 1] : end, static_cast<std::int64_t>(i)});
    if (m_record.isCut && m_iterations.size() > 1 &&
        signature(m_iterations.back()) != signature(m_iterations[m_iterations.size() - 2])) {
        m_iterations.pop_back();
        m_out.remarks.push_back(fmt::format("Step {} is incomplete and not shown.", m_iterations.size()));
    }
    fold();
    add(Part::Kind::rest, "After the loop", opsOf(end, static_cast<Index>(m_record.ops.size())));
}

/// Without a loop, what precedes the first call of a module, and of a backward or an optimizer, is set-up.
void Folding::withoutLoop() {
    const auto end = static_cast<Index>(m_record.ops.size());
    Index first = 0;
    while (first < end) {
        const Form& form = m_record.formOf(m_record.ops[first]);
        if (form.module != kNone || form.phase != Phase::forward) break;
        ++first;
    }
    if (first == end) first = 0;
    add(Part::Kind::setUp, "Set-up", opsOf(0, first));
    add(Part::Kind::iteration, "", opsOf(first, end));
}

Index Folding::add(Part::Kind kind, std::string title, std::vector<Index> ops) {
    const auto at = static_cast<Index>(m_out.parts.size());
    for (const Index op : ops) m_out.partOf[op] = at;
    m_out.parts.push_back({kind, std::move(title), std::move(ops)});
    return at;
}

/// Of the forms and the edges relative to the iteration's start.
std::uint64_t Folding::signature(const Range& range) const {
    ContentHash hash;
    for (Index at = range.first; at < range.end; ++at) {
        const Op& op = m_record.ops[at];
        hash.add(op.form);
        const std::size_t count = m_record.forms[op.form].arguments.size();
        for (std::size_t i = 0; i < count; ++i) {
            const Index value = m_record.operands[op.firstOperand + i];
            const Index producer = value == kNone ? kNone : m_record.values[value].producer;
            const bool isInside = producer != kNone && producer >= range.first;
            hash.add(isInside ? producer - range.first + 1 : 0);
            if (isInside) {
                Index result = m_record.ops[producer].firstResult;
                while (m_record.results[result] != value) ++result;
                hash.add(result - m_record.ops[producer].firstResult);
            }
        }
    }
    return hash.value();
}

/// Aligns two iterations by their forms. Ops that only one of them has are skipped up to the nearest equal
/// form within a window, so the time is linear in the length.
Folding::Alignment Folding::align(const Range& range, const Range& model) const {
    constexpr Index kWindow = 512;
    const auto form = [&](Index op) { return m_record.ops[op].form; };
    Alignment out;
    Index a = range.first;
    Index b = model.first;
    while (a < range.end && b < model.end) {
        if (form(a) == form(b)) {
            out.equal.emplace_back(a++, b++);
            continue;
        }
        Index more = 1;
        while (more < kWindow && a + more < range.end && form(a + more) != form(b)) ++more;
        Index fewer = 1;
        while (fewer < kWindow && b + fewer < model.end && form(b + fewer) != form(a)) ++fewer;
        const bool foundMore = more < kWindow && a + more < range.end;
        const bool foundFewer = fewer < kWindow && b + fewer < model.end;
        if (foundMore && (!foundFewer || more <= fewer)) {
            for (; more > 0; --more) out.more.push_back(a++);
        } else if (foundFewer) {
            for (; fewer > 0; --fewer) out.fewer.push_back(b++);
        } else {
            out.more.push_back(a++);
            out.fewer.push_back(b++);
        }
    }
    while (a < range.end) out.more.push_back(a++);
    while (b < model.end) out.fewer.push_back(b++);
    return out;
}

std::string Folding::nameOf(Index op) const {
    const Form& form = m_record.formOf(m_record.ops[op]);
    const Index line = m_record.userLine(form.location);
    if (line == kNone) return form.op;
    const Location& at = m_record.locations[line];
    return fmt::format("{} at {}", form.op, toShortString(SourceLine{at.file, at.line, {}}));
}

std::string Folding::difference(const Alignment& alignment) const {
    const auto counted = [](std::size_t count) {
        return fmt::format("{} op{}", count, count == 1 ? "" : "s");
    };
    std::string out;
    if (!alignment.more.empty())
        out = fmt::format("{} more, from {}", counted(alignment.more.size()), nameOf(alignment.more.front()));
    if (!alignment.fewer.empty())
        out += fmt::format("{}{} fewer, from {}", out.empty() ? "" : "; ", counted(alignment.fewer.size()),
                           nameOf(alignment.fewer.front()));
    return out.empty() ? "other edges" : out;
}

std::string stepsTitle(const std::vector<std::int64_t>& numbers) {
    std::string out = numbers.size() == 1 ? "Step " : "Steps ";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i == 6) return out + fmt::format(" and {} more", numbers.size() - i);
        out += fmt::format("{}{}", i ? ", " : "", numbers[i]);
    }
    return out;
}

void Folding::fold() {
    std::unordered_map<std::uint64_t, std::size_t> kindOf;
    std::vector<std::vector<const Range*>> kinds;
    for (const Range& range : m_iterations) {
        const auto [at, fresh] = kindOf.try_emplace(signature(range), kinds.size());
        if (fresh) kinds.emplace_back();
        kinds[at->second].push_back(&range);
    }
    // The commonest kind; among equals the later one, since the first iteration often makes the state.
    std::size_t most = 0;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i].size() >= kinds[most].size()) most = i;
    // The last one is cut where the script ends.
    if (kinds[most].size() == 1 && kinds.size() > 2 && kinds[most].front() == &m_iterations.back())
        most = kinds.size() - 2;
    const Range& model = *kinds[most].front();
    m_out.count = static_cast<std::int64_t>(kinds[most].size());
    const auto standFor = [&](const Range& stand, const Range& range) {
        for (Index op = range.first; op < range.end; ++op)
            m_out.standIn[op] = stand.first + (op - range.first);
    };
    for (const Range* range : kinds[most]) standFor(model, *range);

    std::vector<std::pair<std::vector<const Range*>, std::string>> different;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (i == most) continue;
        const Range& first = *kinds[i].front();
        const Alignment alignment = align(first, model);
        // The first iteration makes state (such as an optimizer's) and finds none (no gradients to clear).
        if (first.number == 0 && kinds[i].size() == 1 &&
            2 * alignment.equal.size() > model.end - model.first) {
            for (const auto& [op, stand] : alignment.equal) m_out.standIn[op] = stand;
            Part& setUp = m_out.parts.front();
            for (const Index op : alignment.more) {
                setUp.ops.push_back(op);
                m_out.partOf[op] = 0;
            }
            ++m_out.count;
            m_out.remarks.push_back(fmt::format(
                "The first step differs: {}. Its additional ops are in Set-up.", difference(alignment)));
            continue;
        }
        different.emplace_back(kinds[i], difference(alignment));
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < different.size(); ++i) {
        const auto& [ranges, words] = different[i];
        std::vector<std::int64_t> numbers;
        for (const Range* range : ranges) numbers.push_back(range->number);
        if (i >= kMostDifferent) {
            left += ranges.size();
            continue;
        }
        const Range& first = *ranges.front();
        for (const Range* range : ranges) standFor(first, *range);
        add(Part::Kind::different, fmt::format("{}: {}", stepsTitle(numbers), words),
            opsOf(first.first, first.end));
    }
    if (left > 0)
        m_out.remarks.push_back(fmt::format("{} more steps differ from the others and are not shown.", left));
    add(Part::Kind::iteration, "", opsOf(model.first, model.end));
}

Steps Folding::run() {
    const auto count = static_cast<Index>(m_record.ops.size());
    m_out.partOf.assign(count, kNone);
    for (Index op = 0; op < count; ++op) m_out.standIn.push_back(op);
    findSteps();
    if (count > 0 && findLoop())
        findIterations();
    else
        withoutLoop();
    return std::move(m_out);
}

} // namespace

Steps foldSteps(const Record& record) { return Folding(record).run(); }

} // namespace twb::capture
