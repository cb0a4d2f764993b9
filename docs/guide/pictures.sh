#!/bin/sh
# Makes the pictures in this folder again, pages 1440 pixels wide and a terminal of 80x24: docs/guide/pictures.sh [BRUNT]
# Needs chromium, tmux and aha, which turns a terminal's colours into HTML; with pngquant the files are smaller.
set -eu
brunt=$(realpath "${1:-target/release/brunt}")
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
port=27340
trap 'kill $server 2>/dev/null || true; rm -rf "$home"' EXIT

"$brunt" serve http --service httpbin --listen 127.0.0.1:$port 2>"$home/log" &
server=$!
until grep -qs " on 127" "$home/log"; do sleep 0.1; done

picture() { # picture URL HEIGHT FILE [WIDTH]
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
        --user-data-dir="$home/profile" --window-size="${4:-1440},$2" --timeout=4000 --screenshot="$here/$3" "$1" 2>/dev/null
    command -v pngquant >/dev/null && pngquant --force --ext .png 64 "$here/$3" || true
}

# A rate that rises beyond what four connections to a service of two milliseconds carry.
cd "$home"
"$brunt" load "http://127.0.0.1:$port/delay/0.001" "http://127.0.0.1:$port/delay/0.003" --names search,checkout -c 4 -R 100:2500 -d 20s \
    --out rising --quiet --allow-untrusted >/dev/null || true
"$brunt" report rising --html rising.html >/dev/null
picture "file://$home/rising.html" 2360 report-load.png

for set in before after; do
    [ $set = before ] && path=delay/0.001 || path=delay/0.0011
    for repeat in 1 2 3 4 5 6; do
        "$brunt" load "http://127.0.0.1:$port/$path" -c 8 -d 1s --out $set/$repeat --quiet --allow-untrusted >/dev/null || true
    done
done
"$brunt" compare before after --html compared.html >/dev/null || true
picture "file://$home/compared.html" 900 compare-page.png

# A load two thirds through.
"$brunt" load "http://127.0.0.1:$port/delay/0.001" -c 8 -R 2k -d 45s --ui --quiet --allow-untrusted >/dev/null 2>"$home/ui" &
load=$!
sleep 30
page=$(sed -n 's/^page: //p' "$home/ui")
# The first visit waits for figures; the second finds them.
for visit in 1 2; do picture "$page" 900 ui-live.png; done
kill -INT $load
wait $load || true

# The same in a terminal, with a stop of the server.
tmux -L pictures new-session -d -x 80 -y 24 \
    "$brunt load http://127.0.0.1:$port/delay/0.001 -c 10 -R 2k -d 30s --live --allow-untrusted"
sleep 14
kill -STOP $server
sleep 1
kill -CONT $server
sleep 6
tmux -L pictures capture-pane -p -e | aha --black | sed 's/<pre>/<pre style="font: 16px DejaVu Sans Mono, monospace">/' >"$home/live.html"
tmux -L pictures kill-server
picture "file://$home/live.html" 512 live.png 800
