/* SPDX-License-Identifier: GPL-2.0-only */
/* One guest being recorded into one perf.data. */
#include "engine/recording.h"

#include <elf.h>
#include <string.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "capture/trace-format.h"
#include "engine/callcheck.h"
#include "engine/ksym-log.h"
#include "engine/parked.h"
#include "engine/places.h"
#include "engine/userland.h"
#include "perfdata/note.h"
#include "unwind/unwind.h"

/* Guests are of their host's architecture. */
#ifdef __aarch64__
#define HOST_ARCH "aarch64"
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_ARCH "x86_64"
#define HOST_MACHINE EM_X86_64
#endif

#define NO_TASK_PID 0xffffffffU	/* perf prints it as -1 */

#define MAX_MODULES 65536	/* records of modules: a guest can move its own about */

/*
 * How long a sample waits for rules. perf holds records back in memory meanwhile; a library takes
 * milliseconds to read, or seconds on a slow or busy machine.
 */
#define WAIT_NS 30000000000ULL

/* How often tasks are looked for that have ended, and samples that have waited too long. */
#define LOOK_NS 100000000ULL

#define RAW_MAX 1024	/* bytes of a tracepoint's record, for readers; a multiple of 8 */

#define FOREIGN_MAX 16	/* so many samples in a row are another kernel, not a glitch */

struct recording {
	const struct mem_reader *mem;
	struct guest *guest;
	struct perfdata_writer *writer;
	struct callcheck *callcheck;
	struct userland *userland;
	struct parked *parked;
	struct unwinder unwinder;
	struct lives *lives;
	u64 next_look;			/* ns */
	struct hashmap modules;		/* of each already written: start, hashed with .seed */
	u64 seed;
	struct ksym_log ksyms;
	struct places places;
	struct accounting accounting;
	struct symcache *symcache;	/* not owned */

	/* The sample being unwound, for the unwinder's callbacks. */
	struct mmu_space space;
	bool space_valid;
	bool task_gone;			/* a sample that waited: its memory is another's by now */
	u64 now;			/* time of the newest sample */
	u64 waited, not_kept;		/* samples that waited; that found no room to */

	u64 kernel_seen, kernel_known;	/* ns: its first sample before that; when it was known */

	bool kernel_written;
	bool wants_refresh;
	u32 foreign;			/* samples in a row whose system-call entry is elsewhere */
	int symbols_error;		/* why symbols are missing from the cache */
	u64 modules_left_out;
	u64 lost;			/* events that the records of losses tell of */
	int error;			/* first write error */
	struct {
		struct trace_format format;	/* .size 0: it is no tracepoint */
		u16 id;
	} *events;
	u32 nr_events;
	u8 raw[RAW_MAX + sizeof(struct perfdata_note)];
	struct chain chain;
	u64 ips[CHAIN_MAX_FRAMES + 4];	/* chain with its context markers */
};

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	struct recording *recording = ctx;

	return guest_find_row(recording->guest, pc, ret_row);
}

static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	struct recording *recording = ctx;

	if (guest_kernel(recording->guest)->os == GUEST_OS_GIVEN)
		return guest_find_given_row(recording->guest, pc, ret_row);
	return userland_find_row(recording->userland, pc, ret_row);
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	struct recording *recording = ctx;

	if (!user)
		return guest_check_kernel_call(recording->guest, ret_addr);
	if (!recording->space_valid || recording->task_gone ||
	    userland_has_changed(recording->userland, ret_addr))
		return -EFAULT;
	return callcheck_user(recording->callcheck, &recording->space, ret_addr, recording->now);
}

static bool is_kernel_text(void *ctx, gva_t addr)
{
	struct recording *recording = ctx;

	return guest_is_kernel_text(recording->guest, addr);
}

static const struct unwind_ops unwind_ops = {
	.find_row = find_row,
	.find_user_row = find_user_row,
	.check_call = check_call,
	.is_kernel_text = is_kernel_text,
};

static struct perfdata_writer_event written_event(const struct capture_event *event)
{
	return (struct perfdata_writer_event){
		.point = event->point,
		.format = event->format,
		.name = event->name,
		.type = event->type,
		.config = event->config,
		.period_or_freq = event->period ? event->period : event->freq,
		.freq = !event->period,
	};
}

