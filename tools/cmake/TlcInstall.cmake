# What `cmake --install` puts where find_package(Tlc) finds it.
include(GNUInstallDirs)
set(TLC_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tlc)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/TlcConfig.cmake ${CMAKE_CURRENT_LIST_DIR}/AddTileKernel.cmake
  ${CMAKE_CURRENT_LIST_DIR}/TlcConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/TlcVersion.cmake
  DESTINATION ${TLC_PACKAGE_DIR})
foreach(folder runtime stdlib)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/tlc)
  endif()
endforeach()
# `tlc run --emulate` calls it; its runtime lies beside it as in the source tree.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/emulate.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/tlc/tools)
