#pragma once

void sum_columns(const float* matrix, float* sums, int rows, int columns);
