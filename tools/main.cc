// ckpt: converts and patches LLM checkpoints. Reads the command line and runs one command.
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <new>

#include "quantizers/quantizers.h"
#include "tools/commands.h"
#include "tools/habits.h"
#include "tools/interrupt_guard.h"
#include "tools/type_names.h"

namespace ckpt {

namespace {

const Command* const kCommands[] = {&kConvert, &kPatch,   &kDoctor,  &kShow, &kDiff,
                                    &kVerify,  &kPublish, &kExecute, &kList, &kCompletion};

void on_signal(int) {
  // The second Ctrl-C ends the program at once, as if nobody had asked to be told.
  if (interrupted.exchange(true)) std::_Exit(130);
}

// No memory is left to say it with: the sentence is made already. What was begun stays under its
// temporary name, as after a kill.
[[noreturn]] void out_of_memory() {
  static constexpr std::string_view kSentence =
      "ckpt: out of memory. Try: a smaller --memory, or fewer --threads\n";
  (void)!::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  std::_Exit(2);
}

// Before all other objects of the program are made, and they allocate.
__attribute__((constructor(101))) void set_memory_handler() { std::set_new_handler(out_of_memory); }

// The same for OpenSSL, which has no handler of its own.
void* allocate_or_end(size_t size, const char*, int) {
  void* memory = std::malloc(size);
  if (memory == nullptr && size > 0) out_of_memory();
  return memory;
}
void* reallocate_or_end(void* old, size_t size, const char*, int) {
  void* memory = std::realloc(old, size);
  if (memory == nullptr && size > 0) out_of_memory();
  return memory;
}
void release(void* memory, const char*, int) { std::free(memory); }

// What the deepest recursion takes, and a thread: the C library gives each a stack of this limit.
constexpr rlim_t kMinStackBytes = rlim_t{256} << 10;

// A stack that is too small would end the program by a signal, anywhere.
void check_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kMinStackBytes) return;
  static constexpr std::string_view kSentence =
      "ckpt: the stack may not grow beyond the limit that is set; expected at least 256 KiB. "
      "Try: ulimit -s 8192\n";
  (void)!::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  std::_Exit(2);
}

void declare_common(CLI::App& app, CommonOptions& options, std::string& memory) {
  app.add_flag("--json", options.json, "one JSON object a line on stdout");
  app.add_flag("--quiet,-q", options.quiet, "no progress, notes or summary");
  app.add_option("-j,-t,--threads", options.threads, "cores to use (default: all)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--memory", memory, "what buffers may take (default: 512M)");
  app.add_option("--progress", options.progress,
                 "auto (default), plain (a line every 30 seconds, as without a terminal) or none")
      ->check(CLI::IsMember({"auto", "plain", "none"}));
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

struct Declared {
  CLI::App* app;
  Run run;
};

int usage_error(const Console& console, std::string message, const std::string& help) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  console.error({ErrorCode::kUsage, {}, std::move(message), help});
  return 2;
}

// What to type after an interruption.
std::string hint_after_interruption(std::string_view verb) {
  if (verb == kConvert.name || verb == kExecute.name) {
    return "the same command again, which goes on where this one ended";
  }
  return verb == kPatch.name ? "the same command again" : "";
}

int run_command(const Declared& command, CommonOptions& options, const std::string& memory) {
  const Console console(options);
  const InterruptGuard guard(console, hint_after_interruption(command.app->get_name()));
  if (!memory.empty()) {
    const auto size = parse_size(memory);
    if (!size) {
      console.error(Error(size.error()).in("--memory"));
      return 2;
    }
    options.memory_bytes = *size;
  }
  const auto code =
      check_simd_environment().and_then([&] { return command.run(console, options); });
  if (!code) console.error(code.error());
  std::fflush(stdout);  // while the guard is at work: who reads may keep us waiting
  return code ? *code : exit_code(code.error());
}

