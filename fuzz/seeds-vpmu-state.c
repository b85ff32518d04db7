/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of each model after RESET, and of one that samples cycles. */
#include <stdio.h>

#include "base/strbuf.h"
#include "build-vpmu.h"
#include "build.h"
#include "seeds.h"

static const enum vpmu_model models[] = {
	VPMU_INTEL_V1, VPMU_INTEL_V2, VPMU_INTEL_V3, VPMU_INTEL_V4, VPMU_INTEL_V5, VPMU_AMD_K7,
	VPMU_AMD_CORE, VPMU_AMD_V2,
};

static int write_state(const char *name, u8 number, struct vpmu *vpmu)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	uint8_t saved[VPMU_STATE_MAX];
	int size = vpmu_save(vpmu, saved, sizeof(saved));

	if (size < 0)
		return size;
	put_u8(&sb, number);
	strbuf_add(&sb, saved, size);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(name, sb.data, sb.len);
}

static int write_both(u8 number)
{
	bool amd = models[number] >= VPMU_AMD_K7;
	uint64_t event = 1U << 22 | 1U << 20 | 3U << 16 | (amd ? 0x76 : 0x3c);
	struct build_vpmu build;
	char name[32];
	int err;

	build_vpmu(&build, models[number]);
	err = write_state(vpmu_model_name(models[number]), number, build.vpmu);
	vpmu_wrmsr(build.vpmu, amd ? 0xc0010004 : 0xc1, -100ULL);
	vpmu_wrmsr(build.vpmu, amd ? 0xc0010000 : 0x186, event);
	build_vpmu_run(&build, VPMU_EVENT_CYCLES, 1000);
	snprintf(name, sizeof(name), "%s-samples", vpmu_model_name(models[number]));
	if (!err)
		err = write_state(name, number, build.vpmu);
	build_vpmu_deinit(&build);
	return err;
}

int write_seeds(void)
{
	int err = 0;

	for (u8 i = 0; !err && i < ARRAY_SIZE(models); i++)
		err = write_both(i);
	return err;
}
