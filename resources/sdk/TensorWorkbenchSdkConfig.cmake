# find_package(TensorWorkbenchSdk) for plug-ins of Tensor Workbench:
#   twb_add_plugin(NAME FILE…)   a shared library that the program can load
function(twb_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" C_STANDARD 11 C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${name} PRIVATE ${TensorWorkbenchSdk_INCLUDE_DIR})
  target_link_libraries(${name} PRIVATE m)
endfunction()
set(TensorWorkbenchSdk_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR})
