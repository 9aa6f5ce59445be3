#!/bin/sh
# Gets machineadm onto a machine that does not have it, proves that it is the one that was meant, puts it in place and
# runs it with the arguments given: the first thing a fresh node does. `machineadm wrap --fetch` renders it into user data
# (packages/user-data/src/download-script.ts fills in what is between the marks, drops the comments, and
# what is between "when" and "end" where it is not for what was rendered).
#
# What is trusted is in this text: the SHA-256 of the archive for each architecture, or the public keys whose signature
# SHA256SUMS must bear, and how many of them. Where it comes from is not trusted at all. Nothing is unpacked before its digest is right, and
# nothing is executable before that. With neither digest nor key it refuses to start.
#
# Needs a POSIX shell, sha256sum, gzip, and one of curl, python3, GNU wget, busybox wget (http only); with xz less comes.
# A signature needs openssl (1.0.2 or newer).
#
# Exit status: that of machineadm, where it came to run it (0 without arguments), or:
#   64  nothing to go by: no version, location, digest or key was rendered, or it was not started as root
#   65  no machineadm of this version for this kind of machine
#   66  a program that is needed is not here
#   67  no location gave a whole answer before the deadline
#   68  a file came that is not the one whose digest is known
#   69  SHA256SUMS is not signed by any of the keys, or not by as many as demanded
#   70  SHA256SUMS is signed by a key that was revoked
#   71  SHA256SUMS is signed, but of another version (an older release replayed), or of one that is too old
#   72  no directory to install to: read-only, full, mounted noexec, or others may write to it
#   73  the right machineadm came, and does not run here
#   74  what lies at its place is not what was verified: it was swapped
#   75  a web page came instead (a captive portal, a login)
#   76  a server leads from https to something else
#   77  the root that the keys are from has expired
# A refusal (68 to 71, 75, 76) outweighs a location that did not answer.

# --- rendered
VERSION=''
# The words are ARCHITECTURE.EXTENSION=SHA256 of an archive and ARCHITECTURE=SHA256 of the program inside.
PINS=''
# The words are BASE64@YYYYMMDD: a SubjectPublicKeyInfo, and the day after which its use is warned about (0: never).
KEYS=''
REVOKED=''
# How many of the keys must have signed.
THRESHOLD=1
# When the root was made that the keys are from, and when it expires: YYYYMMDDhhmmss.
SINCE=0
UNTIL=0
# A line is URL AUTHORIZATION CA: a base URL, the file with its Authorization header or -, and "pinned" or -.
LOCATIONS=''
CA=''
DIRECTORIES='/usr/local/bin /opt/machineadm/bin /opt/bin /var/lib/machineadm/bin'
DEADLINE=900
CONSOLE=/dev/console
# --- end of what is rendered

say() { echo "machineadm-download: $*" >&2; }

# To the console, too. One that nobody reads blocks who writes to it: another process does, and not for long.
tell() {
  say "$*"
  { [ ! -c "$CONSOLE" ] || echo "machineadm-download: $*" | timeout 2 dd of="$CONSOLE"; } >/dev/null 2>&1 &
}

die() {
  tell "$2 [$1]"
  exit "$1"
}

has() { command -v "$1" >/dev/null 2>&1; }

hash() { sha256sum <"$1" | cut -c1-64; }

# Not `date`: the clock of a first boot is wrong and jumps when it is set.
left() {
  read -r up _ </proc/uptime
  echo $((END - ${up%%.*}))
}

# --- when pins
pin() { for word in $PINS; do case $word in "$1="*) echo "${word#*=}" ;; esac done; }
# --- end pins

again() {
  say "$base: $1"
  return 1
}

refuse() {
  code=$1 why="$base: $2"
  say "$why"
  return 2
}

