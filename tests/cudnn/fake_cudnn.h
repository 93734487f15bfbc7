#pragma once

namespace twb::test::fake {

/// Convolutions so far, forwards and transposed, of the library that stands in for cuDNN.
struct CudnnCounts {
    int forward = 0;
    int transposed = 0;
    int withoutMemory = 0; ///< of these two, by the way that needs none
    int asked = 0;         ///< which ways there are
};
CudnnCounts cudnnCounts();

} // namespace twb::test::fake
