#!/bin/bash
# testsuite/t/t0004-tidy.t - tidy sees each kind of fault: a small tree with one of them at a time.
. "$(dirname "$0")/lib.sh"
plan 22

tree=$test_dir/tree

# A tree of four files that breaks no rule.
clean_tree() {
  rm -rf "$tree"
  mkdir -p "$tree"/src/{common,sched,net} "$tree"/testsuite/t
  cp "$top_srcdir/.clang-format" "$tree/"
  cat >"$tree/Makefile.am" <<'TEXT'
# Makefile.am - a tree for tidy.
noinst_HEADERS = src/common/text.h src/sched/plan.h src/net/munge.h src/net/munge.cpp
T_TESTS = testsuite/t/t0000-none.t
TEXT
  printf '// common/text.h - text.\n#pragma once\nint text();\n' >"$tree/src/common/text.h"
  printf '// sched/plan.h - the plan.\n#pragma once\n#include "common/text.h"\n' >"$tree/src/sched/plan.h"
  printf '// net/munge.h - who the peer is.\n#pragma once\n' >"$tree/src/net/munge.h"
  printf '// net/munge.cpp - the door to MUNGE.\n#include <munge.h>\n' >"$tree/src/net/munge.cpp"
  printf '#!/bin/bash\n# testsuite/t/t0000-none.t - nothing.\n' >"$tree/testsuite/t/t0000-none.t"
  chmod +x "$tree/testsuite/t/t0000-none.t"
}

# faulty RULE WANTED-TEXT NAME: tidy breaks at RULE and says WANTED-TEXT.
faulty() {
  local output
  output=$("$top_srcdir/testsuite/tidy" --only "$1" "$tree") && output="exit code 0: $output"
  like "$output" "^not ok 1 - $1:.*$2" "$3"
}

clean_tree
ok "the clean tree passes every rule" "$top_srcdir/testsuite/tidy" "$tree"

echo '#include "net/munge.h"' >>"$tree/src/sched/plan.h"
faulty arrows 'plan.h:4: sched may not include net/munge.h' "an arrow that points the wrong way"
clean_tree
echo '#include "text.h"' >>"$tree/src/sched/plan.h"
faulty arrows 'plan.h:4: "text.h": name the room' "an include without its room"
clean_tree
mkdir "$tree/src/attic" && printf '// attic/a.h - a.\n#pragma once\n' >"$tree/src/attic/a.h"
faulty arrows "no room 'attic'" "a room that is not in the table"

for line in '#include <thread>' 'auto t = std::chrono::steady_clock::now();' 'int r = rand();' \
  'auto now = time(nullptr);' '#include "common/clock.h"' 'int fd = socket(1, 2, 3);'; do
  clean_tree
  echo "$line" >>"$tree/src/sched/plan.h"
  faulty pure 'plan.h:4: not in a pure part' "in sched/: $line"
done
clean_tree
printf '// ctld/engine_x.cpp - x.\nauto t = wall_now();\n' >"$tree/src/sched/x" && mkdir "$tree/src/ctld" &&
  mv "$tree/src/sched/x" "$tree/src/ctld/engine_x.cpp"
faulty pure 'engine_x.cpp:2' "a clock in ctld/engine"

clean_tree
echo '#include <munge.h>' >>"$tree/src/common/text.h"
faulty doors 'text.h:4: MUNGE has its door elsewhere' "a library past its door"

clean_tree
sed -i '1s/text.h/test.h/' "$tree/src/common/text.h"
faulty headers 'text.h:1' "a header line that names another file"
clean_tree
sed -i 2d "$tree/testsuite/t/t0000-none.t"
faulty headers 't0000-none.t:' "a script without its header line"

clean_tree
sed -i 2d "$tree/src/common/text.h"
faulty once 'text.h:1: no #pragma once' "a header without #pragma once"

clean_tree
yes '// a line' | head -n 700 >>"$tree/src/common/text.h"
faulty length 'text.h:651: over 650' "a file that is too long"

clean_tree
printf '// common/utils.h - utils.\n#pragma once\n' >"$tree/src/common/utils.h"
faulty names 'utils.h' "a file named utils"
faulty listed 'utils.h: in no Makefrag' "a file that no fragment names"

clean_tree
echo "// TO""DO later" >>"$tree/src/common/text.h"
faulty words 'text.h:4: unfinished' "unfinished work"
clean_tree
echo "// see /wo""rk/main" >>"$tree/src/common/text.h"
faulty words 'text.h:4: a path of one machine' "a machine's path"

clean_tree
echo 'int  x ; ' >>"$tree/src/common/text.h"
faulty space 'text.h:4: space at the end' "space at the end of a line"
if command -v clang-format-14 >/dev/null || command -v clang-format >/dev/null; then
  faulty format 'text.h:4' "a line that clang-format would change"
else
  skip 1 "no clang-format-14"
fi
