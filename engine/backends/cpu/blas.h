#pragma once

#include <cblas.h>

#include <cstddef>
#include <string_view>

namespace twb {

/// Throws Error(outOfMemory) if the process cannot map this many bytes now, which a library needs for a
/// matrix product.
void requireRoom(std::string_view library, std::size_t bytes);

/// The functions of OpenBLAS that matrix products use.
struct BlasFunctions {
    decltype(&cblas_sgemm) sgemm = nullptr;
    decltype(&cblas_dgemm) dgemm = nullptr;
    decltype(&cblas_sgemv) sgemv = nullptr;
    decltype(&cblas_dgemv) dgemv = nullptr;
};

/// Access to OpenBLAS for one call at a time. The first object loads the library, so programs without matrix
/// products do not need its memory. OpenBLAS allocates a work buffer for each thread and for each concurrent
/// call, and retries forever if an allocation fails. The constructor therefore checks that there is room for
/// another buffer; if there is none, it waits until a running call has ended. Throws Error(outOfMemory) if
/// there is no room for a single call, Error(unsupported) if the library cannot be loaded.
class BlasCall {
public:
    BlasCall();
    ~BlasCall();
    BlasCall(const BlasCall&) = delete;
    BlasCall& operator=(const BlasCall&) = delete;

    const BlasFunctions* operator->() const noexcept { return &m_functions; }

private:
    const BlasFunctions& m_functions;
};

} // namespace twb
