# The page of a folder is written into it, with the digests of its other files, and is covered by sums and signature.
openssl ecparam -name prime256v1 -genkey -noout -out release.pem && openssl ec -in release.pem -pubout -out release.pub 2>/dev/null || exit 9
cp -r "$testdata/qwen3-micro" m
"$ckpt" publish m --report --card m/README.md --provenance --sign release.pem --quiet | sed 's/^[0-9a-f]*  //'
grep -o ' report.html' m/SHA256SUMS
"$ckpt" verify m --public-key release.pub | head -1
python3 - <<'END'
import json, re
data = json.loads(re.search(r'id="data">(.*?)</script>', open("m/report.html").read(), re.S)[1])
one = data["checkpoints"][0]
sums = dict(reversed(line.split("  ")) for line in open("m/SHA256SUMS").read().splitlines())
print([f["name"] for f in one["files"]])
print(all(sums[f["name"]] == f["sha256"] for f in one["files"]), one["published"], one["size_bytes"] == sum(f["size_bytes"] for f in one["files"]))
END
cp m/report.html before.html
"$ckpt" publish m --report --sign release.pem --quiet > /dev/null; cmp before.html m/report.html
echo "--- a file that is not a report stays"
echo mine > m/report.html
"$ckpt" publish m --report 2>&1; echo "exit $?"; cat m/report.html
rm m/report.html; ln -s config.json m/report.html; "$ckpt" publish m --report 2>&1; echo "exit $?"
echo "--- it goes with the files it is about"
cp -r "$testdata/qwen3-micro" p && "$ckpt" publish p --report --quiet > sums
"$ckpt" patch p --step config:set=top_k=4 2>&1 | grep report.html; ls p | grep -c report
"$ckpt" publish p --report --quiet > sums
"$ckpt" convert "$testdata/qwen3-micro" p --force --quiet > sums; echo "exit $?"; ls p | grep report
echo mine > p/report.html
"$ckpt" convert "$testdata/qwen3-micro" p --force --quiet 2>&1 > sums; echo "exit $?"; cat p/report.html
