# `cpack -G DEB`: a Debian package of a static build. It needs no library, so one file serves every
# release of Debian and Ubuntu.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ckpt)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "ckpt maintainers <maintainers@ckpt.example>" CACHE STRING
  "who answers for the package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "convert, patch, check and publish LLM checkpoints")
set(CPACK_PACKAGE_DESCRIPTION
"Reads and writes Hugging Face folders, safetensors and GGUF, in bounded
memory and without a GPU, and gives the bytes that the reference programs
give. Quantizes to GGUF's types, NVFP4 and FP8; says whether a server will
load a checkpoint and what fixes it; signs and verifies folders.")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)   # ckpt_0.1.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
if(NOT CKPT_STATIC)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)   # for the release that it was built on
  if(CKPT_REMOTE)
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4 | libcurl4t64")   # loaded when the first URL is opened
  endif()
endif()
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};ckpt;runtime;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/deb/finish.cmake)
set(CPACK_CKPT_SOURCE ${CMAKE_SOURCE_DIR})
# The licenses of what is linked in, as packaging/bill.py writes them.
set(CPACK_CKPT_LICENSES "${CKPT_LICENSES}")
include(CPack)
