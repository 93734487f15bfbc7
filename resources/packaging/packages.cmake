# Packages for Debian and Ubuntu, which resources/package.sh makes with CPack:
#   tensor-workbench-cli     twb, its data, man pages and completion; needs no Qt
#   tensor-workbench         the window, its manual and its entries for a desktop
#   tensor-workbench-cuda    the CUDA plugin, if the build has one
#   tensor-workbench-openmpi and tensor-workbench-mpich  the plugins for several ranks, if the build has them
#   tensor-workbench-python  the Python package that records PyTorch scripts
set(here ${CMAKE_CURRENT_LIST_DIR})
if(NOT TWB_MAINTAINER MATCHES "^[^<>]+ <[^<> ]+@[^<> ]+>$")
  message(FATAL_ERROR "TWB_MAINTAINER: \"${TWB_MAINTAINER}\" is not of the form NAME <ADDRESS>, which Debian "
    "requires. Set it, for example: -DTWB_MAINTAINER=\"Jane Doe <jane@example.org>\".")
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

set(components cli python)
if(TWB_GUI)
  list(APPEND components window)
endif()
if(TARGET twb_cuda)
  list(APPEND components cuda)
endif()
foreach(id openmpi mpich)
  if(TARGET twb_mpi_${id})
    list(APPEND components ${id})
  endif()
  set(package_${id} tensor-workbench-${id})
endforeach()
set(package_cli tensor-workbench-cli)
set(package_window tensor-workbench)
set(package_cuda tensor-workbench-cuda)
set(package_python tensor-workbench-python)

# Debian requires each package to have its licence and changelog.
configure_file(${here}/changelog.in ${CMAKE_BINARY_DIR}/packaging/changelog @ONLY)
execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/packaging/changelog
  OUTPUT_FILE ${CMAKE_BINARY_DIR}/packaging/changelog.gz)
foreach(component IN LISTS components)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${package_${component}})
  install(FILES ${here}/copyright ${CMAKE_BINARY_DIR}/packaging/changelog.gz DESTINATION ${doc} COMPONENT ${component})
  # The layout of Graphviz, NVIDIA's libraries, Open MPI and, on Ubuntu, MPICH are in folders of their own, which the linker
  # must know.
  if(component MATCHES "cli|window|cuda|openmpi|mpich")
    file(WRITE ${CMAKE_BINARY_DIR}/packaging/overrides/${package_${component}}
      "${package_${component}}: custom-library-search-path RUNPATH *\n")
    install(FILES ${CMAKE_BINARY_DIR}/packaging/overrides/${package_${component}}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
  endif()
  if(NOT component STREQUAL python)
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tensor-workbench)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${TWB_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "shows where tensors live and what transfers cost")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLI_PACKAGE_NAME ${package_cli})
set(CPACK_DEBIAN_CLI_DESCRIPTION "twb finds every device, shape and type mismatch in a graph of tensors before
anything runs, predicts and measures each transfer between devices, and runs,
trains and exports graphs. It reads projects of Tensor Workbench, ONNX models
and PyTorch programs, and simulates GPUs that the machine does not have. It
needs no display.")
# The engine opens OpenBLAS at the first matrix product, so it is not among the linked libraries.
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS libopenblas0-openmp)
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS bash-completion)
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "${package_window}, ${package_python}")

set(CPACK_DEBIAN_WINDOW_PACKAGE_NAME ${package_window})
set(CPACK_DEBIAN_WINDOW_DESCRIPTION "Tensor Workbench draws a graph of tensors and operations on lanes, one lane
for each device. Each mismatch has its cause and priced fixes, and each
transfer its predicted and its measured time. This package has the window; twb,
the program without a window, is in tensor-workbench-cli.")
# The plugin "offscreen" of Qt, by which the program renders pictures, is in qt6-qpa-plugins.
set(CPACK_DEBIAN_WINDOW_PACKAGE_DEPENDS
  "${package_cli} ${same}, qt6-qpa-plugins, fonts-inter, fonts-jetbrains-mono, hicolor-icon-theme")
set(CPACK_DEBIAN_WINDOW_PACKAGE_RECOMMENDS "qt6-wayland, ${package_python}")

# NVIDIA's libraries come from NVIDIA's repository or from an archive without packages, so dpkg-shlibdeps finds the C and
# C++ libraries only, and cuBLAS is recommended by its names there and in Debian. The driver's library, NVRTC, cuDNN and NCCL
# are opened at run time. The plugin says what is missing; then GPUs are simulated.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME ${package_cuda})
set(CPACK_DEBIAN_CUDA_DESCRIPTION "With this plugin, twb and Tensor Workbench run graphs on NVIDIA GPUs instead
of simulating them. It needs NVIDIA's driver and cuBLAS. If NVRTC, cuDNN and
NCCL are installed, it fuses pointwise ops, uses cuDNN's convolutions, and adds
gradients of several GPUs.")
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "${package_cli} ${same}")
if(TARGET twb_cuda)
  set(major ${CUDAToolkit_VERSION_MAJOR})
  set(version ${major}-${CUDAToolkit_VERSION_MINOR})
  set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS "libcublas-${version} | libcublas${major}, libcuda1")
  set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "cuda-nvrtc-${version} | libnvrtc${major}, libcudnn9-cuda-${major}, libnccl2")
endif()
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION contrib/science)

foreach(id openmpi mpich)
  string(TOUPPER ${id} upper)
  set(mpi_name "Open MPI")
  if(id STREQUAL mpich)
    set(mpi_name MPICH)
  endif()
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package_${id}})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "With this plugin, a launcher of ${mpi_name} starts twb on several ranks,
which train one model together or share out the runs of a batch.")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${package_cli} ${same}")
endforeach()
set(CPACK_DEBIAN_OPENMPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_MPICH_PACKAGE_RECOMMENDS mpich)

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME ${package_python})
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "The Python package tensor_workbench runs a PyTorch script without a GPU and
records the device that each tensor would have, each transfer and each
mismatch. twb capture needs it.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-torch, ${package_cli}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${here}/python/postinst;${here}/python/prerm")
# For scripts that import it.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/packaging)
file(CREATE_LINK ../../../share/tensor-workbench/python/tensor_workbench
  ${CMAKE_BINARY_DIR}/packaging/tensor_workbench SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/packaging/tensor_workbench DESTINATION lib/python3/dist-packages COMPONENT python)
include(CPack)
