# The kernels' sources. The plugin compiles them with nvcc, the tests with the host's compiler.
file(GLOB TWB_CUDA_KERNEL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
file(GLOB TWB_CUDA_KERNEL_CXX_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
# Sources that call a GPU's libraries; the tests have loops of their own in their place.
set(TWB_CUDA_KERNEL_LIBRARY_SOURCES ${TWB_CUDA_KERNEL_CXX_SOURCES})
list(FILTER TWB_CUDA_KERNEL_LIBRARY_SOURCES INCLUDE REGEX "_cublas\\.cpp$|_cudnn\\.cpp$")
if(TWB_CUDA_KERNEL_LIBRARY_SOURCES)
  list(REMOVE_ITEM TWB_CUDA_KERNEL_CXX_SOURCES ${TWB_CUDA_KERNEL_LIBRARY_SOURCES})
endif()
# Additional options of nvcc: calls of constexpr standard functions on the GPU, and no warnings about comparisons that are
# always true for a type, which are common in templates.
set(TWB_CUDA_KERNEL_OPTIONS --expt-relaxed-constexpr --diag-suppress=186)

# The headers for chains of pointwise ops as text, since NVRTC has no header files where the program runs.
set(text "")
foreach(header backends/cuda/kernels/chain_prelude.h core/half.h ops/element_functions.h ops/math_functions.h
               ops/activation_functions.h backends/cuda/kernels/fast_divide.h backends/cuda/kernels/chain_kernel.h)
  set(path ${CMAKE_SOURCE_DIR}/engine/${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} part)
  if(NOT header MATCHES "prelude")
    string(REGEX REPLACE "#(include|pragma once)[^\n]*\n" "" part "${part}")
  endif()
  string(APPEND text "${part}")
endforeach()
set(TWB_CUDA_CHAIN_HEADERS ${CMAKE_BINARY_DIR}/generated/chain_headers.cpp)
file(CONFIGURE OUTPUT ${TWB_CUDA_CHAIN_HEADERS} @ONLY CONTENT
"#include \"backends/cuda/kernels/chain_headers.h\"

const char* twb::cuda::chainHeaders() {
    return R\"twb(${text})twb\";
}
")
list(APPEND TWB_CUDA_KERNEL_CXX_SOURCES ${TWB_CUDA_CHAIN_HEADERS})
