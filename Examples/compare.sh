#!/usr/bin/env bash
# Compares fetch with curl and aria2, alternating in one run, against nginx on this machine.
#
#   Examples/compare.sh [rounds]
#
# Needs curl, aria2, nginx and GNU time, as Debian has them, and 5 GB in /dev/shm. Prints the median of
# the rounds: seconds, seconds of processor time, and MB of memory at the peak.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-3}

swift build -c release --product fetch >/dev/null
fetch=$PWD/$(ls -d .build/*/release/fetch | head -1)
# In memory: deleting 10,000 files makes ext4 slow for whoever creates the next ones.
folder=$(mktemp -d -p /dev/shm)
trap 'kill "$(cat "$folder/nginx.pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir -p "$folder/www/small" "$folder/out"

echo "Making 2 GB and 10,000 files…" >&2
head -c 2000000000 /dev/urandom >"$folder/www/big.bin"
head -c 20000 /dev/urandom >"$folder/random"
port=8088 limited=8089
for number in $(seq 10000); do
  head -c $((500 + number * 7919 % 8000)) "$folder/random" >"$folder/www/small/f$number"
  echo "http://127.0.0.1:$port/small/f$number"
done >"$folder/list"
sed 's|.*|url = "&"\nremote-name|' "$folder/list" >"$folder/curl-list"
chmod -R a+rX "$folder/www"

cat >"$folder/nginx.conf" <<CONF
worker_processes 1; pid $folder/nginx.pid; error_log $folder/error.log;
events { worker_connections 512; }
http {
  sendfile on; access_log off; keepalive_requests 100000;
  client_body_temp_path $folder/t1; proxy_temp_path $folder/t2; fastcgi_temp_path $folder/t3;
  uwsgi_temp_path $folder/t4; scgi_temp_path $folder/t5;
  log_format sent '\$bytes_sent';
  server { listen 127.0.0.1:$port; root $folder/www; }
  server {
    listen 127.0.0.1:$limited; root $folder/www; limit_rate 200m;
    access_log $folder/sent sent;
  }
}
CONF
nginx -c "$folder/nginx.conf"

# Runs a command in an empty folder and notes what it took.
measure() {
  local name=$1
  shift
  find "$folder/out" -mindepth 1 -delete
  (cd "$folder/out" && /usr/bin/time -q -f "%e %U %S %M" -o "$folder/time" "$@" >/dev/null 2>&1) ||
    echo "error: $name failed" >&2
  awk -v name="$name" '{ print name, $1, $2 + $3, $4 / 1000 }' "$folder/time" >>"$folder/results"
}

for _ in $(seq "$rounds"); do
  big=http://127.0.0.1:$port/big.bin
  measure "2GB,curl" curl -sO "$big"
  measure "2GB,aria2" aria2c -q --file-allocation=none "$big"
  measure "2GB,fetch" "$fetch" -q "$big"
  measure "2GB,fetch--split4" "$fetch" -q --split 4 "$big"
  cmp "$folder/out/big.bin" "$folder/www/big.bin"
  measure "10,000files,curl" curl -s --parallel --parallel-max 8 -K "$folder/curl-list"
  measure "10,000files,aria2" aria2c -q --file-allocation=none -j 8 -i "$folder/list"
  measure "10,000files,fetch" "$fetch" -q --list "$folder/list"
  test "$(find "$folder/out" -type f | wc -l)" -eq 10000
done

# Killed in the middle and started again: how many bytes the server sent beyond those of the file.
killed() {
  local name=$1
  shift
  find "$folder/out" -mindepth 1 -delete
  : >"$folder/sent"
  (cd "$folder/out" && exec "$@" >/dev/null 2>&1) &
  sleep 4
  kill -9 $!
  wait $! 2>/dev/null || true
  (cd "$folder/out" && "$@" >/dev/null 2>&1) || echo "error: $name failed" >&2
  cmp "$folder/out/big.bin" "$folder/www/big.bin"
  sleep 1
  awk -v name="$name" '{ sum += $1 } END { printf "%-16s %8.1f\n", name, (sum - 2e9) / 1e6 }' \
    "$folder/sent"
}

echo "what who seconds CPU MB" | awk '{ printf "%-14s %-16s %8s %8s %8s\n", $1, $2, $3, $4, $5 }'
cut -d' ' -f1 "$folder/results" | awk '!seen[$0]++' | while read -r name; do
  row=$(echo "$name" | tr ',' '\n' | sed '$!d')
  what=${name%,*}
  for column in 2 3 4; do
    awk -v name="$name" -v column=$column '$1 == name { print $column }' "$folder/results" |
      sort -n | sed -n "$(((rounds + 1) / 2))p"
  done | xargs echo "$what" "$row" | awk '{ printf "%-14s %-16s %8s %8s %8s\n", $1, $2, $3, $4, $5 }'
done
echo
echo "Killed after 4 s at 200 MB/s and started again: MB sent twice"
killed "curl -C -" curl -s -C - -O "http://127.0.0.1:$limited/big.bin"
killed aria2 aria2c -q --file-allocation=none "http://127.0.0.1:$limited/big.bin"
killed fetch "$fetch" -q "http://127.0.0.1:$limited/big.bin"
