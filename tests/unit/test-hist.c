/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports' entries and their chains against the plain definition: random recordings of a few
 * addresses, so that recursion abounds, added up sample by sample.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "analyze/hist.h"
#include "base/file.h"
#include "build-perfdata.h"

#define SAMPLE_TYPE                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define NR_SAMPLES 400
#define MAX_DEPTH 9
#define MAX_SUMS 20000
#define OBJECT_A 0x400000
#define OBJECT_B 0x500000
#define OBJECT_SIZE 0x1000

struct taken {
	u32 pid;	/* also the thread; its command is pN */
	u32 cpu;
	u64 period;
	u64 ip;			/* the sampled address itself */
	u64 ips[MAX_DEPTH];	/* innermost first */
	size_t nr;
};

/* Weights by a text that says what of. */
struct sums {
	char names[MAX_SUMS][256];
	u64 weights[MAX_SUMS];
	size_t nr;
};

static struct taken samples[NR_SAMPLES];
static struct sums expected, got;
static u64 state = 1;

static u32 random_below(u32 limit)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % limit;
}

static void add_sum(struct sums *sums, const char *name, u64 weight)
{
	for (size_t i = 0; i < sums->nr; i++) {
		if (!strcmp(sums->names[i], name)) {
			sums->weights[i] += weight;
			return;
		}
	}
	assert_in_range(sums->nr, 0, MAX_SUMS - 1);
	snprintf(sums->names[sums->nr], sizeof(sums->names[0]), "%s", name);
	sums->weights[sums->nr++] = weight;
}

static void compare_sums(void)
{
	size_t zeros = 0;

	for (size_t i = 0; i < got.nr; i++) {
		size_t k = 0;

		while (k < expected.nr && strcmp(got.names[i], expected.names[k]))
			k++;
		if (k == expected.nr)
			fail_msg("not expected: %s", got.names[i]);
		if (got.weights[i] != expected.weights[k])
			fail_msg("%s: %llu, not %llu", got.names[i],
				 (unsigned long long)got.weights[i],
				 (unsigned long long)expected.weights[k]);
	}
	for (size_t i = 0; i < expected.nr; i++)
		zeros += !expected.weights[i];
	assert_int_equal(zeros, 0);
	assert_int_equal(got.nr, expected.nr);
}

/*
 * A file whose chains use four addresses, in objects or where nothing is mapped. @astray: samples
 * were taken anywhere, not where their chain begins.
 */
