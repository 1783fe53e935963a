# What `cmake --install` puts where find_package(Tlc) finds it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(TLC_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tlc)
# The package holds a program and scripts, so any pointer size can use it.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/TlcConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/TlcConfig.cmake ${CMAKE_CURRENT_LIST_DIR}/AddTileKernel.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/TlcConfigVersion.cmake DESTINATION ${TLC_PACKAGE_DIR})
foreach(folder runtime stdlib)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/tlc)
  endif()
endforeach()
