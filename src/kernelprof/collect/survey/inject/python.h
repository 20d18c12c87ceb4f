/* What CPython, if it runs this process, can be asked from C: at which line a thread of it is. */
#ifndef KERNELPROF_SURVEY_PYTHON_H
#define KERNELPROF_SURVEY_PYTHON_H

#include <stdint.h>

/* Text: the line that this thread is at, outside of the folder that was given; 0 where there is
 * none, before lines were asked for, and once asking has taken too long. */
uint32_t python_line(void);

/* After an operator with none around it: has Python's part called once it wanted no more ranges. */
void after_operator(unsigned long long ranges);

#endif
