#include "formats/pytorch/python_helpers.h"
#include "formats/pytorch/pytorch_exporter.h"

#include <array>

namespace twb::pytorch {
namespace {

/// Python's keywords and the names that the module imports or defines.
constexpr std::array kTaken{
    "False",    "None",     "True",  "and",     "as",          "assert",    "async",  "await",    "break",
    "class",    "continue", "def",   "del",     "elif",        "else",      "except", "finally",  "for",
    "from",     "global",   "if",    "import",  "in",          "is",        "lambda", "nonlocal", "not",
    "or",       "pass",     "raise", "return",  "try",         "while",     "with",   "yield",    "match",
    "case",     "argparse", "json",  "math",    "numpy",       "pathlib",   "torch",  "nn",       "F",
    "self",     "super",    "main",  "model",   "graph",       "arguments", "parser", "outputs",  "name",
    "tensor",   "Model",    "HERE",  "DEVICES", "SAFETENSORS", "_",         "float",  "int",      "bool",
    "range",    "list",     "sum",   "max",     "min",         "print",     "str",    "dict",     "zip",
    "type",     "open",     "next",  "slice",   "sorted",      "entry",     "folder", "len",      "reversed",
    "enumerate"};

/// Members of nn.Module.
constexpr std::array kMembers{"add_module",
                              "apply",
                              "bfloat16",
                              "buffers",
                              "children",
                              "compile",
                              "cpu",
                              "cuda",
                              "double",
                              "eval",
                              "extra_repr",
                              "forward",
                              "half",
                              "ipu",
                              "modules",
                              "parameters",
                              "share_memory",
                              "state_dict",
                              "to",
                              "to_empty",
                              "train",
                              "training",
                              "xpu",
                              "zero_grad",
                              "named_buffers",
                              "named_children",
                              "named_modules",
                              "named_parameters",
                              "load_state_dict",
                              "register_buffer",
                              "register_module",
                              "register_parameter"};

bool isPlain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

} // namespace

PythonNames PythonNames::ofMembers() {
    PythonNames names;
    names.m_taken.insert(kMembers.begin(), kMembers.end());
    return names;
}

PythonNames::PythonNames() : m_taken(kTaken.begin(), kTaken.end()) {
    for (const PythonHelper& helper : pythonHelpers()) m_taken.emplace(helper.name);
}

std::string PythonNames::unique(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !m_taken.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
}

std::string PythonNames::variable(std::string_view wanted, std::string_view otherwise) {
    std::string name;
    for (const char c : wanted) {
        if (isPlain(c))
            name += c;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    while (name.ends_with('_')) name.pop_back();
    if (name.empty()) name = otherwise;
    if (name.front() >= '0' && name.front() <= '9') name.insert(0, "_");
    return unique(name);
}

std::string PythonNames::type(std::string_view wanted) {
    std::string name;
    bool starts = true;
    for (const char c : wanted) {
        if (!isPlain(c)) {
            starts = true;
            continue;
        }
        // Adjacent digits would read as one number.
        if (starts && !name.empty() && name.back() >= '0' && name.back() <= '9' && c >= '0' && c <= '9')
            name += '_';
        name += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        starts = false;
    }
    if (name.empty() || (name.front() >= '0' && name.front() <= '9')) name.insert(0, "Module");
    return unique(name);
}

} // namespace twb::pytorch
