# contribs/merge_yaml.awk - prints the YAML file `base` with the keys of `over` in place of its own.
#
# Two levels, sections and keys. Keys named in `owned`, with blanks around each, may not stand in `over`.
function fail(text) {
  printf "minicluster: %s:%d: %s\n", file, line, text > "/dev/stderr"
  failed = 1
  exit 1
}
function take(raw,    body, indent, name) {
  if (raw ~ /^[ \t]*(#.*)?$/ || raw ~ /^(---|\.\.\.)/) return
  match(raw, /^[ \t]*/)
  indent = RLENGTH
  if (substr(raw, 1, indent) ~ /\t/) fail("a tab indents this line; YAML wants spaces")
  body = substr(raw, indent + 1)
  if (indent == 0) {
    if (body !~ /^[A-Za-z_]+:[ \t]*(#.*)?$/) fail("a section is needed here, such as \047jobs:\047")
    section = body
    sub(/:.*/, "", section)
    if (!(section in seen)) { seen[section] = 1; sections[++section_count] = section }
    key_indent = 0
    return
  }
  if (section == "") fail("a section is needed here, such as \047jobs:\047")
  if (!key_indent) key_indent = indent
  if (indent == key_indent) {
    if (body !~ /^[A-Za-z0-9_][A-Za-z0-9_.-]*:/) fail("a key is needed here, such as \047kill_wait: 5s\047")
    name = body
    sub(/:.*/, "", name)
    key = section "." name
    if (file == over && index(owned, " " key " "))
      fail(key " is set by minicluster itself; take it out")
    if (!(key in text)) keys[section, ++key_count[section]] = key
    text[key] = "  " body
  } else if (indent > key_indent) {
    text[key] = text[key] "\n  " substr(raw, key_indent + 1)
  } else {
    fail("this line is indented less than its neighbours")
  }
}
function read_file(name,    raw, got) {
  file = name; line = 0; section = ""
  while ((got = (getline raw < name)) > 0) { line++; take(raw) }
  if (got < 0) fail("cannot be read")
}
BEGIN {
  read_file(base)
  read_file(over)
  for (s = 1; s <= section_count; s++) {
    print sections[s] ":"
    for (k = 1; k <= key_count[sections[s]]; k++) print text[keys[sections[s], k]]
  }
}
END { if (failed) exit 1 }
