# tlc_room(NAME [DEPENDS room...]): the static library tlc_NAME from all sources of compiler/NAME.
# DEPENDS names the rooms whose headers it may include; tools/check_layers.py holds the #includes against it.
add_library(tlc_options INTERFACE)
target_include_directories(tlc_options INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/compiler)
target_compile_options(tlc_options INTERFACE -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 reports what cannot happen inside its own std::string (GCC bug 105329) and std::optional (80635).
  target_compile_options(tlc_options INTERFACE -Wno-restrict -Wno-clobbered -Wno-maybe-uninitialized)
endif()
if(TLC_SANITIZE)
  target_compile_options(tlc_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer)
  target_link_options(tlc_options INTERFACE -fsanitize=address,undefined)
endif()

function(tlc_room NAME)
  cmake_parse_arguments(ROOM "" "" "DEPENDS" ${ARGN})
  # A room may have chambers: folders of its own, one level deep.
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(tlc_${NAME} STATIC ${sources})
  target_link_libraries(tlc_${NAME} PUBLIC tlc_options tlc_llvm)
  foreach(room IN LISTS ROOM_DEPENDS)
    if(TARGET tlc_${room})
      target_link_libraries(tlc_${NAME} PUBLIC tlc_${room})
    endif()
  endforeach()
endfunction()
