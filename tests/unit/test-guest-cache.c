/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels that were parsed before: used again by who has the same, and by nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "build-guest-image.h"
#include "guest/build-file.h"
#include "guest/guest.h"

#define OTHER_START 0xffffffffa8600000ULL

struct fixture {
	char dir[64];
	char file[128];		/* of the kernel */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/test-guest-cache-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->file, sizeof(f->file),
		 "%s/01080f161d242b323940474e555c636a71787f86.kernel", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[512];
	const struct dirent *entry;
	DIR *dir = opendir(f->dir);

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* Identifies and says how many bytes' worth of reads that took: few when it was known. */
static struct guest *identify(struct build_guest *build, struct guest_cache *cache, u64 *ret_reads)
{
	struct vcpu_regs regs = build_guest_regs(build);
	u64 reads = mem_fake_reads(build->mem);
	struct guest *guest;

	assert_int_equal(guest_create(mem_fake_reader(build->mem), cache, &guest), 0);
	assert_int_equal(guest_identify(guest, &regs, NULL), 0);
	if (ret_reads)
		*ret_reads = mem_fake_reads(build->mem) - reads;
	return guest;
}

static u64 symbol_at(const struct guest *guest, const char *name)
{
	const struct symbol *symbol = symtab_find_name(guest_kernel_symbols(guest), name);

	assert_non_null(symbol);
	return symbol->start;
}

static void open_build(struct build_guest *build, size_t release, u64 start)
{
	struct build_guest_options options = build_guest_release(release);

	options.start = start;
	build_guest_init(build, &options);
}

static void check_known(struct build_guest *build, struct guest_cache *cache, u64 unknown_reads)
{
	struct guest *guest;
	struct wire_guest config;
	struct cfi_row row;
	u64 reads;

	guest = identify(build, cache, &reads);
	assert_true(reads < unknown_reads);
	assert_string_equal(guest_kernel(guest)->release, "6.1.0-test-amd64");
	assert_memory_equal(guest_kernel(guest)->build_id.data, build->build_id, 20);
	assert_int_equal(guest_kernel(guest)->start.addr, build->start);
	assert_int_equal(guest_kernel(guest)->text_end.addr, build->start + BUILD_GUEST_ETEXT);
	assert_true(guest_kernel(guest)->has_btf);
	assert_int_equal(symbol_at(guest, "func_7"), build_guest_function(build, 7));
	assert_int_equal(guest_find_row(guest, GVA(build_guest_function(build, 7) + 1), &row), 0);
	assert_int_equal(row.cfa.offset, 16);
	guest_capture_config(guest, &config);
	assert_int_equal(config.valid, 1);
	assert_int_equal(config.task_pid_offset, BUILD_TASK_PID);
	assert_int_equal(guest_nr_modules(guest), 1);
	guest_destroy(guest);
}

static void test_same_kernel(void **state)
{
	const struct fixture *f = *state;

	/* The first form has addresses that loading changes: it is parsed anew each time. */
	for (size_t release = 1; release < BUILD_KALLSYMS_RELEASES; release++) {
		_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL, *later = NULL;
		struct build_guest one, two;
		u64 reads;

		if (build_kallsyms_releases[release].format.addressing == KALLSYMS_ABSOLUTE)
			continue;
		open_build(&one, release, 0);
		open_build(&two, release, OTHER_START);
		build_guest_add_module(&one, "kvm", 4);
		build_guest_add_module(&two, "kvm", 4);
		unlink(f->file);
		assert_int_equal(guest_cache_create(f->dir, &cache), 0);
		guest_destroy(identify(&one, cache, &reads));
		check_known(&one, cache, reads);
		check_known(&two, cache, reads);
		/* Another run finds it in the folder. */
		assert_int_equal(guest_cache_create(f->dir, &later), 0);
		check_known(&two, later, reads);
		build_guest_deinit(&one);
		build_guest_deinit(&two);
	}
}

static void test_memory_only(void **state)
{
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	struct build_guest one;
	struct guest *first, *second;

	(void)state;
	open_build(&one, 6, 0);
	assert_int_equal(guest_cache_create(NULL, &cache), 0);
	first = identify(&one, cache, NULL);
	second = identify(&one, cache, NULL);
	/* At one address they share the table of symbols too. */
	assert_ptr_equal(guest_kernel_symbols(first), guest_kernel_symbols(second));
	guest_destroy(first);
	assert_int_equal(symbol_at(second, "func_7"), build_guest_function(&one, 7));
	guest_destroy(second);
	build_guest_deinit(&one);
}

/* Renames "func_7" where it is compressed, by another token for its last byte. */
static void spoil_names(struct build_guest *build)
{
	u64 names = build->start + build->kallsyms.names;
	u8 bytes[64];
	struct mmu_space space = build_pagetable_space(&build->pages);

	assert_int_equal(mmu_read(&space, mem_fake_reader(build->mem), GVA(names), bytes,
				  sizeof(bytes)), 0);
	/* The first name, of one token or more: its last one becomes a digit. */
	bytes[bytes[0]] = '9';
	build_guest_poke(build, names, bytes, sizeof(bytes));
}

/* A guest that says it runs a kernel that it does not run gives nothing to others. */
static void test_liar(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL, *later = NULL;
	struct build_guest liar, honest;
	struct guest *guest;

	open_build(&liar, 8, 0);
	open_build(&honest, 8, 0);
	spoil_names(&liar);
	assert_int_equal(guest_cache_create(f->dir, &cache), 0);
	guest = identify(&liar, cache, NULL);
	assert_null(symtab_find_name(guest_kernel_symbols(guest), "_text"));
	guest_destroy(guest);
	guest = identify(&honest, cache, NULL);
	assert_int_equal(symbol_at(guest, "_text"), honest.start);
	guest_destroy(guest);
	/* The folder now has the honest one's; the liar's still is not taken for it. */
	assert_int_equal(guest_cache_create(f->dir, &later), 0);
	guest = identify(&liar, later, NULL);
	assert_null(symtab_find_name(guest_kernel_symbols(guest), "_text"));
	guest_destroy(guest);
	build_guest_deinit(&liar);
	build_guest_deinit(&honest);
}

/* Nor does one whose tables are spoiled take them away from others. */
static void test_spoiled_tables(void **state)
{
	static const u32 spoiled[] = { BUILD_GUEST_BTF, BUILD_GUEST_ORC_IP };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoiled); i++) {
		_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
		struct build_guest bad, good;
		struct guest *guest;

		open_build(&bad, 6, 0);
		open_build(&good, 6, 0);
		build_guest_poke_u64(&bad, bad.start + spoiled[i], ~0ULL << 40);
		assert_int_equal(guest_cache_create(NULL, &cache), 0);
		guest = identify(&bad, cache, NULL);
		assert_false(guest_kernel(guest)->has_btf && guest_kernel(guest)->has_orc);
		guest_destroy(guest);
		guest = identify(&good, cache, NULL);
		assert_true(guest_kernel(guest)->has_btf && guest_kernel(guest)->has_orc);
		guest_destroy(guest);
		build_guest_deinit(&bad);
		build_guest_deinit(&good);
	}
}

