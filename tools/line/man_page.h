// Manual pages, made from what commands declare: the same words as --help, and the lists of types,
// steps and profiles.
#pragma once

#include <string>
#include <vector>

namespace ckpt {

struct ManPage {
  std::string name;  // "ckpt", "ckpt-convert"
  std::string text;  // for man(1), in the macros of man(7); ASCII alone
};

// ckpt(1) first, then one of each command in the order of all_commands().
std::vector<ManPage> man_pages();

}  // namespace ckpt
