# Writes OUT, a source file that holds FILE as NAME. Runs in the build (`cmake -P`) and needs CMake alone.
#
#   cmake -DFILE=data/x.yaml -DOUT=file.cc -DNAME=kX -P embed_file.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/embed_text.cmake)
file(READ ${FILE} text)
write_text(${OUT} "${text}" ${NAME})
