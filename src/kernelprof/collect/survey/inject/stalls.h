/* What warps wait for, sampled while the program runs. */
#ifndef KERNELPROF_SURVEY_STALLS_H
#define KERNELPROF_SURVEY_STALLS_H

#include <stddef.h>

/* Whether this CUPTI has the functions. */
int take_stalls(void *library);

/* Samples until the program ends. */
void sample_stalls(size_t device);

#endif
