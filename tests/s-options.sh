#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-options.sh - the program's options, form by form, are those of the manual
# and of the completion, with the same values, no more and no less.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

pod=$top_srcdir/man/iohelper.pod
table=$top_srcdir/iohelper/options.c
# shellcheck source=completion/iohelper.bash
. "$top_srcdir/completion/iohelper.bash"

# --cache=MODE, --quiet, ... one a line, sorted
helped ()
{
  "$IOHELPER" "$1" --help | sed -n 's/^  \(--[a-z-]*\(=[A-Z]*\)\?\) .*/\1/p' | sort
}

# The manual's section OPTIONS; "Save only" begins the text of what restore
# does not have.
manual ()
{
  "$PYTHON" - "$pod" "$1" <<'END'
import re, sys
text = open(sys.argv[1]).read()
section = re.search(r'^=head1 OPTIONS\n(.*?)^=head1 ', text, re.S | re.M).group(1)
for item in re.split(r'^=item ', section, flags=re.M)[1:]:
    head, body = item.split('\n', 1)
    m = re.fullmatch(r'B<(--[a-z-]+)>(?:=I<([A-Z]+)>)?', head)
    if not m:
        sys.exit('not understood: =item ' + head)
    if sys.argv[2] == 'text':
        print(m.group(1), len(body.split()))
    elif sys.argv[2].startswith('--'):
        if m.group(1) == sys.argv[2]:
            # a paragraph for each word, or for some: B<auto>, the default: ...
            heads = re.findall(r'^\n(B<.*?):', body, re.M)
            print('\n'.join(sorted(re.findall(r'B<([a-z]+)>', ' '.join(heads)))))
    elif sys.argv[2] == 'save' or not body.strip().startswith('Save only'):
        print(m.group(1) + ('=' + m.group(2) if m.group(2) else ''))
END
}

# A word that is not one: the program lists those that are.
words_of ()
{
  "$IOHELPER" save "$1=bogus" - 2>&1 < /dev/null | sed -n 's/.*give one of //p' | tr -d , \
    | tr ' ' '\n' | sort
}

complete_at () # WORDS...: completes the last one
{
  COMP_WORDS=(iohelper "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _iohelper
  printf '%s\n' "${COMPREPLY[@]}" | sort
}

for form in save restore; do
  helped $form > "$T/help"
  check "$form --help lists at least ten options" test "$(wc -l < "$T/help")" -ge 10
  manual $form | sort > "$T/manual"
  check "the manual lists the options of $form --help" diff "$T/help" "$T/manual"
  sed 's/=.*/=/' "$T/help" | sort > "$T/short"
  complete_at $form -- > "$T/completed"
  check "the completion offers the options of $form --help" diff "$T/short" "$T/completed"
  is "each option of $form has a text in --help" \
    "$("$IOHELPER" $form --help | grep -cE '^  --[a-z-]*(=[A-Z]*)? +[a-z]')" "$(wc -l < "$T/help")"
done

is "each option has a text of three words or more in the manual" \
  "$(manual text | awk '$2 < 3')" ""

# Every row of the table reaches one --help or libvirt.conf.
sed -n 's/^  { "\([a-z-]*\)", .*/--\1/p' "$table" | sort > "$T/rows"
{ helped save; helped restore; } | sed 's/=.*//' | grep -v '^--help$' | sort -u > "$T/help"
is "each row of the table but result-dir is in some --help" "$(comm -3 "$T/rows" "$T/help")" \
  --result-dir

sed -n 's/^  { "\([a-z-]*\)", .*IOH_FORM_CONF.*/\1/p' "$table" | sort > "$T/conf"
"$PYTHON" - "$pod" > "$T/manual" <<'END'
import re, sys
text = open(sys.argv[1]).read()
section = re.search(r'^=head1 FILES\n(.*?)^=head1 ', text, re.S | re.M).group(1)
for head in re.findall(r'^=item (B<.*)', section, re.M):
    print('\n'.join(re.findall(r'B<([a-z-]+)>', head)))
END
check "the manual lists the options of libvirt.conf" diff "$T/conf" <(sort "$T/manual")

found=0
while read -r option; do
  words_of "$option" > "$T/words"
  [ -s "$T/words" ] || continue
  found=$((found + 1))
  manual "$option" > "$T/manual"
  check "the manual describes each word of $option" diff "$T/words" "$T/manual"
  complete_at save "$option" = '' > "$T/completed"
  check "the completion offers each word of $option=" diff "$T/words" "$T/completed"
  complete_at save "$option" '' > "$T/completed"
  check "the completion offers each word of $option with its value apart" \
    diff "$T/words" "$T/completed"
done < <(sed -n 's/^  { "\([a-z-]*\)", .*IOH_OPT_WORD.*/--\1/p' "$table")
is "options with words were looked at" "$found" "$(grep -c 'IOH_OPT_WORD, AT' "$table")"

# ---- the completion where it is not about options ----------------------------

is "the completion offers the forms" "$(complete_at '' | tr '\n' ' ')" \
  "--help --version restore save "
touch "$T/vm1.sav"
is "the completion offers files for FILE" "$(complete_at save --quiet "$T/vm1")" "$T/vm1.sav"
is "the completion offers files for --result=" "$(complete_at save --result = "$T/vm1")" \
  "$T/vm1.sav"
is "the completion offers commands behind FILE --" "$(complete_at save x -- printenv | uniq)" printenv
is "the completion takes a value for no FILE" "$(complete_at save --memory 1M -- "$T/vm1")" \
  "$T/vm1.sav"

done_testing
