/* SPDX-License-Identifier: GPL-2.0-only */
/* The page around the flame graph's data; made by embed-page.py. */
#ifndef OUTPUT_FLAMEGRAPH_PAGE_H
#define OUTPUT_FLAMEGRAPH_PAGE_H

#include <stddef.h>

extern const char flamegraph_page_head[];
extern const size_t flamegraph_page_head_size;
extern const char flamegraph_page_tail[];
extern const size_t flamegraph_page_tail_size;

#endif
