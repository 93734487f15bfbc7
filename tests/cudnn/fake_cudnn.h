#pragma once

namespace twb::test::fake {

/// The number of convolutions so far by the library that stands in for cuDNN, by kind.
struct CudnnCounts {
    int forward = 0;
    int transposed = 0;
    int weightGradients = 0;
    int withoutMemory = 0; ///< of these: with the algorithm that needs no workspace
    int winograd = 0;      ///< of these: with a Winograd algorithm
    int asked = 0;         ///< queries for algorithms
};
CudnnCounts cudnnCounts();

} // namespace twb::test::fake
