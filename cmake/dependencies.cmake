# Third-party libraries. tools/setup lays ONNX and ONNX Runtime into the cache; elsewhere name them with -DONNX_ROOT= and
# -DONNXRUNTIME_ROOT= (a folder with include/ and lib/).
if(DEFINED ENV{XDG_CACHE_HOME})
  set(pare_cache "$ENV{XDG_CACHE_HOME}/pare")
else()
  set(pare_cache "$ENV{HOME}/.cache/pare")
endif()
set(ONNX_ROOT "${pare_cache}/onnx" CACHE PATH "ONNX built with -DONNX_NAMESPACE=onnx_pare")
set(ONNXRUNTIME_ROOT "${pare_cache}/onnxruntime" CACHE PATH "ONNX Runtime: include/ and lib/")
set(PARE_PYTHON "${pare_cache}/venv/bin/python" CACHE FILEPATH "Python with the tests' references")

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_path(OPENCV_INCLUDE opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)  # OpenCV's CMake package needs all of its modules
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)

function(pare_require file hint)
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "${file} is missing: run tools/setup, or give ${hint}")
  endif()
endfunction()

pare_require("${ONNX_ROOT}/lib/libonnx.a" "-DONNX_ROOT=")
add_library(pare_onnx INTERFACE)
target_include_directories(pare_onnx SYSTEM INTERFACE "${ONNX_ROOT}/include")
target_compile_definitions(pare_onnx INTERFACE ONNX_NAMESPACE=onnx_pare ONNX_ML=1)
target_link_libraries(pare_onnx INTERFACE "${ONNX_ROOT}/lib/libonnx.a" "${ONNX_ROOT}/lib/libonnx_proto.a" protobuf::libprotobuf)

pare_require("${ONNXRUNTIME_ROOT}/include/onnxruntime_cxx_api.h" "-DONNXRUNTIME_ROOT=")
add_library(pare_onnxruntime INTERFACE)
target_include_directories(pare_onnxruntime SYSTEM INTERFACE "${ONNXRUNTIME_ROOT}/include")
target_link_libraries(pare_onnxruntime INTERFACE "${ONNXRUNTIME_ROOT}/lib/libonnxruntime.so")

add_library(pare_opencv INTERFACE)
target_include_directories(pare_opencv SYSTEM INTERFACE ${OPENCV_INCLUDE})
target_link_libraries(pare_opencv INTERFACE opencv_core opencv_imgproc opencv_imgcodecs)
