/* Hardware counters of the whole GPU, read at short intervals while the program runs. */
#ifndef KERNELPROF_SURVEY_SAMPLING_H
#define KERNELPROF_SURVEY_SAMPLING_H

/* Samples from now on, with the functions of this CUPTI. Where it cannot, the program runs on. */
void begin_sampling(void *library);

/* Writes what is sampled until now, and ends. */
void end_sampling(void);

/* What the thread that samples needs: whether the program ends, a pause until it does, a function of
 * the driver, and to end before what CUPTI has made by now. */
int is_ended(void);
void pause_until_ended(long milliseconds);
void *driver_function(const char *name);
void end_before_cupti(void);

#endif
