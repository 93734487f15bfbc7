#include "fuzz/targets.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto file =
        std::filesystem::temp_directory_path() / fmt::format("twb-fuzz-{}.trace", getpid());
    twb::fuzz::runTrace({reinterpret_cast<const char*>(data), size}, file);
    return 0;
}
