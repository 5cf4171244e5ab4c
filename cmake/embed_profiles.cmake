# Writes OUT, a source file that holds FOLDER/*.txt as one text, each file after a line "profile NAME". Runs in the
# build (`cmake -P`) and needs CMake alone.
#
#   cmake -DFOLDER=data/profiles -DOUT=file.cc -P embed_profiles.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/embed_text.cmake)
file(GLOB files ${FOLDER}/*.txt)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WLE)
  file(READ ${file} text)
  string(REPLACE ";" "," text "${text}")   # in comments; a list of CMake to some of its commands
  string(APPEND all "profile ${name}\n${text}")
endforeach()
write_text(${OUT} "${all}" kProfileFiles)
