/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A C++ program: templates, virtual functions, std::function and exceptions on the way.
 *
 *	main ── lab::round ── lab::deep<N> … lab::deep<0> ── lab::Shape::area ── lab::burn
 *	                   ── lab::thrower ── (throw, caught in lab::round)
 *	                   ── std::sort ── lambda
 */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab {

static volatile unsigned long sink;

[[gnu::noinline, gnu::noipa]] void burn(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink = sink + i * i;
}

class Shape {
public:
	virtual ~Shape() = default;
	[[gnu::noinline]] virtual void area(unsigned long count) = 0;
};

class Circle final : public Shape {
public:
	[[gnu::noinline]] void area(unsigned long count) override
	{
		burn(count);
		sink = sink + 1;
	}
};

template <int N> [[gnu::noinline, gnu::noipa]] void deep(Shape &shape)
{
	if constexpr (N == 0)
		shape.area(200000);
	else
		deep<N - 1>(shape);
	sink = sink + N;
}

[[gnu::noinline, gnu::noipa]] void thrower(const std::string &what)
{
	burn(1000);
	throw std::runtime_error(what);
}

[[gnu::noinline, gnu::noipa]] void exceptions()
{
	for (int i = 0; i < 50; i++) {
		try {
			thrower("round " + std::to_string(i));
		} catch (const std::runtime_error &error) {
			sink = sink + std::string(error.what()).size();
		}
	}
}

[[gnu::noinline, gnu::noipa]] void sorting(const std::function<bool(int, int)> &less)
{
	std::vector<int> numbers(2000);

	for (size_t i = 0; i < numbers.size(); i++)
		numbers[i] = static_cast<int>(i * 7919 % 2000);
	std::sort(numbers.begin(), numbers.end(), less);
	sink = sink + numbers[3];
}

[[gnu::noinline, gnu::noipa]] void round(Shape &shape)
{
	deep<12>(shape);
	exceptions();
	sorting([](int a, int b) { burn(10); return a < b; });
}

}

int main()
{
	auto shape = std::make_unique<lab::Circle>();

	std::puts("started");
	std::fflush(stdout);
	for (;;)
		lab::round(*shape);
}
