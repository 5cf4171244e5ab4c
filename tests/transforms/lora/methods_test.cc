// Adapters of PEFT's other methods, merged by PEFT and by the step lora.
#include <gtest/gtest.h>

#include "tests/transforms/lora/adapters.h"

namespace ckpt {
namespace {

using lora_test::expect_merged;

constexpr const char* kMethodsBase = "llama-micro";
constexpr const char* kTiny = "lora/models/mixtral";  // for values that PEFT may round otherwise
constexpr const char* kConv1dBase = "lora/models/gpt2";
constexpr const char* kConvolutions = "families/gemma3-vl/hf";  // its patches

struct MethodCase {
  const char* name;
  const char* base;
};

void PrintTo(const MethodCase& each, std::ostream* out) { *out << each.name; }

class AdapterOfMethod : public testing::TestWithParam<MethodCase> {};

TEST_P(AdapterOfMethod, MergesAsPeftDoes) {
  const std::string name = fmt::format("methods/{}", GetParam().name);
  expect_merged(GetParam().base, lora_test::adapter_of(name), name);
}

INSTANTIATE_TEST_SUITE_P(
    All, AdapterOfMethod,
    testing::Values(
        MethodCase{"adalora", kMethodsBase}, MethodCase{"adalora-pruned", kMethodsBase},
        MethodCase{"boft", kTiny}, MethodCase{"boft-butterfly", kTiny}, MethodCase{"hra", kTiny},
        MethodCase{"hra-gs", kTiny}, MethodCase{"ia3", kMethodsBase},
        MethodCase{"ia3-conv1d", kConv1dBase}, MethodCase{"loha", kMethodsBase},
        MethodCase{"lokr", kMethodsBase}, MethodCase{"miss", kMethodsBase},
        MethodCase{"miss-bat", kMethodsBase}, MethodCase{"miss-mini", kMethodsBase},
        MethodCase{"oft", kMethodsBase}, MethodCase{"oft-exact", kTiny},
        MethodCase{"vera", kMethodsBase}, MethodCase{"vera-conv1d", kConv1dBase},
        MethodCase{"adalora-conv", kConvolutions}, MethodCase{"ia3-conv", kConvolutions},
        MethodCase{"ia3-conv-inputs", kConvolutions}, MethodCase{"loha-conv", kConvolutions},
        MethodCase{"lokr-conv", kConvolutions}));

}  // namespace
}  // namespace ckpt
