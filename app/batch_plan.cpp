#include "app/batch_plan.h"

#include "app/settings.h"
#include "core/error.h"
#include "core/hash.h"
#include "formats/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRuns = 100'000;
constexpr std::size_t kLongestName = 120;

/// A text as part of a file name without characters that a shell must quote; "[2, 3]" becomes "2x3".
std::string plain(std::string_view text) {
    constexpr std::string_view kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=+-";
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '[' || c == ']' || (c == ' ' && i > 0 && text[i - 1] == ',')) continue;
        out += c == ',' ? 'x' : kept.find(c) != std::string_view::npos ? c : '-';
    }
    return out;
}

std::string hex(const ContentHash& hash) { return fmt::format("{:016x}", hash.value()); }

/// "digits__fc1.alpha=2"; a name that is too long is cut and ends in a hash.
std::string nameOf(const fs::path& file, const std::vector<SweepAxis>& axes,
                   const std::vector<std::string>& values) {
    std::string out = plain(file.stem().string());
    if (out.empty() || out.front() == '.' || out.front() == '-') out.insert(0, "graph");
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i].values.size() > 1) out += "__" + plain(axes[i].target + '=' + values[i]);
    if (out.size() <= kLongestName) return out;
    ContentHash hash;
    hash.add(out);
    return out.substr(0, kLongestName - 17) + '-' + hex(hash);
}

void makeUnique(std::vector<BatchMember>& members) {
    std::set<std::string> taken{"summary"}; // of the whole batch
    for (BatchMember& member : members) {
        std::string name = member.name;
        // Graphs with the same name are distinguished by their folders.
        if (taken.contains(name))
            name = plain(member.file.parent_path().filename().string()) + '-' + member.name;
        for (int n = 2; taken.contains(name); ++n) name = fmt::format("{}-{}", member.name, n);
        taken.insert(name);
        member.name = name;
    }
}

} // namespace

SweepAxis parseSweepAxis(std::string_view text) {
    const Setting setting = parseSetting(text);
    return {setting.node + '.' + setting.attribute, splitValues(setting.value)};
}

std::vector<fs::path> collectGraphs(const std::vector<std::string>& arguments) {
    std::vector<fs::path> out;
    for (const std::string& argument : arguments) {
        std::error_code failed;
        const fs::path path(argument);
        if (!fs::is_directory(path, failed)) {
            if (!fs::exists(path, failed))
                throw Error(ErrorCode::io, fmt::format("no such file or folder: {}", argument));
            out.push_back(path);
            continue;
        }
        std::vector<fs::path> found;
        for (fs::recursive_directory_iterator entry(path, failed), end; !failed && entry != end;
             entry.increment(failed))
            if (entry->path().extension() == ".twb") found.push_back(entry->path());
        if (failed)
            throw Error(ErrorCode::io,
                        fmt::format("cannot read the folder {}: {}", argument, failed.message()));
        std::sort(found.begin(), found.end());
        out.insert(out.end(), found.begin(), found.end());
    }
    std::set<fs::path> seen;
    std::erase_if(out, [&](const fs::path& path) { return !seen.insert(fs::weakly_canonical(path)).second; });
    return out;
}

std::vector<BatchMember> planBatch(const std::vector<fs::path>& files, const std::vector<SweepAxis>& axes,
                                   const std::vector<std::string>& options,
                                   const std::function<void(const fs::path&, const std::string&)>& look) {
    std::size_t combinations = 1;
    for (const SweepAxis& axis : axes) {
        combinations *= axis.values.size();
        if (combinations > kMostRuns) break;
    }
    if (combinations * std::max<std::size_t>(files.size(), 1) > kMostRuns)
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("this batch would have more than {} runs; give --set fewer values", kMostRuns));

    std::vector<BatchMember> members;
    for (const fs::path& file : files) {
        ContentHash content;
        try {
            const std::string text = readProjectText(file);
            content.add(text);
            look(file, text);
        } catch (const Error&) {
            // The run will report the error; the other runs continue.
        }
        for (const std::string& option : options) content.add(option);
        for (std::size_t n = 0; n < combinations; ++n) {
            BatchMember member;
            member.file = file;
            member.values.resize(axes.size());
            std::size_t rest = n;
            for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].values.size())
                member.values[i] = axes[i].values[rest % axes[i].values.size()];
            ContentHash key = content;
            for (std::size_t i = 0; i < axes.size(); ++i) key.add(axes[i].target).add(member.values[i]);
            member.key = hex(key);
            member.name = nameOf(file, axes, member.values);
            members.push_back(std::move(member));
        }
    }
    makeUnique(members);
    return members;
}

} // namespace twb
