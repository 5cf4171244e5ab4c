// --follow-links, of every command that reads a folder.
#pragma once

namespace CLI {
class App;  // <CLI/CLI.hpp>, which takes seconds to compile
}

namespace ckpt {

void declare_follow_links(CLI::App& app);

}  // namespace ckpt
