# Cross compilation for 64-bit Arm with Debian's g++-aarch64-linux-gnu; tests run under qemu-user.
# CKPT_SYSROOT: libraries for it, as packaging/sysroot.sh unpacks them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
if(CKPT_SYSROOT)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CKPT_SYSROOT)
  set(CMAKE_FIND_ROOT_PATH ${CKPT_SYSROOT})
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
  # Headers of libraries, and those that differ from processor to processor (OpenSSL).
  set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${CKPT_SYSROOT}/usr/include
    ${CKPT_SYSROOT}/usr/include/aarch64-linux-gnu)
else()
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)   # the emulator needs no Arm libraries then
endif()
