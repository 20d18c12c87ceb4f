#!/usr/bin/env bash
set -u
o=/tmp/p/o; here=$PWD/tests/fake_ncu; rm -rf /tmp/p; mkdir -p $o; cd /tmp/p
nvcc -std=c++17 --extended-lambda -arch=sm_90 -O3 -o t $here/t.cu || exit 1
k() { local rc; timeout 60 ncu --clock-control none --csv --page raw --metrics launch__grid_size "$@" >k.out 2>k.err; rc=$?
  { printf 'K'; printf ' %q' "$@"; echo " rc=$rc"; grep -v '==PROF\|Note: Run' k.out | grep -v '^"ID"\|^"",""' | grep -o '^"[0-9]*","[0-9]*",.*"([0-9, ]*)","([0-9, ]*)","0"\|^[^"].*' | cut -c1-330; cat k.err; } >>$o/kernels.txt; }
k ./t
k --rename-kernels no ./t
k --kernel-name-base demangled -k nosuch ./t
k --kernel-name-base mangled -k nosuch ./t
k --filter-mode per-launch-config -c 1 ./t many
k --filter-mode per-launch-config -c 1 -k tile ./t many
k --filter-mode per-launch-config -c 1 -k plain ./t many
k --filter-mode per-launch-config -c 2 -k plain ./t many
k --filter-mode per-launch-config -s 1 -c 1 -k plain ./t many
k --filter-mode per-launch-config -c 1 --kernel-name-base demangled -k 'regex:(^|[ :])tile<(\([a-z ]+\))?16>\(' ./t many
D="--kernel-name-base demangled -k"
k $D 'regex:(^|[ :])tile<(\([a-z ]+\))?16>\(' ./t
k $D 'regex:tile<(\([a-z ]+\))?-3>\(' ./t
k $D 'regex:(^|[ :])vec<float>\(' ./t
k $D 'regex:(^|[ :])types<([A-Za-z0-9_]+::)*Box<([A-Za-z0-9_]+::)*P, (\([a-z ]+\))?4>\s*>\(' ./t
k $D 'regex:(^|[ :])types<unsigned int>\(' ./t
k $D 'regex:(^|[ :])kinds<(\([a-z ]+\))?1, (\([a-z ]+\))?3' ./t
k -k regex:'^(tile|plain)$' ./t
k -k flat ./t
k -k over ./t
k -k lam ./t
k -k types ./t
tar -C /tmp/p -czf $OUT/probe.tgz o; echo $SECONDS s; cat $o/kernels.txt | head -c 11000