static int create_writer(const struct recording_options *options, struct perfdata_writer **ret)
{
	_cleanup_free_ struct perfdata_writer_event *events =
		calloc(MAX(options->nr_events, 1U), sizeof(*events));
	struct perfdata_writer_options writer_options = {
		.hostname = options->name,
		.arch = HOST_ARCH,
		.cmdline = options->cmdline,
		.nr_cpus = options->nr_vcpus,
		.total_mem_kb = options->memory / 1024,
		.events = events,
		.nr_events = options->nr_events,
		.raw = true,
	};

	if (!events)
		return -ENOMEM;
	for (u32 i = 0; i < options->nr_events; i++)
		events[i] = written_event(&options->events[i]);
	return perfdata_writer_create(options->path, &writer_options, ret);
}

/* What readers are told that a tracepoint's record is. */
static int make_events(struct recording *recording, const struct recording_options *options)
{
	int err = 0;

	recording->events = calloc(MAX(options->nr_events, 1U), sizeof(*recording->events));
	if (!recording->events)
		return -ENOMEM;
	recording->nr_events = options->nr_events;
	for (u32 i = 0; i < options->nr_events && !err; i++) {
		recording->events[i].id = options->events[i].config;
		if (options->events[i].format)
			err = trace_format_parse(options->events[i].format,
						 &recording->events[i].format);
	}
	return err;
}

static int create_userland(struct recording *recording, const struct recording_options *from)
{
	struct userland_options options = {
		.guest = recording->guest,
		.writer = recording->writer,
		.objects = {
			.cache = from->symcache,
			.sources = from->sources,
			.servers = from->servers,
			.loader = from->loader,
			.fetcher = from->fetcher,
		},
	};

	return userland_create(&options, &recording->userland);
}

int recording_create(const struct mem_reader *mem, const struct recording_options *options,
		     struct recording **ret)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return -ENOMEM;
	recording->mem = mem;
	recording->unwinder = (struct unwinder){
		.ops = &unwind_ops,
		.ctx = recording,
		.max_depth = options->max_depth,
	};
	recording->symcache = options->symcache;
	recording->seed = hash_new_seed();
	err = make_events(recording, options);
	if (!err)
		err = guest_create(mem, options->kernels, &recording->guest);
	if (!err && options->elf)
		guest_set_elf(recording->guest, options->elf);
	if (!err)
		err = callcheck_create(mem, &recording->callcheck);
	if (!err)
		err = create_writer(options, &recording->writer);
	if (!err)
		err = lives_create(recording->guest, recording->writer, &recording->lives);
	if (!err)
		err = create_userland(recording, options);
	if (!err)
		err = parked_create(&recording->parked);
	if (err) {
		recording_destroy(recording);
		return err;
	}
	*ret = recording;
	return 0;
}

/* For parked_for_each(): done with, or given up. */
static const void *drop_parked(void *ctx, const struct sample *sample, const void *what, void *held)
{
	struct recording *recording = ctx;

	(void)sample;
	(void)what;
	userland_let_go(recording->userland, held);
	return NULL;
}

void recording_destroy(struct recording *recording)
{
	if (!recording)
		return;
	if (recording->parked)
		parked_for_each(recording->parked, drop_parked, recording);
	parked_destroy(recording->parked);
	userland_destroy(recording->userland);
	perfdata_writer_destroy(recording->writer);
	callcheck_destroy(recording->callcheck);
	guest_destroy(recording->guest);
	lives_destroy(recording->lives);
	hashmap_deinit(&recording->modules);
	ksym_log_deinit(&recording->ksyms);
	for (u32 i = 0; i < recording->nr_events; i++)
		trace_format_deinit(&recording->events[i].format);
	free(recording->events);
	free(recording);
}

const struct guest *recording_guest(const struct recording *recording)
{
	return recording->guest;
}

/* In a file an address of 32 bits is as perf in the guest writes it. */
static u64 written_address(bool is_32, u64 address)
{
	return is_32 ? (u32)address : address;
}

