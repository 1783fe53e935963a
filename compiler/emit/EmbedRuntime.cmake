# Turns the files of runtime/ into one C++ source, so that tlc needs no files beside itself.
# As a script (cmake -DROOT=… -DOUT=… -P): writes the source. Included: adds the rule and the source to tlc_emit.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.h ${ROOT}/*.cuh)
  list(FILTER files EXCLUDE REGEX "^emulate/")
  list(SORT files)
  set(text "// Made by EmbedRuntime.cmake from runtime/.\n#include \"emit/Runtime.h\"\nnamespace tlc::emit {\nstd::span<const RuntimeFile> runtimeFiles() {\n  static const RuntimeFile files[] = {\n")
  foreach(name IN LISTS files)
    file(READ ${ROOT}/${name} content)
    string(APPEND text "{\"${name}\", R\"~~~(${content})~~~\"},\n")
  endforeach()
  string(APPEND text "  };\n  return files;\n}\n} // namespace tlc::emit\n")
  file(WRITE ${OUT} "${text}")
  return()
endif()

file(GLOB_RECURSE runtime_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/*.h ${PROJECT_SOURCE_DIR}/runtime/*.cuh)
list(FILTER runtime_files EXCLUDE REGEX "/runtime/emulate/")
set(runtime_source ${CMAKE_CURRENT_BINARY_DIR}/RuntimeFiles.cpp)
add_custom_command(OUTPUT ${runtime_source}
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/runtime -DOUT=${runtime_source} -P ${CMAKE_CURRENT_LIST_DIR}/EmbedRuntime.cmake
  DEPENDS ${runtime_files} ${CMAKE_CURRENT_LIST_DIR}/EmbedRuntime.cmake
  COMMENT "Embedding the runtime" VERBATIM)
target_sources(tlc_emit PRIVATE ${runtime_source})
