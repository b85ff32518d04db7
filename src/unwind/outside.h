/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of what a vCPU ran outside of the guest's own system: firmware, system management mode, a
 * guest of the guest. Their registers and stacks say nothing of the guest's kernel and its tasks.
 */
#ifndef UNWIND_OUTSIDE_H
#define UNWIND_OUTSIDE_H

#include "base/types.h"
#include "model/wire.h"

/*
 * STOP_NESTED, STOP_SMM, STOP_REAL_MODE or STOP_FIRMWARE when the flags and registers of @wire say
 * so, whatever the guest's kernel is; else STOP_NONE.
 */
enum stop_reason outside_stop(const struct wire_sample *wire);

/*
 * Whether a sample in kernel mode is in the half of the address space that is not the kernel's:
 * firmware's services, a kernel's own start and its way out run there.
 */
bool outside_is_low(const struct wire_sample *wire);

#endif
