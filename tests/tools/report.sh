# A page of two files compared with their source; an existing file is not replaced.
for type in q4_0 q8_0; do "$ckpt" convert "$testdata/qwen35-micro" $type.gguf --to $type --quiet > made 2>&1; done
"$ckpt" report q4_0.gguf q8_0.gguf --against "$testdata/qwen35-micro/" 2> said
sed 's/^[0-9.]* kB/N kB/; s/with .*qwen35-micro/with BASE/' said
grep -c 'content="ckpt report"' report.html
echo "--- again"
"$ckpt" report q4_0.gguf 2>&1; echo "exit $?"
"$ckpt" report q4_0.gguf --force --quiet; echo "exit $?"
echo "--- a file that is not a report"
echo mine > mine.html
"$ckpt" report q4_0.gguf --force -o mine.html 2>&1; echo "exit $?"
cat mine.html
ln -s mine.html link.html
"$ckpt" report q4_0.gguf --force -o link.html 2>&1; echo "exit $?"
"$ckpt" report q4_0.gguf -o page.html/ 2>&1; echo "exit $?"
"$ckpt" report q4_0.gguf --out=q4_0.gguf --force 2>&1; echo "exit $?"
echo "--- as data"
rm report.html
"$ckpt" report q4_0.gguf --against "$testdata/qwen35-micro" --json > data.json; echo "exit $?"
ls report.html 2> /dev/null
python3 - <<'END'
import json
lines = open("data.json").read().splitlines()
data = json.loads(lines[0])
one = data["checkpoints"][0]
print(len(lines), data["type"], data["report"], one["architecture"], one["layers"], one["tensors"])
print(one["types"][0]["type"], one["types"][0]["bits"], sum(one["cells"]["tensors"]) == one["tensors"])
print(one["values"]["compared"], len(one["values"]["worst"]), 15 < one["values"]["sqnr_db"] < 30)
worst = one["values"]["worst"][0]
print(sum(worst["weight_histogram"]["base"]) == sum(worst["error_histogram"]["counts"]) == worst["weights"])
print(one["memory"]["kv_layers"], one["memory"]["kv_values_per_token"], one["memory"]["state_bytes"])
print([profile["name"] for profile in one["profiles"] if profile["loads"] == "yes"])
print({(each["check"], each["title"]) for profile in one["profiles"] for each in profile["explained"]})
END
echo "--- files of others next to it"
mkdir home home/models && cp q4_0.gguf home/models/ && mkdir home/models/below && chmod 0 home/models/below
echo '{"secret": "of this machine"}' > secret.json
ln -s ../../secret.json home/models/provenance.json
"$ckpt" report home/models/q4_0.gguf --json | grep -c secret
cp -r "$testdata/qwen3-micro" folder && ln -s ../secret.json folder/provenance.json && ln -s ../data.json folder/SHA256SUMS
"$ckpt" report folder --json | grep -c secret
rm folder/provenance.json folder/SHA256SUMS && mkfifo folder/provenance.json
"$ckpt" report folder --quiet -o fifo.html; echo "exit $?"
rm folder/provenance.json && echo '{"_type": "mine"}' > folder/provenance.json
"$ckpt" report folder --json | grep -o '"provenance":{[^}]*}'
echo "--- other models"
"$ckpt" report q4_0.gguf --against "$testdata/qwen3-micro" --json 2>&1 > other.json; echo "exit $?"
"$ckpt" report q4_0.gguf --against "$testdata/families/lfm2/hf" --json 2>&1; echo "exit $?"
"$ckpt" report nothing/ 2>&1; echo "exit $?"
"$ckpt" report 2>&1 | head -1
"$ckpt" report "$testdata/qwen3-micro" -o x.svg 2>&1; ls x.* 2>/dev/null || echo "nothing was written"
"$ckpt" report "$testdata/qwen3-micro" --svg x.svg 2>&1
echo "--- opened"
mkdir bin && printf '#!/bin/sh\necho "opened $1" > opened; exit $ends\n' > bin/xdg-open && chmod +x bin/xdg-open
rm -f report.html
ends=0 PATH="$PWD/bin:$PATH" "$ckpt" report q4_0.gguf --open 2> said; echo "exit $?"
sed 's/^[0-9.]* kB/N kB/' said; cat opened
ends=3 PATH="$PWD/bin:$PATH" "$ckpt" report q4_0.gguf --open --quiet -o -x.html 2>&1; echo "exit $?"
cat opened
"$ckpt" report q4_0.gguf --open --json 2>&1; echo "exit $?"
