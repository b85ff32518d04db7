// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of lab/workloads/cputree.c without an operating system below.
 *
 *	start64
 *	  main
 *	    alpha ── alpha_mid ── alpha_leaf			50 %
 *	    beta ── beta_mid ── beta_low ── beta_leaf		30 %
 *	    gamma ── gamma_mid ── gamma_low ── gamma_deep ── gamma_leaf	20 %
 */
#define TREE __attribute__((noinline, noclone))
#define UNIT 20000ul

static volatile unsigned long sink;

#define LEAF(name)                                      \
	TREE static void name(unsigned long n)          \
	{                                               \
		for (unsigned long i = 0; i < n; i++)   \
			__asm__ volatile("" : "+r"(i)); \
		sink = n;                               \
	}

/* The store keeps the call from being the last thing that the function does. */
#define BRANCH(name, next)                     \
	TREE static void name(unsigned long n) \
	{                                      \
		next(n);                       \
		sink = n;                      \
	}

LEAF(alpha_leaf)
BRANCH(alpha_mid, alpha_leaf)
BRANCH(alpha, alpha_mid)

LEAF(beta_leaf)
BRANCH(beta_low, beta_leaf)
BRANCH(beta_mid, beta_low)
BRANCH(beta, beta_mid)

LEAF(gamma_leaf)
BRANCH(gamma_deep, gamma_leaf)
BRANCH(gamma_low, gamma_deep)
BRANCH(gamma_mid, gamma_low)
BRANCH(gamma, gamma_mid)

int main(void)
{
	for (;;) {
		alpha(5 * UNIT);
		beta(3 * UNIT);
		gamma(2 * UNIT);
	}
}
