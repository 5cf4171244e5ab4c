// modelopt_state.pth: formats out of real ones, refusals of broken and hostile ones.
#include "transforms/modelopt_export/state.h"

#include <gtest/gtest.h>

#include "core/readers/pickle.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

std::string state_file(std::string_view model) {
  return read_file(testdata("export/states/" + std::string(model) + ".pth"));
}

ModeloptState read(std::string_view model) {
  auto state = read_modelopt_state(state_file(model));
  EXPECT_TRUE(state.has_value()) << state.error().text();
  return state ? std::move(*state) : ModeloptState{};
}

// ---- real files --------------------------------------------------------------------------------

TEST(ModeloptState, TellsTheFormatOfEachQuantizer) {
  const ModeloptState state = read("qwen35-micro");
  EXPECT_EQ(state.version, "0.47.0");
  const auto& up = state.quantizers.at("model.layers.0.mlp.up_proj.weight_quantizer");
  EXPECT_TRUE(up.is_enabled);
  EXPECT_EQ(up.block_values, 16);
  EXPECT_EQ(name(up), "NVFP4");
  EXPECT_EQ(name(state.quantizers.at("model.layers.3.self_attn.q_proj.input_quantizer")), "NVFP4");
  EXPECT_FALSE(state.quantizers.at("model.embed_tokens.weight_quantizer").is_enabled);
  EXPECT_FALSE(state.quantizers.at("lm_head.weight_quantizer").is_enabled);
}

TEST(ModeloptState, TellsMixedFormatsApart) {
  const ModeloptState state = read("llama-micro-mixed");
  EXPECT_EQ(name(state.quantizers.at("model.layers.0.mlp.up_proj.weight_quantizer")), "NVFP4");
  EXPECT_EQ(name(state.quantizers.at("model.layers.0.self_attn.q_proj.weight_quantizer")), "FP8");
  const ModeloptState kv = read("llama-micro-fp8-kv");
  EXPECT_EQ(name(kv.quantizers.at("model.layers.0.self_attn.k_bmm_quantizer")), "FP8");
}

TEST(ModeloptState, NamesOtherFormatsInWords) {
  EXPECT_EQ(name(QuantizerFormat{.mantissa_bits = 4, .block_values = 128}),
            "INT4 in blocks of 128");
  EXPECT_EQ(name(QuantizerFormat{.exponent_bits = 4, .mantissa_bits = 3, .is_per_channel = true}),
            "FP8 per channel");
  EXPECT_EQ(name(QuantizerFormat{.exponent_bits = 2, .mantissa_bits = 1, .block_values = 32}),
            "E2M1 in blocks of 32");
  EXPECT_EQ(
      name(QuantizerFormat{
          .exponent_bits = 4, .mantissa_bits = 3, .block_values = 32, .has_e8m0_scales = true}),
      "MXFP8");
}

// ---- broken files ------------------------------------------------------------------------------

TEST(ModeloptState, CutShortAnywhereIsAnError) {
  const std::string whole = state_file("qwen3-micro");
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 97) {
    EXPECT_FALSE(read_modelopt_state(std::string_view(whole).substr(0, size)).has_value()) << size;
  }
}

TEST(ModeloptState, ReportsTruncationWithItsPosition) {
  const std::string whole = state_file("qwen3-micro");
  EXPECT_EQ(read_modelopt_state(std::string_view(whole).substr(0, 1000)).error().text(),
            "at byte 1000: no end of the directory; expected one: the zip of 1000 bytes is "
            "truncated or damaged");
  EXPECT_EQ(Pickle::parse("\x80\x02X\x04", 100).error().text(),
            "at byte 104: the pickle ends too early: it is truncated");
  EXPECT_EQ(Pickle::parse("\xff", 100).error().text(),
            "at byte 101: opcode 0xff of the pickle is not read");
}

// Whatever a byte becomes: an answer or an error, never a crash.
TEST(ModeloptState, AnyByteMayBeWrong) {
  const std::string whole = state_file("qwen3-micro");
  int refused = 0;
  for (size_t at = 0; at < whole.size(); at += 13) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << (at % 8)));
    refused += read_modelopt_state(broken).has_value() ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

TEST(ModeloptState, CompressedEntriesAreRefused) {
  std::string zip = state_file("qwen3-micro");
  const size_t directory = zip.find("PK\x01\x02");
  ASSERT_NE(directory, std::string::npos);
  zip[directory + 10] = 8;  // deflate
  const auto refused = read_modelopt_state(zip);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

// ---- pickles -----------------------------------------------------------------------------------

using namespace std::string_literals;

TEST(Pickle, ReadsWhatTorchWrites) {
  // {'a': (1, -2, True, None), 'b': 1.5}
  const auto pickle = Pickle::parse(
      "\x80\x02}(X\x01\0\0\0a(K\x01J\xfe\xff\xff\xff\x88NtX\x01\0\0\0b"
      "G\x3f\xf8\0\0\0\0\0\0u."s);
  ASSERT_TRUE(pickle.has_value()) << pickle.error().text();
  const Pickle::Node* tuple = pickle->find(pickle->root(), "a");
  ASSERT_NE(tuple, nullptr);
  ASSERT_EQ(tuple->items.size(), 4u);
  EXPECT_EQ(pickle->node(tuple->items[1]).whole, -2);
  EXPECT_EQ(pickle->find(pickle->root(), "b")->real, 1.5);
  EXPECT_EQ(pickle->find(pickle->root(), "c"), nullptr);
}

// cos\nsystem\n(S'...'\ntR. in its binary form: the call is a node that says so.
TEST(Pickle, CallsAreNotedNotMade) {
  const auto pickle = Pickle::parse(
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R."s);
  ASSERT_TRUE(pickle.has_value()) << pickle.error().text();
  EXPECT_EQ(pickle->root().kind, Pickle::Kind::kCall);
  EXPECT_EQ(pickle->node(pickle->root().items[0]).text, "os system");
}

TEST(Pickle, HoldsItselfWithoutHarm) {
  EXPECT_TRUE(Pickle::parse("]q\0h\0a."s).has_value());  // a list in itself
  std::string deep = "N";
  for (int i = 0; i < 1'000'000; ++i) deep += '\x85';  // a tuple in a tuple in a tuple ...
  EXPECT_TRUE(Pickle::parse(deep + ".").has_value());
}

TEST(Pickle, RefusesNonsense) {
  for (const std::string& bytes :
       {""s, "."s, "N"s, "t."s, "a."s, "}K\x01s."s, "h\x05."s, "X\xff\xff\xff\xff."s, "(K\x01u."s,
        "K\x01K\x02"
        "a."s,
        "}(K\x01u."s, "(N1."s, "\x80"s, "cos"s, "R."s, "b."s}) {
    EXPECT_FALSE(Pickle::parse(bytes).has_value()) << testing::PrintToString(bytes);
  }
  const auto unknown = Pickle::parse("\xff"s);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace ckpt