/* Every span counts, and nothing else of the image does. */
static void test_what_counts(void **state)
{
	static const u32 counts[] = {
		BUILD_GUEST_BANNER + 20, BUILD_GUEST_NOTES + 36, BUILD_GUEST_BTF + 30,
		BUILD_GUEST_ORC_IP + 4, BUILD_GUEST_ORC + 4,
	};
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	struct build_guest build;
	u64 unknown, reads;

	(void)state;
	open_build(&build, 6, 0);
	assert_int_equal(guest_cache_create(NULL, &cache), 0);
	guest_destroy(identify(&build, cache, &unknown));
	build_guest_poke_u64(&build, build_guest_function(&build, 3) + 0x40, 0x1234567);
	guest_destroy(identify(&build, cache, &reads));
	assert_true(reads < unknown);
	build_guest_deinit(&build);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		open_build(&build, 6, 0);
		build_guest_poke(&build, build.start + counts[i], "\x55", 1);
		guest_destroy(identify(&build, cache, &reads));
		assert_true(reads >= unknown);
		build_guest_deinit(&build);
	}
}

static void test_damaged_file(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *bytes = NULL;
	struct guest_cache *cache;
	struct build_guest build;
	size_t size;

	open_build(&build, 6, 0);
	assert_int_equal(guest_cache_create(f->dir, &cache), 0);
	guest_destroy(identify(&build, cache, NULL));
	guest_cache_destroy(cache);
	assert_int_equal(file_read(AT_FDCWD, f->file, BUILD_FILE_MAX, &bytes, &size), 0);
	for (size_t at = 0; at < size; at += at < sizeof(struct build_file_header) ? 1 : 9973) {
		bytes[at] ^= 0x41;
		assert_int_equal(file_write_atomic(f->file, bytes, size), 0);
		bytes[at] ^= 0x41;
		assert_int_equal(guest_cache_create(f->dir, &cache), 0);
		guest_destroy(identify(&build, cache, NULL));
		guest_cache_destroy(cache);
	}
	build_guest_deinit(&build);
}

