#pragma once

#include "core/tensor.h"
#include "formats/npy.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace twb {

/// The bytes of a .npy file, from a file or from an entry of a .npz.
struct NpyStream {
    /// Reads the next `count` bytes; fewer only at the end.
    std::function<std::size_t(void* to, std::size_t count)> next;
    std::uint64_t size = 0; ///< the declared size
    std::string origin;     ///< for messages: the file, or file and tensor
};

/// Reads the header and leaves the stream at the data. Throws like readNpyHeader().
NpyHeader readNpyHeader(const NpyStream& stream);
/// Then reads the data, dense and row-major; `out` must have the header's type.
void readNpyData(const NpyStream& stream, const NpyHeader& header, const TensorView& out);

} // namespace twb
