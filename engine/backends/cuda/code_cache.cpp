#include "backends/cuda/code_cache.h"

#include "core/hash.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace twb::cuda {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
    // The environment is read only here and never written.
    if (const char* cache = std::getenv("XDG_CACHE_HOME");
        cache && *cache == '/') // NOLINT(concurrency-mt-unsafe)
        return fs::path(cache) / "tensor-workbench" / "kernels";
    if (const char* home = std::getenv("HOME"); home && *home == '/') // NOLINT(concurrency-mt-unsafe)
        return fs::path(home) / ".cache" / "tensor-workbench" / "kernels";
    return {};
}

fs::path fileOf(std::string_view from) {
    const fs::path parent = folder();
    return parent.empty() ? fs::path() : parent / fmt::format("{:016x}", ContentHash().add(from).value());
}

/// A file starts with both lengths and the source, followed by the code.
std::string headOf(std::string_view from, std::size_t codeBytes) {
    return fmt::format("{} {}\n{}", from.size(), codeBytes, from);
}

} // namespace

std::optional<std::string> cachedCode(std::string_view from) {
    const fs::path file = fileOf(from);
    if (file.empty()) return std::nullopt;
    std::ifstream in(file, std::ios::binary);
    if (!in) return std::nullopt;
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto line = text.find('\n');
    if (line == std::string::npos) return std::nullopt;
    const std::size_t begin = line + 1 + from.size();
    if (text.size() <= begin || text.substr(0, begin) != headOf(from, text.size() - begin))
        return std::nullopt;
    return text.substr(begin);
}

void cacheCode(std::string_view from, std::string_view code) noexcept {
    try {
        const fs::path file = fileOf(from);
        if (file.empty() || code.empty()) return;
        std::error_code failed;
        fs::create_directories(file.parent_path(), failed);
        const fs::path half = file.string() + fmt::format(".{}", getpid());
        {
            std::ofstream out(half, std::ios::binary);
            out << headOf(from, code.size()) << code;
            out.close();
            if (!out) {
                fs::remove(half, failed);
                return;
            }
        }
        fs::rename(half, file, failed);
        if (failed) fs::remove(half, failed);
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): it is compiled again next time
    }
}

} // namespace twb::cuda
