#include "app/commands.h"
#include "app/terminal.h"
#include "core/error.h"
#include "formats/project.h"
#include "ops/op_table.h"
#include "profile/resource_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace twb {
namespace {

namespace fs = std::filesystem;

struct NewOpOptions {
    std::string name;
    std::string folder;
    bool cuda = false;
};

/// The op in resources/sdk/op.c, which the new plug-in starts from.
constexpr std::string_view kExample = "Softclip";

std::string lowerCase(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

std::string textOf(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw Error(ErrorCode::io, fmt::format("cannot read {}; install the program again", file.string()));
    return {std::istreambuf_iterator<char>(in), {}};
}

ExitCode write(const NewOpOptions& options) {
    const std::string& name = options.name;
    if (!std::isupper(static_cast<unsigned char>(name.front())) ||
        !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format(
                "new-op: \"{}\" must begin with a capital letter and consist of letters, digits and _",
                name));
    if (findOp(name))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("new-op: there is already an op {}; choose another name", name));
    const std::string file = lowerCase(name);
    const fs::path folder = options.folder.empty() ? fs::path(file) : fs::path(options.folder);
    std::error_code failed;
    if (fs::exists(folder, failed) && !fs::is_empty(folder, failed))
        throw Error(ErrorCode::io,
                    fmt::format("new-op: the folder {} is not empty; name another one with --output",
                                folder.string()));
    std::vector<fs::path> made; // folders, the innermost first
    for (fs::path at = fs::absolute(folder).lexically_normal(); !fs::exists(at, failed);
         at = at.parent_path())
        made.push_back(at);
    fs::create_directories(folder, failed);
    if (failed)
        throw Error(ErrorCode::io,
                    fmt::format("cannot create the folder {}: {}", folder.string(), failed.message()));
    const fs::path sdk = resourceFolder() / "sdk";
    std::vector<fs::path> written;
    const auto save = [&](const std::string& fileName, const std::string& text) {
        writeFileAtomically(folder / fileName, text);
        written.push_back(folder / fileName);
    };
    const auto saveSource = [&](const char* extension) {
        const std::string code = replaced(textOf(sdk / (std::string("op") + extension)), kExample, name);
        save(file + extension, replaced(code, lowerCase(std::string(kExample)), file));
    };
    try {
        saveSource(".c");
        if (options.cuda) saveSource(".cu");
        save("CMakeLists.txt", fmt::format("cmake_minimum_required(VERSION 3.22)\n"
                                           "project({0} LANGUAGES C)\n"
                                           "if(NOT CMAKE_BUILD_TYPE)\n"
                                           "  set(CMAKE_BUILD_TYPE Release)\n"
                                           "endif()\n"
                                           "find_package(TensorWorkbenchSdk REQUIRED {2}HINTS \"{1}\")\n"
                                           "twb_add_plugin({0} {0}.c{3})\n",
                                           file, fs::absolute(sdk, failed).string(),
                                           options.cuda ? "OPTIONAL_COMPONENTS CUDA " : "",
                                           options.cuda ? fmt::format(" {}.cu", file) : ""));
    } catch (...) {
        // The same command would find its folder not empty.
        for (const fs::path& one : written) fs::remove(one, failed);
        for (const fs::path& one : made) fs::remove(one, failed);
        throw;
    }
    printResult(fmt::format("{0}: a plug-in with the op {1}. Build it and use it:\n"
                            "  cmake -S {0} -B {0}/build && cmake --build {0}/build\n"
                            "  TWB_OPS={0}/build/{2}.so twb ops {1}\n",
                            folder.string(), name, file));
    return ExitCode::fine;
}

} // namespace

void addNewOpCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<NewOpOptions>();
    CLI::App* command =
        app.add_subcommand("new-op", "Write the source of a plug-in with one op, to start from");
    command->add_option("NAME", options->name, "Name of the op: Softclip")->required();
    command->add_option("-o,--output", options->folder, "Folder to write; default: the name in lower case")
        ->type_name("DIR");
    command->add_flag("--cuda", options->cuda,
                      "Also write a kernel for NVIDIA GPUs, which is built where there is a CUDA toolkit");
    command->callback([options, &exit] { exit = write(*options); });
}

} // namespace twb
