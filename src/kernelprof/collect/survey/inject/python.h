/* What CPython, if it runs this process, can be asked from C: at which line a thread of it is. */
#ifndef KERNELPROF_SURVEY_PYTHON_H
#define KERNELPROF_SURVEY_PYTHON_H

#include <stdint.h>

/* Text: the line that this thread is at, outside of the folder that was given; 0 where there is
 * none, before lines were asked for, and once asking has taken too long. */
uint32_t python_line(void);

/* After what PyTorch recorded: has Python's part called where it wanted no more ranges than there
 * were by then. What is around it is waited for, though not for ever: its end may be another
 * thread's, as that of torch.jit.fork. */
void after_operator(unsigned long long ranges, int within_another);

#endif
