/* SPDX-License-Identifier: GPL-2.0-only */
#include "build-vpmu.h"

#include <string.h>

static void take_report(void *context, const struct vpmu_report *report)
{
	struct build_vpmu *build = context;

	if (build->nr_reports < BUILD_VPMU_REPORTS)
		build->reports[build->nr_reports] = *report;
	build->nr_reports++;
}

static bool give_counters(void *context, const struct vpmu_report *report)
{
	struct build_vpmu *build = context;

	(void)report;
	build->nr_asked++;
	if (!build->gives)
		return false;
	build->counters += build->gives;
	vpmu_sim_set_counters(build->sim, build->counters);
	return true;
}

void build_vpmu_options(struct build_vpmu *build, enum vpmu_model model, unsigned int nr_counters,
			struct vpmu_vm_options *ret)
{
	memset(build, 0, sizeof(*build));
	build->counters = nr_counters;
	*ret = (struct vpmu_vm_options){
		.size = sizeof(*ret),
		.log = take_report,
		.evict = give_counters,
		.context = build,
	};
	if (vpmu_geometry_init(&ret->geometry, model) ||
	    vpmu_backend_sim(nr_counters, &build->sim, &ret->backend))
		abort();
}

void build_vpmu_start(struct build_vpmu *build, const struct vpmu_vm_options *options)
{
	if (vpmu_vm_create(options, &build->vm) || vpmu_create(build->vm, 0, &build->vpmu))
		abort();
}

void build_vpmu(struct build_vpmu *build, enum vpmu_model model)
{
	struct vpmu_vm_options options;

	build_vpmu_options(build, model, VPMU_SLOTS, &options);
	build_vpmu_start(build, &options);
}

void build_vpmu_deinit(struct build_vpmu *build)
{
	vpmu_destroy(build->vpmu);
	vpmu_vm_destroy(build->vm);
}

uint64_t build_vpmu_run(struct build_vpmu *build, enum vpmu_arch_event event, uint64_t n)
{
	struct vpmu_exit left;

	if (vpmu_enter(build->vpmu, NULL))
		abort();
	vpmu_sim_run(build->sim, 0, event, 0, false, n);
	vpmu_exit(build->vpmu, &left);
	return left.overflowed;
}