static void test_unusable_dir(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	struct build_guest build;
	char path[128];

	/* A file where the folder should be. */
	snprintf(path, sizeof(path), "%s/file", f->dir);
	assert_int_equal(file_write_atomic(path, "x", 1), 0);
	snprintf(path, sizeof(path), "%s/file/cache", f->dir);
	assert_int_equal(guest_cache_create(path, &cache), 0);
	open_build(&build, 6, 0);
	guest_destroy(identify(&build, cache, NULL));
	build_guest_deinit(&build);
}

static void test_key_is_secret(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	char path[128];
	struct stat st;

	assert_int_equal(guest_cache_create(f->dir, &cache), 0);
	snprintf(path, sizeof(path), "%s/key", f->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 16);
}

/* A kernel's file in memory, through the cache that writes it. */
static void make_file(const struct fixture *f, char **ret_bytes, size_t *ret_size)
{
	struct guest_cache *cache;
	struct build_guest build;

	open_build(&build, 6, 0);
	assert_int_equal(guest_cache_create(f->dir, &cache), 0);
	guest_destroy(identify(&build, cache, NULL));
	guest_cache_destroy(cache);
	build_guest_deinit(&build);
	assert_int_equal(file_read(AT_FDCWD, f->file, BUILD_FILE_MAX, ret_bytes, ret_size), 0);
}

static void test_truncated_file(void **state)
{
	_cleanup_free_ char *bytes = NULL;
	struct kernel_build *build = NULL;
	size_t size;

	make_file(*state, &bytes, &size);
	assert_int_equal(build_file_read(bytes, size, &build), 0);
	kernel_build_put(build);
	for (size_t cut = 0; cut < size; cut++) {
		build = NULL;
		assert_int_equal(build_file_read(bytes, cut, &build), -ENODATA);
		assert_null(build);
	}
}

static void test_fingerprint(void **state)
{
	static const u8 random[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct fingerprint_key key = fingerprint_key_from(random), ones;
	struct fingerprint a = FINGERPRINT_INIT, b = FINGERPRINT_INIT, c = FINGERPRINT_INIT;
	u8 bytes[32] = { 0 }, all[16];

	(void)state;
	fingerprint_add(&a, &key, bytes, 31);
	fingerprint_add(&b, &key, bytes, 31);
	assert_true(fingerprint_equal(&a, &b));
	/* One zero more, and any bit. */
	fingerprint_add(&c, &key, bytes, 32);
	assert_false(fingerprint_equal(&a, &c));
	for (size_t bit = 0; bit < 31 * 8; bit++) {
		b = FINGERPRINT_INIT;
		bytes[bit / 8] ^= 1 << bit % 8;
		fingerprint_add(&b, &key, bytes, 31);
		bytes[bit / 8] ^= 1 << bit % 8;
		assert_false(fingerprint_equal(&a, &b));
	}
	/* Where a piece ends counts too. */
	b = c = FINGERPRINT_INIT;
	fingerprint_add(&b, &key, bytes, 10);
	fingerprint_add(&b, &key, bytes, 20);
	fingerprint_add(&c, &key, bytes, 20);
	fingerprint_add(&c, &key, bytes, 10);
	assert_false(fingerprint_equal(&b, &c));
	/* The largest random numbers are points of the field as well. */
	memset(all, 0xff, sizeof(all));
	ones = fingerprint_key_from(all);
	assert_true(ones.point[0] < (1ULL << 61) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_kernel, setup, teardown),
		cmocka_unit_test(test_memory_only),
		cmocka_unit_test_setup_teardown(test_liar, setup, teardown),
		cmocka_unit_test(test_spoiled_tables),
		cmocka_unit_test(test_what_counts),
		cmocka_unit_test_setup_teardown(test_damaged_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unusable_dir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_is_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated_file, setup, teardown),
		cmocka_unit_test(test_fingerprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
