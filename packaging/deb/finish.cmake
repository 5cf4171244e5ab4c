# Run by CPack on what was installed for the package: what Debian's policy asks for beside it.
file(GLOB staged ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(docs ${staged}/share/doc/ckpt)
file(REMOVE ${docs}/LICENSE)   # copyright names it
file(READ ${CPACK_CKPT_SOURCE}/packaging/deb/copyright copyright)
if(CPACK_CKPT_LICENSES)
  file(READ ${CPACK_CKPT_LICENSES} licenses)
  string(APPEND copyright "\n${licenses}")
endif()
file(WRITE ${docs}/copyright "${copyright}")
file(COPY_FILE ${CPACK_CKPT_SOURCE}/CHANGELOG.md ${docs}/CHANGELOG.md)
string(TIMESTAMP moment "%a, %d %b %Y %H:%M:%S +0000" UTC)   # SOURCE_DATE_EPOCH's, where it is set
file(WRITE ${docs}/changelog "ckpt (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in CHANGELOG.md beside this file.

 -- ${CPACK_PACKAGE_CONTACT}  ${moment}
")
file(MAKE_DIRECTORY ${staged}/share/lintian/overrides)
file(COPY_FILE ${CPACK_CKPT_SOURCE}/packaging/deb/lintian-overrides
  ${staged}/share/lintian/overrides/ckpt)
file(GLOB pages ${staged}/share/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${docs}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod 644 ${docs}/copyright ${docs}/changelog.gz ${docs}/CHANGELOG.md
  ${staged}/share/lintian/overrides/ckpt COMMAND_ERROR_IS_FATAL ANY)
