#pragma once

#include "core/tensor.h"
#include "formats/npy.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace twb {

/// The bytes of a .npy from its start on, wherever they lie: in a file, in an entry of a .npz.
struct NpyStream {
    /// Reads the next `count` bytes; fewer only at the end.
    std::function<std::size_t(void* to, std::size_t count)> next;
    std::uint64_t size = 0; ///< as it is claimed
    std::string origin;     ///< what a sentence names: the file, or file and tensor
};

/// The header, after which the stream stands at the data. Throws as readNpyHeader() does.
NpyHeader readNpyHeader(const NpyStream& stream);
/// Then the data, dense and in row-major order; `out` must be of exactly the header's type.
void readNpyData(const NpyStream& stream, const NpyHeader& header, const TensorView& out);

} // namespace twb
