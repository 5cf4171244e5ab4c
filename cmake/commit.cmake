# Writes OUT, a source file that says which commit SOURCE is of and when it was made; only when that
# changed. Outside a git checkout it is what `git archive` wrote into commit.txt, or nothing.
#
#   cmake -DSOURCE=folder -DOUT=file.cc -P commit.cmake
cmake_minimum_required(VERSION 3.25)
set(commit)
set(date)
find_program(git NAMES git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${SOURCE} here)
  if(top STREQUAL here)   # not a folder inside somebody else's repository
    execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${git} -C ${SOURCE} log -1 --format=%cs
      OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt lines)
  list(GET lines 0 archived)
  if(archived MATCHES "^([0-9a-f]+) ([-0-9]+)$")
    string(SUBSTRING ${CMAKE_MATCH_1} 0 12 commit)
    set(date ${CMAKE_MATCH_2})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT "// Written by cmake/commit.cmake.
namespace ckpt {
extern const char* const kBuildCommit;
extern const char* const kBuildDate;
const char* const kBuildCommit = \"@commit@\";
const char* const kBuildDate = \"@date@\";
}  // namespace ckpt
")
