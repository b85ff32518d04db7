/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A saved state from somewhere: one byte for the model, then the state. What is taken is what would
 * be saved again; what is not has changed nothing.
 */
#include <string.h>

#include "build-vpmu.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const enum vpmu_model models[] = {
	VPMU_INTEL_V1, VPMU_INTEL_V2, VPMU_INTEL_V3, VPMU_INTEL_V4, VPMU_INTEL_V5, VPMU_AMD_K7,
	VPMU_AMD_CORE, VPMU_AMD_V2,
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	uint8_t before[VPMU_STATE_MAX], after[VPMU_STATE_MAX];
	struct build_vpmu build;
	int was, is, err;

	if (!size)
		return 0;
	build_vpmu(&build, models[data[0] % ARRAY_SIZE(models)]);
	was = vpmu_save(build.vpmu, before, sizeof(before));
	err = vpmu_restore(build.vpmu, data + 1, size - 1);
	is = vpmu_save(build.vpmu, after, sizeof(after));
	if (was < 0 || is != was)
		abort();
	if (err ? memcmp(before, after, is) != 0 :
		  (size_t)is != size - 1 || memcmp(data + 1, after, is) != 0)
		abort();
	if (!err)
		build_vpmu_run(&build, VPMU_EVENT_CYCLES, 1000);
	build_vpmu_deinit(&build);
	return 0;
}
