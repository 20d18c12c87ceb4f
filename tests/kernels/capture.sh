#!/usr/bin/env bash
# Builds, checks, times and captures the validation kernels, PyTorch and Triton kernels, the GEMM ladder
# at N = 2048, and how Nsight Compute itself behaves. Needs a GPU, nvcc, ncu and, for frameworks.py and
# the ladder, a Python ($PYTHON, else python3) with PyTorch and Triton, and with PyCUDA and tree-sitter.
#
#   BUDGET_S=3600 ./capture.sh OUTPUT_DIR [WORK_DIR]                  everything
#   PARTS="fixture first frameworks behaviour variants" BUDGET_S=540 ./capture.sh OUTPUT_DIR [WORK_DIR]
#   PARTS="fixture second frameworks-more"              BUDGET_S=400 ./capture.sh OUTPUT_DIR [WORK_DIR]
#   PARTS="ladder"                                      BUDGET_S=200 ./capture.sh OUTPUT_DIR [WORK_DIR]
#
# Leaves OUTPUT_DIR/captures.tgz. A step that fails is written to steps.log and the next one goes on;
# steps that no longer fit BUDGET_S (default 540) are left out. Clocks stay as they are. Binary reports
# stay in WORK_DIR; only the small ones of fixture.cu are packed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-python3}
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=${2:-$(mktemp -d)}
budget=${BUDGET_S:-540}
parts=" ${PARTS:-fixture first frameworks behaviour variants second frameworks-more ladder} "
mkdir -p "$work/got/ncu_behaviour"
cd "$work" || exit 1
got=$work/got
log=$got/steps.log
: >"$log"

# wanted PART...: whether one of them is to be made
wanted() {
  local part
  for part; do case "$parts" in *" $part "*) return 0 ;; esac; done
  return 1
}
left() { echo $((budget - SECONDS)); }
# step NAME SECONDS COMMAND...: at most that long, and not past the budget
step() {
  local name=$1 most=$2 t0=$SECONDS l rc
  shift 2
  l=$(left)
  if [ "$l" -lt 5 ]; then echo "$name: left out, no time" >>"$log"; return 1; fi
  [ "$l" -lt "$most" ] && most=$l
  timeout -s INT -k 10 "$most" "$@" >"step.$name.out" 2>&1
  rc=$?
  echo "$name: exit $rc, $((SECONDS - t0)) s" | tee -a "$log"
  [ $rc -ne 0 ] && tail -n 15 "step.$name.out" | tee -a "$log"
  return $rc
}
pack() { tar -C "$work" -czf "$out/captures.tgz" got; }
NCU="ncu --clock-control none -f"
# export_report NAME: the raw page, scaled and in base units, and the details page
export_report() {
  [ -f "$1.ncu-rep" ] || return 1
  ncu --import "$1.ncu-rep" --csv --page raw >"$got/$1.raw.csv" 2>>"$log"
  ncu --import "$1.ncu-rep" --csv --page raw --print-units base >"$got/$1.base-units.raw.csv" 2>>"$log"
  ncu --import "$1.ncu-rep" --csv --page details >"$got/$1.details.csv" 2>>"$log"
}
# behaviour NAME COMMAND...: what it writes and its exit code
behaviour() {
  local name=$1 rc
  shift
  timeout -k 5 40 "$@" >b.out 2>b.err
  rc=$?
  { echo "\$ $*"; echo "--- exit code: $rc"; echo "--- stdout"; cat b.out; echo "--- stderr"; cat b.err; } \
    >"$got/ncu_behaviour/$name.txt"
}

{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; nvcc --version | tail -2; ncu --version | tail -2; } >"$got/machine.txt" 2>&1

if wanted first second variants behaviour behaviour-more; then
  nvcc -arch=sm_90 -O3 -lineinfo --extended-lambda -o validation "$here/validation.cu" >build.log 2>&1 &
  build=$!
fi
if wanted fixture behaviour behaviour-more; then
  step build-fixture 60 nvcc -arch=sm_90 -O3 -o fixture "$here/fixture.cu"
fi
if wanted ladder; then  # one process a rung; the first run leaves what it compiled
  cat >ladder.sh <<LADDER
for rung in $root/cuda/ladder/[0-9]*.cu; do
  PYTHONPATH=$root/src:\$PYTHONPATH "$python" -P -m kernelprof.launch.child "\$rung" \\
    --size M=2048 --size N=2048 --size K=2048 --cubin "\$(basename "\$rung" .cu).cubin" || exit
done
LADDER
  step ladder-build 200 sh ladder.sh
  step ladder 100 $NCU --set full --target-processes all -k regex:^sgemm_ -o ladder sh ladder.sh
  export_report ladder
