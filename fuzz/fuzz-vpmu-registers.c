/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's accesses and a host's whims: a model, the number of the host's counters, a policy, then
 * steps of one byte and what they need. Whatever the order, counters keep to their width, what is
 * saved can be restored, and entries come to an end.
 */
#include <string.h>

#include "base/cursor.h"
#include "build-vpmu.h"

#define MAX_STEPS 4096

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct fuzz {
	struct build_vpmu build;
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	unsigned int nr_ranges;
	unsigned int width;
};

static const enum vpmu_model models[] = {
	VPMU_INTEL_V1, VPMU_INTEL_V2, VPMU_INTEL_V3, VPMU_INTEL_V4, VPMU_INTEL_V5, VPMU_AMD_K7,
	VPMU_AMD_CORE, VPMU_AMD_V2,
};

static void start(struct fuzz *fuzz, struct cursor *c)
{
	enum vpmu_model model = models[cursor_u8(c) % ARRAY_SIZE(models)];
	struct vpmu_vm_options options;

	build_vpmu_options(&fuzz->build, model, cursor_u8(c) % 8, &options);
	options.policy = cursor_u8(c) % 3;
	options.max_events = cursor_u8(c) % 8;
	if (model == VPMU_AMD_V2 || (model >= VPMU_INTEL_V2 && model <= VPMU_INTEL_V5))
		options.geometry.flags |= VPMU_DEBUGCTL;
	fuzz->width = options.geometry.gp_width;
	build_vpmu_start(&fuzz->build, &options);
	fuzz->nr_ranges = vpmu_vm_msrs(fuzz->build.vm, fuzz->ranges, ARRAY_SIZE(fuzz->ranges));
}

/* One of the model's registers, or any. */
static uint32_t msr(const struct fuzz *fuzz, struct cursor *c)
{
	unsigned int range = cursor_u8(c), at = cursor_u8(c);

	if (range == 0xff)
		return cursor_u32(c);
	range %= fuzz->nr_ranges;
	return fuzz->ranges[range].base + at % (fuzz->ranges[range].nr + 1);
}

static void check_counters(struct fuzz *fuzz)
{
	uint64_t value;

	for (uint32_t i = 0; i < VPMU_MAX_GP; i++)
		if (vpmu_rdpmc(fuzz->build.vpmu, i, true, &value) == VPMU_OK &&
		    value >> fuzz->width)
			abort();
}

static void check_state(struct fuzz *fuzz)
{
	uint8_t one[VPMU_STATE_MAX], two[VPMU_STATE_MAX];
	int size = vpmu_save(fuzz->build.vpmu, one, sizeof(one));

	if (size < 0 || vpmu_restore(fuzz->build.vpmu, one, size))
		abort();
	if (vpmu_save(fuzz->build.vpmu, two, sizeof(two)) != size || memcmp(one, two, size))
		abort();
}

static void set_filter(struct fuzz *fuzz, struct cursor *c)
{
	uint64_t events[4];
	struct vpmu_filter filter = { .events = events };

	filter.action = cursor_u8(c) & 3;
	filter.flags = cursor_u8(c) & 1;
	filter.nr = cursor_u8(c) % 5;
	filter.fixed_bitmap = cursor_u8(c);
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = cursor_u64(c);
	vpmu_vm_set_filter(fuzz->build.vm, &filter);
}

static void run_guest(struct fuzz *fuzz, struct cursor *c)
{
	struct vpmu *vpmu = fuzz->build.vpmu;
	struct vpmu_entry entry;
	unsigned int what = cursor_u8(c);
	uint64_t raw = cursor_u16(c), n = cursor_u64(c);
	bool takes = cursor_u8(c) & 1;

	if (vpmu_enter(vpmu, &entry)) {
		if (!entry.missing)
			abort();
		return;
	}
	vpmu_sim_run(fuzz->build.sim, 0, what % (VPMU_EVENT_RAW + 1), raw, what & 0x80, n);
	if (takes)
		vpmu_sim_set_counters(fuzz->build.sim, what & 7);
	vpmu_exit(vpmu, NULL);
}

static void step(struct fuzz *fuzz, struct cursor *c)
{
	struct vpmu *vpmu = fuzz->build.vpmu;
	struct vpmu_pmi pmi;
	uint64_t value;
	uint32_t at;

	switch (cursor_u8(c) % 10) {
	case 0:
	case 1:
		at = msr(fuzz, c);
		vpmu_wrmsr(vpmu, at, cursor_u64(c));
		break;
	case 2:
		vpmu_rdmsr(vpmu, msr(fuzz, c), &value);
		break;
	case 3:
		vpmu_rdpmc(vpmu, cursor_u32(c), true, &value);
		break;
	case 4:
		run_guest(fuzz, c);
		break;
	case 5:
		vpmu_pmi(vpmu, cursor_u32(c), &pmi);
		break;
	case 6:
		vpmu_trigger(vpmu, cursor_u8(c), false, cursor_u64(c));
		break;
	case 7:
		set_filter(fuzz, c);
		break;
	case 8:
		vpmu_vm_set_policy(fuzz->build.vm, cursor_u8(c));
		vpmu_retry(vpmu);
		break;
	case 9:
		check_counters(fuzz);
		check_state(fuzz);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz fuzz = { 0 };
	struct vpmu_stats stats;
	struct cursor c;

	cursor_init(&c, data, size);
	start(&fuzz, &c);
	for (unsigned int i = 0; i < MAX_STEPS && cursor_left(&c); i++)
		step(&fuzz, &c);
	check_counters(&fuzz);
	check_state(&fuzz);
	vpmu_release_events(fuzz.build.vpmu);
	vpmu_get_stats(fuzz.build.vpmu, &stats, sizeof(stats));
	if (stats.open_now)
		abort();
	build_vpmu_deinit(&fuzz.build);
	return 0;
}