static int write_kernel(struct recording *recording)
{
	const struct guest_kernel *kernel = guest_kernel(recording->guest);
	struct perfdata_kernel written = {
		.start = written_address(kernel->is_32, kernel->start.addr),
		.end = written_address(kernel->is_32, kernel->text_end.addr),
		.ref = written_address(kernel->is_32, kernel->reference.addr),
		.ref_name = kernel->reference_name,
		.build_id = kernel->build_id.data,
		.build_id_size = kernel->build_id.size,
	};

	if (recording->kernel_written)
		return 0;
	recording->kernel_written = true;
	perfdata_writer_set_release(recording->writer, kernel->release);
	if (kernel->is_32)
		perfdata_writer_set_arch(recording->writer, "i686");
	return perfdata_writer_kernel(recording->writer, &written);
}

/* Each module once; one that comes back at the same place is the same to a reader. */
static int write_modules(struct recording *recording, u64 time)
{
	for (size_t i = 0; i < guest_nr_modules(recording->guest); i++) {
		const struct guest_module *module = guest_module(recording->guest, i);
		u64 key = hash_combine(recording->seed, module->start.addr);
		bool is_new;
		int err;

		if (recording->modules.nr >= MAX_MODULES) {
			recording->modules_left_out += !hashmap_get(&recording->modules, key);
			continue;
		}
		if (!hashmap_put(&recording->modules, key, &is_new))
			return -ENOMEM;
		if (!is_new)
			continue;
		err = perfdata_writer_module(recording->writer, module->name, module->start.addr,
					     module->size, module->build_id.data,
					     module->build_id.size, time);
		if (err)
			return err;
	}
	return 0;
}

static int write_code(struct recording *recording, u64 time)
{
	int err = write_modules(recording, time);

	return err ? err : ksym_log_update(&recording->ksyms, recording->guest, recording->writer,
					   time);
}

int recording_identify(struct recording *recording, const struct vcpu_regs *regs,
		       const char **ret_why)
{
	int err;

	err = guest_identify(recording->guest, regs, ret_why);
	if (err)
		return err;
	if (!recording->kernel_known)
		recording->kernel_known = clock_now_ns();
	err = write_kernel(recording);
	if (!err && guest_kernel(recording->guest)->os == GUEST_OS_LINUX)
		err = write_code(recording, 0);
	return err;
}

bool recording_wants_refresh(const struct recording *recording)
{
	return recording->wants_refresh || !guest_is_settled(recording->guest);
}

bool recording_kernel_changed(const struct recording *recording)
{
	return recording->foreign >= FOREIGN_MAX;
}

int recording_refresh(struct recording *recording)
{
	int err;

	recording->wants_refresh = false;
	if (guest_kernel(recording->guest)->os != GUEST_OS_LINUX)
		return 0;
	err = guest_refresh_modules(recording->guest);
	if (err)
		return err;
	return write_code(recording, recording->now);
}

static void task_ids(const struct wire_sample *wire, u32 *ret_pid, u32 *ret_tid)
{
	bool task = wire->flags & WIRE_F_TASK;

	*ret_pid = task ? (u32)wire->task.pid : NO_TASK_PID;
	*ret_tid = task ? (u32)wire->task.tid : NO_TASK_PID;
}

/* Lays the chain out as the kernel does: a context marker before each part. */
static u32 chain_to_ips(const struct chain *chain, bool is_32, u64 *ips)
{
	u32 nr = 0;

	for (u32 i = 0; i < chain->nr; i++) {
		if (i == 0 && chain->nr_kernel)
			ips[nr++] = PERF_CONTEXT_KERNEL;
		if (i == chain->nr_kernel)
			ips[nr++] = PERF_CONTEXT_USER;
		ips[nr++] = written_address(is_32, chain->frames[i].ip);
	}
	return nr;
}

static void set_space(struct recording *recording, const struct wire_sample *wire)
{
	recording->space_valid = !mmu_space_init(&recording->space, &wire->regs);
	if (wire->user_root)
		recording->space.root = wire->user_root;
	recording->now = MAX(recording->now, wire->time);
	recording->task_gone = false;
}

/*
 * The system-call entry, on arm64 the exception vectors, lie in the kernel's text for as long as
 * that kernel runs. Firmware and early boot have none yet.
 */
static bool is_foreign(const struct recording *recording, const struct wire_sample *wire)
{
	const struct guest_kernel *kernel = guest_kernel(recording->guest);
	bool arm64 = wire->regs.arch == VCPU_ARCH_ARM64;
	u64 entry = arm64 ? wire->regs.arm64.vbar : wire->regs.x86.lstar;

	if (arm64 && wire->flags & WIRE_F_USER)	/* a copy of the vectors, perhaps */
		return false;
	return entry >> 63 && (entry < kernel->start.addr || entry >= kernel->text_end.addr);
}

