/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions whose frames need the less common rules: a realigned stack, alloca, many saved
 * registers, calls through a PLT. Only compiled, never run.
 */
#include <stdlib.h>
#include <string.h>

int cfi_fixture_realigned(int n);
int cfi_fixture_saved(const int *a, const int *b, int n);
int cfi_fixture_variable(int n);
int cfi_fixture_leaf(int n);

__attribute__((visibility("default"))) int cfi_fixture_realigned(int n)
{
	char buffer[256] __attribute__((aligned(128)));
	char *variable = __builtin_alloca(n);

	memset(buffer, n, sizeof(buffer));
	memset(variable, n, n);
	return abs(buffer[n & 255]) + variable[0];
}

__attribute__((visibility("default"))) int cfi_fixture_variable(int n)
{
	int *numbers = __builtin_alloca(n * sizeof(int));

	for (int i = 0; i < n; i++)
		numbers[i] = rand();
	return numbers[n / 2];
}

__attribute__((visibility("default"))) int cfi_fixture_saved(const int *a, const int *b, int n)
{
	int sum = 0, product = 1, last = 0;

	for (int i = 0; i < n; i++) {
		if (!a[i])
			return last;
		sum += rand() % a[i];
		product *= rand() + b[i];
		last = abs(sum ^ product);
	}
	return sum + product + last;
}

__attribute__((visibility("default"))) int cfi_fixture_leaf(int n)
{
	return n * 3;
}