Status check_verb(const std::vector<std::string>& words) {
  std::vector<std::string> verbs;
  for (const Command* command : kCommands) verbs.emplace_back(command->name);
  const bool is_verb = words.empty() || words[0].starts_with("-") ||
                       std::find(verbs.begin(), verbs.end(), words[0]) != verbs.end();
  if (is_verb) return {};
  return unknown_verb(words[0], verbs);
}

// What CLI11 did not expect: an option that the verb does not have, or one word too many.
Error unexpected(const std::vector<std::string>& words, const CLI::App& app) {
  if (words[0].starts_with("-")) {
    return {ErrorCode::kUsage,
            {},
            fmt::format("{}: expected a command first", words[0]),
            "ckpt --help"};
  }
  const CLI::App* verb = app.get_subcommand(words[0]);
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (word.size() < 2 || word[0] != '-') continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return unknown_option(name, words[0], names).value();
    }
  }
  const std::vector<std::string> rest = verb->remaining();
  const auto type = target_type_named("", rest.empty() ? "" : rest[0]);
  const bool is_type = type && words[0] == "convert";
  return {ErrorCode::kUsage,
          {},
          fmt::format("{}: more words than ckpt {} takes", fmt::join(rest, " "), words[0]),
          is_type ? fmt::format("--to {}", *type) : fmt::format("ckpt help {}", words[0])};
}

// Whether what `descriptor` is a pipe to has no reader any more.
bool reader_left(int descriptor) {
  pollfd stream{descriptor, 0, 0};
  return ::poll(&stream, 1, 0) == 1 && (stream.revents & (POLLERR | POLLHUP)) != 0;
}

// An answer that did not arrive is none; a reader who left (ckpt show ... | head) had enough of it,
// and the exit code stays what it would have been.
int answered(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (reader_left(STDOUT_FILENO)) return code;
  static constexpr std::string_view kSentence = "ckpt: stdout: the answer cannot be written\n";
  (void)!::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  return 2;
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> typed = words;
  words = in_own_words(std::move(words));
  CLI::App app{"Converts and patches LLM checkpoints: safetensors and GGUF.", "ckpt"};
  app.set_version_flag("--version", "ckpt " CKPT_VERSION);
  app.require_subcommand(1);
  CommonOptions options;
  options.command = "ckpt";
  for (const std::string& word : typed) options.command += " " + shell_word(word);
  std::string memory;
  std::vector<Declared> declared;
  for (const Command* command : kCommands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->help));
    sub->formatter(std::make_shared<CLI::Formatter>());
    sub->description(fmt::format("{}\n\nExamples:\n{}", command->help, command->examples));
    declare_common(*sub, options, memory);
    declared.push_back({sub, command->declare(*sub)});
  }
  if (const Status known = check_verb(words); !known) {
    options.json = std::find(words.begin(), words.end(), "--json") != words.end();
    Console(options).error(known.error());
    return 2;
  }
  std::vector<std::string> from_back(words.rbegin(), words.rend());  // as CLI11 takes its vector
  try {
    app.parse(from_back);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return 0;
  } catch (const CLI::CallForAllHelp& help) {
    app.exit(help);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    app.exit(version);
    return 0;
  } catch (const CLI::ExtrasError&) {
    Console(options).error(unexpected(words, app));
    return 2;
  } catch (const CLI::ParseError& error) {
    return usage_error(Console(options), error.what(), "ckpt --help, or ckpt help VERB");
  }
  for (const Declared& command : declared) {
    if (command.app->parsed()) return run_command(command, options, memory);
  }
  return 2;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  ckpt::check_stack();
  CRYPTO_set_mem_functions(ckpt::allocate_or_end, ckpt::reallocate_or_end, ckpt::release);
  // The work goes on, and its exit code is true, whatever became of the pipe that it talks into.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, ckpt::on_signal);
  std::signal(SIGTERM, ckpt::on_signal);
  return ckpt::answered(ckpt::run(argc, argv));
}