/* Kernel code that nobody covers: a module loaded since, or another kernel than we know. */
static void notice_change(struct recording *recording, const struct wire_sample *wire)
{
	gva_t pc = GVA(wire->regs.pc);

	if (guest_kernel(recording->guest)->os != GUEST_OS_LINUX ||
	    wire->flags & (WIRE_F_NESTED | WIRE_F_SMM))
		return;
	recording->foreign = is_foreign(recording, wire) ? recording->foreign + 1 : 0;
	if (!(wire->flags & WIRE_F_USER) && pc.addr >> 63 &&
	    !guest_is_kernel_text(recording->guest, pc))
		recording->wants_refresh = true;
}

/* The first sample of a kernel that was not known when it was taken: the guest has just booted. */
static void notice_kernel(struct recording *recording, const struct wire_sample *wire)
{
	bool before = !recording->kernel_known || wire->time < recording->kernel_known;

	if (!recording->kernel_seen && before && wire->regs.pc >> 63 &&
	    !(wire->flags & (WIRE_F_USER | WIRE_F_NESTED | WIRE_F_SMM)))
		recording->kernel_seen = wire->time;
}

static void make_note(const struct wire_sample *wire, const struct chain *chain,
		      struct perfdata_note *ret)
{
	u8 flags = 0;

	if (chain->changed)
		flags |= PERFDATA_NOTE_CHANGED;
	if (wire->flags & WIRE_F_MOVED)
		flags |= PERFDATA_NOTE_MOVED;
	if (chain_has_unverified(chain))
		flags |= PERFDATA_NOTE_UNVERIFIED;
	*ret = (struct perfdata_note){
		.magic = PERFDATA_NOTE_MAGIC,
		.version = PERFDATA_NOTE_VERSION,
		.kernel_stop = chain->kernel_stop,
		.user_stop = chain->user_stop,
		.flags = flags,
		.host_tid = wire->tid,
	};
}

/*
 * Of a tracepoint its record, as long as readers take it to be, though we have the first bytes
 * only; and the note behind. Returns the size of both.
 */
static size_t make_raw(struct recording *recording, const struct wire_sample *wire,
		       const struct perfdata_note *note)
{
	size_t size = 0;

	if (wire->event < recording->nr_events && recording->events[wire->event].format.size) {
		const struct trace_format *format = &recording->events[wire->event].format;

		size = MIN(ALIGN_UP((size_t)format->size, 8), (size_t)RAW_MAX);
		memset(recording->raw, 0, size);
		memcpy(recording->raw, wire->raw, MIN(size, (size_t)wire->raw_size));
		trace_format_tidy(format, recording->raw, size, recording->events[wire->event].id,
				  wire->tid);
	}
	memcpy(recording->raw + size, note, sizeof(*note));
	return size + sizeof(*note);
}

/*
 * How much there is to remember is a guest's choice: without memory for it a sample is written as
 * it is, and counted. Only the writer's errors end a recording.
 */
static int bear_no_memory(struct recording *recording, int err, bool *short_of)
{
	if (err != -ENOMEM)
		return err;
	recording->accounting.no_memory += !*short_of;
	*short_of = true;
	return 0;
}

/* A kernel that its owner gave us has names at any address. */
static int lay_out_place(struct recording *recording, const struct wire_sample *wire, u32 *ret_nr)
{
	if (guest_kernel(recording->guest)->os == GUEST_OS_GIVEN &&
	    chain_stop(&recording->chain) == STOP_NO_KERNEL)
		return 0;
	return places_lay_out(&recording->places, recording->writer, wire, &recording->chain,
			      recording->ips, ret_nr);
}