# -I: neither PYTHON* nor the directory at hand. The alarm ends a server that drips.
PYTHON='import signal, ssl, sys, urllib.request as r
url, time, ca, auth, file = sys.argv[1:]
signal.alarm(int(time))
class Redirect(r.HTTPRedirectHandler):
  def redirect_request(self, q, f, c, m, h, url):
    if not url.startswith(("https:", "http:")[:1 + (q.type == "http")]): sys.exit("redirect to " + url[:60])
    return super().redirect_request(q, f, c, m, h, url)
q = r.Request(url)
if auth != "-": q.add_unredirected_header("Authorization", open(auth).read().strip()[15:])
try:
  a = r.build_opener(Redirect, r.HTTPSHandler(context=ssl.create_default_context(cafile=file if ca != "-" else None))).open(q)
  for b in iter(lambda: a.read(65536), b""): sys.stdout.buffer.write(b)
except OSError as e: sys.exit(str(e))'

# curl before 7.58 takes an Authorization along to another host; -H @ never shows it in the list of processes.
# GNU wget follows from https to http, so it may not follow at all. busybox wget checks no certificate: http only.
fetch() {
  redirect=https
  case $1 in
    file:*)
      timeout "$time" cat "${1#file://}"
      return
      ;;
    http:*) redirect=http,https ;;
  esac
  if has curl; then
    set -- -qfsSL --proto =http,https --proto-redir "=$redirect" --connect-timeout 20 --speed-limit 1024 --max-time "$time" "$1"
    # --- when credential
    [ "$auth" = - ] || set -- "$@" -H "@$auth"
    # --- end credential
    # --- when ca
    [ "$ca" = - ] || set -- "$@" --cacert "$W/ca" --capath "$W/none"
    # --- end ca
    curl "$@"
  elif has python3; then
    python3 -Ic "$PYTHON" "$1" "$time" "$ca" "$auth" "$W/ca"
  elif wget --version 2>/dev/null | grep -q GNU; then
    set -- --config="$W/wgetrc" -nv -t 1 -T 30 --max-redirect=0 -O - "$1"
    : >"$W/wgetrc"
    # --- when credential
    [ "$auth" = - ] || sed 's/^/header = /' "$auth" >"$W/wgetrc"
    # --- end credential
    # --- when ca
    [ "$ca" = - ] || set -- --ca-certificate="$W/ca" --ca-directory="$W/none" "$@"
    # --- end ca
    timeout "$time" wget "$@"
  elif [ $redirect = https ]; then
    echo 'busybox wget: http or file only' >&2
    return 1
  else
    timeout "$time" wget -qO - "$1"
  fi
}

# get FILE LIMIT: one file of the release into $W/FILE. 1: to be tried again; 2: refused.
get() {
  time=$(left)
  [ "$time" -gt 0 ] || return 1
  {
    fetch "$base/$VERSION/$1" </dev/null 2>"$W/err"
    echo $? >"$W/status"
  } | head -c "$2" >"$W/$1"
  [ "$(wc -c <"$W/$1")" -lt "$2" ] || refuse 68 "$1 is too large" || return
  read -r status <"$W/status"
  error="$1: $(head -c 200 "$W/err" | tr -c ' -~' ' ')"
  case $status$error in
    0*) ;;
    *redirect* | *Protocol*) refuse 76 "$error" || return ;;
    *) again "$error (clock: $(date +%F))" || return ;;
  esac
  # A portal answers everything with 200 and a page.
  case $(head -c 64 "$W/$1" | tr -d '\0\n') in '<'*) refuse 75 "$1 is a web page" ;; esac
}

