// Adapters of stacked experts: which of a parameter's axes A reads, in every release of PEFT.
#include <gtest/gtest.h>

#include "tests/transforms/lora/adapters.h"

namespace ckpt {
namespace {

using lora_test::made_value;
using lora_test::TestTensor;

constexpr uint64_t kExpertsOfStack = 2, kRankOfStack = 2;
constexpr const char* kExpertsOfLayer = "model.layers.0.mlp.experts";
constexpr const char* kReadsRows[] = {"0.17.1", "0.18.1", "0.19.0"};
constexpr const char* kReadsInputs[] = {"0.19.1", "0.21.2"};

// How a model stores [experts, outputs, inputs].
enum class ExpertStorage { kStack, kTurnedStack, kSingles, kNoOtherParameter };

struct ExpertSizes {
  uint64_t hidden, inner;
};

struct StackCase {
  ExpertStorage storage;
  ExpertSizes sizes;
  bool is_down = false;  // trained alone; otherwise gate_up_proj is
  bool has_both = false;
  // Whether A has the newer layout, if the shapes of the trained parameter show it.
  bool is_new_layout = true;
};

struct ExpertMatrix {
  uint64_t rows, columns;
};

// The parameter of an expert as the model's class has it.
ExpertMatrix matrix_of(const StackCase& given, bool is_down) {
  const auto [hidden, inner] = given.sizes;
  const ExpertMatrix linear =
      is_down ? ExpertMatrix{hidden, inner} : ExpertMatrix{2 * inner, hidden};
  return given.storage == ExpertStorage::kTurnedStack ? ExpertMatrix{linear.columns, linear.rows}
                                                      : linear;
}

std::vector<TestTensor> model_of(const StackCase& given) {
  const std::string front = std::string(kExpertsOfLayer) + ".";
  const auto [hidden, inner] = given.sizes;
  std::vector<TestTensor> out;
  if (given.storage == ExpertStorage::kSingles) {
    for (uint64_t expert = 0; expert < kExpertsOfStack; ++expert) {
      const std::string own = fmt::format("{}{}.", front, expert);
      out.push_back({own + "gate_proj.weight", {inner, hidden}});
      out.push_back({own + "up_proj.weight", {inner, hidden}});
      out.push_back({own + "down_proj.weight", {hidden, inner}});
    }
    return out;
  }
  for (const bool is_down : {false, true}) {
    if (given.storage == ExpertStorage::kNoOtherParameter && is_down != given.is_down) continue;
    const ExpertMatrix matrix = matrix_of(given, is_down);
    out.push_back({front + (is_down ? "down_proj" : "gate_up_proj"),
                   {kExpertsOfStack, matrix.rows, matrix.columns}});
  }
  return out;
}

// A and B of a parameter; crossed: A reads the rows of the matrix.
void add_factors(std::vector<TestTensor>& out, const std::string& module, ExpertMatrix matrix,
                 bool is_crossed) {
  const uint64_t wide = kExpertsOfStack * kRankOfStack;
  out.push_back({module + ".lora_A.weight", {wide, is_crossed ? matrix.rows : matrix.columns}});
  out.push_back({module + ".lora_B.weight", {is_crossed ? matrix.columns : matrix.rows, wide}});
}

// Values of the trained parameter, expert after expert, in the order of the model's class.
std::vector<float> values_of_parameter(const Checkpoint& model, const StackCase& given) {
  std::map<std::string, const Tensor*> by_name;  // gate before up
  for (const Tensor& each : model.tensors) {
    if ((each.name.find("down_proj") != std::string::npos) == given.is_down) {
      by_name[each.name] = &each;
    }
  }
  std::vector<float> out;
  for (const auto& [name, tensor] : by_name) {
    const std::vector<float> values = read_values(*tensor, uint64_t{1} << 16).value();
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

std::vector<float> sum_of(const std::vector<float>& weights, const StackCase& given,
                          bool is_crossed) {
  const ExpertMatrix matrix = matrix_of(given, given.is_down);
  const uint64_t wide = kExpertsOfStack * kRankOfStack,
                 inputs = is_crossed ? matrix.rows : matrix.columns;
  std::vector<float> out = weights;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t expert = i / (matrix.rows * matrix.columns);
    const uint64_t row = i / matrix.columns % matrix.rows, column = i % matrix.columns;
    for (uint64_t k = 0; k < kRankOfStack; ++k) {
      const uint64_t in = is_crossed ? row : column, made = is_crossed ? column : row;
      out[i] += made_value(0, (expert * kRankOfStack + k) * inputs + in) *
                made_value(1, made * wide + k * kExpertsOfStack + expert);
    }
  }
  return out;
}

// "straight", "crossed", or why the step refuses.
std::string axes_taken(const StackCase& given, const std::string& version) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "model");
  lora_test::write_pieces(folder / "model" / "model.safetensors", model_of(given));
  const bool is_crossed = !given.is_new_layout;
  std::vector<TestTensor> factors;  // the trained parameter's first: they have the first values
  const std::string own =
      std::string(kExpertsOfLayer) + (given.has_both && !given.is_down ? ".base_layer" : "");
  add_factors(factors, own, matrix_of(given, given.is_down), is_crossed);
  if (given.has_both) {
    const std::string other = std::string(kExpertsOfLayer) + (given.is_down ? ".base_layer" : "");
    add_factors(factors, other, matrix_of(given, !given.is_down), is_crossed);
  }
  std::string targets =
      given.is_down ? R"("mlp.experts.down_proj")" : R"("mlp.experts.gate_up_proj")";
  if (given.has_both) targets = R"("mlp.experts.gate_up_proj", "mlp.experts.down_proj")";
  lora_test::write_adapter(
      folder / "adapter", factors,
      fmt::format(
          R"({{"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_parameters": [{}]{}}})",
          targets, version.empty() ? "" : R"(, "peft_version": ")" + version + "\""));
  const Checkpoint before = step_test::open(folder / "model").value();
  auto made =
      step_test::run("lora", before, step_test::options({{"from", (folder / "adapter").string()}}));
  if (!made) return made.error().text();
  const Checkpoint after = step_test::settle(std::move(made));
  const std::vector<float> weights = values_of_parameter(before, given);
  const std::vector<float> found = values_of_parameter(after, given);
  EXPECT_NE(sum_of(weights, given, false), sum_of(weights, given, true));
  if (found == sum_of(weights, given, false)) return "straight";
  return found == sum_of(weights, given, true) ? "crossed" : "another sum";
}

