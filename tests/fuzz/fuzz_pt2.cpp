#include "fuzz/targets.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::filesystem::path file = std::filesystem::temp_directory_path() / "fuzz.pt2";
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    // Programs reach further than archives, whose checksums rarely fit.
    if (bytes.starts_with('{'))
        twb::fuzz::pt2Program(bytes, file);
    else
        twb::fuzz::pt2(bytes, file);
    return 0;
}
