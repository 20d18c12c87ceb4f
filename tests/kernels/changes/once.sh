#!/usr/bin/env bash
# Captures of tests/kernels/changes/once.cu before and after its changes, each a process of its own, as
# people take them: one launch of each kernel with the full set, and five with the preset triage.
#
#   tests/kernels/changes/once.sh OUTPUT_DIR
#
# Needs a GPU, ncu, nvcc and a Python ($PYTHON, else python3) with kernelprof's dependencies. Leaves
# OUTPUT_DIR/{before,after}-{1,5}.RUN.csv.gz. Runs of both sides take turns, so that a drift of the
# machine hits both. RUNS_OF_ONE and RUNS_OF_FIVE say how many of each; one of the first takes 30 s.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
export PYTHONPATH=$root/src:${PYTHONPATH:-}
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -O3 -arch=native -o "$work/before" "$here/once.cu"
nvcc -O3 -arch=native -DCHANGED -o "$work/after" "$here/once.cu"
cd "$work"

once() { # SIDE RUN
  ncu --set full --clock-control none --force-overwrite -o report "./$1" > log 2>&1 || { cat log; exit 1; }
  ncu --import report.ncu-rep --csv --page raw --print-units base | gzip -9 > "$out/$1-1.$2.csv.gz"
}
five() { # SIDE RUN
  "${PYTHON:-python3}" -m kernelprof profile --preset triage -o five -- "./$1" 5 > log 2>&1 || { cat log; exit 1; }
  mv five/raw.csv.gz "$out/$1-5.$2.csv.gz"
  rm -r five
}

for run in $(seq 1 "${RUNS_OF_ONE:-11}"); do
  once before "$run"
  [ $((run % 2)) -ne 0 ] || once after $((run / 2))
done
for run in $(seq 1 "${RUNS_OF_FIVE:-11}"); do
  five before "$run"
  [ $((run % 2)) -ne 0 ] || five after $((run / 2))
done
