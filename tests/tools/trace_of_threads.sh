# CKPT_TRACE names a new file for a trace; an existing file, a link or a place that cannot be written ends the command before it works.
export CKPT_TRACE=trace.json
"$ckpt" convert "$testdata/llama-micro" out --shard-size 400KB -j 2 -q > /dev/null; echo "exit $?"
python3 -c 'import json; events = json.load(open("trace.json"))["traceEvents"]; print(*sorted({e["name"] for e in events} & {"read", "write", "hash"})); print(all(e["dur"] >= 0 for e in events))'
echo "-- an existing file, a link, no folder"
echo mine > mine; ln -s mine link
for trace in mine link none/trace.json; do CKPT_TRACE=$trace "$ckpt" convert "$testdata/llama-micro" other -q 2>&1; echo "exit $?"; done
cat mine; ls -d other 2> /dev/null
echo "-- an empty value"
CKPT_TRACE= "$ckpt" version 2>&1; echo "exit $?"
