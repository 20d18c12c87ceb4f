/* Hardware counters of the whole GPU, read at short intervals while the program runs. */
#ifndef KERNELPROF_SURVEY_SAMPLING_H
#define KERNELPROF_SURVEY_SAMPLING_H

/* Samples from now on, with the functions of this CUPTI. Where it cannot, the program runs on. */
void begin_sampling(void *library);

/* Writes what is sampled until now, and ends. */
void end_sampling(void);

#endif
