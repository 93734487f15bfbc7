#include "formats/pytorch/python_helpers.h"

#include "helpers_py.h" // made by CMake of helpers.py

#include <functional>

namespace twb::pytorch {
namespace {

constexpr std::string_view kDef = "def ";
constexpr std::string_view kBetween = "\n\n\n"; ///< two empty lines

bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view wordAt(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && isWord(text[end])) ++end;
    return text.substr(at, end - at);
}

/// The name in "def name(…):" or "NAME = …".
std::string_view definedName(std::string_view text) {
    return wordAt(text, text.starts_with(kDef) ? kDef.size() : 0);
}

/// Whether a definition uses the function or constant `other`.
bool uses(std::string_view text, const PythonHelper& other) {
    const std::string_view name = other.name;
    const bool isFunction = other.text.starts_with(kDef);
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const bool isMember = at > 0 && (isWord(text[at - 1]) || text[at - 1] == '.');
        const bool isCalled = text.substr(at + name.size()).starts_with('(');
        if (!isMember && wordAt(text, at) == name && (isCalled || !isFunction)) return true;
    }
    return false;
}

std::vector<PythonHelper> split(std::string_view module) {
    std::vector<PythonHelper> out;
    // The imports come first and are not copied; each module has its own.
    for (std::size_t at = module.find(kBetween); at != std::string_view::npos;) {
        const std::size_t begin = at + kBetween.size();
        at = module.find(kBetween, begin);
        const std::string_view text = module.substr(begin, at - begin);
        out.push_back({definedName(text), text.substr(0, text.find_last_not_of('\n') + 1), {}});
    }
    for (PythonHelper& helper : out)
        for (const PythonHelper& other : out)
            if (other.name != helper.name && uses(helper.text, other)) helper.calls.push_back(other.name);
    return out;
}

} // namespace

const std::vector<PythonHelper>& pythonHelpers() {
    static const std::vector<PythonHelper> all = split(kHelpersPy);
    return all;
}

std::vector<const PythonHelper*> helpersFor(const std::set<std::string>& names) {
    const std::vector<PythonHelper>& all = pythonHelpers();
    std::set<std::string_view> wanted;
    const std::function<void(std::string_view)> want = [&](std::string_view name) {
        if (!wanted.insert(name).second) return;
        for (const PythonHelper& helper : all)
            if (helper.name == name)
                for (const std::string_view called : helper.calls) want(called);
    };
    for (const std::string& name : names) want(name);
    std::vector<const PythonHelper*> out;
    for (const PythonHelper& helper : all)
        if (wanted.contains(helper.name)) out.push_back(&helper);
    return out;
}

} // namespace twb::pytorch
