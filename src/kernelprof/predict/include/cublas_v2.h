// The headers of types that cuBLAS brings along; its functions are for the host.
#pragma once
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
