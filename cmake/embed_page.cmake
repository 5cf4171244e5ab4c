# Writes OUT, a source file that holds the page of `ckpt report`: PAGE with the stylesheets and scripts
# next to it, inserted where it names them. Runs in the build (`cmake -P`) and needs CMake alone.
#
#   cmake -DPAGE=report/page.html -DOUT=file.cc [-DHTML=page.html] -P embed_page.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/embed_text.cmake)
get_filename_component(folder ${PAGE} DIRECTORY)
file(READ ${PAGE} page)
# <link rel="stylesheet" href="x.css"> and <script src="x.js"></script>, each on its line.
string(REGEX MATCHALL "(href|src)=\"[a-z_]+\\.(css|js)\"" named "${page}")
foreach(name IN LISTS named)
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" name "${name}")
  file(READ ${folder}/${name} text)
  if(text MATCHES "</(script|style)|<!--")
    message(FATAL_ERROR "${folder}/${name}: found '${CMAKE_MATCH_0}', which would end its element in the page")
  endif()
  string(REPLACE "<link rel=\"stylesheet\" href=\"${name}\">" "<style>\n${text}</style>" page "${page}")
  string(REPLACE "<script src=\"${name}\"></script>" "<script>\n${text}</script>" page "${page}")
endforeach()
if(page MATCHES "(href|src)=\"[a-z_]+\\.(css|js)\"")
  message(FATAL_ERROR "${PAGE}: '${CMAKE_MATCH_0}' is not written as a whole <link> or <script> of its own")
endif()
if(HTML)
  file(WRITE ${HTML} "${page}")
endif()

write_text(${OUT} "${page}" kReportPage)
