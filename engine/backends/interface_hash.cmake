# Writes OUTPUT, a C++ header with a hash of the interface between the programs and the CUDA plugin: HEADER, the
# project's headers that it includes directly or indirectly, and COMPILER, whose standard library it uses.
#   cmake -DROOT=engine -DHEADER=backends/cuda_plugin.h -DCOMPILER=GNU-12 -DOUTPUT=… -DDEPFILE=… -P interface_hash.cmake
cmake_policy(VERSION 3.22)
set(waiting ${HEADER})
set(seen)
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${header})
  file(STRINGS ${ROOT}/${header} includes REGEX "^[ \t]*#[ \t]*include[ \t]+\"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^[^\"]*\"([^\"]+)\".*$" "\\1" include "${include}")
    list(APPEND waiting ${include})
  endforeach()
endwhile()
list(SORT seen)
set(text "${COMPILER}")
set(paths)
foreach(header IN LISTS seen)
  file(SHA256 ${ROOT}/${header} hash)
  string(APPEND text "\n${header} ${hash}")
  string(APPEND paths " ${ROOT}/${header}")
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once

namespace twb {
inline constexpr char kCudaInterfaceBuild[] = \"@hash@\";
}
" @ONLY)
if(DEPFILE)
  file(WRITE ${DEPFILE} "${OUTPUT}:${paths}\n")
endif()
