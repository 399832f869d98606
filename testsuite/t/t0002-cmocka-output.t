#!/bin/bash
# testsuite/t/t0002-cmocka-output.t - unit test programs in each of CMocka's output formats.
. "$(dirname "$0")/lib.sh"

bin=$top_builddir/testsuite/unit/testmain
unset CMOCKA_MESSAGE_OUTPUT CMOCKA_XML_FILE GTEST_FILTER GTEST_COLOR

# output FORMAT PROGRAM [VARIABLE=value...]: standard output in $out, standard error in $err, code in $code.
# Places are told without their directory, which depends on where the build is.
output() {
  local format=$1 program=$2
  shift 2
  code=0
  env CMOCKA_MESSAGE_OUTPUT="$format" "$@" "$bin/$program" >"$test_dir/out" 2>"$test_dir/err" </dev/null || code=$?
  sed -i 's|[^ ]*/\(sample_[a-z]*\.cpp\)|\1|g; s|CDATA\[[^ ]*/sample|CDATA[sample|' "$test_dir/out" "$test_dir/err"
  out=$(cat "$test_dir/out")
  err=$(cat "$test_dir/err")
}

# The lines of $out or $err between two lines that begin so, both included.
between() {
  sed -n "/^$(sed 's/[][\.*^$/]/\\&/g' <<<"$2")/,/^$(sed 's/[][\.*^$/]/\\&/g' <<<"$3")/p" <<<"$1"
}

# ---- without the variable: GoogleTest as ever ----
output '' sample_googletest
like "$out" 'Running 7 tests from 3 test suites' "GoogleTest's own output without the variable"
is "$code" 1 "and its exit code"

# ---- tap ----
output tap sample_cmocka
is "$(head -n 4 "$test_dir/out")" "TAP version 13
1..8
ok 1 - passes
not ok 2 - fails" "tap: version, plan, a test that passes, one that fails"
is "$(between "$out" "not ok 2" "ok 3")" "not ok 2 - fails
# 0x1 != 0x2
# sample_cmocka.cpp:12: error: Failure!
ok 3 # SKIP skips" "tap: what failed is a comment; a skip is a skip"
like "$out" 'not ok 4 - misses_a_value
# No entries for symbol mocked.
# sample_cmocka.cpp:8: error: Could not get value to mock function mocked
# There were no previously returned mock values for this test.' "tap: a missing value names the mock and its line"
like "$out" 'not ok 5 - leaves_a_value
# mocked\(\) has remaining non-returned values.
# sample_cmocka.cpp:15: note: remaining item was declared here' "tap: a leftover value names the line that promised it"
like "$out" 'not ok 6 - gets_a_wrong_value
# 0x4 != 0x3
# sample_cmocka.cpp:9: error: Check of parameter value, function checked failed
# sample_cmocka.cpp:17: note: Expected parameter declared here' "tap: a wrong value names both lines"
is "$(tail -n 3 "$test_dir/out")" "not ok 7 - passes Could not run test: Test setup failed
not ok 8 - passes Could not run test: Test teardown failed
# not ok - outcomes" "tap: fixtures that fail, and the group's word at the end"
is "$err" "" "tap: nothing on standard error"
is "$code" 6 "the exit code is the number of tests that failed"

output tap sample_googletest
is "$(grep -v '^#' "$test_dir/out")" "TAP version 13
1..7
ok 1 - First.Passes
not ok 2 - First.FailsTwice
ok 3 # SKIP Second.Skips: no GPU here
ok 4 - Second.PassesToo
not ok 5 - Second.LeavesAValueBehind
not ok 6 - Second.Throws
ok 7 - Third.Passes" "tap: GoogleTest's suites share one plan"
is "$(grep -E '^# (not )?ok' "$test_dir/out")" "# not ok - First
# not ok - Second
# ok - Third" "tap: a word for each suite"
like "$out" '# Value of: false
#   Actual: false
# Expected: true
# second
# message
# sample_googletest.cpp:[0-9]+: error: Failure!' "tap: messages of several lines stay comments"
output tap sample_googletest SAMPLE_BAD_SUITE=1 GTEST_FILTER='Third.*'
like "$out" '# the suite is not ready' "tap: a suite that cannot be set up is told"
is "$code" 1 "and fails the program"
output tap sample_googletest GTEST_FILTER='First.Passes'
is "$out" "TAP version 13
1..1
ok 1 - First.Passes
# ok - First" "tap: the plan counts what the filter leaves"
if command -v prove >/dev/null; then
  cat >"$test_dir/passing.t" <<END
#!/bin/sh
CMOCKA_MESSAGE_OUTPUT=tap exec "$bin/cmocka_style_test"
END
  cat >"$test_dir/failing.t" <<END