constexpr ExpertSizes kSquareUp = {4, 2}, kSquareDown = {4, 4}, kNoneSquare = {6, 2};

std::vector<std::string> all_versions() {
  std::vector<std::string> out = {""};
  out.insert(out.end(), std::begin(kReadsRows), std::end(kReadsRows));
  out.insert(out.end(), std::begin(kReadsInputs), std::end(kReadsInputs));
  return out;
}

TEST(StackedAxes, ShapesThatAreNotSquareDecideInEveryVersion) {
  for (const std::string& version : all_versions()) {
    for (const ExpertStorage storage : {ExpertStorage::kStack, ExpertStorage::kSingles}) {
      for (const bool is_down : {false, true}) {
        EXPECT_EQ(axes_taken({storage, kNoneSquare, is_down, false, true}, version), "straight");
        EXPECT_EQ(axes_taken({storage, kNoneSquare, is_down, false, false}, version), "crossed");
      }
    }
    EXPECT_EQ(axes_taken({ExpertStorage::kTurnedStack, kNoneSquare, false, false, false}, version),
              "crossed");
  }
}

TEST(StackedAxes, TheOtherParameterDecidesForASquareMatrixInEveryVersion) {
  for (const std::string& version : all_versions()) {
    for (const ExpertStorage storage : {ExpertStorage::kStack, ExpertStorage::kSingles}) {
      for (const bool is_down : {false, true}) {
        const ExpertSizes sizes = is_down ? kSquareDown : kSquareUp;
        EXPECT_EQ(axes_taken({storage, sizes, is_down, true, true}, version), "straight");
        EXPECT_EQ(axes_taken({storage, sizes, is_down, true, false}, version), "crossed");
      }
    }
    EXPECT_EQ(axes_taken({ExpertStorage::kTurnedStack, kSquareDown, true, true, false}, version),
              "crossed");
  }
}

TEST(StackedAxes, TheVersionDecidesForASquareMatrixAlone) {
  for (const ExpertStorage storage : {ExpertStorage::kStack, ExpertStorage::kSingles}) {
    for (const bool is_down : {false, true}) {
      const StackCase given = {storage, is_down ? kSquareDown : kSquareUp, is_down};
      for (const char* version : kReadsRows)
        EXPECT_EQ(axes_taken(given, version), "crossed") << version;
      for (const char* version : kReadsInputs)
        EXPECT_EQ(axes_taken(given, version), "straight") << version;
    }
  }
}

TEST(StackedAxes, ASquareMatrixAloneWithoutAVersionIsRefused) {
  for (const ExpertStorage storage :
       {ExpertStorage::kStack, ExpertStorage::kTurnedStack, ExpertStorage::kSingles}) {
    for (const bool is_down : {false, true}) {
      const StackCase given = {storage, is_down ? kSquareDown : kSquareUp, is_down};
      const std::string answer = axes_taken(given, "");
      EXPECT_NE(answer.find("square, and the configuration has no peft_version"), std::string::npos)
          << answer;
    }
  }
}

// Classes that store [experts, inputs, outputs], as gpt-oss: A reads the inputs in every release.
TEST(StackedAxes, AReadsTheInputsOfAStackThatHasThemFirst) {
  for (const bool is_down : {false, true}) {
    const StackCase given = {ExpertStorage::kTurnedStack, is_down ? kSquareDown : kSquareUp,
                             is_down};
    for (const char* version : kReadsRows)
      EXPECT_EQ(axes_taken(given, version), "crossed") << version;
    for (const char* version : kReadsInputs)
      EXPECT_EQ(axes_taken(given, version), "crossed") << version;
  }
}

// Only from 0.19.1 on it matters which axis the inputs are.
TEST(StackedAxes, AStackThatDoesNotShowItsInputsIsRefusedFromTheReleaseThatReadsThem) {
  const StackCase given = {ExpertStorage::kNoOtherParameter, kSquareUp};
  for (const char* version : kReadsRows)
    EXPECT_EQ(axes_taken(given, version), "crossed") << version;
  for (const char* version : kReadsInputs) {
    const std::string answer = axes_taken(given, version);
    EXPECT_NE(answer.find("no other parameter that shows which axis is the input"),
              std::string::npos)
        << answer;
  }
}

}  // namespace
}  // namespace ckpt
