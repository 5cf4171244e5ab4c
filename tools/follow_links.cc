#include "tools/follow_links.h"

#include <CLI/CLI.hpp>

#include "formats/formats.h"

namespace ckpt {

void declare_follow_links(CLI::App& app) {
  app.add_flag_callback(
      "--follow-links", [] { follow_links(true); },
      "read config, tokenizer and other small files through links that lead out of the folder");
}

}  // namespace ckpt
