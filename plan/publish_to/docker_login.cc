// Finds logins for a registry in files and helper programs of `docker login` and `podman login`.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/io/bytes.h"
#include "core/io/child.h"
#include "core/io/descriptor.h"
#include "core/io/paths.h"
#include "core/json/json_read.h"
#include "plan/publish_to/oci_registry.h"
#include "publish/publish.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxLoginBytes = 1 << 20;

// Files that may contain logins; the first that knows the host is used.
std::vector<fs::path> login_files() {
  std::vector<fs::path> out;
  const auto add = [&](const char* variable, const char* below) {
    const std::string value = environment(variable);
    if (!value.empty()) out.push_back(*below == '\0' ? fs::path(value) : fs::path(value) / below);
    return !value.empty();
  };
  add("REGISTRY_AUTH_FILE", "");
  if (!add("DOCKER_CONFIG", "config.json")) add("HOME", ".docker/config.json");
  add("XDG_RUNTIME_DIR", "containers/auth.json");
  return out;
}

// The keys under which a host's login is stored; Docker Hub has a special key.
std::vector<std::string> keys_of(const std::string& host) {
  if (host == "registry-1.docker.io" || host == "docker.io") {
    return {"https://index.docker.io/v1/", "docker.io", "registry-1.docker.io"};
  }
  return {host, "https://" + host, "http://" + host};
}

// Decodes "user:password" from base64; a password may contain colons.
Result<RegistryLogin> login_in(const JsonValue& entry) {
  RegistryLogin login;
  if (const std::string* token = text_of(entry, "identitytoken")) login.identity_token = *token;
  const std::string* const auth = text_of(entry, "auth");
  if (auth == nullptr || auth->empty()) return login;
  const auto words = from_base64(*auth);
  const size_t colon = words ? words->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return misuse("auth: expected USER:PASSWORD in base64");
  }
  login.user = words->substr(0, colon);
  login.password = words->substr(colon + 1);
  while (!login.password.empty() && login.password.back() == '\0') login.password.pop_back();
  return login;
}

std::string read_until_end(int from) {
  std::string out;
  char block[4096];
  while (out.size() < kMaxLoginBytes) {
    const ssize_t got = ::read(from, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(block, static_cast<size_t>(got));
  }
  return out;
}

// Runs `program get` with `host` on stdin and returns its stdout, or "" if it fails, as it does for
// an unknown host. Fails: kUsage if the program does not exist.
Result<std::string> ask_program(const std::string& program, const std::string& host) {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0) return io_failure(program, "cannot be started", errno);
  const Descriptor to_read(to[0]);
  Descriptor to_write(to[1]);
  if (::pipe2(from, O_CLOEXEC) != 0) return io_failure(program, "cannot be started", errno);
  const Descriptor from_read(from[0]);
  Descriptor from_write(from[1]);
  Child child;
  ::posix_spawn_file_actions_adddup2(child.files(), to_read.get(), 0);
  ::posix_spawn_file_actions_adddup2(child.files(), from_write.get(), 1);
  std::string name = program, verb = "get";
  char* const arguments[] = {name.data(), verb.data(), nullptr};
  if (child.start(arguments) != 0) {
    return misuse("{}: cannot be started, and the login of {} is kept by it", program, host);
  }
  // A pipe can hold a host name, so this write does not block.
  const bool is_asked = ::write(to_write.get(), host.data(), host.size()) >= 0;
  to_write = Descriptor();
  from_write = Descriptor();
  std::string answer = read_until_end(from_read.get());
  const bool is_answered = child.wait().empty() && is_asked;
  return is_answered ? std::move(answer) : std::string();
}

// Gets a login from a credential helper. Fails as ask_program() does, and kUsage for invalid JSON.
Result<RegistryLogin> login_by_program(const std::string& name, const std::string& key) {
  const bool is_word = name.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_.-") == name.npos;
  if (!is_word) return misuse("'{}' is not the name of a credential helper", name);
  const std::string program = "docker-credential-" + name;
  CKPT_ASSIGN(const std::string answer, ask_program(program, key));
  if (answer.empty()) return RegistryLogin();
  const auto json = parse_json(program, answer);
  const std::string* const user = json ? text_of(*json, "Username") : nullptr;
  const std::string* const secret = json ? text_of(*json, "Secret") : nullptr;
  if (user == nullptr || secret == nullptr) {
    return misuse("{}: expected an answer with Username and Secret", program);
  }
  if (*user == "<token>") return RegistryLogin{"", "", *secret};
  return RegistryLogin{*user, *secret, ""};
}

Result<RegistryLogin> login_of_file(const JsonValue& json, const std::vector<std::string>& keys) {
  const JsonValue* const helpers = known(json, "credHelpers");
  const JsonValue* const logins = known(json, "auths");
  const std::string* const store = text_of(json, "credsStore");
  for (const std::string& key : keys) {
    const std::string* helper = text_of(helpers, key);
    const JsonValue* const entry = known(logins, key);
    if (helper == nullptr && entry != nullptr) helper = store;
    if (helper != nullptr) {
      CKPT_ASSIGN(RegistryLogin login, login_by_program(*helper, key));
      if (login.is_known()) return login;
    }
    if (entry == nullptr) continue;
    CKPT_ASSIGN(RegistryLogin login, login_in(*entry));
    if (login.is_known()) return login;
  }
  return RegistryLogin();
}

}  // namespace

Result<RegistryLogin> registry_login(const std::string& host) {
  for (const fs::path& path : login_files()) {
    CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
    if (!exists) continue;
    CKPT_ASSIGN(const std::string text, read_small(path, kMaxLoginBytes));
    const auto json = parse_json(path.string(), text);
    if (!json) return misuse("{}: expected JSON", path.string());
    CKPT_ASSIGN(RegistryLogin login, in(path.string(), login_of_file(*json, keys_of(host))));
    if (login.is_known()) return login;
  }
  return RegistryLogin();
}

}  // namespace ckpt
