#!/usr/bin/env bash
# Captures of changes that are known, each made in one place, and of the same code again and again.
#
#   REPEATS=5 tests/kernels/changes/capture.sh OUTPUT_DIR
#   LABELS="walk walk-far" tests/kernels/changes/capture.sh OUTPUT_DIR
#
# Needs a GPU, ncu, nvcc and a Python ($PYTHON, else python3) with kernelprof's dependencies and PyCUDA.
# Leaves OUTPUT_DIR/LABEL/RUN, each written by `kernelprof profile`, without the binary reports. The runs
# go round all labels, so that a drift of the machine hits all of them.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=${PYTHON:-python3}
cd "$root"
size="--size M=2048 --size N=2048 --size K=2048"

# label|source|options
kernels="
naive|cuda/ladder/01_naive.cu|$size
coalesced|cuda/ladder/02_coalesced.cu|$size
tile|cuda/ladder/03_shared_tile.cu|$size
tile-rolled|cuda/ladder/04_shared_tile_rolled.cu|$size
tile-barrier|cuda/ladder/05_shared_tile_extra_barrier.cu|$size
padded|cuda/ladder/11_bank_conflict_free.cu|$size
padded-0|cuda/ladder/11_bank_conflict_free.cu|$size --define PAD=0
four-blocks|cuda/ladder/12_warp_tile.cu|$size
three-blocks|cuda/ladder/12_warp_tile.cu|$size --define MIN_BLOCKS=1
chain|tests/kernels/changes/fma_chain.cu|
chain-strides|tests/kernels/changes/fma_chain.cu|--define STRIDE=8
walk|tests/kernels/changes/walk.cu|
walk-far|tests/kernels/changes/walk.cu|--define FAR=4194304
"
for run in $(seq 1 "${REPEATS:-5}"); do
  echo "$kernels" | while IFS='|' read -r label source options; do
    [ -n "$label" ] || continue
    case " ${LABELS:-$label} " in *" $label "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    PYTHONPATH=$root/src:${PYTHONPATH:-} "$python" -m kernelprof profile "$source" $options \
      --preset full -o "$out/$label/$run" > "$out/$label.$run.log" 2>&1 || cat "$out/$label.$run.log"
    rm -f "$out/$label/$run/capture.ncu-rep"
  done
done