# --- when keys
# Whether one of the signatures at hand is of this key. Which key a signature is said to be of counts for nothing.
signs() {
  printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$(echo "${1%@*}" | fold -w 64)" >"$W/key"
  for sig in "$W"/*.sig; do
    openssl dgst -sha256 -verify "$W/key" -signature "$sig" <"$W/SHA256SUMS" >/dev/null 2>&1 && return
  done
  return 1
}

# The digest of a file from the list.
listed() { while read -r digest name; do [ "$name" != "$1" ] || echo "$digest"; done <"$W/SHA256SUMS"; }

# Whether VERSION is older than this one. What is behind a hyphen does not count.
older() {
  IFS=. read -r a b c d e f <<EOF
${VERSION%%-*}.$1
EOF
  [ "$a" -lt "$d" ] || { [ "$a" -eq "$d" ] && { [ "$b" -lt "$e" ] || { [ "$b" -eq "$e" ] && [ "$c" -lt "$f" ]; }; }; }
}

# The digest of the archive from the list, where the list is signed.
signed() {
  get SHA256SUMS 65536 || return
  # --- when one
  get SHA256SUMS.sig 1024 || return
  # --- end one
  # --- when threshold
  get SHA256SUMS.signatures.json 65536 || return
  # Those of another location may still lie there: each is proven anyway.
  n=0
  while IFS='"' read -r _ _ _ key; do
    n=$((n + 1))
    echo "$key" | openssl base64 -d -A >"$W/$n.sig"
  done <<EOF
$(tr -d ' \n' <"$W/SHA256SUMS.signatures.json" | grep -o '"signature":"[^"]*' | head -n 16)
EOF
  # --- end threshold
  good='' n=0
  for key in $KEYS; do ! signs "$key" || good="$good $key" n=$((n + 1)); done
  # --- when revoked
  [ $n -ge $THRESHOLD ] || for key in $REVOKED; do ! signs "$key" || refuse 70 'signed by a revoked key' || return; done
  # --- end revoked
  [ $n -ge $THRESHOLD ] || refuse 69 "signed by $n of $THRESHOLD keys" || return
  # Only a warning: a key that expires must not be what keeps machines from starting.
  for day in $good; do
    day=${day#*@}
    [ "$day" = 0 ] || [ "$(date -u +%Y%m%d)" -le "$day" ] || say "warning: the key expired on $day"
  done
  want=$(listed "$file")
  [ "$want" ] || refuse 71 "of another release: no $file" || return
  get manifest.json 1048576 || return
  [ "$(hash "$W/manifest.json")" = "$(listed manifest.json)" ] || refuse 68 'manifest.json is not the signed one' || return
  flat=$(tr -d ' \n' <"$W/manifest.json" | grep -oE '"(revokedKeys":\[[^]]*|minimumVersion":"[0-9.]*)')
  for key in $good; do
    id=$(echo "${key%@*}" | openssl base64 -d -A | openssl dgst -sha256 -binary | openssl base64 -A)
    case $flat in *"\"$id\""*) refuse 70 'it revokes the key that signed it' || return ;; esac
  done
  min=${flat#*minimumVersion*:?}
  min=${min%%
*}
  ! older "$min" || refuse 71 "older than $min"
}
# --- end keys

try() {
  # --- when pins
  want=$(pin "$arch.$extension")
  # --- end pins
  # --- when keys
  signed || return
  # --- end keys
  get "$file" 268435456 || return
  found=$(hash "$W/$file")
  [ "$found" = "$want" ] || refuse 68 "$file has the SHA-256 $found, not $want"
}

# The locations in their order, again and again until the deadline; one that lied is not asked twice.
download() {
  ceiling=2
  while :; do
    rest=
    while read -r base auth ca; do
      try && return
      [ $? = 2 ] || rest="$rest$base $auth $ca
"
    done <<EOF
${LOCATIONS%?}
EOF
    LOCATIONS=$rest
    # Full jitter: machines that start together do not ask together.
    pause=$(($(od -An -N2 -tu2 /dev/urandom) % ceiling + 1))
    if [ -z "$rest" ] || [ "$(left)" -le $pause ]; then die "$code" "failed: $why"; fi
    ceiling=$((ceiling < 32 ? ceiling * 2 : 60))
    sleep $pause
  done
}

# Whether nobody but root can exchange what lies in a directory: it, and each above it, is root's and closed to others, or
# sticky.
safe() (
  cd -P "$1" || exit
  while [ -z "$(find . -prune \( ! -user 0 -o \( -perm -2 -o -perm -20 \) ! -perm -1000 \))" ]; do
    [ "$PWD" != / ] || exit 0
    cd ..
  done
  exit 1
)

# Not /tmp: verified in a directory that is root's alone, on the file system where it will lie.
workplace() {
  for dir in $DIRECTORIES; do
    (umask 022 && mkdir -p "$dir") 2>/dev/null || continue
    safe "$dir" || continue
    W=$(mktemp -d "$dir/.machineadm.XXXXXX" 2>/dev/null) || continue
    echo '#!/bin/sh' >"$W/probe" && chmod 700 "$W/probe" && "$W/probe" 2>/dev/null && return
    rm -rf "$W"
  done
  die 72 "full, noexec or open to others: $DIRECTORIES"
}

install() {
  new=$W/machineadm to=$dir/machineadm
  if [ $extension = xz ]; then xz -dc; else gzip -dc; fi <"$W/$file" >"$new" || die 72 "$dir is full"
  sum=$(hash "$new")
  # --- when pins
  [ "$sum" = "$(pin $arch)" ] || die 68 "the program in $file has the SHA-256 $sum"
  # --- end pins
  chmod 755 "$new"
  found=$("$new" --version 2>"$W/err") || die 73 "does not run here (fapolicyd?): $(head -n 1 "$W/err")"
  [ "$found" = "$VERSION" ] || die 71 "it is $found, not $VERSION"
  sync "$new"
  [ ! -d "$to" ] || die 72 "$to is a directory"
  mv -f "$new" "$to" || die 72 "$to cannot be replaced"
  restorecon -F "$to" 2>/dev/null
  [ "$(hash "$to")" = "$sum" ] || {
    rm -f "$to"
    die 74 "$to was swapped after it was verified"
  }
  tell "installed $to $VERSION ($sum)"
}

# All in functions: half a script does nothing.
main() {
  umask 077
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
  unset LD_PRELOAD LD_LIBRARY_PATH NODE_EXTRA_CA_CERTS OPENSSL_CONF
  [ "$VERSION" ] || die 64 'not rendered'
  [ "$(id -u)" = 0 ] || die 64 'not root'
  case $(uname -sm) in
    'Linux x86_64') arch=amd64 ;;
    'Linux aarch64') arch=arm64 ;;
    *) die 65 "not for $(uname -sm)" ;;
  esac
  extension=gz
  found=
  # --- when pins
  sum=$(pin $arch)
  [ "$sum" ] || die 65 "no digest for $arch"
  ! has xz || [ -z "$(pin $arch.xz)" ] || extension=xz
  # What is there already and is the right one needs no network.
  for dir in $DIRECTORIES; do
    [ "$(find "$dir/machineadm" -prune -type f -user 0 -perm 755 2>/dev/null)" ] && safe "$dir" &&
      [ "$(hash "$dir/machineadm")" = "$sum" ] && found=$dir && break
  done
  # --- end pins
  # --- when expiry
  now=$(date -u +%Y%m%d%H%M%S)
  if [ "$now" -lt $SINCE ]; then
    say "warning: the clock ($now) is before the root of the keys: its expiry was not checked"
  elif [ "$now" -gt $UNTIL ]; then die 77 "the root of the keys expired at $UNTIL (clock: $now)"; fi
  # --- end expiry
  # --- when keys
  ! has xz || extension=xz
  has openssl || die 66 'no openssl'
  # --- end keys
  if [ -z "$found" ]; then
    file=machineadm-$VERSION-linux-$arch.$extension
    code=67 why='no location answered'
    W=
    trap 'rm -rf "$W"' EXIT
    trap 'exit 143' HUP INT TERM
    workplace
    # --- when ca
    mkdir "$W/none"
    echo "$CA" >"$W/ca"
    # --- end ca
    read -r up _ </proc/uptime
    END=$((${up%%.*} + DEADLINE))
    download
    install
    trap - EXIT HUP INT TERM
    rm -rf "$W"
  fi
  [ $# = 0 ] || exec "$dir/machineadm" "$@"
}

main "$@"
