# What `cmake --install` puts where. Components: `runtime` is the program with its manual pages,
# completions and documents; `development` is the library (docs/LIBRARY.md).
include(GNUInstallDirs)
set(CKPT_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "where zsh finds completions, below the prefix")

install(TARGETS ckpt COMPONENT runtime)
# Pages and completions are what the program says of itself.
set(said ${CMAKE_BINARY_DIR}/said)
install(CODE "
  set(ckpt ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:ckpt>\")
  file(REMOVE_RECURSE \"${said}\")
  execute_process(COMMAND \${ckpt} man --into \"${said}/man\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  foreach(file bash/ckpt zsh/_ckpt fish/ckpt.fish)
    get_filename_component(shell \${file} DIRECTORY)
    file(MAKE_DIRECTORY \"${said}/\${shell}\")
    execute_process(COMMAND \${ckpt} completion \${shell} OUTPUT_FILE \"${said}/\${file}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  " COMPONENT runtime)
install(DIRECTORY ${said}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(DIRECTORY ${said}/bash/ COMPONENT runtime
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${said}/zsh/ DESTINATION ${CKPT_ZSH_FOLDER} COMPONENT runtime)
install(DIRECTORY ${said}/fish/ COMPONENT runtime
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# find_package(ckpt): ckpt::plan, ckpt::core, ckpt::formats, ckpt::quantizers, and the headers that
# these include; all others stay private.
set(headers core/base/counted.h core/base/result.h core/engine/execute.h core/io/buffers.h core/io/bytes.h
  core/io/descriptor.h core/io/files_read.h core/model/checkpoint.h core/model/codec.h
  core/model/dtype.h core/model/findings.h core/model/format.h core/model/imatrix.h core/model/low_rank.h
  core/model/metadata.h core/model/plan.h core/model/step_options.h core/model/transform.h
  core/outputs/execute_options.h core/outputs/progress.h formats/formats.h plan/plan.h plan/conversion/observer.h
  plan/doctor_options.h
  quantizers/quantizers.h)
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ckpt/${folder}
    COMPONENT development)
endforeach()
set(libraries core formats quantizers models transforms checks publish remote plan)
foreach(name ${libraries})
  set_target_properties(ckpt_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(ckpt_${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ckpt>)
  target_compile_features(ckpt_${name} INTERFACE cxx_std_20)
endforeach()
list(TRANSFORM libraries PREPEND ckpt_ OUTPUT_VARIABLE targets)
install(TARGETS ${targets} EXPORT ckpt COMPONENT development)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/ckpt)
install(EXPORT ckpt NAMESPACE ckpt:: DESTINATION ${config} FILE ckptTargets.cmake
  COMPONENT development)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ckptConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/ckptConfig.cmake ${CMAKE_BINARY_DIR}/ckptConfigVersion.cmake
  DESTINATION ${config} COMPONENT development)
