/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows out of what was counted. */
#include "count/reports.h"

#include "base/errors.h"

struct making {
	struct tally_report report;
	u32 nr_events;
	bool interval, per_vcpu;
};

static int add_row(struct making *making, const struct tally_vm *vm, s64 vcpu,
		   struct tally_row **ret)
{
	struct tally_row row = {
		.name = vm->name, .vmm = vm->vmm, .pid = vm->pid, .vcpu = vcpu,
	};
	int err = tally_sums_init(&row.sums, making->nr_events);

	err = err ?: vec_push(&making->report.rows, row);
	if (err)
		tally_sums_deinit(&row.sums);
	else
		*ret = &making->report.rows.data[making->report.rows.nr - 1];
	return err;
}

/*
 * The row that @vcpu belongs to, the VM's rows being those from @first on. A vCPU that went and
 * came again has one row.
 */
static int row_for(struct making *making, size_t first, const struct tally_vm *vm,
		   const struct tally_vcpu *vcpu, struct tally_row **ret)
{
	s64 id = making->per_vcpu ? (s64)vcpu->vcpu.id : -1;

	for (size_t i = first; i < making->report.rows.nr; i++) {
		if (making->report.rows.data[i].vcpu == id) {
			*ret = &making->report.rows.data[i];
			return 0;
		}
	}
	return add_row(making, vm, id, ret);
}

static int add_vcpu(struct making *making, size_t first, const struct tally_vm *vm,
		    struct tally_vcpu *vcpu)
{
	struct tally_row *row;
	int err = row_for(making, first, vm, vcpu, &row);

	if (err)
		return err;
	row->nr_vcpus++;
	err = progress_add_to(&vcpu->progress, making->interval, making->nr_events, &row->sums);
	if (!err && making->interval)
		err = progress_mark(&vcpu->progress, true, making->nr_events);
	return err;
}

static int add_vm(struct making *making, const struct tally_vm *vm)
{
	size_t first = making->report.rows.nr;
	int err = 0;

	for (size_t i = 0; i < vm->vcpus.nr && !err; i++)
		if (progress_has_more(&vm->vcpus.data[i]->progress, making->interval))
			err = add_vcpu(making, first, vm, vm->vcpus.data[i]);
	return err;
}

int tally_report_make(const tally_vms *vms, u32 nr_events, bool interval, bool per_vcpu,
		      struct tally_report *ret)
{
	struct making making = {
		.nr_events = nr_events, .interval = interval, .per_vcpu = per_vcpu,
	};
	int err = 0;

	for (size_t i = 0; i < vms->nr && !err; i++)
		err = add_vm(&making, vms->data[i]);
	vec_for_each(&making.report.rows, row)
		exit_reasons_sort(&row->sums.reasons);
	if (err)
		tally_report_deinit(&making.report);
	else
		*ret = making.report;
	return err;
}

void tally_report_deinit(struct tally_report *report)
{
	vec_for_each(&report->rows, row)
		tally_sums_deinit(&row->sums);
	vec_deinit(&report->rows);
}
