// convert_one IN OUT: a model as Q4_K_M.
#include <cstdio>

#include "plan/plan.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto made = ckpt::convert(argv[1], argv[2], {.to = "q4_k_m"});
  if (!made) std::fprintf(stderr, "%s\n", made.error().text().c_str());
  return made ? 0 : 2;
}