static int write_sample(struct recording *recording, const struct sample *sample)
{
	const struct wire_sample *wire = sample->wire;
	/* Kernel code of a 64-bit kernel has 64 bits; user code has no such addresses. */
	bool is_32 = wire->regs.arch == VCPU_ARCH_X86_64 && wire->regs.bits != 64;
	struct perfdata_note note;
	struct perfdata_sample out = {
		.event = wire->event,
		.cpu = wire->vcpu,
		.time = wire->time,
		.period = wire->period,
		.ip = written_address(is_32, wire->regs.pc),
		.user = wire->flags & WIRE_F_USER,
		.ips = recording->ips,
	};
	int err = lay_out_place(recording, wire, &out.nr_ips);

	if (err)
		return err;
	if (out.nr_ips) {
		out.ip = recording->ips[1];
		out.user = false;
	} else {
		out.nr_ips = chain_to_ips(&recording->chain, is_32, recording->ips);
	}
	task_ids(wire, &out.pid, &out.tid);
	make_note(wire, &recording->chain, &note);
	out.raw = recording->raw;
	out.raw_size = make_raw(recording, wire, &note);
	return perfdata_writer_sample(recording->writer, &out);
}

static int finish_sample(struct recording *recording, const struct sample *sample)
{
	accounting_add(&recording->accounting, sample, &recording->chain);
	recording->error = write_sample(recording, sample);
	return recording->error;
}

/* Whether the sample just unwound waits. One that finds no room is done with as it is. */
static bool wait_for_rules(struct recording *recording, const struct sample *sample)
{
	const struct object *object = userland_waits_for(recording->userland);
	struct userland_view *view;

	if (!object)
		return false;
	view = userland_hold(recording->userland);
	if (!view || parked_add(recording->parked, sample, object, view)) {
		userland_let_go(recording->userland, view);
		recording->not_kept++;
		return false;
	}
	recording->waited++;
	perfdata_writer_expect(recording->writer, parked_oldest(recording->parked));
	return true;
}

struct catch_up {
	struct recording *recording;
	u64 now;
};

static const void *try_again(void *ctx, const struct sample *sample, const void *what, void *held)
{
	const struct catch_up *catch_up = ctx;
	struct recording *recording = catch_up->recording;
	bool late = catch_up->now >= sample->wire->time &&
		    catch_up->now - sample->wire->time >= WAIT_NS;
	const struct object *object;

	if (recording->error)
		return drop_parked(recording, sample, what, held);
	if (userland_is_pending(recording->userland, what) && !late)
		return what;
	set_space(recording, sample->wire);
	userland_enter_again(recording->userland, sample->wire, held, &recording->task_gone);
	unwind_sample(&recording->unwinder, sample, &recording->chain);
	object = userland_waits_for(recording->userland);
	if (object && !late)
		return object;
	finish_sample(recording, sample);
	return drop_parked(recording, sample, what, held);
}

/* Ends of tasks, now and then. */
static void look_around(struct recording *recording)
{
	if (recording->error || recording->now < recording->next_look)
		return;
	recording->next_look = recording->now + LOOK_NS;
	recording->error = lives_look(recording->lives, recording->now);
}

int recording_catch_up(struct recording *recording, u64 now)
{
	struct catch_up catch_up = { .recording = recording, .now = now };
	bool news = userland_collect(recording->userland);
	u64 oldest = parked_oldest(recording->parked);

	look_around(recording);
	if (recording->error || oldest == UINT64_MAX ||
	    (!news && (now < oldest || now - oldest < WAIT_NS + LOOK_NS)))
		return recording->error;
	parked_for_each(recording->parked, try_again, &catch_up);
	perfdata_writer_expect(recording->writer, parked_oldest(recording->parked));
	return recording->error;
}

int recording_wait(struct recording *recording, u64 deadline, bool *ret_all)
{
	int err;

	userland_stop_fetching(recording->userland);
	/* While all that waits is gone through, the next file may have been read, each time. */
	do {
		err = userland_wait(recording->userland, deadline);
		if (!err)
			recording_catch_up(recording, 0);
	} while (!err && clock_now_ns() < deadline);
	if (!recording->error)
		*ret_all = err == -ENOENT;
	return recording->error;
}

void recording_stop_loading(struct recording *recording)
{
	userland_stop_loading(recording->userland);
}

/* What is new of the sample's task. */
static int enter(struct recording *recording, const struct wire_sample *wire)
{
	bool short_of = false;
	struct life life;
	int err = bear_no_memory(recording, lives_enter(recording->lives, wire, &life), &short_of);

	return err ? err : bear_no_memory(recording,
					  userland_enter(recording->userland, wire, &life),
					  &short_of);
}