static struct profile *make_profile(bool mapped, bool astray)
{
	const struct profile_options options = {
		.resolver.sources = { .cache_dir = "/nonexistent", .no_host_files = true },
		.details = PROFILE_DETAIL_THREAD | PROFILE_DETAIL_CPU,
	};
	struct profile *profile = NULL;
	struct perfdata_build b;
	char path[64];
	int fd = memfd_create("perf.data", 0);

	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	for (u32 pid = 1; pid <= 2; pid++) {
		struct perfdata_build_where where = { pid, pid, 0, 1, BUILD_ID_OF(0) };
		char comm[8];

		snprintf(comm, sizeof(comm), "p%u", pid);
		perfdata_build_comm(&b, &where, comm);
		if (!mapped)
			continue;
		perfdata_build_mmap2(&b, &where, OBJECT_A, OBJECT_SIZE, NULL, "/nowhere/a");
		perfdata_build_mmap2(&b, &where, OBJECT_B, OBJECT_SIZE, NULL, "/nowhere/b");
	}
	for (size_t i = 0; i < NR_SAMPLES; i++) {
		struct taken *s = &samples[i];
		struct perfdata_build_where where;
		u64 chain[MAX_DEPTH + 1] = { PERF_CONTEXT_USER };

		*s = (struct taken){
			.pid = 1 + random_below(2),
			.cpu = random_below(2),
			.period = 1 + random_below(100),
			.nr = 1 + random_below(MAX_DEPTH),
		};
		for (size_t k = 0; k < s->nr; k++) {
			s->ips[k] = (random_below(2) ? OBJECT_A : OBJECT_B) + 16 * random_below(2);
			chain[k + 1] = s->ips[k];
		}
		s->ip = astray ? s->ips[random_below(s->nr)] : s->ips[0];
		b.sample_ip = s->ip;
		where = (struct perfdata_build_where){ s->pid, s->pid, s->cpu, 10 + i,
						       BUILD_ID_OF(0) };
		perfdata_build_sample(&b, &where, PERF_RECORD_MISC_USER, s->period, chain,
				      s->nr + 1);
	}
	perfdata_build_finish(&b);
	assert_int_equal(fd_write_all(fd, b.out.data, b.out.len), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(profile_load(path, &options, &profile, NULL), 0);
	perfdata_build_deinit(&b);
	close(fd);
	return profile;
}

static bool has_key(const struct hist_options *options, enum hist_key key)
{
	for (unsigned int i = 0; i < options->nr_keys; i++)
		if (options->keys[i] == key)
			return true;
	return false;
}

static const char *object_of(bool mapped, u64 ip)
{
	return !mapped ? "[unknown]" : ip >= OBJECT_B ? "b" : "a";
}

/* As perf: a sample's own address by its place in the object, those of a chain as they are. */
static void name_key(const struct hist_options *options, const struct taken *s, bool mapped,
		     u64 ip, bool self, char *out, size_t size)
{
	const char *object = object_of(mapped, ip);
	u64 addr = ip;
	int n = 0;

	if (mapped && self)
		addr -= ip >= OBJECT_B ? OBJECT_B : OBJECT_A;
	out[0] = '\0';
	if (has_key(options, HIST_KEY_COMM))
		n += snprintf(out + n, size - n, "p%u ", s->pid);
	if (has_key(options, HIST_KEY_PID))
		n += snprintf(out + n, size - n, "tid %u ", s->pid);
	if (has_key(options, HIST_KEY_CPU))
		n += snprintf(out + n, size - n, "cpu %u ", s->cpu);
	if (has_key(options, HIST_KEY_DSO))
		n += snprintf(out + n, size - n, "%s ", object);
	if (has_key(options, HIST_KEY_SYMBOL))
		snprintf(out + n, size - n, "%#llx", (unsigned long long)addr);
}

/* The chain from frame @first on, in the order of the report. */
static void name_chain(const struct taken *s, bool caller, size_t first, char *out, size_t size)
{
	size_t n = strlen(out);

	for (size_t i = first; i < s->nr; i++) {
		u64 ip = s->ips[caller ? s->nr - 1 - i : i];

		n += snprintf(out + n, size - n, ";%#llx", (unsigned long long)ip);
	}
}

static void expect_one(const char *key, const char *what, const struct taken *s)
{
	char name[256];

	snprintf(name, sizeof(name), "%s %s", what, key);
	add_sum(&expected, name, s->period);
}

static void expect_chain(const char *key, const struct taken *s, bool caller, size_t first)
{
	char name[256];

	snprintf(name, sizeof(name), "chain %s", key);
	name_chain(s, caller, first, name, sizeof(name));
	add_sum(&expected, name, s->period);
}

static void expect_sample(const struct hist_options *options, const struct taken *s, bool mapped)
{
	char seen[MAX_DEPTH + 1][64];
	size_t nr_seen = 1;

	name_key(options, s, mapped, s->ip, true, seen[0], sizeof(seen[0]));
	expect_one(seen[0], "self", s);
	expect_one(seen[0], "total", s);
	expect_chain(seen[0], s, options->caller, 0);
	for (size_t i = 0; i < s->nr && options->children; i++) {
		u64 ip = s->ips[options->caller ? s->nr - 1 - i : i];
		char *key = seen[nr_seen];
		size_t k = 0;

		name_key(options, s, mapped, ip, false, key, sizeof(seen[0]));
		while (strcmp(seen[k], key))
			k++;
		if (k < nr_seen)
			continue;
		nr_seen++;
		expect_one(key, "total", s);
		expect_chain(key, s, options->caller, i);
	}
}

static void name_entry(const struct profile *profile, const struct hist_options *options,
		       const struct hist_entry *entry, char *out, size_t size)
{
	const struct profile_frame *frame = &profile->frames.data[entry->frame];
	int n = 0;

	out[0] = '\0';
	if (has_key(options, HIST_KEY_COMM))
		n += snprintf(out + n, size - n, "%s ",
			      resolver_comm_name(profile->resolver, entry->comm));
	if (has_key(options, HIST_KEY_PID))
		n += snprintf(out + n, size - n, "tid %u ",
			      profile->threads.data[entry->thread].tid);
	if (has_key(options, HIST_KEY_CPU))
		n += snprintf(out + n, size - n, "cpu %u ", entry->cpu);
	if (has_key(options, HIST_KEY_DSO))
		n += snprintf(out + n, size - n, "%s ", profile_frame_dso(profile, entry->frame));
	if (has_key(options, HIST_KEY_SYMBOL))
		snprintf(out + n, size - n, "%#llx", (unsigned long long)frame->addr);
}

static void name_path(const struct profile *profile, const struct calltree *tree, u32 node,
		      char *out, size_t size)
{
	const struct calltree_node *n = &tree->nodes.data[node];
	size_t len;

	if (node == CALLTREE_ROOT)
		return;
	name_path(profile, tree, n->parent, out, size);
	len = strlen(out);
	snprintf(out + len, size - len, ";%#llx",
		 (unsigned long long)profile->frames.data[n->frame].addr);
}

static void take_entry(const struct profile *profile, const struct hist_options *options,
		       struct hist *hist, const struct hist_entry *entry, struct calltree *tree)
{
	char key[64], name[256];

