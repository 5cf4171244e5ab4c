# Every option with a value, of every command: an empty value, "--" and another option in its place are refused before anything is
# done, in both spellings. The options are those that the help names.
cp -r "$testdata/qwen3-micro" m
"$ckpt" | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' > verbs
find . > before
python3 - "$ckpt" <<'PY'
import re, subprocess, sys
ckpt = sys.argv[1]
tried, taken, wrong = 0, set(), 0
for verb in open("verbs").read().split():
    help_of = subprocess.run([ckpt, "help", verb], capture_output=True, text=True).stdout
    options = re.findall(r"^  (-[^ \n]+(?:, -[^ \n]+)*)(?: (\[?[A-Za-z0-9].*?))?(?:  .*)?$", help_of.split("\nUsage:")[1], re.M)
    flags = [names.split(", ")[-1] for names, value in options if not value] + ["-q", "--help"]
    with_value = [(names.split(", "), value) for names, value in options if value]
    words = ["m"] if verb not in ("convert", "diff") else ["m", "o"]
    for number, (names, value) in enumerate(with_value):
        after = with_value[(number + 1) % len(with_value)][0][-1]
        for name in names:
            taken.add((verb, name))
            missing = [""] if value.startswith("[") else ["", "--", after, flags[number % len(flags)], "-j", "-q", "--mistyped"]
            cases = [[name, each] for each in missing]
            if name.startswith("--"):
                cases += [[f"{name}="]] + [[f"{name}={each}"] for each in ("--", after, after + "=x", "-q")]
            else:
                cases += [[f"{name}="], [f"-q{name[1:]}", ""], [f"{name}--"]]
            for case in cases:  # the places in a line take turns
                for line in ([verb, *case, *words], [verb, *words, *case], [verb, "-q", *case, "--", *words])[tried % 3:][:1]:
                    done = subprocess.run([ckpt, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                    tried += 1
                    said = done.stderr.startswith("ckpt: ") and done.stderr.count("\n") == 1
                    why = "an empty value" in done.stderr or "its value is missing" in done.stderr
                    if done.returncode != 2 or not said or not why:
                        wrong += 1
                        print(line, done.returncode, done.stderr[:200])
print("options were tried" if len(taken) > 150 and tried > 1000 else f"only {len(taken)} options")
print(wrong, "taken")
PY
find . | cmp before - && echo "nothing was written"
echo "-- words that stand alone"
tried() { "$ckpt" "$@" 2>&1; echo "exit $?"; }
tried convert '' o
tried convert m ''
tried convert -- m ''
tried convert -- '' --dry-run
tried diff m ''
tried execute ''
echo "-- words that earlier versions treated as a value"
unset=
tried verify m --ignore="$unset" --public-key="$testdata/publish/p256.pub"
tried publish m --password-file="$unset" --sign="$testdata/publish/p256.pem"
tried convert --model-name="$unset" -q -- m o.gguf
tried patch m --out="$unset" --dry-run --step config:set=a=1
tried patch m --out --dry-run --step config:set=a=1
tried convert m o --model-name --
tried convert m -o=
find . | cmp before - && echo "nothing was written"
echo "-- what may be a value"
tried convert m ./--dry-run --dry-run -q
tried convert -q -- m --json && ls -d -- --json
tried show --tensors -- m | tail -1
tried show m -qj1 --tensors='*norm.weight' | head -1
tried convert -q m o.gguf --model-name=-x-