int recording_add(struct recording *recording, const struct sample *sample)
{
	if (recording->error)
		return recording->error;
	recording_catch_up(recording, sample->wire->time);
	set_space(recording, sample->wire);
	notice_kernel(recording, sample->wire);
	notice_change(recording, sample->wire);
	recording->error = recording->error ? recording->error : enter(recording, sample->wire);
	if (recording->error)
		return recording->error;
	unwind_sample(&recording->unwinder, sample, &recording->chain);
	if (wait_for_rules(recording, sample))
		return 0;
	return finish_sample(recording, sample);
}

int recording_note_lost(struct recording *recording, u64 lost, u64 time)
{
	if (recording->error || lost <= recording->lost)
		return recording->error;
	recording->error = perfdata_writer_lost(recording->writer, lost - recording->lost, time);
	recording->lost = lost;
	return recording->error;
}

const struct accounting *recording_accounting(const struct recording *recording)
{
	return &recording->accounting;
}

int recording_symbols_error(const struct recording *recording)
{
	return recording->symbols_error;
}

u64 recording_bytes(const struct recording *recording)
{
	return perfdata_writer_bytes(recording->writer);
}

static int store_module(struct symcache *cache, const char *release,
			const struct guest_module *module)
{
	struct elf_synth from = {
		.symbols = module->symbols,
		.start = module->start.addr,
		.size = module->size,
		.machine = HOST_MACHINE,
		.build_id = build_id_make(module->build_id.data, module->build_id.size),
	};

	if (!module->symbols || !from.build_id.size)
		return 0;
	return symcache_add_module(cache, release, module->name, &from);
}

static int store_symbols(const struct recording *recording)
{
	const struct guest *guest = recording->guest;
	const struct guest_kernel *kernel = guest_kernel(guest);
	_cleanup_free_ char *text = NULL;
	struct build_id id;
	size_t size;
	int err;

	if (!recording->symcache || kernel->os == GUEST_OS_UNKNOWN || !kernel->build_id.size)
		return 0;
	id = build_id_make(kernel->build_id.data, kernel->build_id.size);
	err = guest_write_kallsyms(guest, &text, &size);
	if (!err)
		err = symcache_add_kallsyms(recording->symcache, &id, text, size);
	for (size_t i = 0; i < guest_nr_modules(guest) && !err; i++)
		err = store_module(recording->symcache, kernel->release, guest_module(guest, i));
	return err;
}

int recording_finish(struct recording *recording, const struct capture_counts *counts)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct userland_counts userland;
	int err = recording_catch_up(recording, UINT64_MAX);

	if (!err)
		err = recording_note_lost(recording, accounting_lost(counts), recording->now);
	if (err)
		return err;
	recording_stop_loading(recording);
	/* A recording without names is worth more than none. */
	err = store_symbols(recording);
	if (err)
		log_debug("the guest's symbols cannot be stored in %s: %s",
			  symcache_dir(recording->symcache), error_text(err));
	recording->symbols_error = err;
	accounting_write(&recording->accounting, counts, &text);
	if (recording->kernel_seen && recording->kernel_known > recording->kernel_seen)
		strbuf_addf(&text, "milliseconds until a kernel that had begun was known: %llu\n",
			    (unsigned long long)((recording->kernel_known -
						  recording->kernel_seen) / 1000000));
	userland_get_counts(recording->userland, &userland);
	userland_counts_write(&userland, &text);
	if (recording->modules_left_out)
		strbuf_addf(&text, "kernel modules left out: %llu\n",
			    (unsigned long long)recording->modules_left_out);
	if (recording->ksyms.left_out)
		strbuf_addf(&text, "code that the kernel made left out: %llu\n",
			    (unsigned long long)recording->ksyms.left_out);
	if (recording->waited)
		strbuf_addf(&text, "samples that waited for rules: %llu\n",
			    (unsigned long long)recording->waited);
	if (recording->not_kept)
		strbuf_addf(&text, "samples that found no room to wait: %llu\n",
			    (unsigned long long)recording->not_kept);
	err = strbuf_error(&text);
	if (!err)
		err = perfdata_writer_set_accounting(recording->writer, strbuf_cstr(&text));
	if (!err)
		err = perfdata_writer_finish(recording->writer);
	return err;
}
