# The kernels, for whoever builds them: the plugin, with nvcc, and the tests, with the host's compiler.
file(GLOB TWB_CUDA_KERNEL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
file(GLOB TWB_CUDA_KERNEL_CXX_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
# What only a GPU's libraries do; the tests have loops of their own in its place.
set(TWB_CUDA_KERNEL_LIBRARY_SOURCES ${TWB_CUDA_KERNEL_CXX_SOURCES})
list(FILTER TWB_CUDA_KERNEL_LIBRARY_SOURCES INCLUDE REGEX "_cublas\\.cpp$|_cudnn\\.cpp$")
if(TWB_CUDA_KERNEL_LIBRARY_SOURCES)
  list(REMOVE_ITEM TWB_CUDA_KERNEL_CXX_SOURCES ${TWB_CUDA_KERNEL_LIBRARY_SOURCES})
endif()
# What nvcc needs beside the language level: standard functions that are constexpr, called on the GPU; and no
# word about comparisons that a type makes pointless, which templates are full of.
set(TWB_CUDA_KERNEL_OPTIONS --expt-relaxed-constexpr --diag-suppress=186)
