# write_text(OUT TEXT NAME): the source file OUT defines `const std::string_view NAME`, which holds TEXT.
# Text between quotes has a limit in some compilers and tools (65,536 bytes in the standard): pieces.
function(write_text out text name)
  if(text MATCHES "[^\n -~]")
    message(FATAL_ERROR "${name}: found a character outside ASCII; write it as an escape, so that the text can be cut anywhere")
  endif()
  string(LENGTH "${text}" length)
  set(piece 8000)
  set(pieces)
  set(start 0)
  while(start LESS length)
    string(SUBSTRING "${text}" ${start} ${piece} part)
    string(APPEND pieces "\n    R\"piece(${part})piece\"")
    math(EXPR start "${start} + ${piece}")
  endwhile()
  file(WRITE ${out} "// Written by the build.
#include <string_view>

namespace ckpt {

extern const std::string_view ${name};
const std::string_view ${name}{${pieces},
    ${length}};

}  // namespace ckpt
")
endfunction()
