# cmake --install: bin/pare, libpare.so with ONNX Runtime beside it, the public headers, the CMake package and the
# Python module. The tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH pare_lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(pare PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(pare_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${pare_lib_from_bin}")
install(TARGETS pare pare_cli EXPORT pareTargets)
install(DIRECTORY include/pare TYPE INCLUDE)
file(GLOB pare_onnxruntime_files "${ONNXRUNTIME_ROOT}/lib/libonnxruntime.so*")
install(FILES ${pare_onnxruntime_files} TYPE LIB)

set(pare_package "${CMAKE_INSTALL_LIBDIR}/cmake/pare")
install(EXPORT pareTargets NAMESPACE pare:: DESTINATION ${pare_package} FILE pareConfig.cmake)  # no dependencies to find: all are private
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pareConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pareConfigVersion.cmake DESTINATION ${pare_package})
install(FILES python/pare_calibration.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/pare)  # finds libpare.so in the folder above
