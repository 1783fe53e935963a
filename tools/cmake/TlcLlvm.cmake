# tlc_llvm: LLVM's ADT and Support, linked statically (the shared library costs 20 ms of start-up).
# Only LLVM's headers and libLLVMSupport/libLLVMDemangle are used, so nothing of its build flags is wanted.
find_package(LLVM 19 REQUIRED CONFIG)
add_library(tlc_llvm INTERFACE)
target_include_directories(tlc_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(tlc_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(tlc_llvm INTERFACE ${tlc_llvm_definitions})
target_link_libraries(tlc_llvm INTERFACE LLVMSupport)
