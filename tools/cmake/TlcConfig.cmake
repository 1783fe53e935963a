# find_package(Tlc): the compiler as Tlc::tlc, and add_tile_kernel. Holds a host tool only, so it works in cross builds;
# -DTLC_EXECUTABLE=/path/to/tlc uses another tlc than the one beside this file.
if(NOT TLC_EXECUTABLE AND NOT TARGET Tlc::tlc)
  # PREFIX/lib/cmake/Tlc, PREFIX/lib/<triplet>/cmake/Tlc, or the tools/cmake of a checkout.
  find_program(_tlc_found tlc NO_CACHE NO_DEFAULT_PATH HINTS
    ${CMAKE_CURRENT_LIST_DIR}/../../../bin ${CMAKE_CURRENT_LIST_DIR}/../../../../bin
    ${CMAKE_CURRENT_LIST_DIR}/../../build/bin)
  if(NOT _tlc_found)
    find_program(_tlc_found tlc NO_CACHE)
  endif()
  if(NOT _tlc_found)
    set(Tlc_FOUND FALSE)
    set(Tlc_NOT_FOUND_MESSAGE "the program tlc is neither beside this package nor on PATH; set TLC_EXECUTABLE")
    return()
  endif()
  add_executable(Tlc::tlc IMPORTED GLOBAL)
  set_target_properties(Tlc::tlc PROPERTIES IMPORTED_LOCATION ${_tlc_found})
elseif(TLC_EXECUTABLE AND NOT EXISTS ${TLC_EXECUTABLE})
  set(Tlc_FOUND FALSE)
  set(Tlc_NOT_FOUND_MESSAGE "TLC_EXECUTABLE is ${TLC_EXECUTABLE}, which does not exist")
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/AddTileKernel.cmake)
