// What of cuBLAS its headers bring along for device code: types of numbers.
#pragma once
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>
