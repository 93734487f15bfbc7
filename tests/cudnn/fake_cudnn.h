#pragma once

namespace twb::test::fake {

/// Convolutions so far, forwards and transposed, of the library that stands in for cuDNN.
struct CudnnCounts {
    int forward = 0;
    int transposed = 0;
};
CudnnCounts cudnnCounts();

} // namespace twb::test::fake
