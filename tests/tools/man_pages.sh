# every command and every option of the help is in a page, and no page makes a formatter complain
"$ckpt" man --into pages > written || exit 9
wc -l < written | tr -d ' '
"$ckpt" | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' > verbs
for verb in $(cat verbs); do
  page=pages/ckpt-$verb.1
  "$ckpt" man "$verb" | cmp - "$page"
  grep -q "ckpt\\\\-$verb" pages/ckpt.1 || echo "ckpt(1) does not name $verb"
  for option in $("$ckpt" help "$verb" | grep '^  -' | cut -c1-28 | grep -oe '--[a-z][a-z0-9-]*' | cut -c3-); do
    roff=$(echo "$option" | sed 's/-/\\\\-/g')
    grep -q -e "fB.-.-$roff.fR" "$page" pages/ckpt.1 || echo "$page lacks --$option"
  done
  "$ckpt" help "$verb" | sed -n 's/^  \(ckpt .*\)/\1/p' | head -1 | sed 's/   *#.*//' > example
  man -l "$page" 2>/dev/null | tr -s ' \n' '  ' | grep -qF -- "$(tr -s ' ' < example)" ||
    ! command -v man >/dev/null || echo "$page has lost an example: $(cat example)"
done
"$ckpt" man | cmp - pages/ckpt.1
LC_ALL=C grep -n '[^ -~]' pages/*.1
for type in q4_k_m nvfp4-w4a16; do grep -q "^.fB$(echo $type | sed 's/-/\\\\-/g').fR" pages/ckpt-convert.1 || echo "no type $type"; done
! command -v mandoc >/dev/null || mandoc -Tlint -W warning pages/*.1
! command -v groff >/dev/null || for page in pages/*.1; do groff -man -Tutf8 -ww -z "$page"; done
"$ckpt" man nosuch 2>&1; echo "exit $?"
"$ckpt" man convert --into pages 2>&1; echo "exit $?"
mkdir links && ln -s ../pages/ckpt.1 links/ckpt.1 && "$ckpt" man --into links 2>&1; echo "exit $?"
"$ckpt" man show --json | cut -c1-60
