// Renders provenance.json: an in-toto statement of SLSA provenance about inputs and outputs.
//
// Source: slsa-framework/slsa spec/build-provenance.md. A time is only written if given, so that
// identical runs give identical bytes.
#include "core/json/json_edit.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson descriptor(const FileDigest& file, std::string name) {
  const char* const key = name.find("://") == name.npos ? "name" : "uri";
  return {{key, std::move(name)}, {"digest", {{"sha256", file.sha256}}}};
}

// Converts `tree` and keeps the order of its members.
OrderedJson in_order(const JsonText& tree) {
  if (tree.kind() == JsonText::Kind::kToken) return json_scalar(tree.token());
  OrderedJson out = tree.is_array() ? OrderedJson::array() : OrderedJson::object();
  for (const JsonText& item : tree.items()) out.push_back(in_order(item));
  for (const auto& [key, value] : tree.members()) out[key] = in_order(value);
  return out;
}

}  // namespace

Result<std::string> render_provenance(const Provenance& provenance) {
  OrderedJson subjects = OrderedJson::array();
  for (const FileDigest& file : provenance.made) subjects.push_back(descriptor(file, file.name));
  OrderedJson inputs = OrderedJson::array();
  for (const Provenance::Input& input : provenance.inputs) {
    for (const FileDigest& file : input.files) {
      inputs.push_back(descriptor(file, input.name + "/" + file.name));
    }
  }
  OrderedJson parameters = OrderedJson::object();
  if (!provenance.command.empty()) parameters["command"] = provenance.command;
  if (!provenance.recipe.empty()) {
    CKPT_ASSIGN(const JsonText recipe, in("recipe", JsonText::parse(provenance.recipe)));
    parameters["recipe"] = in_order(recipe);
  }
  OrderedJson metadata = OrderedJson::object();
  if (!provenance.time.empty()) metadata["finishedOn"] = provenance.time;
  const OrderedJson statement = {
      {"_type", "https://in-toto.io/Statement/v1"},
      {"subject", std::move(subjects)},
      {"predicateType", "https://slsa.dev/provenance/v1"},
      {"predicate",
       {{"buildDefinition",
         {{"buildType", "urn:ckpt:build:v1"},
          {"externalParameters", std::move(parameters)},
          {"internalParameters", OrderedJson::object()},
          {"resolvedDependencies", std::move(inputs)}}},
        {"runDetails",
         {{"builder", {{"id", kBuilderId}, {"version", {{"ckpt", provenance.tool_version}}}}},
          {"metadata", std::move(metadata)}}}}}};
  return statement.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace ckpt
