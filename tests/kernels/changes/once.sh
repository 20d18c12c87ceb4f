#!/usr/bin/env bash
# Captures of tests/kernels/changes/once.cu before and after its changes, each a process of its own, as
# people take them: one launch of each kernel, and five.
#
#   tests/kernels/changes/once.sh OUTPUT_DIR
#
# Needs a GPU, ncu and nvcc. Leaves OUTPUT_DIR/{before,after}-{1,5}.RUN.csv.gz. Runs of both sides take
# turns, so that a drift of the machine hits both. RUNS_OF_ONE and RUNS_OF_FIVE say how many of each.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -O3 -arch=native -o "$work/before" "$here/once.cu"
nvcc -O3 -arch=native -DCHANGED -o "$work/after" "$here/once.cu"
cd "$work"

capture() { # SIDE LAUNCHES RUN
  ncu --set full --clock-control none --force-overwrite -o report "./$1" "$2" > log 2>&1 || cat log
  ncu --import report.ncu-rep --csv --page raw --print-units base | gzip -9 > "$out/$1-$2.$3.csv.gz"
}

for run in $(seq 1 "${RUNS_OF_ONE:-24}"); do
  capture before 1 "$run"
  [ $((run % 2)) -ne 0 ] || capture after 1 $((run / 2))
done
for run in $(seq 1 "${RUNS_OF_FIVE:-6}"); do
  capture before 5 "$run"
  capture after 5 "$run"
done