fi
if wanted fixture; then  # small reports, without source
  rules="--section SpeedOfLight --section LaunchStats --section Occupancy --section WorkloadDistribution \
    --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables --section MemoryWorkloadAnalysis_Chart \
    --section ComputeWorkloadAnalysis --section InstructionStats --section SchedulerStats --section WarpStateStats \
    --section SourceCounters"
  step fixture-full 60 $NCU --set full -o fixture_full ./fixture
  step fixture-basic 30 $NCU --set basic -o fixture_basic ./fixture
  step fixture-sections 40 $NCU $rules -o fixture_sections ./fixture
  step fixture-detailed 40 $NCU --set detailed -o fixture_detailed ./fixture
  ls -la ./*.ncu-rep >>"$log"
  for r in fixture_full fixture_basic fixture_sections fixture_detailed; do
    [ "$(stat -c %s $r.ncu-rep)" -lt 1500000 ] && cp $r.ncu-rep "$got/"
    export_report $r
  done
fi
if [ -n "${build:-}" ]; then
  wait "$build"
  echo "build: exit $?" >>"$log"
  cat build.log >>"$log"
  step time 60 ./validation time
  cp step.time.out "$got/validation.times.csv"
  step verify 60 ./validation verify
  cp step.verify.out "$got/validation.verify.txt"
fi

if wanted first; then
  VALIDATION_DEADLINE_S=${FULL_S:-190} step full 240 $NCU --set full --profile-from-start off -o validation ./validation once
  cp step.full.out "$got/validation.program-output.txt"
  export_report validation &
fi
if wanted second; then  # what did not fit into the first
  rest=$(./validation list | cut -d, -f1 | sed -n "/^${SECOND_FROM:-copy-every-second}\$/,\$p" | paste -sd,)
  VALIDATION_DEADLINE_S=${FULL_S:-190} step more 240 $NCU --set full --profile-from-start off -o validation_more ./validation once "$rest"
  cp step.more.out "$got/validation_more.program-output.txt"
  export_report validation_more &
fi
pack

if wanted frameworks; then
  step frameworks-time 60 "$python" "$here/frameworks.py" time
  cp step.frameworks-time.out "$got/frameworks.times.csv"
  FRAMEWORKS_DEADLINE_S=80 step frameworks 120 $NCU --set full --profile-from-start off -o frameworks "$python" "$here/frameworks.py" once
  cp step.frameworks.out "$got/frameworks.program-output.txt"
  export_report frameworks &
  step frameworks-nvtx 40 $NCU --set basic --nvtx --profile-from-start off -o frameworks_nvtx "$python" "$here/frameworks.py" once \
    torch-softmax,torch-gelu-chain,torch-tiny-ops,triton-add
  export_report frameworks_nvtx &
fi
if wanted frameworks-more; then
  more=triton-count-few,torch-embedding-backward,torch-histc,torch-groupnorm-fp16,torch-bilinear-upsample
  step frameworks-time 60 "$python" "$here/frameworks.py" time
  cp step.frameworks-time.out "$got/frameworks.times.csv"
  FRAMEWORKS_DEADLINE_S=60 step frameworks-more 90 $NCU --set full --profile-from-start off -o frameworks_more "$python" "$here/frameworks.py" once $more
  cp step.frameworks-more.out "$got/frameworks_more.program-output.txt"
  export_report frameworks_more &
fi

if wanted behaviour; then
  B=behaviour
  one="--clock-control none --metrics sm__warps_active.avg.pct_of_peak_sustained_active"
  $B version ncu --version
  $B help ncu --help
  $B list-sets ncu --list-sets
  $B list-sections ncu --list-sections
  $B list-rules ncu --list-rules
  $B list-chips ncu --list-chips
  $B unknown-option ncu --nosuchoption ./fixture
  $B unknown-metric ncu --clock-control none --csv --page raw --metrics nosuch__metric.sum ./fixture
  $B unknown-and-known-metric ncu --clock-control none --csv --page raw --metrics nosuch__metric.sum,sm__warps_active.avg.pct_of_peak_sustained_active ./fixture
  $B unknown-section ncu --clock-control none --section NoSuchSection ./fixture
  $B unknown-set ncu --clock-control none --set nosuch ./fixture
  $B unknown-page ncu --clock-control none --csv --page nosuch ./fixture
  $B clock-control-wrong ncu --clock-control nosuch ./fixture
  $B no-program ncu --clock-control none ./nosuchprogram
  $B no-arguments ncu
  $B program-fails ncu --clock-control none --set basic --csv --page raw ./fixture fail
  $B program-fails-late ncu $one --csv --page raw ./fixture late
  $B program-fails-late-report ncu $one -f -o late ./fixture late
  $B program-crashes ncu $one --csv --page raw ./fixture crash
  $B kernel-faults ncu $one --csv --page raw ./fixture fault
  $B no-cuda-program ncu --clock-control none --csv --page raw true
  $B filter-matches-nothing ncu --clock-control none --set basic --csv --page raw -k nosuchkernel ./fixture
  $B filter-matches-nothing-report ncu --clock-control none -f --set basic -o nothing -k nosuchkernel ./fixture
  $B filter-regex ncu $one --csv --page raw -k regex:^s ./fixture
  $B launch-count ncu --clock-control none --metrics gpu__time_duration.sum --csv --page raw --launch-skip 1 --launch-count 1 ./fixture
  $B replay-application ncu --clock-control none --replay-mode application --metrics gpu__time_duration.sum,sm__warps_active.avg.pct_of_peak_sustained_active --csv --page raw ./fixture
  $B quiet ncu --clock-control none --quiet --metrics gpu__time_duration.sum --csv --page raw ./fixture
  $B log-file ncu --clock-control none --log-file log_file.csv --metrics gpu__time_duration.sum --csv --page raw ./fixture
  cp log_file.csv "$got/ncu_behaviour/log-file.written.csv" 2>/dev/null
  $NCU --metrics gpu__time_duration.sum -o exists ./fixture >/dev/null 2>&1
  $B output-exists ncu $one -o exists ./fixture
  $B output-not-writable ncu $one -o nosuchdir/report ./fixture
  $B import-missing ncu --import nosuchreport.ncu-rep --csv --page raw
  head -c 5000 exists.ncu-rep >cut.ncu-rep
  $B import-cut ncu --import cut.ncu-rep --csv --page raw
  echo "not a report" >text.ncu-rep
  $B import-text ncu --import text.ncu-rep --csv --page raw
  $B import-metrics ncu --import exists.ncu-rep --csv --page raw --metrics gpu__time_duration.sum
  $B query-metrics sh -c "ncu --query-metrics --chips gh100 | head -n 40"
  $B query-metrics-suffix sh -c "ncu --query-metrics --query-metrics-mode suffix --metrics sm__inst_executed --chips gh100 | head -n 60"

  # Two processes in one capture; CSV on stdout among the program's own output.
  printf '#!/bin/sh\n./fixture\n./fixture repeat\n' >twice.sh
  chmod +x twice.sh
  step twice 60 $NCU --set basic --target-processes all -o two_processes ./twice.sh
  export_report two_processes
  timeout 40 ncu --clock-control none --set basic --csv --page raw ./fixture >"$got/ncu_behaviour/stdout-mixed.raw.txt" 2>"$got/ncu_behaviour/stdout-mixed.raw.stderr.txt"
  timeout 40 ncu --clock-control none --set basic --csv ./fixture repeat >"$got/ncu_behaviour/stdout-mixed.details.txt" 2>/dev/null
  timeout 40 ncu --clock-control none --set basic --csv --page raw --target-processes all ./twice.sh >"$got/ncu_behaviour/stdout-two-processes.raw.txt" 2>/dev/null
  timeout 40 ncu --clock-control none --set basic ./fixture >"$got/ncu_behaviour/stdout-no-csv.txt" 2>/dev/null
  pack
fi
if wanted behaviour || wanted behaviour-more; then
  behaviour no-gpu-visible env CUDA_VISIBLE_DEVICES=-1 ncu --clock-control none --set basic --csv --page raw ./fixture
  behaviour interrupted timeout -s INT 4 ncu --clock-control none --set full --csv --page raw ./validation once
  behaviour terminated timeout -s TERM 4 ncu --clock-control none --set full --csv --page raw ./validation once
fi

few=transpose-direct,transpose-tile-32,blocksum-modulo,bins-global,lookup-scattered,softmax-registers,wmma-shared-tile,xorshift,walk-one-warp,horner-20-blocks,copy4,sum4
if wanted variants; then
  step nvtx 50 $NCU --set full --nvtx --profile-from-start off -o validation_nvtx ./validation once $few
  export_report validation_nvtx
  ncu --import validation_nvtx.ncu-rep --csv --page raw --print-nvtx-rename kernel >"$got/validation_nvtx.renamed.raw.csv" 2>>"$log"
  VALIDATION_DEADLINE_S=60 step basic 70 $NCU --set basic --profile-from-start off -o validation_basic ./validation once
  export_report validation_basic &
  VALIDATION_DEADLINE_S=70 step detailed 90 $NCU --set detailed --profile-from-start off -o validation_detailed ./validation once
  export_report validation_detailed
fi
wait
if [ -n "${build:-}" ] && command -v cuobjdump >/dev/null; then
  cuobjdump -res-usage validation 2>/dev/null | grep -A1 Function | grep -v '^--' >"$got/validation.resources.txt"
  for f in append_each bins_global count_shared rounds_lcg rounds_xorshift reread_through_l1 reread_l1 table_constant; do
    echo "== $f"
    cuobjdump -sass validation 2>/dev/null | awk -v f="$f" '/Function :/ {on = index($0, f) > 0} on' | grep -E '/\*[0-9a-f]{4}\*/' | head -n 120
  done >sass.txt
  gzip -9c sass.txt >"$got/validation.sass.txt.gz"
fi
echo "all: $SECONDS s" | tee -a "$log"
pack
cat "$log"
