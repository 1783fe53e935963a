# tlc_llvm: LLVM's ADT and Support, linked statically (the shared library costs 20 ms of start-up).
# LLVM's own CMake package is not used: its LLVMSupport target drags in shared z3, zstd and zlib, of which we use nothing
# and which would forbid a static tlc.
find_path(TLC_LLVM_INCLUDE llvm/ADT/SmallVector.h
  PATHS /usr/lib/llvm-19/include /usr/local/opt/llvm@19/include NO_DEFAULT_PATH)
find_library(TLC_LLVM_SUPPORT NAMES libLLVMSupport.a PATHS ${TLC_LLVM_INCLUDE}/../lib NO_DEFAULT_PATH)
find_library(TLC_LLVM_DEMANGLE NAMES libLLVMDemangle.a PATHS ${TLC_LLVM_INCLUDE}/../lib NO_DEFAULT_PATH)
if(NOT TLC_LLVM_INCLUDE OR NOT TLC_LLVM_SUPPORT OR NOT TLC_LLVM_DEMANGLE)
  message(FATAL_ERROR "LLVM 19's headers and static libraries are missing: run tools/install_dependencies.sh, "
                      "or set TLC_LLVM_INCLUDE to the folder that holds llvm/ADT")
endif()
find_package(Threads REQUIRED)
add_library(tlc_llvm INTERFACE)
target_include_directories(tlc_llvm SYSTEM INTERFACE ${TLC_LLVM_INCLUDE})
target_link_libraries(tlc_llvm INTERFACE ${TLC_LLVM_SUPPORT} ${TLC_LLVM_DEMANGLE} Threads::Threads ${CMAKE_DL_LIBS})