#!/bin/sh
CMOCKA_MESSAGE_OUTPUT=tap exec "$bin/sample_googletest"
END
  chmod +x "$test_dir"/*.t
  like "$(prove -v "$test_dir/passing.t" 2>&1)" 'Result: PASS' "prove reads it"
  like "$(prove "$test_dir/failing.t" 2>&1)" 'Failed tests?:  2, 5-6' "prove finds the tests that failed"
else
  skip 2 "no prove here"
fi

# ---- stdout, in any case, and what CMocka does not know ----
output STDOUT sample_cmocka
is "$(head -n 6 "$test_dir/out")" "[==========] outcomes: Running 8 test(s).
[ RUN      ] passes
[       OK ] passes
[ RUN      ] fails
[  FAILED  ] fails
[ RUN      ] skips" "stdout: tests as they run"
is "$(tail -n 1 "$test_dir/out")" "[==========] outcomes: 8 test(s) run." "stdout: the sum"
is "$(head -n 2 "$test_dir/err")" "[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- sample_cmocka.cpp:12: error: Failure!" "stdout: what failed, on standard error"
is "$(between "$err" "[  PASSED  ]" " 6 FAILED")" "[  PASSED  ] 1 test(s).
[  SKIPPED ] outcomes: 1 test(s), listed below:
[  SKIPPED ] skips

 1 SKIPPED TEST(S)
[  FAILED  ] outcomes: 4 test(s), listed below:
[  FAILED  ] fails
[  FAILED  ] misses_a_value
[  FAILED  ] leaves_a_value
[  FAILED  ] gets_a_wrong_value

 6 FAILED TEST(S)" "stdout: lists at the end"
like "$err" 'Could not run test: Test setup failed
\[  ERROR   ] passes' "stdout: a fixture that fails is an error"
plain=$out
output nonsense sample_cmocka
is "$out" "$plain" "a format that CMocka does not know is stdout"

# ---- subunit ----
output SubUnit sample_cmocka
is "$(head -n 9 "$test_dir/out")" "test: passes
success: passes
test: fails
failure: fails [
0x1 != 0x2
sample_cmocka.cpp:12: error: Failure!
]
test: skips
skip: skips" "subunit: passed, failed, skipped"
is "$(tail -n 3 "$test_dir/out")" "error: passes [ Could not run test: Test setup failed ]
test: passes
error: passes [ Could not run test: Test teardown failed ]" "subunit: errors"

# ---- xml ----
output xml sample_cmocka
is "$(sed 's/ time="[0-9.]*"//' "$test_dir/out" | head -n 12)" '<?xml version="1.0" encoding="UTF-8" ?>
<testsuites>
  <testsuite name="outcomes" tests="8" failures="4" errors="2" skipped="1" >
    <testcase name="passes" >
    </testcase>
    <testcase name="fails" >
      <failure><![CDATA[0x1 != 0x2
sample_cmocka.cpp:12: error: Failure!]]></failure>
    </testcase>
    <testcase name="skips" >
      <skipped/>
    </testcase>' "xml: the report"
like "$out" '<failure><!\[CDATA\[Test setup failed]]></failure>' "xml: errors"
output xml sample_googletest
is "$(grep -o '<testsuite name="[A-Za-z]*"' "$test_dir/out")" '<testsuite name="First"
<testsuite name="Second"
<testsuite name="Third"' "xml: a testsuite for each of GoogleTest's"
if command -v xmllint >/dev/null; then
  ok "xml: well-formed, whatever the messages hold" xmllint --noout "$test_dir/out"
  is "$(xmllint --xpath 'string(//testcase[@name="FailsTwice"]/failure)' "$test_dir/out" | grep -c 'c&d]]>')" 1 \
    "xml: messages survive as they are"
else
  skip 2 "no xmllint here"
fi

# ---- xml into files ----
output xml sample_googletest CMOCKA_XML_FILE="$test_dir/report.xml"
is "$out$err" "" "xml file: nothing on the standard streams"
is "$(grep -c '<testsuite ' "$test_dir/report.xml")" 3 "xml file: all suites are in it"
before=$(cat "$test_dir/report.xml")
output xml sample_googletest CMOCKA_XML_FILE="$test_dir/report.xml"
is "$(cat "$test_dir/report.xml")" "$before" "xml file: one that was there is left alone"
like "$err" '^<\?xml version="1.0" encoding="UTF-8" \?>' "and the report goes to standard error"
output xml sample_googletest CMOCKA_XML_FILE="$test_dir/group-%g.xml"
is "$(cd "$test_dir" && echo group-*.xml)" "group-First.xml group-Second.xml group-Third.xml" \
  "xml file: %g is the group's name"
is "$(grep -o 'testsuite name="[A-Za-z]*"' "$test_dir/group-Second.xml")" 'testsuite name="Second"' \
  "xml file: each group in its own"
output xml sample_googletest CMOCKA_XML_FILE="$test_dir/missing/report.xml"
like "$err" '<testsuites>' "xml file: one that cannot be made goes to standard error"
output tap sample_googletest CMOCKA_XML_FILE="$test_dir/unused.xml"
not_ok "xml file: made for xml only" test -e "$test_dir/unused.xml"

# ---- several ----
output tap,xml sample_googletest CMOCKA_XML_FILE="$test_dir/both.xml"
like "$out" '^TAP version 13' "two formats: tap on standard output"
ok "two formats: xml in its file" grep -q '<testsuite name="Second"' "$test_dir/both.xml"

# ---- several groups in one program ----
output tap sample_cmocka SAMPLE_TWO_GROUPS=1
is "$(tail -n 3 "$test_dir/out")" "1..1
ok 1 - passes
# ok - more" "a second group runs once, with a plan of its own, as CMocka's do"
is "$(grep -c 'ok .* - fails' "$test_dir/out")" 1 "and the first does not run again"

done_testing