	name_entry(profile, options, entry, key, sizeof(key));
	snprintf(name, sizeof(name), "total %s", key);
	add_sum(&got, name, entry->total);
	if (entry->self) {
		snprintf(name, sizeof(name), "self %s", key);
		add_sum(&got, name, entry->self);
	}
	assert_int_equal(hist_chains(hist, entry, tree), 0);
	for (u32 n = 1; n < tree->nodes.nr; n++) {
		if (!tree->nodes.data[n].self)
			continue;
		snprintf(name, sizeof(name), "chain %s", key);
		name_path(profile, tree, n, name, sizeof(name));
		add_sum(&got, name, tree->nodes.data[n].self);
	}
	assert_int_equal(tree->nodes.data[CALLTREE_ROOT].total, entry->total);
}

static void check(const struct profile *profile, const struct hist_options *options, bool mapped)
{
	struct hist *hist = NULL;
	struct calltree tree;
	u64 last = UINT64_MAX, period = 0;

	expected.nr = got.nr = 0;
	for (size_t i = 0; i < NR_SAMPLES; i++) {
		expect_sample(options, &samples[i], mapped);
		period += samples[i].period;
	}
	assert_int_equal(hist_create(profile, options, &hist), 0);
	assert_int_equal(calltree_init(&tree), 0);
	assert_int_equal(hist_period(hist), period);
	for (size_t i = 0; i < hist_nr(hist); i++) {
		const struct hist_entry *entry = hist_entry(hist, i);

		assert_true(entry->total <= last);
		last = entry->total;
		take_entry(profile, options, hist, entry, &tree);
	}
	compare_sums();
	calltree_deinit(&tree);
	hist_destroy(hist);
}

static void check_all(bool mapped, bool astray)
{
	static const struct hist_options options[] = {
		{ .keys = { HIST_KEY_COMM, HIST_KEY_DSO, HIST_KEY_SYMBOL }, .nr_keys = 3 },
		{ .keys = { HIST_KEY_SYMBOL, HIST_KEY_DSO }, .nr_keys = 2 },
		{ .keys = { HIST_KEY_DSO }, .nr_keys = 1 },
		{ .keys = { HIST_KEY_COMM, HIST_KEY_CPU }, .nr_keys = 2 },
		{ .keys = { HIST_KEY_PID, HIST_KEY_CPU, HIST_KEY_DSO }, .nr_keys = 3 },
	};
	struct profile *profile = make_profile(mapped, astray);

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		for (int form = 0; form < 4; form++) {
			struct hist_options o = options[i];

			o.chains = true;
			o.children = form & 1;
			o.caller = form & 2;
			check(profile, &o, mapped);
		}
	}
	profile_destroy(profile);
}

static void test_unmapped(void **unused)
{
	(void)unused;
	check_all(false, false);
}

static void test_mapped(void **unused)
{
	(void)unused;
	check_all(true, false);
}

static void test_astray(void **unused)
{
	(void)unused;
	check_all(false, true);
	check_all(true, true);
}

/* The whole call tree has each sample at the end of its chain. */
static void test_call_tree(void **unused)
{
	struct profile *profile = make_profile(false, false);
	struct calltree tree;

	(void)unused;
	expected.nr = got.nr = 0;
	for (size_t i = 0; i < NR_SAMPLES; i++) {
		char name[256];

		snprintf(name, sizeof(name), "p%u", samples[i].pid);
		name_chain(&samples[i], true, 0, name, sizeof(name));
		add_sum(&expected, name, samples[i].period);
	}
	assert_int_equal(profile_call_tree(profile, 0, PROFILE_BY_COMM, &tree), 0);
	for (u32 n = 1; n < tree.nodes.nr; n++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
		u32 path[MAX_DEPTH + 1], depth = 0;

		if (!tree.nodes.data[n].self)
			continue;
		for (u32 m = n; m != CALLTREE_ROOT; m = tree.nodes.data[m].parent)
			path[depth++] = tree.nodes.data[m].frame;
		while (depth--) {
			profile_frame_label(profile, path[depth], &name);
			strbuf_addc(&name, ';');
		}
		name.data[--name.len] = '\0';
		add_sum(&got, name.data, tree.nodes.data[n].self);
	}
	compare_sums();
	calltree_deinit(&tree);
	profile_destroy(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmapped),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_astray),
		cmocka_unit_test(test_call_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
