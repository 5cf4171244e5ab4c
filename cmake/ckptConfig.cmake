# find_package(ckpt): ckpt::plan, ckpt::core, ckpt::formats and ckpt::quantizers (docs/LIBRARY.md).
include(CMakeFindDependencyMacro)
foreach(package Threads fmt nlohmann_json OpenSSL tl-expected)
  find_dependency(${package})
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/ckptTargets.cmake)
